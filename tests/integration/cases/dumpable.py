"""MariaDB as README starts it: as root, to become mysql, and heapwired with it.

The kernel closes such a process to its own user: it is open while it is looked
at, and closed after that, whatever happens meanwhile.  Arguments name tests.
"""
import contextlib
import os
import platform
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading

from machine import no_realtime, no_root
from mysql_wire import Refused, Wire
from node_under_test import BUILD, wait_for
from runner import named, needs, run_tests

RUN = os.path.join(BUILD, "bin", "heapwire-run")
MADE = "was made dumpable for this time"
NOBODY = 65534
# agent_protocol.h
DUMPABLE, OK, FAILED = 11, 0, 5
REPLY = struct.Struct("<IIQIiQ")
# prctl.h
SET_DUMPABLE = 4
# seccomp.h: instructions of filters
READ, ALLOW, KILL = 0x20, 6 | 0x7fff0000 << 32, 6 | 0x80000000 << 32
UNLESS_PRCTL = 0x15 | 1 << 24 | {"x86_64": 157,
                                 "aarch64": 167}[platform.machine()] << 32
PROGRAM = """
import ctypes, os, sys
own = ctypes.CDLL(None)
prctl = own.prctl
def confine(*code):
    filter = (ctypes.c_uint64 * len(code))(*code)
    program = (ctypes.c_uint64 * 2)(len(code), ctypes.addressof(filter))
    return prctl(38, 1, 0, 0, 0) or prctl(22, 2, program)
for line in sys.stdin:
    print(eval(line))
"""


class Mariadb:
    """heapwire-run, mariadbd --user=mysql, and sessions of both."""

    def __init__(self, *options):
        self.work = tempfile.mkdtemp(prefix="hw-dumpable-", dir="/tmp")
        os.chmod(self.work, 0o755)
        self.data, self.state = self.work + "/data", self.work + "/state"
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", "--force",
             f"--datadir={self.data}", "--user=mysql",
             "--auth-root-authentication-method=normal"], check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.out = open(self.work + "/out", "wb")
        self.run = subprocess.Popen(
            [RUN, "--listen", "none", "--state-dir", self.state, "--linger",
             "0", *options, "--", "/usr/sbin/mariadbd", "--no-defaults",
             "--user=mysql", f"--datadir={self.data}", f"--tmpdir={self.data}",
             f"--socket={self.data}/sock", "--skip-networking",
             f"--pid-file={self.data}/pid", "--innodb-buffer-pool-size=16M"],
            stdout=self.out, stderr=self.out)
        wait_for(lambda: os.path.exists(self.data + "/sock") and
                 os.path.exists(self.data + "/pid"))
        with open(self.data + "/pid") as text:
            self.pid = int(text.read())
        wait_for(lambda: self.heapwired_uid() == self.uid)
        self.login()

    @property
    def uid(self):
        return os.stat(self.data).st_uid

    @property
    def heapwired(self):
        with open(self.state + "/heapwired.lock") as text:
            return int(text.read() or 0)

    def heapwired_uid(self):
        with contextlib.suppress(OSError, ValueError):
            with open(f"/proc/{self.heapwired}/status") as text:
                for line in text:
                    if line.startswith("Uid:"):
                        return int(line.split()[1])
        return -1

    def login(self):
        def knocks():
            with contextlib.suppress(OSError):
                self.sql = Wire(self.state + "/mysql.sock", 120).login()
                return self.rows("SELECT alive FROM heapwire.nodes"
                                 ) == [("1",)]
            return False
        wait_for(knocks)

    def rows(self, text, wire=None):
        return [tuple(None if c is None else c.decode() for c in row)
                for row in (wire or self.sql).query(text)]

    def value(self, text):
        (value,), = self.rows(text)
        return value

    def script(self, call):
        return "\n".join(line or "" for line, in self.rows(
            f"ADMIN EXECUTE ON 10001 'System.print({call})'"))

    def is_closed(self):
        return os.stat(f"/proc/{self.pid}/mem").st_uid == 0

    @contextlib.contextmanager
    def load(self):
        """One of its threads computes."""
        with Wire(self.data + "/sock", 300).login() as wire:
            number = self.rows("SELECT CONNECTION_ID()", wire)[0][0]
            works = threading.Thread(target=lambda: wire.query(
                "SELECT BENCHMARK(2000000000, MD5('x'))"))
            works.start()
            try:
                yield
            finally:
                with Wire(self.data + "/sock", 60).login() as other:
                    other.query(f"KILL QUERY {number}")
                works.join()

    @contextlib.contextmanager
    def asks(self, statement):
        """In another session, until it is open."""
        with Wire(self.state + "/mysql.sock", 120).login() as wire:
            number = self.rows("SELECT CONNECTION_ID()", wire)[0][0]
            said = []

            def ask():
                try:
                    said.append(self.rows(statement, wire))
                except (Refused, OSError, EOFError, AssertionError) as err:
                    said.append(err)
            asking = threading.Thread(target=ask)
            asking.start()
            wait_for(lambda: not self.is_closed() or said)
            assert not said, said
            yield number, said
            asking.join()

    def end(self):
        self.sql.close()
        self.run.terminate()
        self.run.wait(60)
        self.out.close()
        with open(self.work + "/out", encoding="utf-8") as text:
            said = text.read()
        assert "got signal" not in said, said
        shutil.rmtree(self.work)


def mariadb_it_is_looked_at(db):
    assert db.is_closed()
    with db.load():
        folded = db.value("SELECT collapsed('cpu:2')")
        assert "do_handle_one_connection" in folded, folded[:2000]
        assert "Item_func_benchmark" in folded, folded[:2000]
        assert db.is_closed()
        assert MADE in db.value("SELECT text('cpu:1')")
        assert "<svg" in db.value("SELECT flamegraph('cpu:1')")
        assert db.is_closed()
        waits = db.value("SELECT collapsed('wall:2')")
        assert "handle_connections_sockets" in waits, waits[:2000]
        assert db.is_closed()
        found = db.rows("SELECT folded, why FROM heapwire.threads "
                        "WHERE folded LIKE '%handle_connections_sockets%'")
        assert found, db.rows("SELECT name, why FROM heapwire.threads")
        assert db.is_closed()
        said = db.script("ExecEnv.get_stack_trace_for_all_threads()")
        assert "do_handle_one_connection" in said and MADE in said, said[:2000]
        assert db.is_closed()


def mariadb_two_at_once(db):
    """The stacks of threads do not close it to the profile that goes on."""
    with db.asks("SELECT collapsed('wall:4')") as (_, said):
        for _ in range(3):
            assert "handle_connections_sockets" in db.script(
                "ExecEnv.get_stack_trace_for_all_threads()")
            assert said or not db.is_closed()
    assert "handle_connections_sockets" in said[0][0][0], said
    wait_for(db.is_closed, 5)


@needs(no_realtime)
def mariadb_its_tracer_comes_first(db):
    """Without root."""
    def policies():
        found = []
        for tid in os.listdir(f"/proc/{db.heapwired}/task"):
            with contextlib.suppress(OSError), \
                    open(f"/proc/{db.heapwired}/task/{tid}/stat") as text:
                name, rest = text.read().split(") ")
                if name.endswith("(heapwire-trace"):
                    found.append(int(rest.split()[38]))
        return found
    with db.asks("SELECT collapsed('wall:4')"):
        wait_for(lambda: os.SCHED_FIFO in policies())


def mariadb_a_killed_statement_closes_it(db):
    with db.asks("SELECT text('cpu:60')") as (number, said):
        db.sql.query(f"KILL QUERY {number}")
        wait_for(db.is_closed, 10)
    assert isinstance(said[0], Refused), said


def mariadb_a_killed_heapwired_closes_it(db):
    with db.asks("SELECT text('cpu:60')"):
        killed = db.heapwired
        os.kill(killed, signal.SIGKILL)
        wait_for(db.is_closed, 10)
    wait_for(lambda: db.heapwired not in (0, killed) and
             db.heapwired_uid() == db.uid)
    db.sql.close()
    db.login()
    assert "handle_connections_sockets" in db.script(
        "ExecEnv.get_stack_trace_for_all_threads()")
    assert db.is_closed()


def gdb(db, call):
    """The database itself calls that."""
    done = subprocess.run(
        ["gdb", "-p", str(db.pid), "-batch", "-nx", "-ex",
         f"call (int)prctl({call}, 0, 0, 0)"], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, timeout=120)
    assert "$1 = 0" in done.stdout, done.stdout


def mariadb_what_the_database_sets_stays(db):
    with db.asks("SELECT text('cpu:60')") as (number, _):
        gdb(db, f"{SET_DUMPABLE}, 1")
        db.sql.query(f"KILL QUERY {number}")
    assert MADE not in db.value("SELECT text('cpu:1')")
    assert not db.is_closed()
    gdb(db, f"{SET_DUMPABLE}, 0")
    assert db.is_closed()
    assert MADE in db.value("SELECT text('cpu:1')")


class Host:
    """A program that left root, and does what it is told; its agent without a
    heapwired."""

    def __init__(self, **settings):
        self.state = tempfile.mkdtemp(prefix="hw-dumpable-", dir="/tmp")
        python = os.path.realpath("/usr/bin/python3")
        self.process = subprocess.Popen(
            [python, "-u", "-c", PROGRAM],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={
                **os.environ, "HEAPWIRE_EXE": python,
                "HEAPWIRE_STATE_DIR": self.state,
                "LD_PRELOAD": BUILD + "/lib/libheapwire.so", **settings})
        self.pid = self.process.pid
        assert self.does("os.setresgid(65534, 65534, 65534)") == "None"
        assert self.does("os.setresuid(65534, 65534, 65534)") == "None"
        wait_for(lambda: os.path.exists(self.state + "/agent.sock"))

    def does(self, call):
        self.process.stdin.write(call + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def is_open(self, pid=0):
        return os.stat(f"/proc/{pid or self.pid}/mem").st_uid == NOBODY

    @contextlib.contextmanager
    def connected(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as agent:
            agent.settimeout(60)
            agent.connect(self.state + "/agent.sock")
            yield agent

    def ask(self, agent, number, seconds=0):
        """Its status, value and text."""
        agent.send(struct.pack("<IIQQQQQ", 2, DUMPABLE, 1, number, 0, seconds,
                               0))
        reply = agent.recv(65536)
        _, _, _, status, _, value = REPLY.unpack_from(reply)
        return status, value, reply[REPLY.size:].split(b"\0")[0].decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert self.process.wait(60) == 0, self.process
        self.process.stdout.close()
        shutil.rmtree(self.state)


@needs(no_root)
def test_the_agent_puts_it_back():
    with Host() as host:
        def opened(agent, seconds=600):
            assert not host.is_open()
            assert host.ask(agent, 1, seconds) == (OK, 1, "")
            assert host.is_open()

        with host.connected() as agent:
            opened(agent)
            assert host.ask(agent, 0)[0] == OK and not host.is_open()
            opened(agent)
            assert host.ask(agent, 1, 1) == (OK, 1, "")  # its time is over
            wait_for(lambda: not host.is_open(), 10)
            opened(agent)
        wait_for(lambda: not host.is_open(), 10)  # the connection is
        with host.connected() as agent:
            opened(agent)
            with host.connected():  # another one comes
                wait_for(lambda: not host.is_open(), 10)
        with host.connected() as agent:
            opened(agent)
            child = int(host.does("os.fork() or os.read(os.pipe()[0], 1)"))
            try:
                wait_for(lambda: not host.is_open(child), 10)
                assert host.is_open()
            finally:
                os.kill(child, signal.SIGKILL)
                host.does(f"os.waitpid({child}, 0)")
            # Our thread makes way.
            host.does("os.setresuid(65534, 65534, 65534)")
            opened(agent)
            assert host.does(f"confine({ALLOW})") == "0"
            opened(agent)
            # It could not live under that, and ends.
            assert host.does(
                f"confine({READ}, {UNLESS_PRCTL}, {KILL}, {ALLOW})") == "0"
            assert not host.is_open()
    with Host() as host, host.connected() as agent:
        assert host.ask(agent, 1, 600) == (OK, 1, "")
        assert host.does("own.heapwire_stop()") == "0"
        assert not host.is_open()


@needs(no_root)
def test_what_the_host_sets_stays():
    with Host() as host, host.connected() as agent:
        assert host.ask(agent, 1, 600) == (OK, 1, "")
        assert host.does(f"prctl({SET_DUMPABLE}, 0, 0, 0, 0)") == "0"
        assert host.ask(agent, 0)[0] == OK and not host.is_open()
        assert host.ask(agent, 1, 600) == (OK, 1, "")
        assert host.does(f"prctl({SET_DUMPABLE}, 1, 0, 0, 0)") == "0"
        assert host.ask(agent, 0)[0] == OK and host.is_open()
        assert host.ask(agent, 1, 600) == (OK, 0, "")
        assert host.ask(agent, 0)[0] == OK and host.is_open()


@needs(no_root)
def test_the_agent_is_forbidden():
    with Host(HEAPWIRE_DUMPABLE="no") as host, host.connected() as agent:
        status, _, text = host.ask(agent, 1, 600)
        assert status == FAILED and "dumpable = no" in text, text
        assert not host.is_open()


@needs(no_root)
def test_mariadb():
    db = Mariadb()
    try:
        run_tests(named(globals(), prefix="mariadb_"), db)
    finally:
        db.end()


@needs(no_root)
def test_forbidden():
    db = Mariadb("--dumpable", "no")
    try:
        for text in ("SELECT text('cpu:1')", "SELECT text('wall:1')",
                     "SELECT tid FROM heapwire.threads WHERE stack <> ''"):
            try:
                raise AssertionError(db.rows(text))
            except Refused as err:
                assert "--user root" in err.text and \
                    "dumpable = no" in err.text, err.text
        assert db.is_closed()
    finally:
        db.end()


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
