#!/usr/bin/env python3
"""cpu_cost.py [gaps|heapwired|redis...] - what a profile of time costs.

gaps: how long a sample keeps a thread from its work, which a busy machine hardly
disturbs: of a program that asks for the time without a rest, the times that it
was away for 3 to 400 us while it was sampled, less those while it was not; and
what that makes of 99 samples a second (50 by ptrace, whose stops are few: what
the sampler itself measured is the better figure).  With 0 and with 40,000
bytes on its stack, of which perf copies 32,768.

heapwired: its processor time while 8 threads that compute are sampled at 99 Hz
for 10 s, less that of 10 s at rest.  PERF=FILE records where it goes.

redis: its processor time by the request, in ROUNDS (30) of redis-benchmark with
REQUESTS (100000): without, again without (which shows the machine's noise), by
perf at 99 and 990 Hz (ten times what 99 cost), by ptrace at 50 Hz
(sampler_driver).  Each run is compared with its round's first: the median, and
its interval of 95 % by the ranks of a sign test.
"""
import collections
import contextlib
import math
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../integration/lib"))
os.chdir(os.path.join(HERE, "../.."))

# pylint: disable=wrong-import-position
from http_under_test import redis as redis_node  # noqa: E402
from mysql_wire import Wire  # noqa: E402
from node_under_test import BUILD  # noqa: E402
from ports import free_port  # noqa: E402
from profiled import BUILDS, running  # noqa: E402

BIN = os.path.join(BUILD, "bin")
ROUNDS = int(os.environ.get("ROUNDS", "30"))
REQUESTS = os.environ.get("REQUESTS", "100000")
WAYS = {"without": None, "again without": None, "perf 99": ("99", "perf"),
        "perf 990": ("990", "perf"), "ptrace 50": ("50", "ptrace")}


def seconds(pid, children=False):
    """Of processor time; of its ended children."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    own = sum(map(int, fields[13:15] if children else fields[11:13]))
    return own / os.sysconf("SC_CLK_TCK")


def task_seconds(pid):
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e9


def quartiles(gaps):
    """Of us:times."""
    found, below, total = [], 0, sum(gaps.values())
    for us, n in sorted(gaps.items()):
        below += n
        while len(found) < 3 and below >= total * (len(found) + 1) / 4:
            found.append(us)
    return found


def gaps():
    with tempfile.TemporaryDirectory() as work:
        program = os.path.join(work, "sample_gaps")
        subprocess.run(["cc", "-O2", "-o", program,
                        "tests/bench/sample_gaps.c"], check=True)
        for stack in 0, 40000:
            measure_gaps([program, "2", str(stack)], stack)


def measure_gaps(command, stack):
    ways = {"nothing": None, "perf": ("990", "perf"),
            "ptrace": ("50", "ptrace")}
    away = {name: collections.Counter() for name in ways}
    told = collections.Counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as program:
        for _ in range(ROUNDS // 3):
            for name, way in ways.items():
                driver = subprocess.Popen(
                    [os.path.join(BIN, "sampler_driver"), str(program.pid),
                     "2000", *way, "cpu"], stdout=subprocess.PIPE,
                    text=True) if way else None
                program.stdin.write("\n")
                program.stdin.flush()
                for item in program.stdout.readline().split():
                    us, n = map(int, item.split(":"))
                    away[name][us] += n if 3 <= us < 400 else 0
                for line in (driver.communicate()[0].splitlines()
                             if driver else ()):
                    key, value = line.split(" ", 1)
                    if key in ("samples", "stops", "pause_total_us"):
                        told[name, key] += int(value)
        program.kill()
    for name, hz in (("perf", 99), ("ptrace", 50)):
        more = away[name] - away["nothing"]
        low, middle, high = quartiles(more)
        print(f"{name}, {stack} bytes of stack: {told[name, 'samples']} "
              f"samples, {more.total()} times more away, median {middle} us "
              f"(quartiles {low} to {high}): {middle * hz / 10000:.2f} % at "
              f"{hz} Hz", flush=True)
        if told[name, "stops"]:  # as the sampler measures them
            print(f"    {told[name, 'stops']} stops, mean "
                  f"{told[name, 'pause_total_us'] / told[name, 'stops']:.1f} us")


def heapwired():
    with tempfile.TemporaryDirectory() as work, contextlib.ExitStack() as stack:
        program = os.path.join(work, "unwound")
        subprocess.run([*BUILDS["g++ -O2"][0], "-o", program], check=True)
        node = stack.enter_context(redis_node(program=[program, *["mixed"] * 8]))
        w = stack.enter_context(Wire(node.socket, 120).login())
        w.query("SELECT COUNT(*) FROM heapwire.cpu_stacks "
                "WHERE snapshot = 'cpu:1'")
        pid, found = node.heapwired, []
        perf = os.environ.get("PERF")
        for what in "SELECT SLEEP(10)", \
                "SELECT SUM(samples) FROM heapwire.cpu_stacks " \
                "WHERE snapshot = 'cpu:10'":
            before = task_seconds(pid), seconds(pid, True)
            recorder = subprocess.Popen(
                ["perf", "record", "-q", "-g", "-o", perf, "-p", str(pid)],
                stderr=subprocess.DEVNULL) if perf else None
            samples = w.query(what)[0][0]
            if recorder:
                recorder.terminate()
                recorder.wait()
            found.append((task_seconds(pid) - before[0],
                          seconds(pid, True) - before[1]))
    rest, busy = found
    n = int(samples)
    print(f"heapwired, 8 threads at 99 Hz for 10 s: {busy[0]:.3f} s of "
          f"processor time, {rest[0]:.3f} at rest: "
          f"{(busy[0] - rest[0]) * 10:.2f} % of a processor; "
          f"{n} samples, {(busy[0] - rest[0]) / n * 1e6:.0f} us each")


def load(port, server, way):
    """Redis's us of processor time by the request."""
    sampler = subprocess.Popen(
        [os.path.join(BIN, "sampler_driver"), str(server), "60000", *way,
         "cpu"], stdout=subprocess.DEVNULL) if way else None
    before = task_seconds(server)
    subprocess.run(
        ["redis-benchmark", "-p", port, "-n", REQUESTS, "-t", "set", "-r",
         "100000", "-P", "16", "--csv"], check=True,
        stdout=subprocess.DEVNULL)
    used = task_seconds(server) - before
    if sampler:
        sampler.terminate()
        sampler.wait()
    return used / int(REQUESTS) * 1e6


def median_within(values):
    """The median, and the ranks that 95 of 100 medians lie between."""
    values, n = sorted(values), len(values)
    off = max(int(n / 2 - 0.98 * math.sqrt(n)), 0)
    return statistics.median(values), values[off], values[n - 1 - off]


def redis():
    port = str(free_port())
    found = {name: [] for name in WAYS}
    with running(["redis-server", "--port", port, "--save", ""]) as server:
        while subprocess.run(["redis-cli", "-p", port, "ping"], check=False,
                             capture_output=True).returncode:
            pass
        load(port, server.pid, None)
        for _ in range(ROUNDS):
            for name, way in WAYS.items():
                found[name].append(load(port, server.pid, way))
    for name, runs in found.items():
        slower = [100 * (run / first - 1)
                  for run, first in zip(runs, found["without"])]
        print(f"redis, {name:13}: {statistics.median(runs):.3f} us a request; "
              "slower by {:+.2f} % ({:+.2f} to {:+.2f})".format(
                  *median_within(slower)))


if __name__ == "__main__":
    for what in sys.argv[1:] or ("gaps", "heapwired", "redis"):
        {"gaps": gaps, "heapwired": heapwired, "redis": redis}[what]()
