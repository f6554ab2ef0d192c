"""sampler.py - what sampling costs a program: perf at 99 Hz, ptrace at 50.

Alternating runs of 1 s of a program that only computes: nothing, nothing again
(what the machine's noise is), perf, ptrace, of the clock's time.  Work per
second of its processor time (interrupts and copies count) and per second of the
clock (pauses count, and all else that the machine does): of each the fifth that
was fastest.  perf at 990 Hz shows ten times what 99 cost.

ROUNDS (15), THREADS (1), BUILD.
"""
import os
import statistics
import subprocess

BIN = os.path.join(os.environ.get("BUILD", "build/release"), "bin")
ROUNDS = int(os.environ.get("ROUNDS", "15"))
WAYS = {"nothing": None, "again": None, "perf 99": ("99", "perf", "cpu"),
        "perf 990": ("990", "perf", "cpu"),
        "ptrace 50": ("50", "ptrace", "cpu"),
        "wall 20": ("20", "ptrace", "wall")}


def turns(program):
    program.stdin.write("\n")
    program.stdin.flush()
    done = int(program.stdout.readline())
    run = 0
    for tid in os.listdir(f"/proc/{program.pid}/task"):
        with open(f"/proc/{program.pid}/task/{tid}/schedstat") as text:
            run += int(text.read().split()[0])
    return done, run / 1e9


def one(program, way):
    before = turns(program)
    began = os.times().elapsed
    if way:
        told = subprocess.run(
            [f"{BIN}/sampler_driver", str(program.pid), "1000", *way],
            stdout=subprocess.PIPE, text=True, check=True).stdout
        report = dict(line.split(" ", 1) for line in told.splitlines())
    else:
        subprocess.run(["sleep", "1"], check=True)
        report = {}
    after = turns(program)
    work = after[0] - before[0]
    return (work / (after[1] - before[1]),
            work / (os.times().elapsed - began), report)


def fast(runs, k):
    """Of what the rest of the machine disturbed least."""
    return statistics.quantiles([run[k] for run in runs], n=5)[-1]


def main():
    with subprocess.Popen(
            [f"{BIN}/busy_threads", os.environ.get("THREADS", "1")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True) as program:
        found = {name: [] for name in WAYS}
        for _ in range(ROUNDS):
            for name, way in WAYS.items():
                found[name].append(one(program, way))
        program.kill()
    for name, runs in found.items():
        slow = [100 * (1 - fast(runs, k) / fast(found["nothing"], k))
                for k in (0, 1)]
        stops = sum(int(r[2].get("stops", 0)) for r in runs)
        pause = sum(int(r[2].get("pause_total_us", 0)) for r in runs)
        most = max(int(r[2].get("pause_max_us", 0)) for r in runs)
        print(f"{name:10} slower by {slow[0]:5.2f} % of processor time, "
              f"{slow[1]:5.2f} % of the clock's (of {ROUNDS}); "
              f"samples {sum(int(r[2].get('samples', 0)) for r in runs)}, "
              f"stops {stops}, mean {pause / stops if stops else 0:.1f} us, "
              f"longest {most} us")


main()
