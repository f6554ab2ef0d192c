"""What is a database's own (environment, directory, umask, signals, limits,
timers, descriptors, threads, locale) is the same before heapwire's agent comes,
while it works, and once it is gone: by --attach, as MariaDB's plugin, and under
heapwire-run, which is compared with the database started without.

What differs on purpose is named here, and nothing else may."""
import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from databases import (JEMALLOC, MariaDB, Redis, UnderHeapwire,
                       readable_build)
from machine import no_root
from mysql_wire import Refused, Wire
from node_under_test import wait_for
from process_state import (descriptors, differences, loaded, process_state,
                           threads)
from recorded_node import heap, prof, value
from runner import beside, named, needs, run_tests

# While it works: its file is loaded, and jemalloc samples, as it was asked to.
IN_USE = {"jemalloc samples", r"loaded .*/(lib)?heapwire\.so"}
# Afterwards: the file stays, for a thread of the host's may be in it.
AFTERWARDS = {r"loaded .*/(lib)?heapwire\.so"}
# Under heapwire-run: what it says to jemalloc, to the loader and to the agent.
# MariaDB's malloc is glibc's there, with the recorder in front of it.
FROM_THE_START = IN_USE | {"environment (LD_PRELOAD|MALLOC_CONF|HEAPWIRE_.*)",
                           "loaded .*/lib(heapwire-recorder|jemalloc).so.*"}
# What the agent's thread has open, in a table of its own: its state directory
# and the lock in it; sockets to listen and to answer; what wakes it.  The files
# of which code is loaded come to that.
DESCRIPTORS = (r"/dev/null|.*/(node|attached|\.heapwire)(/agent\.lock)?|"
               r"socket:.*|anon_inode:\[signalfd\]")


def unmeant(database, before, after, meant):
    """What differs; name: before, after."""
    if isinstance(database, MariaDB):  # its pool's end when they have no work
        meant = meant | {"number of threads"}
    return {name: pair for name, pair in differences(before, after).items()
            if not any(re.fullmatch(one, name) for one in meant)}


def no_numbers(state):
    """With what is open as a list: another process has it in another order, and
    its own pipes, sockets and nameless files.  MariaDB opens files of tables
    when it likes: in one of eight runs one was missing."""
    found = {k: v for k, v in state.items() if not k.startswith("fd ")}
    found["open"] = sorted(re.sub(r"\[\d+\]|#\d+", "", v) for k, v in
                           state.items() if k.startswith("fd ") and
                           not re.search(r"\.(ibd|MA[DI]) ", v))
    return found


class Watched:
    """A running database, whose state must come back."""

    def __init__(self, database, pid):
        self.database, self.pid = database, pid
        self.rests()
        self.before = process_state(pid)

    def rests(self):
        """What it did for clients is done: it opens and closes nothing."""
        def does_nothing():
            before = descriptors(self.pid), threads(self.pid)
            time.sleep(0.3)
            return before == (descriptors(self.pid), threads(self.pid))
        wait_for(does_nothing)

    def check(self, when, meant, agents):
        wait_for(lambda: len(threads(self.pid)[1]) == agents)
        self.rests()
        now = process_state(self.pid)
        assert not (found := unmeant(self.database, self.before, now,
                                     meant)), (when, found)
        look_at_agent(self.pid, agents)
        return now


def look_at_agent(pid, agents):
    _, ours = threads(pid)
    assert len(ours) == agents, ours
    for task in ours:
        own = {what.rpartition(" ")[0]
               for what in descriptors(f"{pid}/task/{task}").values()}
        strange = {what for what in own - loaded(pid)
                   if not re.fullmatch(DESCRIPTORS, what)}
        assert len(own) > 1 and not strange, strange
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as f:
            blocked = int(re.search("SigBlk:\t(.*)", f.read())[1], 16)
        # All but SIGKILL and SIGSTOP, and libc's two.
        assert blocked | 1 << 8 | 1 << 18 | 3 << 31 == (1 << 64) - 1, blocked


def is_served(path):
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        return True
    return False


def use(database, path):
    """Each kind of what is asked of an agent.  Profiling is left on."""
    wait_for(lambda: is_served(path))
    with Wire(path, 60).login() as w:
        wait_for(lambda: value(w, "SELECT state FROM heapwire.profiler") ==
                 "connected")
        heap(w, "enable_prof()")
        database.work()
        heap(w, "snapshot('used')".replace("'", '"'))
        for table in ("heap_functions", "memory", "threads", "mappings",
                      "levers"):
            value(w, f"SELECT COUNT(*) FROM heapwire.{table}")
        with contextlib.suppress(Refused):  # there may be no jemalloc
            value(w, "SELECT COUNT(*) FROM heapwire.malloc_stats")
        assert "heapwire" not in heap(w, "dump_dot_snapshot()")[0]
        prof(w, "CpuProf.getInstance().profile(1)")
        assert value(w, "SELECT flamegraph('wall:1')")
        database.work()


@contextlib.contextmanager
def bare(database):
    """Without heapwire; it has done all that it will be asked to."""
    process = database.start(environment=JEMALLOC)
    try:
        database.work()
        yield Watched(database, process.pid)
    except BaseException:
        print(database.said(), flush=True)
        raise
    finally:
        process.terminate()
        process.wait(60)


def attach_to(watched, build, state):
    log = os.path.join(os.path.dirname(state), "attach.log")
    with open(log, "wb") as out:
        attached = subprocess.Popen(
            [f"{build}/bin/heapwire-run", "--state-dir", state, "--listen",
             "none", "--attach", str(watched.pid)], stdout=out, stderr=out)
    try:
        use(watched.database, os.path.join(state, "mysql.sock"))
        watched.check("attached", IN_USE, 1)
    finally:
        attached.terminate()
        status = attached.wait(60)
    with open(log, encoding="utf-8") as said:
        assert status == 0, said.read()
    watched.check("detached", AFTERWARDS, 0)


def run_under(database, build, expected):
    node = UnderHeapwire(database, build)
    try:
        database.work()
        watched = Watched(database, node.pid)
        found = unmeant(database, no_numbers(expected),
                        no_numbers(watched.before), FROM_THE_START)
        assert not found, found
        use(database, node.socket)
        watched.check("under heapwire-run", IN_USE, 1)
    except BaseException:
        print(database.said(), flush=True)
        raise
    finally:
        node.stop()


def have_plugin(watched, build):
    database = watched.database
    plugin = os.path.join(database.plugins, "heapwire.so")
    os.symlink(f"{build}/lib/heapwire.so", plugin)
    assert not (said := database.ask("INSTALL SONAME 'heapwire'")), said
    use(database, os.path.join(database.data, "mysql", ".heapwire", "mysql.sock"))
    watched.check("as a plugin", IN_USE, 1)
    assert not (said := database.ask("UNINSTALL SONAME 'heapwire'")), said
    watched.check("without the plugin", AFTERWARDS, 0)


def all_ways(database, build, ways):
    with bare(database) as watched:
        expected = watched.before
        for way in ways:
            way(watched, build)
    run_under(database, build, expected)


def attached(watched, build):
    attach_to(watched, build,
              os.path.join(watched.database.directory, "attached"))


@beside
def test_redis(work, build):
    all_ways(Redis(work), build, [attached])


@needs(no_root)
def test_mariadb(work, build):
    # What a plugin is told stands in the command line, also before it is there.
    database = MariaDB(work, "--loose-heapwire-listen=none",
                       f"--loose-heapwire-heapwired={build}/bin/heapwired")
    all_ways(database, build, [attached, have_plugin])


def main():
    work = tempfile.mkdtemp(prefix="hw-state-", dir="/tmp")
    os.chmod(work, 0o755)
    try:
        run_tests(named(globals(), sys.argv[1:]), work,
                  readable_build(os.path.join(work, "build")))
    finally:
        shutil.rmtree(work)


main()
