"""The recorder in programs that bring a jemalloc: profiling_source = patched.

Debian's static jemalloc, by libc's names and by those of Redis, against what
the program itself counts.  HW_PATCHED_SERVER names a Redis or Valkey whose own
jemalloc is patched, besides.
"""
import ctypes
import os
import random
import re
import signal
import subprocess
import sys
import tempfile

import interposed
from http_door import same
from interposed import (BLOCKS, LARGE, RUN, SMALL, Ran, allocated, built, cli,
                        cumulative, heap, killed, populate, profiled, value,
                        within)
from node_under_test import wait_for
from ports import free_port
from recorder import (BUILD, EVERY, LARGEST, STEPS, Host, Recorded, Sites,
                      by_site)
from runner import named, run_tests

PROGRAMS = {"patched_host": "", "patched_je_host": "je_",
            "patched_je_fixed": "je_"}
ODD = {"patched_odd": "", "patched_je_odd": "je_"}
DONE, FORBIDDEN = 1, 6  # enum segment_patch
PR_SET_MDWE, NO_EXEC_GAIN = 65, 1
OWN_BLOCKS = BLOCKS.replace("recorded_blocks", "patched_je_blocks")
SERVER = os.environ.get("HW_PATCHED_SERVER")


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


def test_calls():
    """Functions that call each other, and begin with endbr64: once each."""
    os.environ["RECORDER_PATCH"] = "je_"
    with Sites(f"{BUILD}/bin/patched_calls") as host:
        segment = host.compare()
    same("patch", DONE, segment.header["patch"])
    same("allocated", [100, 300, 300, 300], sorted(
        stack.allocated_objects for stack in segment.stacks
        if stack.allocated_objects > 1))  # but for printf's


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


def test_forbidden():
    """Where no memory that was written may be executed: nothing is patched."""
    child = os.fork()
    if child == 0:  # for good, and for what it starts
        end = 1
        try:
            if ctypes.CDLL(None).prctl(PR_SET_MDWE, NO_EXEC_GAIN, 0, 0, 0) != 0:
                end = 2
            else:
                with PatchedHost("patched_je_host", 2, STEPS) as host:
                    host.await_line("done")
                    same("patch", FORBIDDEN, host.read().header["patch"])
                end = 0
        finally:
            os._exit(end)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 2:
        print("skipped: forbidden: the kernel has no PR_SET_MDWE")
    else:
        same("status", 0, status)


# ---- under heapwire-run ----


class Patched(Ran):
    def write(self, places):
        self.settings = interposed.SETTINGS.replace("interposed", "patched")
        super().write(places)


def explained(program):
    return subprocess.run(
        [RUN, "--profiling-source", "patched", "--explain", "--", program],
        check=True, capture_output=True, text=True)


def test_source():
    said = explained(OWN_BLOCKS).stdout
    assert re.search("^source +patched", said, re.M), said
    with Patched(OWN_BLOCKS, linger=0) as node:
        with node.asks() as w:
            same("source", [[b"patched", b"1"]], w.query(
                "SELECT source, profiling LIKE 'active%' FROM "
                "heapwire.profiler"))
            assert "source: patched" in "\n".join(heap(w, "state()"))
            heap(w, "reset(12, true)")
            node.keeps()
            within("small", SMALL, cumulative(w, "keep_small"), 0.15)
            within("large", LARGE, cumulative(w, "keep_large"), 0.1)
            node.keeps(2)
            w.query("SELECT SLEEP(1.1)")
            within("half", SMALL // 2, cumulative(w, "keep_small"), 0.25)
        signal_number, total, functions = killed(node)
        same("signal", signal.SIGKILL, signal_number)
        within("half", SMALL // 2, functions["keep_small"], 0.25)
        within("all", SMALL // 2 + LARGE, total, 0.15)


def test_refused():
    """A sentence, and it runs as with auto."""
    with tempfile.TemporaryDirectory(prefix="hw-p-") as directory:
        for program, why in {
                BLOCKS: "it has no jemalloc of its own, or several",
                built(directory, "-static"): "nothing can be preloaded into it",
        }.items():
            found = explained(program)
            assert f"{why}; profiling_source = patched is ignored" in \
                found.stderr, found.stderr
            assert re.search("^source +(none|jemalloc)", found.stdout, re.M), \
                found.stdout


# ---- by hand ----


def test_server():
    """A Redis or Valkey with a jemalloc of its own, by jemalloc's count."""
    if not SERVER:
        print("skipped: server: HW_PATCHED_SERVER names none")
        return
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="hw-p-") as directory, \
            Patched(SERVER, "--port", str(port), "--bind", "127.0.0.1",
                    "--save", "", "--dir", directory, "--enable-debug-command",
                    "local", linger=0) as node:
        node.redis_port = port
        with node.asks() as w:
            same("source", "patched",
                 value(w, "SELECT source FROM heapwire.profiler"))
            heap(w, f"reset({interposed.LG}, true)")
            before = allocated(w)
            populate(node, "truth", 30000, 1018)
            within("all", allocated(w) - before, profiled(w), 0.12)
            held = profiled(w)
            for _ in range(3):
                cli(node, "bgsave")
                wait_for(lambda: "rdb_bgsave_in_progress:0" in
                         cli(node, "info", "persistence"))
            within("after three forks", held, profiled(w), 0.05)
            cli(node, "flushall")
            w.query("SELECT SLEEP(1.1)")
            assert profiled(w) < held / 10, profiled(w)
        populate(node, "k", 200000, 1018)
        signal_number, _, functions = killed(node)
        same("signal", signal.SIGKILL, signal_number)
        within("values", 200000 * (1024 + 64), functions["debugCommand"], 0.4)


def main():
    run_tests(named(globals(), sys.argv[1:]))
    print("patched.py: all as expected")


if __name__ == "__main__":
    main()
