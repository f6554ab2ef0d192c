"""The recorder in programs that bring a jemalloc: profiling_source = patched.

Debian's static jemalloc, by libc's names and by those of Redis, against what
the program itself counts.  HW_PATCHED_SERVER names a Redis or Valkey whose own
jemalloc is patched, besides.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

from recorder import (BUILD, EVERY, LARGEST, STEPS, Host, Recorded, Sites,
                      by_site)
from runner import named, run_tests

PROGRAMS = {"patched_host": "", "patched_je_host": "je_",
            "patched_je_fixed": "je_"}
ODD = {"patched_odd": "", "patched_je_odd": "je_"}
DONE = 1  # enum segment_patch


class PatchedHost(Host):
    def __init__(self, program, threads, steps, mean=EVERY):
        # pylint: disable=super-init-not-called,non-parent-init-called
        # pylint: disable=consider-using-with
        self.truth = tempfile.NamedTemporaryFile()
        os.environ["RECORDER_PATCH"] = PROGRAMS[program]
        Recorded.__init__(self, f"{BUILD}/bin/{program}", self.truth.name,
                          str(threads), str(steps), mean=mean)


def odd(program, mode):
    os.environ["RECORDER_PATCH"] = ODD[program]
    return Sites(f"{BUILD}/bin/{program}", mode)


def test_exact():
    """Every allocation of 16 threads, which free each other's blocks."""
    for program in PROGRAMS:
        with PatchedHost(program, 16, STEPS) as host:
            host.await_line("done")
            code, known = host.known()
            segment = host.read()
        assert segment.header["patch"] == DONE, segment.header
        assert segment.header["lost_samples"] == 0, segment.header
        found = by_site(segment, code)
        assert found == known, (program, found, known)
        assert all(objects > 0 for objects, _ in known), known
        for stack in segment.stacks:
            assert (stack.allocated_bytes - stack.freed_bytes ==
                    stack.live_bytes), stack
        print(f"  {program}: {sum(k[0] for k in known)} objects, "
              f"{sum(k[1] for k in known)} bytes: all equal")


def test_killed():
    """At any instruction: a sample a thread may be wrong, no more."""
    rng = random.Random(27)
    for program, threads in 5 * [(p, t) for p in PROGRAMS for t in (1, 16)]:
        with PatchedHost(program, threads, 0) as host:
            host.await_line("running")
            try:
                host.driver.wait(rng.random() * 0.3)
            except subprocess.TimeoutExpired:
                pass  # it does not end: the time is the test
            host.kill()
            code, known = host.known()
            found = by_site(host.read(), code)
        wrong = sum(abs(f[0] - k[0]) for f, k in zip(found, known))
        assert wrong <= threads, (program, found, known)
        assert sum(k[0] for k in known) > 0
        for site, (f, k) in enumerate(zip(found, known)):
            assert abs(f[1] - k[1]) <= threads * LARGEST[site], (f, k)


def test_own_functions():
    """mallocx, rallocx, xallocx, dallocx, sdallocx."""
    for program in ODD:
        with odd(program, "jemalloc") as host:
            host.compare("extended", "regrown")


def test_forks():
    """Children change nothing: of fork, of a raw clone, and executed."""
    for program in ODD:
        with odd(program, "forks") as host:
            segment = host.compare("kept")
        assert segment.header["executions"] == 1, segment.header


def test_stacks_and_threads():
    for program in ODD:
        for mode in "stacks", "threads":
            with odd(program, mode) as host:
                host.compare("kept")


def main():
    run_tests(named(globals(), sys.argv[1:]))
    print("patched.py: all as expected")


if __name__ == "__main__":
    main()
