"""What no program sends to the HTTP door: an error or a closed connection, and
MySQL's clients go on.  Arguments name single tests."""
import base64
import contextlib
import re
import resource
import socket
import sys
import time

from http_door import HOST, OK, USERS, local, node_with, same, talk, tcp
from mysql_wire import Wire
from node_under_test import REAL, SANITIZED, Node, wait_for
from runner import beside, named, run_tests

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


def test_bad_input():
    with node_with() as node:
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
        Wire(node.tcp).login(b"boss", b"b0ss").ping()
        same("goes on", 200, tcp(node, "/").status)


def test_traversal():
    """There are no files: nothing is normalised, nothing is found."""
    with node_with() as node:
        for path in ("/../etc/passwd", "/%2e%2e/etc/passwd", "//healthz",
                     "/healthz/", "/healthz/..", "/HEALTHZ", "/%68ealthz",
                     "/healthz%00", "/;/healthz", "/./healthz"):
            same(path, 404, tcp(node, path, "--path-as-is").status)


def test_requests_in_a_row():
    """Pipelined ones are answered in their order, the last one closes."""
    with node_with() as node:
        login = b"Authorization: Basic " + base64.b64encode(b"boss:b0ss")
        get = b"GET %s HTTP/1.1\r\n" + HOST + login + b"\r\n%s\r\n"
        said = talk(node, get % (b"/healthz", b"") + get % (b"/readyz", b"") +
                    get % (b"/nothing", b"") +
                    get % (b"/healthz", b"Connection: close\r\n") + OK)
        same("in order", [b"200", b"503", b"404", b"200"],
             re.findall(rb"HTTP/1\.1 (\d+) ", said))
        with socket.create_connection(("127.0.0.1", node.http_port), 20) as s:
            for byte in OK:  # one by one
                s.sendall(bytes([byte]))
            assert s.recv(4096).endswith(b"ok\n")
        # Each request proves its own: the next one of the connection has none.
        said = talk(node, get % (b"/", b"") +
                    b"GET / HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n")
        same("by each", [b"200", b"401"],
             re.findall(rb"HTTP/1\.1 (\d+) ", said))


@beside
def test_slow_clients():
    """The whole first request has ten seconds, however often a byte comes."""
    with node_with() as node:
        with socket.create_connection(("127.0.0.1", node.http_port), 20) as s:
            began = time.monotonic()
            s.sendall(b"GET / HTTP/1.1\r\n" + HOST)
            s.settimeout(0.2)
            closed = False
            while not closed:
                assert time.monotonic() - began < 30, "it is still open"
                try:
                    s.sendall(b"A")
                    closed = s.recv(4096) == b""
                except TimeoutError:
                    pass
                except OSError:
                    closed = True


def test_half_open():
    """Ten thousand connections that never finish: MySQL's clients log in all
    the while, and so does a client of HTTP with a password."""
    wanted = 2000 if SANITIZED else 10000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < wanted + 100 and hard != resource.RLIM_INFINITY:
        wanted = hard - 100
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted + 100, hard))
    held = []
    try:
        with node_with() as node:
            port, before = node.http_port, node.rss_kb()
            for i in range(wanted):
                s = socket.socket()
                s.setblocking(False)  # the kernel's queue is short
                s.connect_ex(("127.0.0.1", port))
                with contextlib.suppress(OSError):
                    s.send(b"GET / HTTP/1.1\r\n")
                held.append(s)
                if i % 1000 == 500:
                    Wire(node.tcp).login(b"boss", b"b0ss").close()
            same("HTTP, too", 200, tcp(node, "/").status)
            same("the socket", 200, local(node, "/").status)
            Wire(node.tcp).login(b"boss", b"b0ss").close()
            assert node.descriptors() < 500, node.descriptors()
            if not SANITIZED:
                assert node.rss_kb() - before < 64 << 10, node.rss_kb()
    finally:
        for s in held:
            s.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_client_that_does_not_read():
    """A client that asks on and on, and reads nothing, is not served on."""
    with node_with() as node:
        login = b"Authorization: Basic " + base64.b64encode(b"boss:b0ss")
        ask = b"GET / HTTP/1.1\r\n" + HOST + login + b"\r\n\r\n"
        with socket.create_connection(("127.0.0.1", node.http_port), 20) as s:
            s.settimeout(1)
            sent = 0
            with contextlib.suppress(TimeoutError):
                while sent < 64 << 20:
                    sent += s.send(ask * 500)
            assert sent < 64 << 20, "it takes everything"
            Wire(node.tcp).login(b"boss", b"b0ss").close()
            same("others", 200, tcp(node, "/").status)


def loop_wakes(node):
    with open(f"/proc/{node.process.pid}/task/{node.process.pid}/status",
              encoding="ascii") as f:
        return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", f.read(),
                             re.M).group(1))


def test_an_idle_door_sleeps():
    """It wakes the loop no more often than none does."""
    with node_with() as node, Node(REAL, users=USERS,
                                   settings="http = none\n") as other:
        same("once", 200, tcp(node, "/").status)

        def sleeps():
            before = loop_wakes(node), loop_wakes(other)
            time.sleep(3)
            more = loop_wakes(node) - before[0]
            return more <= loop_wakes(other) - before[1] + 1
        wait_for(sleeps, 60)


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
    print("http_hostile.py: ok")
