"""Kills what attaches to a Redis, before or after a call of ptrace or pwrite,
and looks whether Redis goes on, and can be attached to again."""
import contextlib
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from node_under_test import BUILD, wait_for

RUN = os.path.join(BUILD, "bin", "heapwire-run")
DRIVER = os.path.join(BUILD, "bin", "attach_driver")
AGENT = os.path.join(BUILD, "lib", "libheapwire.so")
DIES = os.path.join(BUILD, "lib", "libdies_at.so")
NO_LIBRARY = "/etc/hostname"  # which the loader refuses
SIDES = ("before", "after")


class Redis:
    """A new one, which wakes often, so that it soon sleeps anew."""

    def __init__(self, work):
        self.work = tempfile.mkdtemp(dir=work)
        self.state = os.path.join(self.work, "state")
        self.died = os.path.join(self.work, "died")
        os.mkdir(self.state, 0o700)
        path = os.path.join(self.work, "redis")
        with open(os.path.join(self.work, "log"), "wb") as log:
            self.process = subprocess.Popen(
                ["redis-server", "--port", "0", "--unixsocket", path, "--save",
                 "", "--hz", "500", "--dynamic-hz", "no", "--dir", self.work],
                stdout=log, stderr=log)
        self.pid = str(self.process.pid)
        self.client = socket.socket(socket.AF_UNIX)
        self.client.settimeout(60)
        wait_for(lambda: self.client.connect_ex(path) == 0)

    def close(self):
        self.client.close()
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.work)

    def ask(self, command, answer):
        self.client.sendall(command)
        got = self.client.recv(4096)
        assert got == answer, (command, got)

    def is_free(self):
        """Nobody traces or has stopped it."""
        status = ""
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
                    open(f"/proc/{self.pid}/task/{task}/status",
                         encoding="ascii") as f:
                status += f.read()
        return not re.search(r"TracerPid:\s+[1-9]|State:\s+[tT]", status)

    def check(self, when):
        """It answers, in floating point, too."""
        try:
            wait_for(self.is_free)
            self.ask(b"DEL f\r\n", b":0\r\n")
            self.ask(b"INCRBYFLOAT f 2.25\r\n", b"$4\r\n2.25\r\n")
            self.ask(b"DEL f\r\n", b":1\r\n")
        except (OSError, AssertionError) as error:
            try:
                how = f"died of {-self.process.wait(2)}"
            except subprocess.TimeoutExpired:
                how = "is unwell"
            raise AssertionError(f"Redis {how} {when}: {error!r}") from error

    def where(self):
        """Where the last attacher died."""
        with open(self.died, encoding="ascii") as f:
            return f.read().splitlines()[-1]

    def environment(self, dies_at):
        return {**os.environ, "LD_PRELOAD": DIES, "DIES_LOG": self.died,
                "DIES_AT": dies_at} if dies_at else None

    def attach(self, dies_at=None, library=AGENT):
        """Attaches and detaches: status, and what was said."""
        done = subprocess.run([DRIVER, self.pid, library, self.state, "1"],
                              env=self.environment(dies_at), check=False,
                              stdout=subprocess.PIPE, text=True)
        return done.returncode, done.stdout

    def run(self, dies_at=None):
        """Likewise, with heapwire-run and its heapwired."""
        log = os.path.join(self.work, "run.log")
        served = os.path.join(self.state, "mysql.sock")
        with contextlib.suppress(FileNotFoundError):
            os.remove(served)
        with open(log, "wb") as out:
            process = subprocess.Popen(
                [RUN, "--state-dir", self.state, "--listen", "none", "--attach",
                 self.pid], env=self.environment(dies_at), stdout=out,
                stderr=out)
        wait_for(lambda: os.path.exists(served) or process.poll() is not None)
        process.terminate()
        status = process.wait(60)
        with open(log, encoding="utf-8") as f:
            return status, f.read()

    def killed(self, dies_at, attach, again, wanted):
        """What again does then finds everything in order.  Where it died;
        None: it did not come to that."""
        status, out = attach(dies_at)
        where = self.where()
        self.check(f"when it died {where}")
        assert status in (wanted, -signal.SIGKILL), (where, status, out)
        status_again, out = again()
        self.check(f"at the next, when it died {where}")
        assert status_again == 0, f"the next, when it died {where}: {out}"
        return where if status == -signal.SIGKILL else None


@contextlib.contextmanager
def redis_in(work):
    redis = Redis(work)
    try:
        yield redis
    finally:
        redis.close()


def count_calls(work):
    """Those of an attach and detach of a Redis that has never had an agent, of
    one that has, and of a library that cannot be loaded."""
    counts = []
    with redis_in(work) as redis:
        for library in AGENT, AGENT, NO_LIBRARY:
            redis.attach("0 never", library)
            counts.append(int(redis.where().split()[0]))
    return counts


def kill_new(redis, dies_at):
    return redis.killed(dies_at, redis.attach, redis.attach, 0)


def kill_refused(redis, dies_at):
    return redis.killed(
        dies_at, lambda at: redis.attach(at, NO_LIBRARY), redis.attach, 1)


def kill_run(redis, dies_at):
    return redis.killed(dies_at, redis.run, redis.run, 0)


def kill_all(work, points, workers):
    """points: (kills, n, side), where kills are those that one Redis survives
    after each other.  Fails if one does not."""
    faults, where = [], []

    def kill(point):
        kills, n, side = point
        try:
            with redis_in(work) as redis:
                for one in kills:
                    where.append(one(redis, f"{n} {side}"))
        except AssertionError as error:
            print("FAULT", error, flush=True)
            faults.append(error)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(kill, points))
    died = sorted(" ".join(w.split()[1:3]) for w in where if w)
    print(f"died {len(died)} times,",
          ", ".join(f"{len(list(all_))} {kind}" for kind, all_ in
                    itertools.groupby(died)), f": {len(faults)} faults",
          flush=True)
    assert not faults and died
