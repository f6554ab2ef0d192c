"""The last profile of a recorded database, however it ends: alone, together with
heapwired, together with all that looked at it, or followed by another at once;
and the profile of its peak.

DEATHS=20 in the environment: so many runs of each kind of death (1 here).
"""
import contextlib
import math
import os
import random
import signal
import struct
import sys
import tempfile
import time

from http_under_test import same
from machine import no_cgroup
from node_under_test import BUILD, freeze, frozen, wait_for
from recorded_node import (AT_ITS_END, BLOCKS, COPIED, LARGE, SMALL, Ran,
                           heap, profiled, said, script, value, within)
from recorder_truth import LARGEST, SITES, read_truth
from redis_node import RedisNode, grow_old, has_ended
from runner import in_parallel, named, needs, run_tests

HOST = os.path.abspath(os.path.join(BUILD, "bin", "recorded_host"))
RUNS = int(os.environ.get("DEATHS", "1"))
THREADS = 4
MEAN = 512 << 10
ONCE = "start_timeout = 0\n"  # a fault at the start is not made up for
ENDED = "the database (pid {}) ended"


def in_state(node, name):
    return os.path.join(node.directory, "state", name)


def segment_of(node):
    """All of it: heapwire-run has it, too."""
    fds = f"/proc/{node.process.pid}/fd"
    path, = [os.path.join(fds, fd) for fd in os.listdir(fds)
             if "heapwire-recorder" in os.readlink(os.path.join(fds, fd))]
    with open(path, "rb") as f:
        return f.read()


def newest_copy(node):
    """What the file has of it; it is written anew only where that has changed."""
    with contextlib.suppress(FileNotFoundError):
        with open(in_state(node, "last_moment"), "rb") as f:
            numbers = [struct.unpack_from("<Q", head, 16)[0]
                       if head.startswith(b"HWSTAST1") else 0
                       for head in (f.read(4096), f.read(4096))]
            if max(numbers) > 0:
                size = (os.stat(f.name).st_size - 8192) // 2
                f.seek(8192 + (0 if numbers[0] > numbers[1] else size))
                return f.read(size)
    return b""


def await_copy(node):
    """Of what is so now, while it does nothing; each may take a twentieth of the
    time, up to a minute."""
    wait_for(lambda: newest_copy(node) == segment_of(node), 180, 0.1)


def last_of(w, pid, *words):
    """The name of that database's last profile."""
    query = ("SELECT name FROM heapwire.snapshots WHERE reason = "
             f"'{ENDED.format(pid)}'")
    wait_for(lambda: w.query(query))
    (name,), = w.query(query)
    said(w, name.decode(), *(words or (AT_ITS_END, COPIED)))
    return name.decode()


def death_names(w, name):
    """It may be recorded later than the profile is kept."""
    wait_for(lambda: value(w, "SELECT COUNT(*) FROM heapwire.deaths WHERE "
                           f"last_snapshot = '{name}'") == 1)


def is_whole(w, name):
    within("all", SMALL + LARGE, profiled(w, name), 0.15)
    functions = dict(w.query("SELECT function, cum_bytes FROM "
                             f"heapwire.heap_functions WHERE snapshot = '{name}'"))
    within("small", SMALL, int(functions[b"keep_small"]), 0.15)


def read_later(node):
    """Another program starts, which is not looked at."""
    node.command[node.command.index("--") + 1:] = [BLOCKS]
    RedisNode.wait(node.start())


def fine(node):
    """At a rate at which chance is small."""
    with node.asks() as w:
        heap(w, "reset(12, true)")


def kill(*pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: all(map(has_ended, pids)))


@in_parallel
def test_all_at_once(_):
    """A second before it is on disk; the next heapwired makes it a snapshot, with
    its names, once."""
    with Ran(BLOCKS) as node:
        pid = node.pid()
        fine(node)
        node.keeps()
        await_copy(node)
        node.crash()
        used = os.stat(in_state(node, "last_moment")).st_blocks * 512
        print(f"  on disk: {used / 1e6:.2f} MB")
        node.start().wait()
        with node.asks() as w:
            name = last_of(w, pid, COPIED)
            is_whole(w, name)
            death_names(w, name)
        wait_for(lambda: not os.path.exists(
            in_state(node, "last_moment.again")))


@in_parallel
def test_with_heapwired(_):
    """heapwire-run holds the segment still: the next heapwired reads that."""
    with Ran(BLOCKS) as node:
        pid = node.pid()
        fine(node)
        grow_old(pid)
        freeze(node.heapwired)  # it copies no more
        os.kill(pid, signal.SIGUSR1)
        wait_for(lambda: "kept" in node.said())
        before = node.heapwired
        kill(before, pid)
        wait_for(lambda: has_another(node, before))
        wait_for(lambda: node.log().count("serves node") == 2)
        with node.asks() as w:
            name = last_of(w, pid, AT_ITS_END)
            is_whole(w, name)
            death_names(w, name)


def has_another(node, before):
    """Than that heapwired: the dead are taken away meanwhile."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return node.find_children() and \
            node.children.get("heapwired", before) != before
    return False


@in_parallel
def test_before_its_first_greeting(_):
    """The segment says who it was."""
    with tempfile.NamedTemporaryFile() as truth, \
            script(f"exec {HOST} {truth.name} 1 20000 abort every\n") as name:
        node = Ran(name, settings=ONCE + f"exe = {HOST}\n", linger=0)
        try:
            same("status", 128 + signal.SIGABRT, node.process.wait(120))
            read_later(node)
            with node.asks() as w:
                pid = value(w, "SELECT pid FROM heapwire.deaths")
                compare(w, last_of(w, pid), read_truth(truth.name)[1], 1)
        finally:
            node.__exit__(None)


@in_parallel
def test_the_next_at_once(_):
    """Which takes the segment over before heapwired reads it: a copy is left,
    older by a second."""
    with script(f"{BLOCKS}\n{BLOCKS}\necho over\n") as name, \
            Ran(name, settings=f"exe = {BLOCKS}\n") as node:
        first = node.pid()
        fine(node)
        node.keeps()
        await_copy(node)
        with frozen(node.heapwired):
            kill(first)
            wait_for(lambda: node.said().count("ready") == 2)
        with node.asks() as w:
            is_whole(w, last_of(w, first, COPIED))
            wait_for(lambda: value(w, "SELECT state FROM heapwire.profiler")
                     != "gone")


@in_parallel
def test_a_script_that_swallows_the_status(_):
    """The death is the script's, and says whose the profile is."""
    with script(f"{BLOCKS}\nexit 0\n") as name, \
            Ran(name, settings=f"exe = {BLOCKS}\n", linger=0) as node:
        pid = node.pid()
        fine(node)
        node.keeps()
        kill(pid)
        same("status", 0, node.process.wait(60))
        node.start().wait()
        with node.asks() as w:
            last = last_of(w, pid)
            is_whole(w, last)
            death_names(w, last)
            how = value(w, "SELECT how FROM heapwire.deaths")
            same("how", f"ended with status 0; the recorded process {pid}, "
                 "behind it, had ended before", how)


@in_parallel
def test_the_peak(_):
    """Its copy is there before memory falls, and kept after."""
    with Ran(BLOCKS) as node:
        fine(node)
        node.keeps()
        with node.asks() as w:
            looks = "SELECT COUNT(*) FROM heapwire.memory_history"
            before = value(w, looks)
            wait_for(lambda: value(w, looks) >= before + 3)
            node.keeps(2)
            peaks = ("SELECT name FROM heapwire.snapshots "
                     "WHERE reason LIKE 'the peak: %' AND pinned")
            wait_for(lambda: w.query(peaks))
            (name,), = w.query(peaks)
            is_whole(w, name.decode())
            said(w, name.decode(), "without asking the process")


# ---- deaths, against the program's own count ----


def compare(w, name, known, threads):
    """Every allocation was sampled; one a thread may be wrong."""
    wrong = 0
    for site, (objects, size), largest in zip(SITES, known, LARGEST):
        (bytes_found, objects_found), = w.query(
            "SELECT SUM(bytes), SUM(objects) FROM heapwire.heap_stacks WHERE "
            f"snapshot = '{name}' AND CONCAT(';', folded, ';') LIKE "
            f"'%;at\\_{site};%'")
        wrong += abs(int(objects_found or 0) - objects)
        off = abs(int(bytes_found or 0) - size)
        assert off <= threads * largest, (site, objects_found, objects, off)
    assert wrong <= threads, (wrong, name)
    assert sum(objects for objects, _ in known) > 0
    return wrong


def deviations(w, name, known):
    """At a mean, of all sites, in units of an upper bound of the standard
    deviation: the root of the bytes times the mean; beyond three samples, which
    are too many for that where few were to be."""
    total = sum(size for _, size in known)
    found = value(w, "SELECT SUM(bytes) FROM heapwire.heap_stacks WHERE "
                  f"snapshot = '{name}' AND CONCAT(';', folded) LIKE "
                  "'%;at\\_%'")
    assert found, (total, value(w, f"SELECT top('{name}', NULL, 30)"))
    return max(abs(found - total) - 3 * MEAN, 0) / math.sqrt(total * MEAN)


class Deaths:
    """Many of one kind, in one state directory; their profiles are read at the
    end."""

    def __init__(self, *end, wrapper=(), every, by=0, within_s=1.5):
        self.end, self.by, self.within_s = end, by, within_s
        self.wrapper, self.every = wrapper, every
        self.known = []  # pid, truth and log of each

    def run(self):
        node = None
        try:
            for _ in range(RUNS):
                node = self.die(node)
            return self.read(node)
        finally:
            if node:
                node.__exit__(None)

    def die(self, node):
        with tempfile.NamedTemporaryFile() as truth:
            command = [*self.wrapper, HOST, truth.name, str(THREADS),
                       *self.end, "every" if self.every else "uncapped"]
            if node:
                node.command[node.command.index("--") + 1:] = command
                node.start()
            else:
                node = Ran(*command, settings=ONCE + f"exe = {HOST}\n"
                           "[snapshots]\nkeep = 200\n", linger=0)
            wait_for(lambda: "running" in node.said() or
                     node.process.poll() is not None, 120, 0.002)
            pid = self.kill(node) if self.by else None
            node.process.wait(120)
            self.known.append((pid, read_truth(truth.name)[1], node.log()))
        return node

    def kill(self, node):
        wait_for(node.find_children)
        pid = node.children["recorded_host"]
        time.sleep(random.random() * self.within_s)  # at any moment
        os.kill(pid, self.by)
        return pid

    def read(self, node):
        read_later(node)
        with node.asks() as w:
            # The last one's profile may be made of a copy, by this heapwired.
            with contextlib.suppress(AssertionError):
                wait_for(lambda: value(
                    w, "SELECT COUNT(last_snapshot) FROM heapwire.deaths") ==
                    RUNS)
            deaths = w.query("SELECT pid, how, last_snapshot "
                             "FROM heapwire.deaths")
            assert len(deaths) == RUNS, (deaths, [k[0] for k in self.known])
            found = []
            for (pid, how, name), (killed, known, log) in zip(
                    deaths, self.known):
                assert killed in (None, int(pid)), (killed, pid)
                assert name, (how, known, log[-2000:])
                same("reason", ENDED.format(int(pid)), value(
                    w, "SELECT reason FROM heapwire.snapshots WHERE name = "
                    f"'{name.decode()}'"))
                found.append(compare(w, name.decode(), known, THREADS)
                             if self.every
                             else deviations(w, name.decode(), known))
            print("  " + deaths[0][1].decode()[:100])
        return found


def die(what, *end, **more):
    """Sampling each allocation, then at 512 KB."""
    wrong = Deaths(*end, every=True, **more).run()
    off = Deaths(*end, every=False, **more).run()
    assert max(off) < 5, off
    print(f"  {what}: {len(wrong)} runs, samples wrong of {THREADS} threads: "
          f"{max(wrong)} at most; {len(off)} runs at 512 KB: "
          f"{max(off):.1f} such deviations at most")


@in_parallel
def test_killed_at_random(_):
    die("SIGKILL", "0", "never", by=signal.SIGKILL)


@in_parallel
def test_killed_at_its_start(_):
    die("SIGKILL within 0.1 s", "0", "never", by=signal.SIGKILL, within_s=0.1)


@in_parallel
def test_faults(_):
    die("SIGSEGV", "3000", "fault")


@in_parallel
def test_aborts(_):
    die("abort", "3000", "abort")


@in_parallel
def test_exits(_):
    die("exit", "3000", "exit")


@in_parallel
def test_its_addresses_end(_):
    die("RLIMIT_AS", "2000", "grow", wrapper=["prlimit", f"--as={2 << 30}"])


def no_memory_cgroup():
    path = f"/sys/fs/cgroup/memory/heapwire-look-{os.getpid()}"
    try:
        os.mkdir(path)
        os.rmdir(path)
    except OSError as err:
        return f"no memory cgroup (v1) can be made here: {err}"
    return no_cgroup()


@in_parallel
@needs(no_memory_cgroup)
def test_out_of_memory(_):
    """Of its own cgroup."""
    group = f"/sys/fs/cgroup/memory/heapwire-last-{os.getpid()}"
    os.mkdir(group)
    try:
        with open(f"{group}/memory.limit_in_bytes", "w", encoding="ascii") as f:
            f.write(str(192 << 20))
        with script(f"echo $$ >{group}/cgroup.procs\nexec \"$@\"\n") as join:
            die("OOM", "2000", "fill", wrapper=[join])
    finally:
        wait_for(lambda: not os.path.exists(group) or not removes(group))


def removes(group):
    try:
        os.rmdir(group)
    except OSError as err:
        return err
    return None


def main():
    run_tests(named(globals(), sys.argv[1:]), None)
    print("last_moment.py: all as expected")


if __name__ == "__main__":
    main()
