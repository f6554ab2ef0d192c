"""heapwire-run --attach dies at any call of ptrace or pwrite: Redis goes on, and
the next attaches.  A sample, by a seed that is printed; slow/attach_killed_all.py
has them all."""
import os
import random
import sys
import tempfile

from killed_attacher import (DRIVER, SIDES, count_calls, kill_all, kill_new,
                             kill_refused, kill_run)

SAMPLE, RUNS = 40, 4


def main():
    if not os.path.exists(DRIVER):
        print("skipped: --attach is for x86-64")
        return
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 32)
    print("seed", seed)
    choose = random.Random(seed)
    with tempfile.TemporaryDirectory() as work:
        new, again, refused = count_calls(work)
        print(new, again, refused, "calls of a whole attach and detach")

        def some(kills, last, count):
            return [(kills, choose.randint(1, last), choose.choice(SIDES))
                    for _ in range(count)]

        # Where the second call is prepared: the places that were deadly.
        middle = [((kill_new,), n, side) for n in range(48, 72)
                  for side in SIDES]
        kill_all(work, choose.sample(middle, 20) +
                 some((kill_new, kill_new), new, SAMPLE // 2) +
                 some((kill_refused, kill_new), refused, SAMPLE // 4) +
                 some((kill_run, kill_run), new, RUNS), os.cpu_count())


main()
