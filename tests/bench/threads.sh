#!/bin/sh
# threads.sh - the stacks of all threads: their time beside gdb's "thread apply
# all bt", and how long each thread is stopped for.
#
# THREADS (200) threads of stuck_threads, in three groups; ROUNDS (20) rounds.
# gdb stops the whole process for as long as it works; here the figures are of
# each thread.  "again": names are known from the round before.
set -eu
cd "$(dirname "$0")/../.."
PYTHONPATH=$PWD/tests/integration/lib BUILD=${BUILD:-build/release} \
    exec /usr/bin/python3 - "${THREADS:-200}" "${ROUNDS:-20}" <<'END'
import os
import statistics
import subprocess
import sys
import time

from http_under_test import redis
from mysql_wire import Wire
from node_under_test import BUILD, wait_for

threads, rounds = map(int, sys.argv[1:])
program = [os.path.join(BUILD, "bin", "stuck_threads"), str(threads // 2),
           str(threads // 4), str(threads - threads // 2 - threads // 4 - 3),
           "stay"]
ALL = "ADMIN EXECUTE ON 10001 'System.print(ExecEnv." \
    "get_stack_trace_for_all_threads())'"


def timed(call):
    began = time.perf_counter()
    found = call()
    return (time.perf_counter() - began) * 1000, found


def gdb(pid):
    return subprocess.run(
        ["gdb", "-q", "-nx", "-p", str(pid), "-batch", "-ex",
         "thread apply all bt"], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout


def show(what, times):
    print(f"{what}: median {statistics.median(times):.1f} ms, "
          f"{min(times):.1f} to {max(times):.1f}")


with redis(program=program) as node, Wire(node.socket, 60).login() as w:
    pid = node.children["stuck_threads"]
    wait_for(lambda: b"ready" in open(
        os.path.join(node.directory, "out"), "rb").read())
    first, said = timed(lambda: w.query(ALL))
    print(f"{len(os.listdir(f'/proc/{pid}/task'))} threads; "
          f"{said[-1][0].decode() if said[-1][0] else said[-2][0].decode()}")
    print(f"first: {first:.1f} ms")
    ours, theirs, pauses, listed = [], [], [], []
    for i in range(rounds):
        ours.append(timed(lambda: w.query(ALL))[0])
        listed.append(timed(lambda: w.query(
            "SELECT tid, name, state, wchan, owner FROM heapwire.threads"))[0])
        pauses += [int(us) for us, in w.query(
            "SELECT pause_us FROM heapwire.threads WHERE pause_us > 0")]
        if i < 5:
            took, text = timed(lambda: gdb(pid))
            theirs.append(took)
            assert text.count(b"\n#0 ") >= threads, text[-500:]
    show("again", ours)
    show("without stacks", listed)
    show("gdb", theirs)
    print(f"gdb / ours: {statistics.median(theirs) / statistics.median(ours):.0f}")
    pauses.sort()
    print("a thread is stopped for, us: " + ", ".join(
        f"{p} %: {pauses[min(len(pauses) - 1, len(pauses) * p // 100)]}"
        for p in (1, 25, 50, 75, 90, 99, 100)))
END
