"""Kills heapwired at random moments while it keeps snapshots of a real redis:
afterwards each is whole or absent, and none that was listed is missing.

store_kill.py [ROUNDS], 200 of them by default."""
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from mysql_wire import Wire
from node_under_test import BUILD, REAL, Node, wait_for

ROUNDS = int(sys.argv[1]) if sys.argv[1:] else 200
KEEP = 32
SNAPSHOT = ("ADMIN EXECUTE ON 10001 "
            "'System.print(HeapProf.getInstance().snapshot())'")
seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
random.seed(seed)


def listens(path):
    """A socket's file is there before it does."""
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex(path) == 0


def start_redis(state, directory):
    path = os.path.join(directory, "redis.sock")
    environment = dict(
        os.environ, HEAPWIRE_EXE=os.path.realpath("/usr/bin/redis-server"),
        HEAPWIRE_STATE_DIR=state,
        LD_PRELOAD=os.path.join(BUILD, "lib", "libheapwire.so"),
        MALLOC_CONF="prof:true,prof_active:true,lg_prof_sample:12")
    redis = subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", path, "--save", "",
         "--dir", directory], env=environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    wait_for(lambda: listens(path))
    subprocess.run(["redis-benchmark", "-s", path, "-q", "-n", "20000", "-r",
                    "20000", "-P", "16", "-t", "set,lpush,hset,zadd"],
                   check=True, stdout=subprocess.DEVNULL)
    return redis


def login(node):
    def try_login():
        try:
            login.wire = Wire(node.socket).login()
            return True
        except (OSError, EOFError):
            return False
    wait_for(try_login)
    return login.wire


def connected(wire):
    return [list(row) for row in wire.query(
        "SELECT state FROM heapwire.profiler")] == [[b"connected"]]


def check(node, wire, told, known):
    """All that is listed can be read, and what was kept last is listed."""
    listed = {name: int(stacks) for name, stacks in wire.query(
        "SELECT name, stacks FROM heapwire.snapshots")}
    assert "is skipped" not in node.log(), node.log()
    files = set(os.listdir(os.path.join(node.state, "snapshots")))
    assert files == {n.decode() + ".snapshot" for n in listed}, (files, listed)
    for name in told[-(KEEP - 1):]:
        assert name in listed, (name, sorted(listed))
    for name in set(listed) - known:
        rows = wire.query("SELECT COUNT(*) FROM heapwire.heap_stacks WHERE "
                          f"snapshot = '{name.decode()}'")
        assert int(rows[0][0]) == listed[name] > 10, (name, rows, listed[name])
    return set(listed)


with tempfile.TemporaryDirectory(prefix="hw-", dir="/tmp") as directory, \
        Node(program=REAL, listen="none", start=False,
             directory=directory) as node:
    with open(node.config, "a", encoding="ascii") as f:
        f.write(f"[snapshots]\nkeep = {KEEP}\n")
    redis, known, kept, unfinished = None, set(), 0, 0
    try:
        for number in range(ROUNDS):
            if os.path.exists(node.log_path):
                os.unlink(node.log_path)
            node.start()
            if not redis:
                redis = start_redis(node.state, directory)
            wire = login(node)
            wait_for(lambda: connected(wire))
            if number:
                known = check(node, wire, told, known)
            told = [wire.query(SNAPSHOT)[0][0]]
            threading.Timer(random.uniform(0, 0.25), node.process.send_signal,
                            [signal.SIGKILL]).start()
            try:
                while True:
                    told.append(wire.query(SNAPSHOT)[0][0])
            except (OSError, EOFError):
                pass
            node.process.wait()
            wire.close()
            kept += len(told)
            unfinished += any(
                name.endswith(".tmp")
                for name in os.listdir(os.path.join(node.state, "snapshots")))
        os.unlink(node.log_path)
        node.start()
        wire = login(node)
        check(node, wire, told, known)
        wire.close()
    except BaseException:
        print("seed", seed)
        raise
    finally:
        if redis:
            redis.kill()
            redis.wait()
    print(f"{ROUNDS} kills, {kept} snapshots kept, {unfinished} kills met one "
          "that was being written")
