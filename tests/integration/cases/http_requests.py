"""Requests to the HTTP interface one by one: how large, what they share, and what
caches and proxies see.  Arguments name single tests."""
import base64
import contextlib
import json
import signal
import socket
import ssl
import subprocess
import sys
import time

from concurrent.futures import ThreadPoolExecutor

from http_under_test import (HOST, USERS, node_with, read_answer, reload, same, talk,
                       tcp)
from keeper import keeper_of
from mysql_wire import Wire
from node_under_test import PASSWD, POOR, Node, frozen, wait_for
from runner import named, run_tests

ANY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
ANY.check_hostname, ANY.verify_mode = False, ssl.CERT_NONE


def statement(node, text, path="/value", *arguments, user="boss:b0ss"):
    return tcp(node, path, "-H", "X-Heapwire: 1", "--data-binary", "@-",
               *arguments, user=user, data=text.encode())


def test_large_bodies():
    """An unauthenticated one ends where the login would have been proven."""
    with node_with() as node:
        size = 200000
        long = statement(node, f"SELECT length('{'x' * size}')")
        same("a statement", (200, b"%d" % size), (long.status, long.body))
        same("addresses", 503, tcp(node, "/pprof/symbol", "--data-binary", "@-",
                                   data=b"0x123456789abc+" * 69000).status)
        same("too large", 413, statement(node, "x" * ((1 << 20) + 1)).status)
        head = (b"POST /value HTTP/1.1\r\n" + HOST +
                b"X-Heapwire: 1\r\nContent-Length: %d\r\n\r\n")
        same("a stranger's", b"HTTP/1.1 401", talk(node, head % size)[:12])
        same("in the clear", b"HTTP/1.1 421", talk(
            node, head.replace(HOST, b"Host: x\r\n") % size)[:12])


def test_expectations():
    """The body is asked for once its head may come in, and not before."""
    with node_with() as node:
        login = b"Authorization: Basic " + base64.b64encode(b"boss:b0ss")
        head = (b"POST /value HTTP/1.%d\r\n" + HOST + b"X-Heapwire: 1\r\n"
                b"Content-Length: %d\r\nExpect: %s\r\n%s\r\n\r\n")
        goes_on = b"100-Continue"
        for sizes in ((20, 100000, 20), (100000, 20)):
            with socket.create_connection(("127.0.0.1", node.http_port),
                                          20) as s:
                stream = s.makefile("rwb")
                for size in sizes:
                    text = b"SELECT 7 /*" + b"x" * size + b"*/"
                    stream.write(head % (1, len(text), goes_on, login))
                    stream.flush()
                    same("asked", b"HTTP/1.1 100 Continue\r\n\r\n",
                         stream.readline() + stream.readline())
                    for part in (text[:10], text[10:]):
                        stream.write(part)
                        stream.flush()
                    same("answered", (200, b"7"), read_answer(stream))
        text = b"SELECT 7"
        for wanted, bytes_of in (
                (401, head % (1, 9, goes_on, b"X: y")),
                (401, head % (1, 200000, goes_on, b"X: y")),
                (413, head % (1, (1 << 20) + 1, goes_on, login)),
                (417, head % (1, 9, b"200-ok", login)),
                (200, head % (0, len(text), goes_on, login) + text),
                (200, head % (1, len(text), goes_on,
                              login + b"\r\nConnection: close") + text)):
            same(bytes_of[:120], b"HTTP/1.1 %d" % wanted,
                 talk(node, bytes_of)[:12])


def test_they_share_no_session():
    """What one sets is gone with it."""
    with node_with() as node:
        login = b"Authorization: Basic " + base64.b64encode(b"boss:b0ss")

        def post(text, more=b""):
            return (b"POST /value HTTP/1.1\r\n" + HOST + login + b"\r\n" +
                    b"X-Heapwire: 1\r\nContent-Length: %d\r\n%s\r\n%s" %
                    (len(text), more, text))

        said = talk(node, post(b"SET @x = 1, sql_select_limit = 0") +
                    post(b"USE information_schema") +
                    post(b"SELECT concat_ws(' ', 'got', @x, schema())",
                         b"Connection: close\r\n"))
        assert said.endswith(b"\r\n\r\ngot heapwire"), said


def test_leaving_between_them_is_no_loss():
    with node_with() as node:
        sql = Wire(node.socket).login()

        def lost():
            return [int(value) for _, value in
                    sql.query("SHOW STATUS LIKE 'Aborted%'")]

        same("a statement", 503, tcp(node, "/readyz").status)
        same("none", 200, tcp(node, "/healthz", user=None).status)
        with socket.create_connection(("127.0.0.1", node.http_port), 20) as s:
            s.sendall(b"GET /healthz")
        wait_for(lambda: lost()[1] == 1)
        same("clients", 0, lost()[0])


def test_a_new_secret_of_the_cluster_ends_none():
    with node_with(f"[cluster]\nname = blue\nsecret = {'1' * 64}\n") as node:
        with socket.create_connection(("127.0.0.1", node.http_port), 20) as s:
            stream = s.makefile("rwb")
            for changed in (False, True):
                if changed:
                    with open(node.config, encoding="ascii") as f:
                        text = f.read()
                    with open(node.config, "w", encoding="ascii") as f:
                        f.write(text.replace("1" * 64, "2" * 64))
                    reload(node)
                stream.write(b"GET /help HTTP/1.1\r\n" + HOST +
                             b"Authorization: Basic " +
                             base64.b64encode(b"boss:b0ss") + b"\r\n\r\n")
                stream.flush()
                same(f"changed: {changed}", 200, read_answer(stream)[0])


def test_failures_of_others():
    """A login that must wait holds up neither a connection whose last request
    was proven, nor one that asks for health."""
    with node_with("login_failures = 1\n") as node, socket.create_connection(
            ("127.0.0.1", node.http_port), 20) as s:
        stream = s.makefile("rwb")

        def get(*passwords):
            stream.write(b"".join(
                b"GET /help HTTP/1.1\r\n%sAuthorization: Basic %s\r\n\r\n" %
                (HOST, base64.b64encode(b"boss:" + p)) for p in passwords))
            stream.flush()
            return [read_answer(stream)[0] for _ in passwords]

        def timed(start, what, *arguments, **named):
            return what(*arguments, **named), time.monotonic() - start

        same("proven", [200], get(b"b0ss"))
        start = time.monotonic()  # two seconds after the guess it is its turn
        same("a guess", 401, tcp(node, "/", user="ann:wrong").status)
        with ThreadPoolExecutor(1) as other:
            waiting = other.submit(timed, start, tcp, node, "/",
                                   user="ann:secret")
            same("goes on", [200], get(b"b0ss"))
            same("health", 200, tcp(node, "/healthz", user=None).status)
            answer, seconds = waiting.result()
        same("the right one waits", (200, True),
             (answer.status, seconds > 1.9))
        same("a guess is the last of what is proven", ([401, 200], True),
             (lambda got, took: (got, took > 1.9))(*timed(
                 time.monotonic(), get, b"wrong", b"b0ss")))


class Kept:
    """A connection; each request has its own login, or none."""

    def __init__(self, node):
        self.sock = socket.create_connection(("127.0.0.1", node.http_port), 60)
        self.stream = self.sock.makefile("rwb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.sock.close()

    def ask(self, login, head=b"GET /help HTTP/1.1", more=b"", body=b""):
        """login: "name:password" in any form of the header, or None."""
        if login is not None and b" " not in login:
            login = b"Basic " + base64.b64encode(login)
        self.stream.write(
            b"%s\r\n%s%s%s\r\n%s" % (head, HOST, more, b"" if login is None else
                                    b"Authorization: " + login + b"\r\n",
                                    body))
        self.stream.flush()
        return read_answer(self.stream)

    def status(self, login):
        return self.ask(login)[0]

    def user(self, login):
        """As the server has it."""
        said = self.ask(login, b"POST /value HTTP/1.1", b"X-Heapwire: 1\r\n"
                        b"Content-Length: 13\r\n", b"SELECT user()")
        return said[1].partition(b"@")[0].decode() if said[0] == 200 else said[0]


BOSS, ANN = b"boss:b0ss", b"ann:secret"


def test_each_request_has_its_own_user():
    """However well the one before it was proven: byte for byte the same header,
    or another proof."""
    encoded = base64.b64encode(BOSS)
    with node_with() as node, Kept(node) as kept:
        for login, user in (
                (BOSS, "boss"), (BOSS, "boss"), (ANN, "ann"), (ANN, "ann"),
                (BOSS, "boss"), (None, 401), (BOSS, "boss"), (BOSS, "boss"),
                (b"boss:wrong", 401), (b"boss:wrong", 401), (BOSS, "boss"),
                (b"ann:b0ss", 401), (ANN, "ann"), (b"Bearer boss.b0ss", 401),
                (BOSS, "boss"), (b"Basic " + encoded[:-1] + b"B", 401),
                (b"basic " + encoded, "boss"), (b"Basic " + encoded, "boss"),
                (b"Basic " + encoded[:-1], 401), (b"boss:", 401),
                (BOSS, "boss")):
            same(login, user, kept.user(login))


def test_a_second_proof_asks_no_keeper():
    """Which is most of what a small request costs."""
    with node_with() as node, Kept(node) as kept:
        same("proven", 200, kept.status(BOSS))
        with frozen(keeper_of(node)):
            same("the same again", 200, kept.status(BOSS))
        same("another", 200, kept.status(ANN))


def test_a_reload_forgets_proofs():
    """Whatever it changes: the password, then the account."""
    new = b"boss:new"
    with node_with() as node, Kept(node) as kept:
        same("proven", [200] * 2, [kept.status(BOSS) for _ in range(2)])
        subprocess.run([PASSWD, node.config, "boss", "--stdin", "--replace"],
                       input=b"new\n", check=True)
        same("not read yet", 200, kept.status(BOSS))
        reload(node)
        same("the former password", [401] * 2,
             [kept.status(BOSS) for _ in range(2)])
        same("the new one", [200] * 2, [kept.status(new) for _ in range(2)])
        with open(node.config, encoding="ascii") as f:
            text = f.read()
        with open(node.config, "w", encoding="ascii") as f:
            f.write(text.replace("[user boss]", "[user bass]"))
        reload(node)
        with contextlib.suppress(EOFError, ConnectionError):  # it may be closed
            same("no account", 401, kept.status(new))
        with Kept(node) as other:
            same("nor elsewhere", [401, 200],
                 [other.status(new), other.status(b"bass:new")])


PACKED = b"Accept-Encoding: gzip\r\n"
OPEN = b"Accept: application/openmetrics-text\r\n"
FAILED = b"heapwire_daemon_failed_logins_total "


def test_scrapers_share_figures():
    """Of one moment, among those that may see them; not for longer."""
    with node_with() as node, Kept(node) as kept:
        node.passwd("none", b"none", "profile")
        reload(node)
        def scrape(login, more=b""):
            status, body = kept.ask(login, b"GET /metrics HTTP/1.1", more)
            same((login, more), 403 if login == b"none:none" else 200, status)
            return body

        def shared(*form):
            boss, ann = (scrape(login, b"".join(form)) for login in (BOSS, ANN))
            scrape(b"none:none", b"".join(form))
            assert FAILED in boss and FAILED in ann
            same(form, [OPEN in form] * 2, [body.endswith(b"\n# EOF\n")
                                            for body in (boss, ann)])
            return boss == ann  # or it took too long: they count requests

        def failed():
            return int(scrape(ANN).partition(b"\n" + FAILED)[2].split()[0])

        for form in (), (PACKED,), (OPEN,), (OPEN, PACKED):
            wait_for(lambda form=form: shared(*form), 60)
        before = failed()
        with Kept(node) as other:
            same("a wrong one", 401, other.status(b"ann:wrong"))
        same("no login", 401, tcp(node, "/metrics", user=None).status)
        socket.create_connection(("127.0.0.1", node.http_port), 20).close()
        wait_for(lambda: failed() == before + 2)


def test_caches():
    """What is packed and what is not have one tag, which says so."""
    with node_with() as node:
        packed = tcp(node, "/page.js", "-H", "Accept-Encoding: gzip")
        plain = tcp(node, "/page.js")
        same("packed", "gzip", packed.header("content-encoding"))
        tag = plain.header("etag")
        same("a weak tag", ('W/"', packed.header("etag")), (tag[:3], tag))
        head = tcp(node, "/page.js", "-I", "-H", "Accept-Encoding: gzip")
        same("HEAD", (200, tag, None), (head.status, head.header("etag"),
                                        head.header("content-length")))
        same("HEAD, plain", plain.header("content-length"),
             tcp(node, "/page.js", "-I").header("content-length"))
        for known, status in ((tag, 304), (tag[2:], 304), ("*", 304),
                              (f'"x", {tag}', 304), ('W/"x"', 200)):
            answer = tcp(node, "/page.js", "-H", f"If-None-Match: {known}")
            same(known, (status, tag, "Accept-Encoding"),
                 (answer.status, answer.header("etag"), answer.header("vary")))
        same("what changes", None, tcp(node, "/metrics").header("etag"))


def test_statuses():
    """A fault of the statement is the client's."""
    with node_with() as node:
        for text, status in (("SELEC 1", 400), ("SELECT x", 400),
                             ("SELECT 1 FROM nothing", 400), ("KILL 999", 400),
                             ("SELECT '" + "x" * 300000 + "'", 400),
                             ("SELECT raw('nothing')", 404),
                             ("SELECT NULL", 503), ("SELECT 1", 200)):
            same(text[:30], status, statement(node, text).status)


def test_one_value():
    """And not the first of many; heapwire is the database."""
    with node_with() as node:
        for text, wanted in (
                ("SELECT 1, 2", "several columns"),
                ("SELECT NULL, 2", "several columns"),
                ("SELECT 1 UNION SELECT 2", "several rows"),
                ("SELECT 1 UNION ALL SELECT NULL", "several rows"),
                ("SELECT * FROM nodes a, nodes b", "several columns"),
                ("SELECT name FROM settings", "several rows")):
            answer = statement(node, text)
            same(text, 400, answer.status)
            assert wanted in answer.text and "/sql" in answer.text, answer.text
        for text, value in (("SELECT ''", ""), ("SELECT 'a' UNION SELECT 'a'",
                                                "a"),
                            ("SELECT id FROM nodes", "10001"),
                            (f"SELECT '{'x' * 90000}'", "x" * 90000)):
            answer = statement(node, text)
            same(text[:40], (200, value), (answer.status, answer.text))
        same("/sql", [[10001]], json.loads(statement(
            node, "SELECT id FROM nodes", "/sql").body)["rows"])


def test_columns_of_no_rows():
    with node_with() as node:
        same("columns", {"columns": ["id", "x"], "rows": []}, json.loads(
            statement(node, "SELECT id, 1 AS x FROM heapwire.nodes "
                            "WHERE id = 0", "/sql").body))
        same("no result", {"columns": [], "rows": []}, json.loads(
            statement(node, "SET @x = 1", "/sql").body))


def test_want_of_memory_is_answered_or_closes():
    """Every n-th allocation fails; what is answered is whole and right."""
    login = b"Authorization: Basic " + base64.b64encode(b"boss:b0ss")
    requests = [(b"GET", b"/healthz", b""), (b"GET", b"/page.js", b""),
                (b"HEAD", b"/page.js", b""), (b"GET", b"/nothing", b"")] + [
        (b"POST", path, text) for path in (b"/sql", b"/value") for text in (
            b"SELECT 1", b"SELECT rows 500", b"SELECT slow 500",
            b"SELECT late 500", b"SELECT rows 2000", b"nonsense",
            b"SELECT 1 /*" + b"x" * 100000 + b"*/")]

    def ask(node, i, packed, tls):
        method, path, body = requests[i]
        with contextlib.ExitStack() as stack:
            s = stack.enter_context(socket.create_connection(
                ("127.0.0.1", node.http_port), 20))
            if tls:
                s = stack.enter_context(ANY.wrap_socket(s))
            s.sendall(b"%s %s HTTP/1.1\r\n%s%s\r\nX-Heapwire: 1\r\n%s"
                      b"Content-Length: %d\r\n\r\n%s" %
                      (method, path, HOST, login,
                       b"Accept-Encoding: gzip\r\n" if packed else b"",
                       len(body), body))
            return read_answer(s.makefile("rb"), method == b"HEAD")

    for every in (5, 17, 61):
        with Node(POOR, users=USERS, settings="http = 127.0.0.1:0\n"
                  "login_failures = 0\n",
                  wrapper=["env", f"HW_FAIL_EVERY={every}"]) as node:
            def right(i):
                try:
                    return ask(node, i, False, False)
                except EOFError:
                    return None  # it fails in the middle

            wanted = [right(i) for i in range(len(requests))]
            node.signal(signal.SIGUSR1)
            answered = failed = 0
            for i in range(6 * len(requests)):
                what = i % len(requests)
                try:
                    got = ask(node, what, i // 3 % 2, i // 5 % 3 == 0)
                    assert got == wanted[what] or got[0] == 503, (
                        requests[what], got)
                    answered += got[0] != 503
                except (OSError, EOFError):
                    failed += 1
                assert node.process.poll() is None, node.stderr()
            node.signal(signal.SIGUSR2)
            wait_for(lambda: tcp(node, "/healthz").status == 200)
            same("then", wanted, [right(i) for i in range(len(requests))])
        assert failed > 0 and answered > 0, (every, answered)


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
    print("http_requests.py: ok")
