#!/usr/bin/env python3
"""neutral_cost.py - what heapwire costs a database that works: Redis under
redis-benchmark, MariaDB under sysbench (oltp_read_write), each in five states.

    absent    without heapwire
    again     without heapwire, in a process of its own: the machine's noise
    idle      under heapwire-run, profiling off
    active    profiling on
    dumping   profiling on, and dump_dot_snapshot() each second

Each of ROUNDS (10) starts the three processes anew (absent, again, the node's),
for where a process lies in memory alone may cost it a percent, and measures the
states in an order by chance (SEED): REQUESTS (500000) of redis-benchmark, and
SECONDS (5) of sysbench.  The table has the processor time of the database for
each operation, the latency that one in 1,000 operations exceeds, the operations
a second, each as the median of the rounds, and as a ratio to the same round's
"absent": the median of these ratios, and its interval of 95 % by the ranks of a
sign test.  Then what heapwired took beside it, in % of a processor.

Idle is to be within the noise (0.5 %).  On a quiet machine, in 25 minutes:

    ROUNDS=10 REQUESTS=500000 SECONDS=5 BUILD=build/release \\
        python3 tests/bench/neutral_cost.py

Needs docker/install.sh neutral, and root for MariaDB.
"""
import contextlib
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../integration/lib"))
os.chdir(os.path.join(HERE, "../.."))

# pylint: disable=wrong-import-position
from cpu_cost import median_within, seconds  # noqa: E402
from databases import MariaDB, Redis, UnderHeapwire, readable_build  # noqa: E402
from mysql_wire import Wire  # noqa: E402
from node_under_test import wait_for  # noqa: E402
from recorded_node import heap, value  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "10"))
REQUESTS = os.environ.get("REQUESTS", "500000")
SECONDS = os.environ.get("SECONDS", "5")
SEED = int(os.environ.get("SEED", "0")) or random.randrange(1, 1 << 32)
STATES = ("absent", "again", "idle", "active", "dumping")
FIGURES = ("us of CPU", "ms, 99.9 %", "ops a second")
SYSBENCH = ["sysbench", "oltp_read_write", "--db-driver=mysql",
            "--mysql-user=root", "--mysql-db=test", "--table-size=20000",
            "--threads=4", "--histogram", "--rand-seed=1"]


def used_seconds(pid):
    """Of its processor time, to the ns, threads that have ended included."""
    return time.clock_gettime(~pid << 3 | 2)


def bench_redis(database, length=REQUESTS):
    """Operations, their latency, and the seconds that they took."""
    database.ask("flushall")
    began = time.monotonic()
    said = subprocess.run(
        ["redis-benchmark", "-s", database.socket, "-n", length, "-c", "20",
         "-r", "100000", "-d", "200", "-t", "set", "--precision", "3"],
        check=True, stdout=subprocess.PIPE, text=True).stdout
    took = time.monotonic() - began
    rare = next(float(ms) for percent, ms in re.findall(
        r"([0-9.]+)% <= ([0-9.]+) milliseconds \(cumulative", said)
        if float(percent) >= 99.9)
    return int(length), rare, took


def sysbench(database, command, *options):
    return subprocess.run(
        [*SYSBENCH, f"--mysql-socket={database.socket}", *options, command],
        check=True, stdout=subprocess.PIPE, text=True).stdout


def bench_mariadb(database, length=SECONDS):
    said = sysbench(database, "run", f"--time={length}")
    count = int(re.search(r"transactions: +(\d+)", said)[1])
    times = [(float(ms), int(n)) for ms, n in re.findall(
        r"^ +([0-9.]+) \|\**\s+(\d+)$", said, re.M)]
    rare = rarest(times, sum(n for _, n in times) // 1000)
    return count, rare, float(re.search(r"total time: +([0-9.]+)s", said)[1])


def rarest(times, count):
    """The time that so many exceed, of a histogram in order."""
    for ms, n in reversed(times):
        count -= n
        if count < 0:
            return ms
    raise ValueError("an empty histogram")


BENCHES = {"redis-server": (bench_redis, str(max(int(REQUESTS) // 5, 1))),
           "mariadbd": (bench_mariadb, "1")}


@contextlib.contextmanager
def dumps(socket):
    """One each second; gives how many there were."""
    ended, count = threading.Event(), []

    def dump():
        with Wire(socket, 60).login() as w:
            while not ended.is_set():
                due = time.monotonic() + 1
                count.append(len(heap(w, "dump_dot_snapshot()")))
                ended.wait(max(due - time.monotonic(), 0))

    thread = threading.Thread(target=dump)
    thread.start()
    try:
        yield count
    finally:
        ended.set()
        thread.join()


class Round:
    """The three processes of one database, one after another measured."""

    def __init__(self, databases, build):
        self.absent, self.again, self.under = databases
        self.bench, self.warm = BENCHES[self.absent.name]
        self.bare = {d: d.start() for d in (self.absent, self.again)}
        self.node = UnderHeapwire(self.under, build)
        with Wire(self.node.socket, 60).login() as w:
            wait_for(lambda: value(w, "SELECT state FROM heapwire.profiler") ==
                     "connected")
        for database in databases:
            self.bench(database, self.warm)

    def measure(self, state):
        """The figures, and the part of a processor that heapwired took."""
        if state in ("absent", "again"):
            database = self.absent if state == "absent" else self.again
            return self.figures(database, self.bare[database].pid), 0
        with Wire(self.node.socket, 60).login() as w:
            heap(w, "disable_prof()" if state == "idle" else "enable_prof()")
        before, began = self.heapwired_seconds(), time.monotonic()
        with dumps(self.node.socket) if state == "dumping" else \
                contextlib.nullcontext():
            found = self.figures(self.under, self.node.pid)
        return found, ((self.heapwired_seconds() - before) /
                       (time.monotonic() - began))

    def heapwired_seconds(self):
        """Of heapwired, and of its helpers that have ended."""
        pid = self.node.heapwired()
        return used_seconds(pid) + seconds(pid, children=True)

    def figures(self, database, pid):
        before = used_seconds(pid)
        count, rare, took = self.bench(database)
        return (used_seconds(pid) - before) / count * 1e6, rare, count / took

    def stop(self):
        self.node.stop()
        for process in self.bare.values():
            process.terminate()
            process.wait(60)


def measure(kind, build, choose):
    """By state: a row of figures for each round; likewise heapwired's."""
    found = {state: [] for state in STATES}
    beside = {state: [] for state in STATES}
    with tempfile.TemporaryDirectory(prefix="hw-neutral-", dir="/tmp") as work:
        os.chmod(work, 0o755)
        databases = []
        for name in "absent", "again", "under":
            os.mkdir(os.path.join(work, name), 0o755)
            databases.append(kind(os.path.join(work, name)))
        if kind is MariaDB:
            for database in databases:
                process = database.start()
                database.ask("CREATE DATABASE IF NOT EXISTS test")
                sysbench(database, "prepare")
                process.terminate()
                process.wait(60)
        for number in range(ROUNDS):
            one = Round(databases, build)
            try:
                for state in choose.sample(STATES, len(STATES)):
                    figures, part = one.measure(state)
                    found[state].append(figures)
                    beside[state].append(part)
            finally:
                one.stop()
            print(f"{kind.name}: round {number + 1} of {ROUNDS}",
                  file=sys.stderr, flush=True)
    return found, beside


def show(name, found, beside):
    for i, figure in enumerate(FIGURES):
        for state in STATES:
            runs = [run[i] for run in found[state]]
            ratios = [run / absent[i]
                      for run, absent in zip(runs, found["absent"])]
            middle, low, high = median_within(ratios)
            print(f"{name:12}  {figure:12}  {state:7}  "
                  f"{statistics.median(runs):10.3f}  {middle:.4f}  "
                  f"({low:.4f} to {high:.4f})", flush=True)
    print(f"{name:12}  heapwired beside it: " + ", ".join(
        f"{state} {100 * statistics.median(beside[state]):.2f} %"
        for state in STATES[2:]), flush=True)


def main():
    print(f"SEED={SEED} ROUNDS={ROUNDS} REQUESTS={REQUESTS} SECONDS={SECONDS}",
          flush=True)
    choose = random.Random(SEED)
    with tempfile.TemporaryDirectory(prefix="hw-build-", dir="/tmp") as copy:
        os.chmod(copy, 0o755)
        build = readable_build(os.path.join(copy, "build"))
        for kind in (Redis, MariaDB):
            show(kind.name, *measure(kind, build, choose))


if __name__ == "__main__":
    main()
