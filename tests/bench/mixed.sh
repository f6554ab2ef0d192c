#!/bin/sh
# mixed.sh OTHER - 64 users with slow and fast statements mixed: how long the
# fast ones take, of two builds side by side.
#
# OTHER is the build directory of another tree; BUILD (build/release) is this
# one's.  ROUNDS (3) rounds; in each, SECONDS_EACH (5) seconds of the one and
# then of the other, each a Redis with its heapwired.  Every user has a
# connection for slow statements (a dump as a graph, a SELECT over the heap),
# with PAUSE_MS (100) between them, and one for fast statements: one that the
# loop answers, and one that a worker does.
set -eu
cd "$(dirname "$0")/../.."
[ $# = 1 ] || {
    sed -n '2,/^$/s/^# \{0,1\}//p;/^set/q' "$0" >&2
    exit 64
}
PYTHONPATH=$PWD/tests/integration/lib exec /usr/bin/python3 - \
    "${BUILD:-build/release}" "$1" "${ROUNDS:-3}" "${SECONDS_EACH:-5}" \
    "${PAUSE_MS:-100}" <<'END'
import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from mysql_wire import Wire
from node_under_test import wait_for
from ports import free_port

USERS, SLOW_PROCESSES, FAST_THREADS = 64, 4, 4
ADMIN = "ADMIN EXECUTE ON 1 '%s'"
SLOW = (ADMIN % "System.print(HeapProf.getInstance().dump_dot_snapshot())",
        "SELECT function, cum_bytes FROM heapwire.heap_functions "
        "ORDER BY cum_bytes DESC LIMIT 20")
FAST = ("SELECT 1", "SELECT COUNT(*) FROM information_schema.columns")
seconds, pause = float(sys.argv[4]), float(sys.argv[5]) / 1000


class Node:
    def __init__(self, build, work):
        self.build, self.bin = build, os.path.join(os.path.abspath(build), "bin")
        self.port = free_port()
        directory = os.path.join(work, str(self.port))
        os.makedirs(directory, mode=0o700)
        config = os.path.join(directory, "heapwire.ini")
        with open(config, "w", encoding="ascii") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write("[node]\nid = 1\n")
        for i in range(USERS):
            subprocess.run([f"{self.bin}/heapwire-passwd", config, f"u{i}",
                            "--stdin", "--privileges", "all"],
                           input=b"secret\n", check=True,
                           stdout=subprocess.DEVNULL)
        with open(os.path.join(directory, "out"), "wb") as out:
            self.process = subprocess.Popen(
                [f"{self.bin}/heapwire-run", "--config", config,
                 "--listen", f"127.0.0.1:{self.port}", "--http", "none",
                 "--state-dir",
                 os.path.join(directory, "state"), "--linger", "0", "--",
                 "redis-server", "--port", str(free_port()), "--bind",
                 "127.0.0.1", "--save", "", "--dir", directory],
                stdout=out, stderr=out)
        wait_for(self.serves, 30)

    def serves(self):
        try:
            with self.user(0) as w:
                w.query(ADMIN % "HeapProf.getInstance().enable_prof()")
                w.query(SLOW[0])
            return True
        except Exception:  # pylint: disable=broad-except
            return False

    def user(self, i):
        return Wire(("127.0.0.1", self.port), 60).login(f"u{i}".encode(),
                                                        b"secret")

    def daemon(self):
        run = self.process.pid
        with open(f"/proc/{run}/task/{run}/children", encoding="ascii") as f:
            for pid in f.read().split():
                with open(f"/proc/{pid}/comm", encoding="ascii") as comm:
                    if comm.read().strip() == "heapwired":
                        return pid
        raise AssertionError("no heapwired")

    def cpu(self):
        with open(f"/proc/{self.daemon()}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(w, text):
    began = time.monotonic()
    w.query(text)
    return time.monotonic() - began


def in_threads(count, body):
    threads = [threading.Thread(target=body, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def slow_users(node, first, count, until, out):
    took = []

    def one(i):
        with node.user(first + i) as w:
            while time.monotonic() < until:
                took.append(timed(w, SLOW[i % 2]))
                time.sleep(pause)
    in_threads(count, one)
    out.put(("slow", took))


def fast_users(node, until, out):
    took = {text: [] for text in FAST}
    each = USERS // FAST_THREADS

    def some(k):
        users = [node.user(k * each + i) for i in range(each)]
        while time.monotonic() < until:
            for w in users:
                for text in FAST:
                    took[text].append(timed(w, text))
                time.sleep(0.001)
        for w in users:
            w.close()
    in_threads(FAST_THREADS, some)
    for text in FAST:
        out.put((text, took[text]))


def measure(node, into):
    out, before = multiprocessing.Queue(), node.cpu()
    until = time.monotonic() + seconds
    each = USERS // SLOW_PROCESSES
    workers = [multiprocessing.Process(target=slow_users, args=(
        node, k * each, each, until, out)) for k in range(SLOW_PROCESSES)]
    workers.append(multiprocessing.Process(target=fast_users,
                                           args=(node, until, out)))
    for p in workers:
        p.start()
    for _ in range(SLOW_PROCESSES + len(FAST)):
        what, took = out.get()
        into.setdefault(what, []).extend(took)
    for p in workers:
        p.join()
    into["cpu"] = into.get("cpu", 0) + node.cpu() - before


def main():
    work = tempfile.mkdtemp(prefix="hw-", dir="/tmp")
    nodes, results = [], [{}, {}]
    try:
        for build in sys.argv[1:3]:
            nodes.append(Node(build, work))
        for _ in range(int(sys.argv[3])):
            for node, into in zip(nodes, results):
                measure(node, into)
    finally:
        for node in nodes:
            node.process.terminate()
        for node in nodes:
            node.process.wait(20)
        shutil.rmtree(work, ignore_errors=True)
    for node, into in zip(nodes, results):
        print(f"{node.build}: {into['cpu']:.1f} s of processor time")
        for what in (*FAST, "slow"):
            took = sorted(into[what])
            print(f"  {what[:46]:46} {len(took):6} times, p50 "
                  f"{statistics.median(took) * 1e3:7.2f} ms, p99 "
                  f"{took[int(len(took) * 0.99)] * 1e3:7.2f}, max "
                  f"{took[-1] * 1e3:7.2f}")


main()
END
