"""What no program sends to the HTTP interface, on a real node: an error or a closed
connection.  All the while MySQL's clients are served as before, and the
database is not touched.  Arguments name single tests."""
import base64
import contextlib
import os
import re
import resource
import select
import socket
import statistics
import struct
import sys
import threading
import time

from http_under_test import (HOST, OK, USERS, local, node_with, read_answer, redis,
                       same, talk, tcp)
from mysql_wire import Wire
from node_under_test import REAL, SANITIZED, Node, wait_for
from runner import in_parallel, named, run_tests
from tls_flood import TLS12, TLS13, Tls

LOGIN = b"Authorization: Basic " + base64.b64encode(b"boss:b0ss") + b"\r\n"


def status_kb(pid, key):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(rf"^{key}:\s+(\d+)", f.read(), re.M).group(1))


def mysql(node):
    return Wire(("127.0.0.1", node.mysql_port)).login(b"boss", b"b0ss")


class Watch:
    """A client of MySQL and one of the database, as long as the block runs: the
    milliseconds that their answers take."""

    def __init__(self, node):
        self.node, self.over = node, threading.Event()
        self.queries, self.pings, self.failed = [], [], None

    def look(self):
        try:
            with mysql(self.node) as wire, socket.create_connection(
                    ("127.0.0.1", self.node.redis_port), 20) as database:
                while not self.over.is_set():
                    began = time.monotonic()
                    wire.ping()
                    then = time.monotonic()
                    database.sendall(b"PING\r\n")
                    assert database.recv(64) == b"+PONG\r\n"
                    self.queries.append(1000 * (then - began))
                    self.pings.append(1000 * (time.monotonic() - then))
                    self.over.wait(0.01)
        except Exception as err:
            self.failed = err

    def __enter__(self):
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        wait_for(lambda: len(self.queries) > 20 or self.failed)
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        if self.failed:
            raise self.failed


BAD = (
    ("two lengths", b"POST / HTTP/1.1\r\n" + HOST +
     b"Content-Length: 0\r\nContent-Length: 40\r\n\r\n" + OK, 400),
    ("equal lengths", b"POST / HTTP/1.1\r\n" + HOST +
     b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n" + OK, 400),
    ("both", b"POST / HTTP/1.1\r\n" + HOST +
     b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + OK,
     400),
    ("chunked", b"POST / HTTP/1.1\r\n" + HOST +
     b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + OK, 501),
    ("list of lengths", b"POST / HTTP/1.1\r\n" + HOST +
     b"Content-Length: 0, 0\r\n\r\n" + OK, 400),
    ("signed length", b"POST / HTTP/1.1\r\n" + HOST +
     b"Content-Length: +0\r\n\r\n" + OK, 400),
    ("hex length", b"POST / HTTP/1.1\r\n" + HOST +
     b"Content-Length: 0x5\r\n\r\n" + OK, 400),
    ("large length", b"POST / HTTP/1.1\r\n" + HOST +
     b"Content-Length: 18446744073709551616\r\n\r\n" + OK, 413),
    ("blank before colon", b"POST / HTTP/1.1\r\n" + HOST +
     b"Content-Length : 40\r\n\r\n" + OK, 400),
    ("folded line", b"GET / HTTP/1.1\r\n" + HOST + b"A: b\r\n c\r\n\r\n", 400),
    ("bare line feeds", b"GET / HTTP/1.1\nHost: localhost\n\n", 400),
    ("one bare line feed", b"GET / HTTP/1.1\r\nA: b\n" + HOST + b"\r\n", 400),
    ("bare CR", b"GET / HTTP/1.1\r\n" + HOST + b"A: b\rC: d\r\n\r\n", 400),
    ("NUL", b"GET / HTTP/1.1\r\n" + HOST + b"A: \0\r\n\r\n", 400),
    ("no Host", b"GET / HTTP/1.1\r\n\r\n", 400),
    ("two Hosts", b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n", 400),
    ("two Authorizations", b"GET / HTTP/1.1\r\n" + HOST +
     b"Authorization: a\r\nAuthorization: b\r\n\r\n", 400),
    ("HTTP/2's", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    ("HTTP/0.9", b"GET /\r\n\r\n", 400),
    ("HTTP/1.2", b"GET / HTTP/1.2\r\n" + HOST + b"\r\n", 505),
    ("two blanks", b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("absolute", b"GET http://x/ HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("an authority", b"GET x:1 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("a star", b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("a fragment", b"GET /healthz#x HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("identity", b"POST / HTTP/1.1\r\n" + HOST +
     b"Transfer-Encoding: identity\r\n\r\n" + OK, 501),
    ("twice chunked", b"POST / HTTP/1.1\r\n" + HOST +
     b"Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n\r\n" + OK, 501),
    ("encoding first", b"POST / HTTP/1.1\r\n" + HOST +
     b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + OK, 400),
    ("a tab before the colon", b"POST / HTTP/1.1\r\n" + HOST +
     b"Transfer-Encoding\t: chunked\r\n\r\n" + OK, 400),
    ("a folded first line", b"GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400),
    ("NUL in the path", b"GET /\0 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("CONNECT", b"CONNECT x:1 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("half an escape", b"GET /%2 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("no escape", b"GET /%zz HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("bytes", b"GET /\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("a MB of header", b"GET / HTTP/1.1\r\n" + HOST + b"A: " + b"x" * (1 << 20),
     431),
    ("a MB of target", b"GET /" + b"x" * (1 << 20), 431),
    ("100 headers", b"GET / HTTP/1.1\r\n" + HOST + b"A: b\r\n" * 100 + b"\r\n",
     431),
    ("MySQL", b"\x55\0\0\1\x85\xa6\xff\x01" + b"\0" * 80, 400),
    ("SSH", b"SSH-2.0-OpenSSH_9.2\r\n\r\n", 400),
    ("line feeds", b"\r\n" * 100, 400),
    ("TLS without end", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc" + b"x" * 4000,
     None),
    ("not TLS", b"\x16" * 300, None),
)


def test_bad_input(node):
    for what, data, status in BAD:
        said = talk(node, data)
        first = re.match(rb"HTTP/1\.1 (\d+) ", said)
        answered = first and int(first.group(1))
        # what was not read yet may make the kernel reset the connection
        if status and (said or len(data) < 100000):
            same(what, status, answered)
            same(f"answers to {what}", 1, said.count(b"HTTP/1.1 "))
        assert b"\r\n\r\nok\n" not in said, what
        if status is None:
            assert not first, said


def test_the_other_protocol(node):
    """HTTP and TLS at MySQL's port: nothing that a browser would show."""
    for data in (OK, b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20000,
                 b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc" + b"x" * 4000):
        said = talk(node, data, port=node.mysql_port)
        assert b"HTTP/1.1 " not in said, said[:200]


def test_traversal(node):
    """There are no files: nothing is normalised, nothing is found."""
    for path in ("/../etc/passwd", "/%2e%2e/etc/passwd", "//healthz",
                 "/healthz/", "/healthz/..", "/HEALTHZ", "/%68ealthz",
                 "/healthz%00", "/;/healthz", "/./healthz", "/\\..\\x",
                 "/page.css/../../x", "/%c0%ae%c0%ae/x"):
        same(path, 404, tcp(node, path, "--path-as-is").status)


def test_requests_in_a_row(node):
    """Pipelined ones are answered in their order, the last one closes."""
    get = b"GET %s HTTP/1.1\r\n" + HOST + LOGIN + b"%s\r\n"
    said = talk(node, get % (b"/healthz", b"") + get % (b"/pprof/growth", b"") +
                get % (b"/nothing", b"") +
                get % (b"/healthz", b"Connection: close\r\n") + OK)
    same("in order", [b"200", b"501", b"404", b"200"],
         re.findall(rb"HTTP/1\.1 (\d+) ", said))
    with socket.create_connection(("127.0.0.1", node.http_port), 20) as s:
        for byte in OK:  # one by one
            s.sendall(bytes([byte]))
        assert s.recv(4096).endswith(b"ok\n")
    # Each request proves its own: the next one of the connection has none.
    said = talk(node, get % (b"/", b"") +
                b"GET / HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n")
    same("by each", [b"200", b"401"], re.findall(rb"HTTP/1\.1 (\d+) ", said))


def test_a_thousand_in_a_row(node):
    """In one piece; each runs a statement, and none is lost or doubled."""
    post = (b"POST /value HTTP/1.1\r\n" + HOST + LOGIN +
            b"X-Heapwire: 1\r\nContent-Length: %d\r\n\r\n%s")
    texts = [b"SELECT 'number %d.'" % i for i in range(1000)]
    said = talk(node, b"".join(post % (len(t), t) for t in texts) +
                OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
                60)
    same("all", [b"200"] * 1001, re.findall(rb"HTTP/1\.1 (\d+) ", said))
    same("in order", list(range(1000)),
         [int(n) for n in re.findall(rb"number (\d+)\.", said)])


def drip(node, head, seconds):
    """The interface is sent one byte after the other, and ends it before so many
    seconds, of which a busy machine adds some; what it says."""
    began, said = time.monotonic(), b""
    with socket.create_connection(("127.0.0.1", node.http_port), 20) as s:
        s.sendall(head)
        s.settimeout(0.2)
        while time.monotonic() - began < seconds:
            try:
                s.sendall(b"A")
                part = s.recv(4096)
            except TimeoutError:
                continue
            except OSError:
                break
            if not part:
                break
            said += part
        else:
            raise AssertionError("it is still open")
    return said


@in_parallel
def test_slow_heads(_):
    """The whole first request has ten seconds, however often a byte comes; but
    a connection that asked for health may ask again."""
    with node_with() as node, socket.create_connection(
            ("127.0.0.1", node.http_port), 20) as s:
        health = s.makefile("rwb")
        for round_ in range(2):
            health.write(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
            health.flush()
            same("health", 200, read_answer(health)[0])
            if round_ == 0:
                same("said", b"",
                     drip(node, b"GET / HTTP/1.1\r\n" + HOST, 30))


def test_slow_bodies(node):
    """Of unauthenticated clients, none is waited for."""
    for login in (b"", LOGIN.replace(b"\r\n", b"x\r\n")):
        said = drip(node, b"POST /sql HTTP/1.1\r\n" + HOST + login +
                    b"Content-Length: 100000\r\n\r\n", 30)
        assert said.startswith(b"HTTP/1.1 401 "), said


@contextlib.contextmanager
def descriptors(wanted):
    """Gives how many connections this process may hold."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < wanted + 100 and hard != resource.RLIM_INFINITY:
        wanted = hard - 100
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted + 100, hard))
    try:
        yield wanted
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_half_open(node):
    """Ten thousand connections that never finish, many of them at once: MySQL's
    clients log in all the while, and so does one of HTTP with a password."""
    held = []
    before = status_kb(node.heapwired, "VmRSS")
    with descriptors(2000 if SANITIZED else 10000) as wanted:
        try:
            for i in range(wanted):
                s = socket.socket()
                s.setblocking(False)  # the kernel's queue is short
                s.connect_ex(("127.0.0.1", node.http_port))
                with contextlib.suppress(OSError):
                    s.send((b"GET / HTTP/1.1\r\n", b"\x16\x03\x01", b"")[i % 3])
                held.append(s)
                if i % 1000 == 500:
                    mysql(node).close()
            same("HTTP, too", 200, tcp(node, "/").status)
            same("the socket", 200, local(node, "/").status)
            mysql(node).close()
            open_now = len(os.listdir(f"/proc/{node.heapwired}/fd"))
            assert open_now < 500, open_now
            if not SANITIZED:
                more = status_kb(node.heapwired, "VmRSS") - before
                assert more < 64 << 10, more
        finally:
            for s in held:
                s.close()


def test_a_client_that_does_not_read(node):
    """A client that asks on and on, and reads nothing, is not served on."""
    ask = b"GET / HTTP/1.1\r\n" + HOST + LOGIN + b"\r\n"
    with socket.create_connection(("127.0.0.1", node.http_port), 20) as s:
        s.settimeout(1)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < 64 << 20:
                sent += s.send(ask * 500)
        assert sent < 64 << 20, "it takes everything"
        mysql(node).close()
        same("others", 200, tcp(node, "/").status)


def flood(tls, keys, data):
    """Asks so often for keys, or for a handshake, until that is refused: how
    often health was told before."""
    told = 0
    if not keys:
        tls.ask_for_a_handshake()
        tls.send()
        tls.read()
        assert not tls.shakes_hands(), "once more"
        return told
    with contextlib.suppress(ConnectionError):
        for _ in range(keys):
            tls.ask_for_keys()
        if data:
            tls.write(data)
        tls.send()
        while not told:
            told += tls.read().count(b"HTTP/1.1 200 ")
    return told


@in_parallel
def test_floods_of_key_updates_and_renegotiation(_):
    """They are refused, whatever comes with them, and cost the node less than
    the client."""
    health = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    with node_with() as node:
        for version, keys, data in (
                (TLS13, 2000, b""), (TLS13, 2000, health), (TLS13, 60, health),
                (TLS12, 0, b"")):
            spent, own = node.cpu_seconds(), time.thread_time()
            for _ in range(20):
                with contextlib.closing(Tls(("127.0.0.1", node.http_port),
                                            version)) as tls:
                    same("told", 0, flood(tls, keys, data))
            spent = node.cpu_seconds() - spent
            own = time.thread_time() - own
            print(f"    {keys} keys, {len(data)} bytes: "
                  f"{spent / own:.2f} of the client's time")
            assert SANITIZED or spent < 2 * own + 0.02, (keys, spent, own)
        same("others", 200, tcp(node, "/", "-k", scheme="https").status)


BUSY = b"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n " \
    b"LIMIT 100000) SELECT COUNT(*) FROM n, (SELECT 1 FROM n) m"


@in_parallel
def test_one_account_leaves_places(_):
    """It computes on all connections that it gets, and asks on and on."""
    ask = (b"POST /sql HTTP/1.1\r\nX-Heapwire: 1\r\n" + HOST +
           b"Authorization: Basic " + base64.b64encode(b"eve:eve") +
           b"\r\nContent-Length: %d\r\n\r\n" % len(BUSY) + BUSY)
    users = USERS + (("eve", b"eve", "status"),)
    with node_with("statement_timeout = 600\n", users=users) as node, \
            contextlib.ExitStack() as held:
        for _ in range(200):
            s = held.enter_context(socket.create_connection(
                ("127.0.0.1", node.http_port), 20))
            with contextlib.suppress(OSError):
                s.sendall(ask)
        with Wire(node.socket).login(b"root", b"") as root:
            wait_for(lambda: int(root.query(
                "SELECT COUNT(*) FROM information_schema.processlist "
                "WHERE user = 'eve' AND info LIKE '%RECURSIVE%'")[0][0]) >= 60)
        same("eve's next", 429, tcp(node, "/sql", "-H", "X-Heapwire: 1", "-d",
                                    "SELECT 1", user="eve:eve").status)
        for _ in range(5):
            same("alive", 200, tcp(node, "/healthz", user=None).status)
            same("alive, on the socket", 200, local(node, "/healthz").status)
            same("boss", 200, tcp(node, "/metrics?node=10001").status)
            same("root", 200, local(node, "/sql", "-H", "X-Heapwire: 1", "-d",
                                    "SELECT 1").status)


LARGE = struct.pack("<I", 15 << 20)[:3] + b"\0\x03" + b"x" * ((15 << 20) - 1000)


def status_said(s):
    """What it has answered until now; None: nothing."""
    if not select.select([s], [], [], 0)[0]:
        return None
    with contextlib.suppress(ConnectionError):
        return s.recv(65536)[9:12]
    return b""


@in_parallel
def test_bodies_share_the_memory_of_all_clients(_):
    """Packets that never end hold most of it: of bodies that never end some
    find room, and the others are refused before they have come."""
    users = USERS + tuple((f"u{i}", b"pw", "status") for i in range(3))
    body = (b"POST /sql HTTP/1.1\r\nX-Heapwire: 1\r\n" + HOST + LOGIN +
            b"Content-Length: 1000000\r\n\r\n" + b"x" * 999000)
    with node_with(users=users) as node, contextlib.ExitStack() as held:
        before = status_kb(node.process.pid, "VmRSS")
        for i in range(24):
            w = held.enter_context(Wire(node.tcp).login(b"u%d" % (i % 3), b"pw"))
            with contextlib.suppress(OSError):
                w.sock.sendall(LARGE)
        asked = [held.enter_context(socket.create_connection(
            ("127.0.0.1", node.http_port), 20)) for _ in range(60)]
        for s in asked:
            with contextlib.suppress(OSError):
                s.sendall(body)
        said = {}

        def is_said():
            for s in asked:
                said[s] = said.get(s) or status_said(s)
            return sum(v is not None for v in said.values()) >= 20
        wait_for(is_said)
        assert {v for v in said.values() if v} == {b"503"}, said.values()
        same("alive", 200, tcp(node, "/healthz", user=None).status)
        same("a small one", 200, tcp(node, "/sql", "-H", "X-Heapwire: 1", "-d",
                                     "SELECT 1").status)
        peak = status_kb(node.process.pid, "VmHWM") - before
        print(f"    at most {peak >> 10} MB more")
        assert SANITIZED or peak < 330 << 10, peak


def loop_wakes(node):
    with open(f"/proc/{node.process.pid}/task/{node.process.pid}/status",
              encoding="ascii") as f:
        return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", f.read(),
                             re.M).group(1))


@in_parallel
def test_an_idle_listener_sleeps(_):
    """It wakes the loop no more often than none does."""
    with node_with() as node, Node(REAL, users=USERS,
                                   settings="http = none\n") as other:
        same("once", 200, tcp(node, "/").status)

        def sleeps():
            before = loop_wakes(node), loop_wakes(other)
            time.sleep(3)  # the time that is measured
            more = loop_wakes(node) - before[0]
            return more <= loop_wakes(other) - before[1] + 1
        wait_for(sleeps, 60)


def watched(test, quiet):
    """With the node, and what its clients notice."""
    if hasattr(test, "in_parallel"):
        return test

    def run(node):
        with Watch(node) as watch:
            test(node)
        for kind, usual in quiet.items():
            busy = statistics.median(getattr(watch, kind))
            print(f"   {kind}: {usual:.2f} ms, and {busy:.2f} ms meanwhile, "
                  f"at most {max(getattr(watch, kind)):.0f} ms")
            assert busy < 10 * usual + 50, (kind, usual, busy)
    return run


def run_all(tests):
    with redis("login_failures = 1000\n") as node:
        database = node.children["redis-server"]
        with Watch(node) as before:
            wait_for(lambda: len(before.queries) > 100)
        quiet = {kind: statistics.median(getattr(before, kind))
                 for kind in ("queries", "pings")}
        size = status_kb(database, "VmRSS")
        run_tests({n: watched(t, quiet) for n, t in tests.items()}, node)
        more = status_kb(database, "VmRSS") - size
        assert more < 8 << 10, f"the database has grown by {more} KB"


if __name__ == "__main__":
    run_all(named(globals(), sys.argv[1:]))
    print("http_hostile.py: ok")
