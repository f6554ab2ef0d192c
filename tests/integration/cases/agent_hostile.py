"""A heapwired that is an attacker's, against the agent in a real Redis.

It sends all that agent_protocol.h knows and does not know: cut, too long, out
of order, without end, with descriptors.  Redis answers all the while, and
keeps no descriptor, no thread and no memory of it.  Then a process of another
user, before whom somebody opened the socket.  Arguments name single tests.
"""
import array
import errno
import fcntl
import os
import random
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress

from node_under_test import BUILD, wait_for
from ports import free_port
from redis_node import redis_answers
from runner import named, run_tests

SEED = int(os.environ.get("SEED", "25"))
PROTOCOL, FDS_MAX = 2, 2
(HELLO, GET_ACTIVE, SET_ACTIVE, DUMP, OBJECT, STATS, RESET,
 ALLOCATORS, MAPS, TABLE, DUMPABLE, LEVER, SMAPS) = range(1, 14)
BAD_REQUEST = 6
EDGES = (0, 1, 2, 12, 16, 30, 31, 255, 256, 1 << 31, (1 << 32) - 1, 1 << 32,
         1 << 63, (1 << 64) - 1)
NOBODY = 65534


def request(op, number=0, inode=0, seconds=0, force=0, protocol=PROTOCOL,
            identity=1):
    return struct.pack("<IIQQQQQ", protocol, op, identity, number, inode,
                       seconds, force)


class Redis:
    """With an agent, and no heapwired."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="hw-", dir="/tmp")
        self.state = self.directory + "/state"
        os.mkdir(self.state, 0o700)
        self.port = free_port()
        program = os.path.realpath(shutil.which("redis-server"))
        with open(self.directory + "/out", "wb") as out:
            self.process = subprocess.Popen(
                ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1",
                 "--save", "", "--dir", self.directory],
                stdout=out, stderr=out, env={
                    **os.environ, "HEAPWIRE_EXE": program,
                    "HEAPWIRE_STATE_DIR": self.state,
                    "LD_PRELOAD": BUILD + "/lib/libheapwire.so",
                    "MALLOC_CONF": "prof:true,prof_active:false"})
        self.pid = self.process.pid
        wait_for(lambda: redis_answers(self.port))
        wait_for(self.listens)

    @property
    def socket(self):
        return self.state + "/agent.sock"

    def listens(self):
        """The socket has a name before that."""
        with suppress(FileNotFoundError, ConnectionRefusedError):
            self.connect().close()
            return True
        return False

    def tasks(self):
        """By name; jemalloc's own come and go."""
        names = []
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with suppress(FileNotFoundError, ProcessLookupError):
                with open(f"/proc/{self.pid}/task/{task}/comm",
                          encoding="ascii") as f:
                    names.append((f.read().strip(), task))
        return sorted(n for n in names if n[0] != "jemalloc_bg_thd")

    def descriptors(self):
        """The host's, and the agent's own."""
        task, = (t for name, t in self.tasks() if name == "heapwire")
        return tuple(sorted(map(int, os.listdir(
            f"/proc/{self.pid}/task/{t}/fd"))) for t in (self.pid, task))

    def rss_kb(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
            return int(next(line.split()[1] for line in f
                            if line.startswith("VmRSS")))

    def connect(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(self.socket)  # waits while the queue is full
        s.settimeout(60)
        return s

    def hello(self):
        """Of a new connection; the answer is of this very process."""
        with self.connect() as s:
            s.send(request(HELLO, identity=77))
            reply = s.recv(4096)
        protocol, op, identity, status = struct.unpack_from("<IIQI", reply)
        assert (protocol, op, identity, status) == (PROTOCOL, HELLO, 77, 0)
        pid, = struct.unpack_from("<i", reply, 32 + 256)
        assert pid == self.pid, (pid, self.pid)
        return reply

    def is_well(self):
        assert self.process.poll() is None, self.said()
        assert redis_answers(self.port), "Redis does not answer"
        self.hello()

    def said(self):
        with open(self.directory + "/out", "rb") as f:
            return self.process.returncode, f.read()[-2000:]

    def close(self):
        self.process.terminate()
        self.process.wait(60)
        shutil.rmtree(self.directory, ignore_errors=True)


@contextmanager
def redis():
    r = Redis()
    try:
        yield r
    finally:
        r.close()


def sent_with(s, data, fds):
    s.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                        array.array("i", fds))] if fds else [])


def received(s):
    """Size of the answer, and its descriptors, which are closed; 0: none."""
    try:
        data, extra, _, _ = s.recvmsg(8192, socket.CMSG_SPACE(4 * 16))
    except ConnectionResetError:
        return b"", 0
    fds = array.array("i")
    for _, _, block in extra:
        fds.frombytes(block)
    for fd in fds:
        os.close(fd)
    return data, len(fds)


# Attacks: each leaves the agent as it was

def malformed(r, rng):
    """One request each, of any size but the right one."""
    for size in [*range(48), *range(49, 80), 1192, 4096, 65536, 150000]:
        with r.connect() as s:
            s.send(rng.randbytes(size))
            if size > 0:  # a packet of nothing reads as the end
                assert received(s) == (b"", 0), size


def truncated(r, _):
    for op in range(1, SMAPS + 1):
        whole = request(op, 1)
        for size in range(1, len(whole), 5):
            with r.connect() as s:
                s.send(whole[:size])
                assert received(s)[0] == b""
        with r.connect() as s:
            s.send(whole + b"\0")
            assert received(s)[0] == b""


def unknown(r, rng):
    """Operations and protocols that there are not are told so, and the end."""
    for op, protocol in [(op, PROTOCOL) for op in EDGES
                         if op >> 32 == 0 and (op == 0 or op > SMAPS)] + [
                             (op, p) for op in range(SMAPS + 1)
                             for p in (0, 1, 3, 1 << 31)]:
        with r.connect() as s:
            s.send(request(op, rng.getrandbits(64), protocol=protocol))
            data, fds = received(s)
            assert struct.unpack_from("<I", data, 16)[0] == BAD_REQUEST
            assert fds == 0 and received(s)[0] == b"", (op, protocol)


def extreme(r, rng):
    """Each operation with numbers of every kind."""
    for op in range(1, SMAPS + 1):
        for _ in range(12):
            force = rng.choice((0, 0, 1, 1 << 63))
            number = rng.choice(EDGES)
            if op == RESET and force and number < 16:
                continue  # whoever may force it, may
            with r.connect() as s:
                s.send(request(op, number, rng.choice(EDGES),
                               rng.choice(EDGES), force,
                               identity=rng.choice(EDGES)))
                data, fds = received(s)
                assert len(data) > 300 and fds <= FDS_MAX, (op, number)


def random_fields(r, rng):
    for _ in range(300):
        fields = [rng.choice((rng.getrandbits(64), rng.choice(EDGES)))
                  for _ in range(4)]
        with r.connect() as s:
            s.send(request(rng.choice((1, 2, 3, 5, 7, rng.getrandbits(32))),
                           *fields[:3], protocol=rng.choice((2, 2, 2, 7))))
            received(s)


def with_descriptors(r, rng):
    """As many as one message may have, of every kind: none stays."""
    own = [os.open("/dev/null", os.O_RDONLY), os.memfd_create("planted"),
           *os.pipe(), *(s.detach() for s in socket.socketpair())]
    for count in (1, 2, 8, 253):
        with r.connect() as s:
            for op in (HELLO, STATS, TABLE, 99):
                sent_with(s, request(op, rng.getrandbits(47)),
                          [rng.choice(own) for _ in range(count)])
                assert len(received(s)[0]) > 300
    for _ in range(200):  # unread when the connection ends
        with r.connect() as s:
            sent_with(s, rng.randbytes(10), own)
    # A socket that is sent over itself.
    with r.connect() as s:
        sent_with(s, request(HELLO), [s.fileno()])
        received(s)
    for fd in own:
        os.close(fd)


def tables(r, rng):
    """Of each object, that are none: all kinds of files."""
    code = [int(line.split("-")[0], 16)
            for line in open(f"/proc/{r.process.pid}/maps")
            if " r-xp " in line]
    with r.connect() as s:
        for address in code:
            fd = os.memfd_create("table", os.MFD_ALLOW_SEALING)
            os.write(fd, b"HWUNWIND\1\0\0\0" + rng.randbytes(4000))
            for seals in (0, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE):
                fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
                sent_with(s, request(TABLE, address + 16), [fd])
                assert len(received(s)[0]) > 300
            os.close(fd)
        s.send(request(TABLE, code[0]))  # none at all
        s.send(request(TABLE))
        received(s)


def answers_unread(r, _):
    """Requests without end, whose answers and files nobody takes."""
    for op in (HELLO, STATS, ALLOCATORS, DUMP):
        with r.connect() as s:
            s.setblocking(False)
            try:
                for _ in range(20000):
                    select.select([], [s], [], 60)
                    s.send(request(op))
                raise AssertionError("it was answered without end")
            except OSError as err:
                assert err.errno in (errno.EPIPE, errno.ECONNRESET), err


def half_way(r, rng):
    """Gone while it is being answered."""
    for _ in range(100):
        with r.connect() as s:
            for _ in range(rng.randint(1, 4)):
                with suppress(BrokenPipeError):
                    s.send(request(rng.choice((HELLO, STATS, DUMP))))
            if rng.random() < 0.5:
                s.shutdown(rng.choice((socket.SHUT_RD, socket.SHUT_RDWR)))


def many_connections(r, _):
    """The newest has the agent, the others hear of their end."""
    held = []
    for _ in range(100):
        held.append(r.connect())
    held[-1].send(request(GET_ACTIVE))
    assert len(received(held[-1])[0]) > 300
    for s in held[:-1]:
        assert received(s) == (b"", 0)
    for s in held:
        s.close()


ATTACKS = (malformed, truncated, unknown, extreme, random_fields,
           with_descriptors, tables, answers_unread, half_way, many_connections)


def test_a_hostile_heapwired():
    with redis() as r:
        for attack in ATTACKS:  # once, so that all is warm
            attack(r, random.Random(SEED))
            r.is_well()
        descriptors, tasks, before = r.descriptors(), r.tasks(), r.rss_kb()
        for i in range(3):
            for attack in ATTACKS:
                attack(r, random.Random(SEED + i + 1))
                r.is_well()
                assert r.tasks() == tasks, attack.__name__
        # The last connection of the first time may have been open still.
        wait_for(lambda: all(len(now) <= len(then) for now, then in
                             zip(r.descriptors(), descriptors)))
        print(f"    {r.rss_kb() - before} KB more")
        wait_for(lambda: r.rss_kb() - before < 2048)  # jemalloc gives back later


def as_nobody(what):
    """The exit status of what a process of another user does."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            status = what()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def is_active(s):
    s.send(request(GET_ACTIVE))
    return struct.unpack_from("<Q", received(s)[0], 24)[0] == 1


def test_another_user():
    """Refused by who it is, whatever the socket's mode; it neither takes the
    agent from heapwired nor passes for one."""
    if os.geteuid() != 0:
        print("skipped: another user's process takes root")
        return
    with redis() as r, r.connect() as s:
        assert as_nobody(lambda: attempt(r)) == errno.EACCES
        for path in (r.directory, r.state):
            os.chmod(path, 0o711)
        os.chmod(r.socket, 0o777)
        for _ in range(20):
            assert as_nobody(lambda: attempt(r)) == 0, "it was answered"
            assert not is_active(s), "the older connection has ended"
        # Its knocking is no sign of life of heapwired.
        # An agent that is a second late begins anew.
        assert any(ends_while_knocked_at(r, s) for _ in range(5)), \
            "a stranger keeps profiling on"
        r.is_well()


def ends_while_knocked_at(r, s):
    s.send(request(HELLO, number=1, seconds=1))
    received(s)
    s.send(request(SET_ACTIVE, number=1))
    received(s)
    end = time.monotonic() + 2.5
    as_nobody(lambda: knock(r, end))
    return not is_active(s)


def attempt(r):
    """An errno; 0: it was let in to the queue, and never answered."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        s.connect(r.socket)
        with suppress(BrokenPipeError):
            s.send(request(SET_ACTIVE, number=1))
        with suppress(ConnectionResetError):
            return 98 if s.recv(4096) else 0
        return 0
    except OSError as err:
        return err.errno


def knock(r, end):
    while time.monotonic() < end:
        attempt(r)
        time.sleep(0.05)  # twenty times a second
    return 0


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
