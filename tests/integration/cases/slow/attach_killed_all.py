"""heapwire-run --attach dies before and after each call of ptrace and pwrite, 20
times each: Redis goes on, and the next attaches."""
import os
import sys
import tempfile

from killed_attacher import (DRIVER, SIDES, count_calls, kill_all, kill_new,
                             kill_refused, kill_run)

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
SPARE = 4  # a call more or less, as system calls of the loader differ


def main():
    if not os.path.exists(DRIVER):
        print("skipped: --attach is for x86-64")
        return
    with tempfile.TemporaryDirectory() as work:
        new, again, refused = count_calls(work)
        print(new, again, refused, "calls of a whole attach and detach",
              flush=True)

        def each(kills, last, rounds):
            return [(kills, n, side) for n in range(1, last + SPARE + 1)
                    for side in SIDES for _ in range(rounds)]

        for points in (each((kill_new, kill_new), new, ROUNDS),
                       each((kill_refused, kill_new), refused, ROUNDS),
                       each((kill_run, kill_run), new, 1)):
            kill_all(work, points, os.cpu_count())


main()
