#!/bin/sh
# purge.sh - how long a purge holds up threads that allocate: the slowest
# allocation, and the slowest of each 10000, in as long a time without a purge
# and with one.
#
# THREADS (4) threads, MEGABYTES (1000) of dirty pages, ROUNDS (5) rounds.
set -eu
cd "$(dirname "$0")/../.."
PYTHONPATH=$PWD/tests/integration/lib BUILD=${BUILD:-build/release} \
    exec /usr/bin/python3 - "${THREADS:-4}" "${MEGABYTES:-1000}" \
    "${ROUNDS:-5}" <<'END'
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from mysql_wire import Wire
from node_under_test import BUILD, wait_for

threads, megabytes, rounds = sys.argv[1:]
state = tempfile.mkdtemp(prefix="hw-purge-", dir="/tmp")
program = subprocess.Popen(
    [os.path.join(BUILD, "bin", "heapwire-run"), "--listen", "none", "--state-dir",
     state, "--linger", "0", "--profiling-source", "jemalloc", "--",
     os.path.join(BUILD, "bin", "purge_load"), threads, megabytes],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    env={**os.environ, "MALLOC_CONF": "dirty_decay_ms:600000,narenas:1"})


def ask(line):
    program.stdin.write(line + "\n")
    program.stdin.flush()
    return [float(n) for n in program.stdout.readline().split()]


def pull(wire, call):
    began = time.monotonic()
    rows = wire.query("ADMIN EXECUTE ON 10001 'System.print("
                      f"Jemalloc.getInstance().{call})'")
    return time.monotonic() - began, b"\n".join(r[0] for r in rows).decode()


wait_for(lambda: os.path.exists(state + "/mysql.sock"))
with Wire(state + "/mysql.sock", 120).login() as wire:
    wait_for(lambda: wire.query("SELECT alive FROM heapwire.nodes") == [[b"1"]])
    for i in range(int(rounds)):
        ask("fill")
        time.sleep(1)
        ask("")
        took, said = pull(wire, "purge()")
        _, p9999, most = ask("")
        time.sleep(took)
        _, p9999_idle, most_idle = ask("")
        gone = re.search("^dirty: ([0-9.]+) MB before, ([0-9.]+)", said, re.M).groups()
        lever = re.search("^took: ([0-9.]+) ms", said, re.M).group(1)
        print(f"purge of {float(gone[0]) - float(gone[1]):.0f} MB took {lever} ms; slowest "
              f"allocation {most / 1000:.2f} ms, of each 10000 {p9999 / 1000:.2f} ms; "
              f"without {most_idle / 1000:.2f} ms, {p9999_idle / 1000:.2f} ms", flush=True)
program.stdin.close()
program.terminate()
program.wait()
shutil.rmtree(state, ignore_errors=True)
END
