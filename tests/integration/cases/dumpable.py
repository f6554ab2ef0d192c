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
import time

from machine import no_realtime, no_root
from mysql_wire import Refused, Wire
from node_under_test import BUILD, wait_for
from runner import named, needs, run_tests

RUN = os.path.join(BUILD, "bin", "heapwire-run")
JEMALLOC = "libjemalloc.so.2"
MADE = "was made dumpable for this time"
NOBODY = 65534
# agent_protocol.h
DUMP, DUMPABLE, OK, FAILED = 4, 11, 0, 5
REPLY = struct.Struct("<IIQIiQ")
# prctl.h
SET_DUMPABLE = 4
# seccomp.h: instructions of filters
READ, ALLOW, KILL = 0x20, 6 | 0x7fff0000 << 32, 6 | 0x80000000 << 32
UNLESS_PRCTL = 0x15 | 1 << 24 | {"x86_64": 157,
                                 "aarch64": 167}[platform.machine()] << 32
FORKS = ("os.fork()", "own._Fork()") + (
    ("own.syscall(57)",) if platform.machine() == "x86_64" else ())
PROGRAM = """
import ctypes, mmap, os, sys
own = ctypes.CDLL(None)
prctl = own.prctl
def confine(*code):
    filter = (ctypes.c_uint64 * len(code))(*code)
    program = (ctypes.c_uint64 * 2)(len(code), ctypes.addressof(filter))
    return prctl(38, 1, 0, 0, 0) or prctl(22, 2, program)
def confine_past_libc(*code):
    # for all threads; call(number, three arguments)
    filter = (ctypes.c_uint64 * len(code))(*code)
    program = (ctypes.c_uint64 * 2)(len(code), ctypes.addressof(filter))
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(bytes.fromhex("4889f84889f74889d64889ca0f05c3"))
    call = ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_long] * 4)(
        ctypes.addressof(ctypes.c_char.from_buffer(page)))
    return prctl(38, 1, 0, 0, 0) or call(317, 1, 1, ctypes.addressof(program))
for line in sys.stdin:
    print(eval(line))
"""


def no_root_or_machine_code():
    return no_root() or ("" if platform.machine() == "x86_64" else
                         "the machine code is x86-64's")


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
        # MariaDB that is to end before that waits for itself for ever.
        wait_for(lambda: b"ready for connections" in self.said())
        with open(self.data + "/pid") as text:
            self.pid = int(text.read())
        wait_for(lambda: self.heapwired_uid() == self.uid)
        self.login()

    def said(self):
        with open(self.work + "/out", "rb") as text:
            return text.read()

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
            with contextlib.suppress(OSError, EOFError):
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

    def value_with(self, text, *parts):
        """Its value, which has these parts: in a profile of two seconds a busy
        machine may give a thread no turn."""
        for _ in range(5):
            value = self.value(text)
            if all(part in value for part in parts):
                return value
        raise AssertionError((parts, value[:2000]))

    def script(self, call):
        return "\n".join(line or "" for line, in self.rows(
            f"ADMIN EXECUTE ON 10001 'System.print({call})'"))

    def is_closed(self):
        return os.stat(f"/proc/{self.pid}/mem").st_uid == 0

    def samples(self):
        """heapwired has events of perf_event_open."""
        fds = f"/proc/{self.heapwired}/fd"
        for fd in os.listdir(fds):
            with contextlib.suppress(OSError):  # it was closed meanwhile
                if "perf_event" in os.readlink(f"{fds}/{fd}"):
                    return True
        return False

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
    def asks(self, statement, until=None):
        """In another session, until that, or until it is open."""
        until = until or (lambda: not self.is_closed())
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
            wait_for(lambda: until() or said)
            assert not said, said
            yield number, said
            asking.join()

    def end(self):
        self.sql.close()
        self.run.terminate()
        self.run.wait(60)
        self.out.close()
        assert b"got signal" not in self.said(), self.said()
        shutil.rmtree(self.work)


def mariadb_it_is_looked_at(db):
    assert db.is_closed()
    with db.load():
        db.value_with("SELECT collapsed('cpu:2')", "do_handle_one_connection",
                      "Item_func_benchmark")
        assert db.is_closed()
        assert MADE in db.value("SELECT text('cpu:1')")
        assert "<svg" in db.value("SELECT flamegraph('cpu:1')")
        assert db.is_closed()
        db.value_with("SELECT collapsed('wall:2')",
                      "handle_connections_sockets")
        assert db.is_closed()
        found = db.rows("SELECT folded, why FROM heapwire.threads "
                        "WHERE folded LIKE '%handle_connections_sockets%'")
        assert found, db.rows("SELECT name, why FROM heapwire.threads")
        assert db.is_closed()
        said = db.script("ExecEnv.get_stack_trace_for_all_threads()")
        assert "do_handle_one_connection" in said and MADE in said, said[:2000]
        assert db.is_closed()


def mariadb_its_mappings_have_owners(db):
    assert db.is_closed()
    threads = int(db.value(
        "SELECT COUNT(DISTINCT tid) FROM heapwire.mappings WHERE kind = "
        "'thread stack' AND evidence = 'a stack pointer'"))
    assert threads >= 5, threads
    assert db.is_closed()
    with db.asks("SELECT collapsed('wall:4')") as (_, said):
        assert db.value("SELECT COUNT(*) FROM heapwire.mappings") > "0"
        assert said or not db.is_closed()  # for the profile that goes on
    wait_for(db.is_closed, 25)  # as below


def mariadb_two_at_once(db):
    """The stacks of threads do not close it to the profile that goes on."""
    began = time.monotonic()
    with db.asks("SELECT collapsed('wall:4')") as (_, said):
        for _ in range(3):
            assert "handle_connections_sockets" in db.script(
                "ExecEnv.get_stack_trace_for_all_threads()")
            # Its answer comes a moment after it is closed.
            assert not db.is_closed() or time.monotonic() - began >= 4
    assert "handle_connections_sockets" in said[0][0][0], said
    wait_for(db.is_closed, 25)  # by itself it is after 30 s


def mariadb_events_need_it_no_more(db):
    """Of perf_event_open, once they are there."""
    with db.load(), db.asks("SELECT text('cpu:10')", db.samples) as (_, said):
        wait_for(db.is_closed, 8)  # before the ten are over
        assert db.samples() and not said, said
    assert MADE in said[0][0][0], said
    assert "Item_func_benchmark" in said[0][0][0], said


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
    with db.asks("SELECT text('wall:60')") as (number, _):
        wait_for(lambda: os.SCHED_FIFO in policies())
        db.sql.query(f"KILL QUERY {number}")


def mariadb_a_killed_statement_closes_it(db):
    with db.asks("SELECT text('wall:60')") as (number, said):
        db.sql.query(f"KILL QUERY {number}")
        wait_for(db.is_closed, 30)
    assert isinstance(said[0], Refused), said


def mariadb_a_killed_heapwired_closes_it(db):
    with db.asks("SELECT text('wall:60')"):
        killed = db.heapwired
        os.kill(killed, signal.SIGKILL)
        wait_for(db.is_closed, 30)
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
    with db.asks("SELECT text('wall:60')") as (number, _):
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

    def __init__(self, preload="", **settings):
        self.state = tempfile.mkdtemp(prefix="hw-dumpable-", dir="/tmp")
        python = os.path.realpath("/usr/bin/python3")
        self.process = subprocess.Popen(
            [python, "-u", "-c", PROGRAM],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={
                **os.environ, "HEAPWIRE_EXE": python,
                "HEAPWIRE_STATE_DIR": self.state,
                "LD_PRELOAD": f"{BUILD}/lib/libheapwire.so:{preload}",
                **settings})
        self.pid = self.process.pid
        assert self.does("os.setresgid(65534, 65534, 65534)") == "None"
        assert self.does("os.setresuid(65534, 65534, 65534)") == "None"

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
            wait_for(lambda: self.takes(agent))
            yield agent

    def takes(self, agent):
        """Its socket has a name a moment before it listens."""
        try:
            agent.connect(self.state + "/agent.sock")
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        return True

    def is_called(self, tid, name):
        with open(f"/proc/{self.pid}/task/{tid}/comm",
                  encoding="utf-8") as text:
            return text.read().strip() == name

    def ask(self, agent, number, seconds=0, op=DUMPABLE):
        """Its status, value and text."""
        agent.send(struct.pack("<IIQQQQQ", 2, op, 1, number, 0, seconds, 0))
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
            wait_for(lambda: not host.is_open(), 30)
            opened(agent)
        wait_for(lambda: not host.is_open(), 30)  # the connection is
        with host.connected() as agent:
            opened(agent)
            with host.connected():  # another one comes
                wait_for(lambda: not host.is_open(), 30)
        with host.connected() as agent:
            opened(agent)
            for fork in FORKS:
                child = int(host.does(f"{fork} or os.read(os.pipe()[0], 1)"))
                try:
                    wait_for(lambda: not host.is_open(child), 30)
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


@needs(no_root_or_machine_code)
def test_it_says_what_it_cannot_put_back():
    """Under a filter that it has not seen come."""
    with Host() as host, host.connected() as agent:
        assert host.ask(agent, 1, 600) == (OK, 1, "")
        assert host.does(f"confine_past_libc({ALLOW})") == "0"
        status, value, text = host.ask(agent, 0)
        assert (status, value) == (FAILED, 1), (status, value)
        assert "stays dumpable: a seccomp filter" in text, text
        assert host.is_open()


@needs(no_root)
def test_it_is_closed_while_a_dump_may_hang():
    with Host(preload=JEMALLOC,
              MALLOC_CONF="prof:true,prof_active:true") as host, \
            host.connected() as agent:
        assert host.ask(agent, 1, 600) == (OK, 1, "")
        tid, = (t for t in os.listdir(f"/proc/{host.pid}/task")
                if host.is_called(t, "heapwire"))
        with subprocess.Popen(
                ["strace", "-e", "inject=write:delay_enter=2000000:when=1",
                 "-e", "trace=write", "-p", tid],
                stderr=subprocess.PIPE) as strace:
            strace.stderr.readline()  # attached
            asking = threading.Thread(
                target=lambda: host.ask(agent, 0, op=DUMP))
            asking.start()
            wait_for(lambda: not host.is_open())
            asking.join()
            strace.send_signal(signal.SIGINT)
        assert host.is_open()
        assert host.ask(agent, 0)[0] == OK and not host.is_open()


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
def test_heap_samples_get_unwind_tables():
    """Its maps and files come by the agent: it is not made dumpable."""
    db = Mariadb("--profiling", "prepared", "--dumpable", "no")

    def tables():
        with open(f"/proc/{db.pid}/maps", encoding="utf-8") as maps:
            return sum("heapwire-table" in line for line in maps)
    try:
        assert tables() == 0
        db.script("HeapProf.getInstance().enable_prof()")
        wait_for(lambda: tables() >= 3)
        assert db.is_closed()
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
