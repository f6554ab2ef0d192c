"""heapwire top, as people use it: a terminal, keys, and nodes that are well,
hung or gone; tables without a terminal.

Arguments name single tests.
"""
import contextlib
import fcntl
import hashlib
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time

import pyte

from machine import no_terminal
from mysql_wire import Wire
from node_under_test import BUILD, wait_for
from ports import free_port
from redis_node import RedisNode
from runner import in_parallel, named, needs, run_tests

HEAPWIRE = os.path.join(BUILD, "bin", "heapwire")
A, B, C = 10001, 10002, 10003
DONE, FAILED, NO_NODE, USAGE = 0, 1, 2, 64
F1, F4, F6, F10 = b"\x1b[[A", b"\x1b[[D", b"\x1b[17~", b"\x1b[21~"
UP, DOWN = b"\x1b[A", b"\x1b[B"
LEAVES = b"\x1b[?1049l"  # an xterm's other screen


def environment(term="linux"):  # which pyte is
    return {"HOME": "/nonexistent", "PATH": os.environ["PATH"], "TERM": term,
            "LC_ALL": "C.UTF-8"}


def top(*words, term="dumb", **more):
    more = {"stdin": subprocess.DEVNULL, "timeout": 120,
            "env": environment(term)} | more
    done = subprocess.run([HEAPWIRE, *map(str, words)], capture_output=True,
                          text=True, check=False, **more)
    return done.returncode, done.stdout, done.stderr


class Terminal:
    """heapwire top on a terminal of that size, and what is on its screen."""

    def __init__(self, node, *words, size=(100, 24)):
        self.ours, its = pty.openpty()
        self.raw = b""
        self.resize(*size, tell=False)
        self.process = subprocess.Popen(
            [HEAPWIRE, "-S", node.socket, "top", *words], stdin=its,
            stdout=its, stderr=its, start_new_session=True, env=environment(),
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(its)

    def resize(self, columns, lines, tell=True):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ,
                    struct.pack("HHHH", lines, columns, 0, 0))
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        if tell:
            self.type(b"\x0c")  # all anew: this screen is empty

    def type(self, keys):
        os.write(self.ours, keys)

    def read(self, seconds=.05):
        with contextlib.suppress(OSError):
            while select.select([self.ours], [], [], seconds)[0]:
                said = os.read(self.ours, 65536)
                if not said:
                    break
                self.raw += said
                self.stream.feed(said)

    def lines(self):
        self.read()
        return self.screen.display

    def text(self):
        return "\n".join(self.lines())

    def wait(self, *parts):
        """Until all of them are on the screen."""
        wait_for(lambda: all(p in self.text() for p in parts), 120,
                 tell=lambda: f"{parts} are not in\n{self.text()}")
        return self.text()

    def until(self, what):
        wait_for(what, 120, tell=lambda: f"the screen is\n{self.text()}")

    def chosen(self):
        """The line with the cursor's colour."""
        self.read()
        for y, line in enumerate(self.screen.display):
            if self.screen.buffer[y][0].bg == "cyan":
                return line.rstrip()
        return None

    def function(self):
        """In that line, whose figures may change: the last word."""
        words = (self.chosen() or "").split()
        return words[-1] if words else None

    def end(self):
        """The status, with all that it said."""
        self.read()
        return self.process.wait(60)

    def is_as_before(self):
        assert termios.tcgetattr(self.ours)[3] & termios.ECHO

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.ours)


class PatientNode(RedisNode):
    """Its heapwired may be stopped for as long as a busy machine takes."""

    def write(self, places):
        super().write(places)
        with open(self.config, "a", encoding="ascii") as f:
            f.write("[node]\nheartbeat = 600\n")


@contextlib.contextmanager
def nodes(*ids, **more):
    places = {i: free_port() for i in ids}
    with tempfile.TemporaryDirectory(prefix="hw-") as work:
        made = [PatientNode(work, i, places, places[i], **more) for i in ids]
        try:
            for node in made:
                node.wait()
            with Wire(made[0].socket, 60).login() as root:
                for i in ids:  # each answers
                    wait_for(lambda i=i: enabled(root, i), 60)
            for node in made:
                fill(node)
            yield made
        finally:
            for node in made:
                node.stop()


def enabled(root, i):
    rows = root.query(f"ADMIN EXECUTE ON {i}, {i} 'System.print(HeapProf."
                      "getInstance().enable_prof())'")
    return rows[0][1] == b"OK"


def port_of(node):
    """Once Redis listens there."""
    port = node.command[node.command.index("--port") + 1]

    def listens():
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", int(port)), 5).close()
            return True
        return False
    wait_for(listens, 60)
    return port


def fill(node, count=60000):
    subprocess.run(["redis-benchmark", "-p", port_of(node), "-n", str(count),
                    "-r", "100000", "-d", "200", "-P", "16", "-q", "-t",
                    "set,lpush"], check=True, stdout=subprocess.DEVNULL)


def snapshot(node, name):
    with Wire(node.socket, 60).login() as root:
        root.query(f"ADMIN EXECUTE ON {node.id} 'System.print(HeapProf."
                   f"getInstance().snapshot(\"{name}\"))'")


@in_parallel
@needs(no_terminal)
def test_views_and_keys():
    with nodes(A) as (node,), Terminal(node) as t:
        t.wait("10001", "rss", "FLAT%", "FUNCTION", "_sdsnewlen")
        # the largest first, the cursor on it
        t.wait("functions, all nodes, by FLAT")
        t.until(lambda: t.function() in ("_sdsnewlen", "lpInsert"))
        first = t.function()
        t.type(DOWN)
        t.until(lambda: t.function() not in (None, first))
        t.type(UP)
        t.until(lambda: t.function() == first)
        # sorting: three to the right is CUM
        t.type(b">>" + F6)
        wait_for(lambda: "by CUM" in t.text())
        t.until(lambda: re.search("main|_start|ae|\\+0x", t.chosen() or ""))
        t.type(b"I")
        t.wait("by CUM upwards")
        t.type(b"I<<<")
        wait_for(lambda: "by FLAT" in t.text() and "upwards" not in t.text())
        # search and filter
        t.type(b"/processComm")
        wait_for(lambda: "processCommand" in (t.chosen() or ""))
        t.type(b"\r")
        t.type(F4 + b"lpins")
        wait_for(lambda: "lpInsert" in t.text() and
                 "_sdsnewlen" not in t.text())
        t.type(b"\r")
        t.wait("with lpins")
        t.type(b"\x1b")
        t.wait("_sdsnewlen")
        # help, and back
        t.type(F1)
        t.wait("unmark all")
        t.type(b" ")
        t.wait("FLAT%")
        t.type(b" ")  # a mark, and one down
        # other views
        t.type(b"3")
        t.wait("running, all nodes", "redis-server", "bio_aof_fsync", "CPU%")
        t.type(b"2")
        t.wait("threads, all nodes", "redis-server", "TOP FUNCTION")
        t.type(b"5")
        t.wait("diff, all nodes", "since the start of top", "GROWN")
        t.type(b"4")
        t.wait("waste", "(large padding)")
        assert "retained" not in t.text()  # which is no memory
        t.type(b"6")
        t.wait("diagnosis, all nodes, by # upwards", "SURE", "not known yet: ")
        t.type(b"\t")
        t.wait("functions, all nodes")
        # interval, pause
        t.type(b"d")
        t.wait("seconds: 2")
        t.type(b"\x7f0.5\r")
        wait_for(lambda: re.search(r"every (0\.5 |.* answer takes)", t.text()))
        t.type(b"p")
        t.wait("PAUSED")
        t.type(b"p")
        wait_for(lambda: "PAUSED" not in t.text())
        t.type(b"q")
        assert t.end() == DONE
        t.is_as_before()


@in_parallel
@needs(no_terminal)
def test_what_grew():
    with nodes(A) as (node,), Terminal(node, "diff", size=(120, 30)) as t:
        t.wait("since the start of top", "lpInsert")
        snapshot(node, "kept")
        fill(node, 300000)

        def grown():
            line = next((x for x in t.lines() if x.rstrip().endswith(
                " lpInsert")), "")
            return re.match(r"10001\s+[\d.]+M", line)
        wait_for(grown, 60)
        t.type(b"b")
        t.wait("since snapshot: ")
        t.type(b"kept\r")
        t.wait("SURE", "since kept")
        t.until(lambda: any(re.match(r"\s*[\d.]+M\s.*\s1 lpInsert *$", x)
                            for x in t.lines()))
        t.type(b"b\x7f\x7f\x7f\x7fnothing\r")
        t.wait("nothing'")
        t.type(F10)
        assert t.end() == DONE


@needs(no_terminal)
def test_small_terminals_and_others():
    with nodes(A) as (node,), Terminal(node, size=(20, 5)) as t:
        t.wait("FLAT", "FUNCTION")
        t.until(lambda: t.lines()[0].startswith("10001 "))
        wait_for(lambda: re.search(r"(lpIns|_sdsn)", t.text()))
        for size in (1, 1), (3, 2), (80, 3), (20, 5), (200, 60):
            t.resize(*size)
            wait_for(lambda: "".join(t.lines()).strip() != "")
        t.wait("FLAT%", "OBJECTS", "NODES", "lpInsert")
        t.type(b"q")
        assert t.end() == DONE


@needs(no_terminal)
def test_ctrl_z_and_fg():
    with nodes(A) as (node,):
        ours, its = pty.openpty()
        fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        shell = subprocess.Popen(
            ["bash", "--norc", "--noediting", "-i"], stdin=its, stdout=its,
            stderr=its, start_new_session=True,
            env=environment("xterm") | {"PS1": "shell> "},
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(its)
        said = b""

        def has(part, after=0):
            nonlocal said
            with contextlib.suppress(OSError):
                while select.select([ours], [], [], .05)[0]:
                    said += os.read(ours, 65536)
            return part in said[after:]
        try:
            wait_for(lambda: has(b"shell> "))
            os.write(ours, f"{HEAPWIRE} -S {node.socket} top\n".encode())
            wait_for(lambda: has(b"FUNCTION"))
            os.write(ours, b"\x1a")
            wait_for(lambda: has(b"Stopped"))
            assert LEAVES in said
            wait_for(lambda: has(b"shell> ", said.index(b"Stopped")))
            before = len(said)
            os.write(ours, b"fg\n")
            wait_for(lambda: has(b"FUNCTION", before))
            before = len(said)
            os.write(ours, b"q")
            wait_for(lambda: has(LEAVES, before) and has(b"shell> ", before))
            os.write(ours, b"echo status $?\n")
            wait_for(lambda: has(b"status 0", before))
        finally:
            shell.kill()
            shell.wait()
            os.close(ours)


@needs(no_terminal)
def test_a_terminal_that_goes_and_signals():
    with nodes(A) as (node,):
        with Terminal(node) as t:
            t.wait("FUNCTION")
            os.close(t.ours)
            assert t.process.wait(60) in (DONE, -signal.SIGHUP)
            t.ours = os.open("/dev/null", os.O_RDWR)
        for number in (signal.SIGINT, signal.SIGTERM):
            with Terminal(node) as t:
                t.wait("FUNCTION")
                t.process.send_signal(number)
                assert t.end() == -number
                t.is_as_before()


@in_parallel
@needs(no_terminal)
def test_a_hung_and_a_killed_database():
    with nodes(A, linger=600) as (node,), Terminal(node) as t:
        t.wait("_sdsnewlen")
        database = node.children["redis-server"]
        os.kill(database, signal.SIGSTOP)
        try:
            t.wait("unresponsive", "rows of ", "_sdsnewlen")
            t.type(b"3")  # what needs no answer of it
            t.wait("running", "bio_aof_fsync")
            t.type(b"6")
            t.wait("does not answer: ")
            began = time.monotonic()
            t.type(b"/")
            t.wait("search: ")  # keys work all the time
            t.type(b"\x1b")
            assert time.monotonic() - began < 30  # the database still hangs
            t.type(b"1")
        finally:
            os.kill(database, signal.SIGCONT)
        wait_for(lambda: "unresponsive" not in t.text() and
                 "_sdsnewlen" in t.text() and "rows of" not in t.text(), 60)
        snapshot(node, "kept")
        with Wire(node.socket, 60).login() as root:  # it outlives ten seconds
            wait_for(lambda: root.query(
                "SELECT COUNT(*) > 11 FROM heapwire.memory_history")[0][0] == b"1", 60)
        os.kill(database, signal.SIGKILL)
        t.wait("gone", "_sdsnewlen")
        t.type(b"6")
        t.wait("died: ")
        t.type(b"q")
        assert t.end() == DONE
        # One that comes later has the kept snapshot.
        with Terminal(node) as late:
            late.wait("rows of the last kept snapshot", "_sdsnewlen", "gone")
    with nodes(A) as (node,), Terminal(node) as t:
        t.wait("_sdsnewlen")
        node.crash()  # heapwired, too
        t.wait("rows of ", "_sdsnewlen", "not asked")
        t.type(b"q")
        assert t.end() == DONE


@needs(no_terminal)
def test_keys_while_nothing_answers():
    with nodes(A) as (node,), Terminal(node) as t:
        t.wait("_sdsnewlen")
        heapwired = node.heapwired
        os.kill(heapwired, signal.SIGSTOP)
        try:
            t.wait("asking for ", "_sdsnewlen")
            t.type(b"/lpIns")
            t.wait("search: lpIns")
            wait_for(lambda: "lpInsert" in (t.chosen() or ""))
            t.type(b"\r")
        finally:
            os.kill(heapwired, signal.SIGCONT)
        t.wait("_sdsnewlen", "every ")
        wait_for(lambda: "asking for" not in t.text(), 60)
        t.type(b"q")
        assert t.end() == DONE


@in_parallel
@needs(no_terminal)
def test_three_nodes():
    with nodes(A, B, C) as made, Terminal(made[0], size=(120, 30)) as t:
        t.wait("10001 ", "10002 ", "10003 ", "_sdsnewlen")
        t.type(b"n")
        t.wait("functions, node 10001")
        wait_for(lambda: "10002" not in t.text())
        t.type(b"n")
        t.wait("functions, node 10002")
        t.type(b"a")
        t.wait("functions, all nodes", "10003 ")
        os.kill(made[1].children["redis-server"], signal.SIGSTOP)
        try:
            t.wait("10002 unresponsive", "_sdsnewlen", "node 10002")
            made[2].crash()
            t.wait("10003 unreachable", "_sdsnewlen")
            t.resize(20, 5)
            wait_for(lambda: t.lines()[0].startswith("1000"))
            t.resize(120, 30)
            t.type(b"3")
            t.wait("running", "bio_aof_fsync")
        finally:
            os.kill(made[1].children["redis-server"], signal.SIGCONT)
        t.type(b"q")
        assert t.end() == DONE


def test_tables_without_a_terminal():
    with nodes(A) as (node,):
        s = ("-S", node.socket, "top")
        status, out, err = top(*s)
        assert (status, out) == (FAILED, "") and "needs a terminal" in err and \
            "--batch" in err, err
        status, out, err = top(*s, "--batch", "-n", 2, "-d", .2)
        assert (status, err) == (DONE, ""), err
        assert out.count("FUNCTION") == 2 and "_sdsnewlen" in out, out
        assert "\x1b" not in out
        assert top(*s, "-b", "-n", 1, "running")[1].count("bio_") >= 3
        for words, says in ((("nothing",), "no view nothing"),
                            (("-b", "-n", "0"), "--count takes"),
                            (("-n", "1"), "needs --batch"),
                            (("-b", "--json"), "do not go with top"),
                            (("-b", "-d", "x"), "--interval takes")):
            status, out, err = top(*s, *words)
            assert status == USAGE and says in err, (words, err)
        done = subprocess.run(
            ["bash", "-c", f"{HEAPWIRE} -S {node.socket} top -b -d .1 | "
             "head -1; echo ${PIPESTATUS[0]}"], capture_output=True, text=True,
            env=environment(), timeout=60, check=False)
        assert done.stdout.splitlines()[-1] == str(128 + signal.SIGPIPE), done
    for words in (("-b", "-n", 1), ("-b",)):
        status, out, err = top("-S", node.socket, "top", *words)
        assert status == NO_NODE and node.socket in err, (status, out, err)


class NodeWithAnn(RedisNode):
    """She may see and profile this node, and ask no other."""

    def write(self, places):
        super().write(places)
        with open(self.config, "a", encoding="ascii") as f:
            f.write("[user ann]\nauth = sha2 " + hashlib.sha256(
                hashlib.sha256(b"secret").digest()).hexdigest() +
                "\nprivileges = status, profile\n")


@contextlib.contextmanager
def node_with_ann():
    with tempfile.TemporaryDirectory(prefix="hw-") as work:
        port = free_port()
        node = NodeWithAnn(work, A, {A: port, B: free_port()}, port)
        try:
            node.wait()
            with Wire(node.socket, 60).login() as root:
                wait_for(lambda: root.query(
                    "SELECT state FROM heapwire.profiler"
                )[0][0] == b"connected", 60)
            yield node, port, work
        finally:
            node.stop()


def test_an_account_that_may_not_ask_other_nodes():
    with node_with_ann() as (_, port, home):
        with open(f"{home}/.my.cnf", "w", encoding="ascii") as f:
            f.write("[client]\nuser=ann\npassword=secret\n")
        for view, says in (("running", "bio_aof_fsync"),
                           ("threads", "bio_aof_fsync"),
                           ("functions", "FUNCTION")):
            out = ""

            def says_it():  # Redis names its threads as they begin
                nonlocal out
                status, out, err = top(
                    "-h", "127.0.0.1", "-P", port, "top", "-b", "-n", 1,
                    view, env=environment() | {"HOME": home})
                assert (status, err) == (DONE, ""), (out, err)
                return says in out
            wait_for(says_it, tell=lambda: out)
            assert "10001" in out and "rss" in out, out
            assert "denied" not in out and "10002" not in out, out


@needs(no_terminal)
def test_a_password_is_asked_for_before_the_screen():
    """Enter ends it, as in any line."""
    with node_with_ann() as (node, _, _), \
            Terminal(node, "running", "--user", "ann", "--password") as t:
        t.wait("Password: ")
        t.type(b"secret\r")
        t.wait("bio_aof_fsync", "10001")
        t.type(b"q")
        assert t.end() == DONE
        assert b"secret" not in t.raw, t.raw


@needs(no_terminal)
def test_hostile_names():
    """A thread of the database calls itself so."""
    program = ("import ctypes, threading, time\n"
               "libc = ctypes.CDLL(None)\n"
               "def run(name):\n"
               "    libc.prctl(15, name, 0, 0, 0)\n"
               "    time.sleep(1000)\n"
               "for n in (b'\\x1b[2J\\x07\\r\\n', b'\\x9b31m\\xff\\xfe',"
               " '宽宽‮é'.encode()):\n"
               "    threading.Thread(target=run, args=(n,)).start()\n")
    with tempfile.TemporaryDirectory(prefix="hw-") as work:
        port = free_port()
        node = RedisNode(work, A, {A: port}, port,
                         program=["/usr/bin/python3", "-c", program])
        try:
            node.wait()
            with Terminal(node, "running") as t:
                t.wait("?[2J", "?31m", "é")
                t.type(b"q")
                assert t.end() == DONE
                for bad in (b"\x1b[2J\x07", b"\x9b31m", b"\xe2\x80\xae",
                            b"\xff"):
                    assert bad not in t.raw, bad
            out = top("-S", node.socket, "top", "-b", "-n", 1, "running")[1]
            assert "?[2J" in out and "\x1b" not in out and "‮" not in out
        finally:
            node.stop()


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
