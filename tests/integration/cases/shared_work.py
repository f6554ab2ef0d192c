"""Several ask for one dump, whose names take their time.

Whoever asked first may be killed, and its thread may end: the others get what
they asked for, with names.  Meanwhile the node answers other requests, ends
profiling in time and guards the database.  The symboliser is held back here,
and dies with the thread that started it, as the real one does.
"""
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager

from mysql_wire import Refused, Wire
from node_under_test import BUILD, PASSWD, SANITIZED, check_loop, wait_for
from ports import free_port
from redis_node import RedisNode, has_ended
from runner import named, run_tests

SLOWER = 10 if SANITIZED else 1
END_S = 0.1 * SLOWER  # from a kill to the killed one's error: the median
ANSWER_S = 10  # of what does not wait for the 40 s that names may take
PROF = "ADMIN EXECUTE ON 1 'HeapProf.getInstance().%s'"
RECENT = "SELECT function FROM heapwire.heap_functions"
DUMP = ("ADMIN EXECUTE ON 1 'System.print("
        "HeapProf.getInstance().dump_dot_snapshot())'")
STATS = "SELECT rss FROM heapwire.memory"
HELD = """#!/usr/bin/python3
import ctypes, os, sys, time
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
names = os.getpriority(os.PRIO_PROCESS, 0) < 19  # else it makes unwind tables
if names:
    with open("%(directory)s/started", "a") as f:
        f.write("x")
while names and os.path.exists("%(directory)s/hold"):
    time.sleep(0.005)
os.execv("%(real)s", ["%(real)s"] + sys.argv[1:])
"""


class Held(RedisNode):
    """Its symboliser does nothing while the file `hold` is there."""

    def __init__(self, work, settings=""):
        self.work, self.settings = work, settings
        self.port, self.redis_port = free_port(), free_port()
        for directory in ("bin", "lib"):
            os.makedirs(os.path.join(work, directory))
        for name in ("bin/heapwired", "bin/heapwire-run",
                     "lib/libheapwire.so"):
            shutil.copy(os.path.join(BUILD, name), os.path.join(work, name))
        helper = os.path.join(work, "bin", "heapwire-symbolizer")
        with open(helper, "w", encoding="ascii") as f:
            f.write(HELD % {"directory": work, "real": os.path.join(
                BUILD, "bin", "heapwire-symbolizer")})
        os.chmod(helper, 0o755)
        self.hold = os.path.join(work, "hold")
        super().__init__(work, 1, {1: self.port}, self.port, program=[
            "redis-server", "--port", str(self.redis_port), "--bind",
            "127.0.0.1", "--save", "", "--dir", work],
            run=os.path.join(work, "bin", "heapwire-run"))
        self.wait()
        wait_for(lambda: self.ask("SELECT state FROM heapwire.profiler") ==
                 [[b"connected"]])
        self.ask(PROF % "reset(14, true)")
        self.ask(PROF % "enable_prof()")
        self.fill(20000)
        with open(self.hold, "w", encoding="ascii"):
            pass

    def write(self, places):
        super().write(places)
        with open(self.config, "a", encoding="ascii") as f:
            f.write("[symbols]\nindex = off\n" + self.settings)
        subprocess.run([PASSWD, self.config, "ann", "--stdin", "--privileges",
                        "all"], input=b"secret\n", check=True)

    def user(self):
        return Wire(("127.0.0.1", self.port), 60).login(b"ann", b"secret")

    def ask(self, text):
        with self.user() as w:
            return w.query(text)

    def fill(self, count, until=None):
        """So many keys, or more and more until that event."""
        command = b"*3\r\n$3\r\nSET\r\n$10\r\n%010d\r\n$200\r\n%0200d\r\n"
        with socket.create_connection(("127.0.0.1", self.redis_port)) as s, \
                s.makefile("rb") as answers:
            for first in range(0, count, 100):
                s.sendall(b"".join(command % (i % 20000, i) for i in
                                   range(first, first + 100)))
                for _ in range(100):
                    assert answers.readline() == b"+OK\r\n"
                if until and until.is_set():
                    return

    def threads(self):
        return len(os.listdir(f"/proc/{self.heapwired}/task"))

    def helpers(self):
        """How many were started."""
        try:
            return os.path.getsize(os.path.join(self.work, "started"))
        except FileNotFoundError:
            return 0

    def states(self):
        """Of the statements that wait, by their connection."""
        return {int(row[0]): row[1] for row in self.ask(
            "SELECT id, state FROM information_schema.processlist WHERE "
            "command = 'Query' AND id <> CONNECTION_ID()")}

    def until(self, named, queued=0):
        """So many wait for names, and so many for their turn."""
        def settled():
            states = list(self.states().values())
            return (sum(b"Resolving names" in state for state in states),
                    states.count(b"waiting for the node")) == (named, queued)
        wait_for(settled)

    def go(self):
        os.remove(self.hold)


@contextmanager
def held(settings=""):
    work = tempfile.mkdtemp(prefix="hw-", dir="/tmp")
    node = None
    try:
        node = Held(work, settings)
        yield node
    except BaseException:
        print(node.log()[-3000:] if node else "no node")
        raise
    finally:
        if node:
            node.stop()
            if not SANITIZED:
                check_loop(node.log())
        shutil.rmtree(work, ignore_errors=True)


def begun(node, stack, *texts):
    """All at once: who comes a second later shares no dump that runs."""
    asked = []
    for text in texts:
        w = stack.enter_context(node.user())
        asked.append((w, int(w.query("SELECT CONNECTION_ID()")[0][0])))
    for (w, _), text in zip(asked, texts):
        w.command(3, text.encode())
    return asked


def end_of(w):
    try:
        w.result()
    except Refused as e:
        return e.code
    return 0


def in_time(what, limit, call, *arguments):
    began = time.monotonic()
    result = call(*arguments)
    took = time.monotonic() - began
    print(f"  {what}: {took * 1000:.0f} ms")
    assert took < limit, (what, took)
    return result


def check_names(rows):
    names = [row[0] for row in rows]
    assert {b"main", b"processCommand"} < set(names), names


def test_followers_outlive_who_asked():
    """The first is killed, then a later one; their threads end."""
    with held() as node, ExitStack() as stack:
        asked = begun(node, stack, *[RECENT] * 9)
        wait_for(lambda: node.helpers() == 1 and len(node.states()) == 9 and
                 all(b"names" in state or state == b"waiting for the node"
                     for state in node.states().values()))
        states = node.states()  # a slow one came too late to share it
        asked = [(w, of) for w, of in asked if b"names" in states[of]]
        assert len(asked) > 4, states
        threads, took = node.threads(), []
        for w, of in asked[:-2]:
            began = time.monotonic()
            node.ask(f"KILL QUERY {of}")
            assert end_of(w) == 1317
            took.append(time.monotonic() - began)
        print(f"  a kill: median {statistics.median(took) * 1000:.0f} ms, "
              f"worst {max(took) * 1000:.0f} ms")
        assert statistics.median(took) < END_S and max(took) < ANSWER_S, took
        wait_for(lambda: node.threads() <= threads - len(took), 30)
        node.go()
        for w, _ in asked[-2:]:
            check_names(w.result())
        assert node.helpers() == 1, node.helpers()


def test_one_that_waits_for_its_turn_can_be_killed():
    """It joins no dump that runs; its own is given up with it."""
    with held() as node, ExitStack() as stack:
        [(first, _)] = begun(node, stack, DUMP)
        wait_for(lambda: node.helpers() == 1)
        waiting = begun(node, stack, DUMP, DUMP)
        node.until(1, 2)
        [(change, of)] = begun(node, stack, PROF % "disable_prof()")
        node.until(1, 3)
        node.ask(f"KILL QUERY {of}")
        assert in_time("a change is killed", ANSWER_S, end_of, change) == 1317
        (killed, of), (left, _) = waiting
        node.ask(f"KILL QUERY {of}")
        assert in_time("a dump is killed", ANSWER_S, end_of, killed) == 1317
        node.go()
        for w in (first, left):
            assert b"redis" in b"".join(row[0] for row in w.result())
        assert node.ask(
            "SELECT profiling FROM heapwire.profiler") == [[b"active"]]


def test_all_else_is_answered_while_names_are_looked_up():
    with held() as node, ExitStack() as stack:
        [(dump, _)] = begun(node, stack, RECENT)
        wait_for(lambda: node.helpers() == 1)
        for _ in range(3):
            in_time("statistics", ANSWER_S, node.ask, STATS)
        in_time("a change", ANSWER_S, node.ask, PROF % "disable_prof()")
        in_time("another", ANSWER_S, node.ask, PROF % "enable_prof(1)")
        wait_for(lambda: node.ask(  # by greetings alone
            "SELECT profiling FROM heapwire.profiler") == [[b"inactive"]])
        in_time("a reset", ANSWER_S, node.ask, PROF % "reset(14, true)")
        node.until(1)
        node.go()
        check_names(dump.result())


def test_the_guard_looks_while_names_are_looked_up():
    with held("[profiler]\nbudget_percent = 0.02\n") as node, \
            ExitStack() as stack:
        [(dump, _)] = begun(node, stack, RECENT)
        wait_for(lambda: node.helpers() == 1)
        node.ask(PROF % "reset(10, true)")
        done = threading.Event()
        load = threading.Thread(target=node.fill, args=(1 << 40, done))
        load.start()
        try:
            wait_for(lambda: "the overhead guard switched profiling off" in
                     node.log())
        finally:
            done.set()
            load.join()
        node.until(1)
        node.go()
        check_names(dump.result())


def test_a_stop_ends_it():
    with held() as node, ExitStack() as stack:
        waiting = begun(node, stack, DUMP)
        node.until(1)
        waiting += begun(node, stack, DUMP, DUMP)
        node.until(1, 2)
        pid = node.heapwired
        os.kill(pid, 15)
        in_time("it ends", ANSWER_S, wait_for, lambda: has_ended(pid))
        assert {end_of(w) for w, _ in waiting} == {1053}


def main():
    run_tests(named(globals()))
    print("shared_work.py: all as expected")


if __name__ == "__main__":
    main()
