"""The other door: HTTP, with the programs that people point at it.

curl, go tool pprof, jeprof and, where it is installed, promtool; raw sockets
for what no program sends.  All on the real heapwired; those tests that need
something to look at have a redis-server.  Arguments name single tests.
"""
import base64
import contextlib
import gzip
import json
import os
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

from mysql_wire import Refused, Wire
from node_under_test import REAL, SANITIZED, Node, PASSWD, wait_for
from ports import free_port
from redis_node import RedisNode
from runner import beside, named, run_tests

USERS = (("ann", b"secret", "status, profile"), ("boss", b"b0ss", "all"))
OWN = ("-H", "X-Heapwire: 1")


def node_with(settings="", users=USERS, start=True):
    return Node(REAL, users=users, settings="http = 127.0.0.1:0\n" + settings,
                start=start)


def curl(*arguments, data=None):
    """The body of the only answer."""
    return subprocess.run(["curl", "-sS", "-m", "60", *arguments], input=data,
                          check=True, capture_output=True).stdout


class Answer:
    def __init__(self, *arguments, data=None):
        out = curl("-i", *arguments, data=data)
        head, _, self.body = out.partition(b"\r\n\r\n")
        lines = head.decode("ascii").split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(": ")
            self.headers.setdefault(name.lower(), []).append(value)

    @property
    def text(self):
        return self.body.decode("utf-8")

    def header(self, name):
        values = self.headers.get(name, [None])
        assert len(values) == 1, values
        return values[0]


def local(node, path, *arguments, data=None):
    socket_of = getattr(node, "http_socket", None) or os.path.join(
        os.path.dirname(node.socket), "http.sock")
    return Answer("--unix-socket", socket_of, *arguments,
                  "http://localhost" + path, data=data)


def tcp(node, path, *arguments, user="boss:b0ss", scheme="http", data=None):
    login = ("-u", user) if user else ()
    return Answer(*login, *arguments,
                  f"{scheme}://127.0.0.1:{node.http_port}{path}", data=data)


def same(what, wanted, got):
    assert wanted == got, f"{what}: {wanted!r} was expected, and not {got!r}"


def reload(node):
    before = node.log().count("read the configuration again")
    node.signal(signal.SIGHUP)
    wait_for(lambda: node.log().count("read the configuration again") > before)


def talk(node, data, seconds=20):
    """All that the server says to these bytes until it closes."""
    with socket.create_connection(("127.0.0.1", node.http_port),
                                  seconds) as s:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            s.sendall(data)
        said = b""
        with contextlib.suppress(ConnectionResetError):
            while part := s.recv(65536):
                said += part
        return said


# With a database

@contextlib.contextmanager
def redis(settings=""):
    work = tempfile.mkdtemp(prefix="hw-http-", dir="/tmp")
    http = free_port()

    class Served(RedisNode):
        def write(self, places):
            super().write(places)
            with open(self.config, "a", encoding="ascii") as f:
                f.write(f"[node]\nhttp = 127.0.0.1:{http}\n{settings}")
            subprocess.run([PASSWD, self.config, "boss", "--stdin",
                            "--privileges", "all"], input=b"b0ss\n", check=True)

    port = free_port()
    node = Served(work, 10001, {10001: port}, port)
    node.http_port = http
    try:
        node.wait()
        wait_for(lambda: local(node, "/readyz").status == 200, 60)
        yield node
    finally:
        node.stop()
        shutil.rmtree(work)


def fill(node):
    """Profiling is on, and there are 13 MB in use."""
    same("enabled", "instance of HeapProf\n",
         local(node, "/profiling/enable?seconds=600", "-X", "POST").text)
    write(node, b"k", 200)


def write(node, prefix, count):
    with open(f"/proc/{node.children['redis-server']}/cmdline", "rb") as f:
        title = f.read().decode()
    port = re.search(r":(\d+)", title).group(1)
    with socket.create_connection(("127.0.0.1", int(port)), 20) as s:
        for i in range(count):
            value = b"v" * 65536
            s.sendall(b"*3\r\n$3\r\nSET\r\n$6\r\n%s%05d\r\n$%d\r\n%s\r\n" %
                      (prefix, i, len(value), value))
            assert s.recv(64) == b"+OK\r\n"


def go_pprof(node, path, *flags):
    url = f"http://boss:b0ss@127.0.0.1:{node.http_port}{path}"
    with tempfile.TemporaryDirectory() as keep:
        return subprocess.run(["go", "tool", "pprof", "-unit=mb", *flags, url], check=True,
                              env={**os.environ, "PPROF_TMPDIR": keep},
                              capture_output=True, timeout=120).stdout.decode()


def jeprof(node, *flags):
    url = f"http://boss:b0ss@127.0.0.1:{node.http_port}/pprof/heap"
    with tempfile.TemporaryDirectory() as keep:
        return subprocess.run(["jeprof", *flags, url], check=True,
                              env={**os.environ, "JEPROF_TMPDIR": keep},
                              capture_output=True, timeout=120).stdout.decode()


def megabytes(top):
    """Of all that pprof's -top shows, by samples."""
    found = re.search(r"of (-?[\d.]+)MB total", top)
    assert found, top
    return float(found.group(1))


def look_at_pprof(node):
    same("a snapshot", "before\n",
         local(node, "/snapshots?name=before", "-X", "POST").text)
    fill(node)
    top = go_pprof(node, "/debug/pprof/heap", "-top")
    assert 8 < megabytes(top) < 20 and " aeMain" in top, top
    same("allocs", True, "redis" in go_pprof(node, "/debug/pprof/allocs",
                                             "-top"))
    grown = go_pprof(node, "/debug/pprof/heap?base=before", "-top")
    assert 8 < megabytes(grown) < 20, grown


def look_at_delta(node):
    """What grows while go tool pprof waits, and nothing else."""
    url = f"http://boss:b0ss@127.0.0.1:{node.http_port}/debug/pprof/heap"
    with tempfile.TemporaryDirectory() as keep:
        waiting = subprocess.Popen(
            ["go", "tool", "pprof", "-unit=mb", "-top", "-seconds", "6",
             url],
            env={**os.environ, "PPROF_TMPDIR": keep}, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        wait_for(lambda: sql_rows(
            node, "SELECT id FROM heapwire.sessions WHERE user = 'boss' "
            "AND info LIKE '%seconds=6%' AND time > 0"))
        write(node, b"d", 100)
        top = waiting.communicate(timeout=120)[0].decode()
    assert 3 < megabytes(top) < 10, top
    same("too long", 400, local(node, "/debug/pprof/heap?seconds=3601").status)


def look_at_jeprof(node):
    text = jeprof(node, "--text")
    total = re.search(r"^Total: ([\d.]+) MB$", text, re.M)
    assert total and 12 < float(total.group(1)) < 40, text
    assert re.search(r" aeMain$", text, re.M), text
    dot = jeprof(node, "--dot")
    assert dot.startswith('digraph "/usr/bin/redis'), dot[:100]
    assert "aeMain" in dot
    same("how many symbols", "num_symbols: 1\n",
         local(node, "/pprof/symbol").text)
    names = local(node, "/debug/pprof/symbol", data=b"",
                  *("--data-binary", "@-")).text
    assert re.search(r"^0x[0-9a-f]{16} .*aeMain", names, re.M), names[:300]
    same("growth", 501, local(node, "/pprof/growth").status)


def look_at_snapshots(node):
    """A kept one has a tag, and is sent once."""
    path = "/debug/pprof/heap?snapshot=before"
    first = local(node, path)
    same("kept", 200, first.status)
    assert first.body[:2] == b"\x1f\x8b"
    tag = first.header("etag")
    again = local(node, path, "-H", f"If-None-Match: {tag}")
    same("again", (304, b"", tag), (again.status, again.body,
                                    again.header("etag")))
    same("another tag", 200,
         local(node, path, "-H", 'If-None-Match: "x"').status)
    same("none", 404,
         local(node, "/debug/pprof/heap?snapshot=nothing").status)
    same("now has no tag", None, local(node, "/pprof/heap").header("etag"))
    for name in ("a'b", "a%27b", "x;y", "../x", "A", "%00", "a%0ab"):
        same(name, 400,
             local(node, f"/debug/pprof/heap?snapshot={name}").status)


def look_at_forms(node):
    plain = local(node, "/pprof/heap")
    packed = local(node, "/pprof/heap", "-H", "Accept-Encoding: br, gzip")
    same("encoding", "gzip", packed.header("content-encoding"))
    assert gzip.decompress(packed.body).startswith(b"heap_v2/")
    same("encoding", None, plain.header("content-encoding"))
    refused = local(node, "/pprof/heap", "-H", "Accept-Encoding: gzip;q=0")
    same("no encoding", None, refused.header("content-encoding"))
    head = local(node, "/debug/pprof/heap", "-I")
    same("HEAD", (200, b""), (head.status, head.body))
    old = local(node, "/pprof/heap", "--http1.0")
    same("HTTP/1.0", (None, "close"), (old.header("transfer-encoding"),
                                       old.header("connection")))
    assert old.body.startswith(b"heap_v2/")


def look_at_nodes(node):
    same("its own", 200, local(node, "/debug/pprof/heap?node=10001").status)
    one = local(node, "/debug/pprof/heap?node=10002")
    same("no such", (503, "node 10002: node not found\n"),
         (one.status, one.text))
    same("all", b"\x1f\x8b", local(node, "/debug/pprof/heap?node=all").body[:2])
    several = local(node, "/profiling/enable?node=all", "-X", "POST").text
    same("all", "10001\tOK\tinstance of HeapProf\n", several)
    same("a word", 400, local(node, "/debug/pprof/heap?node=x").status)


def look_at_audit(node):
    sql = Wire(node.socket).login()
    sql.query("SELECT statement, user FROM heapwire.audit_log")
    rows = [r for r in sql_rows(node, "SELECT statement FROM "
                                      "heapwire.audit_log") if "enable" in r]
    assert any("enable_prof(600)" in r for r in rows), rows


def sql_rows(node, text):
    """First columns."""
    sql = Wire(node.socket).login()
    result = sql.query(text)
    sql.close()
    rows = result[1] if isinstance(result, tuple) else result
    return [(r[0] or b"").decode() for r in rows]


def look_at_kill(node):
    """What hangs is seen and killed like any statement."""
    os.kill(node.children["redis-server"], signal.SIGSTOP)
    try:
        url = f"http://127.0.0.1:{node.http_port}/debug/pprof/heap"
        waiting = subprocess.Popen(
            ["curl", "-sS", "-m", "60", "-u", "boss:b0ss", "-w",
             "%{http_code}", url], stdout=subprocess.PIPE)
        ids = []

        def runs():
            ids[:] = sql_rows(
                node, "SELECT id FROM heapwire.sessions WHERE user = 'boss' "
                "AND info LIKE 'SELECT pprof(%'")
            return ids

        wait_for(runs)
        sql = Wire(node.socket).login()
        sql.query(f"KILL QUERY {ids[0]}")
        sql.close()
        same("killed", b"503", waiting.communicate(timeout=30)[0][-3:])
    finally:
        os.kill(node.children["redis-server"], signal.SIGCONT)


def test_a_redis():
    with redis() as node:
        look_at_pprof(node)
        look_at_delta(node)
        look_at_jeprof(node)
        look_at_snapshots(node)
        look_at_forms(node)
        look_at_nodes(node)
        look_at_audit(node)
        look_at_metrics(node)
        look_at_kill(node)
        same("program", True, "redis" in local(node, "/pprof/cmdline").text)
        same("ready", (200, "the database is connected\n"),
             (local(node, "/readyz").status, local(node, "/readyz").text))


def samples(text):
    return {line.split(" ")[0]: float(line.split(" ")[1])
            for line in text.splitlines() if not line.startswith("#")}


def look_at_metrics(node):
    answer = tcp(node, "/metrics")
    same("type", "text/plain; version=0.0.4; charset=utf-8",
         answer.header("content-type"))
    found = samples(answer.text)
    same("up", 1, found["heapwire_database_up"])
    same("active", 1, found["heapwire_profiler_active"])
    assert found["heapwire_allocator_allocated_bytes"] > 12 << 20, found
    assert found["heapwire_process_resident_bytes"] > 12 << 20, found
    assert found["heapwire_snapshots"] == 1, found
    assert found["heapwire_profiler_changes_total"] >= 1, found
    opened = tcp(node, "/metrics", "-H",
                 "Accept: application/openmetrics-text;version=1.0.0")
    assert opened.header("content-type").startswith(
        "application/openmetrics-text"), opened.headers
    assert opened.text.endswith("# EOF\n")
    assert "# TYPE heapwire_profiler_changes counter\n" in opened.text
    promtool = shutil.which("promtool")
    if promtool:
        subprocess.run([promtool, "check", "metrics"], check=True, timeout=60,
                       input=answer.body)


# Logins

def test_tcp_needs_an_account():
    with node_with(users=()) as node:
        same("the socket", 200, local(node, "/healthz").status)
        assert "HTTP: listening on 127.0.0.1" not in node.log()
        node.passwd("ann", b"secret", "status, profile")
        reload(node)
        same("the port", 200, tcp(node, "/", user="ann:secret").status)


def test_logins():
    with node_with("login_failures = 1000\n") as node:
        token = subprocess.run([PASSWD, node.config, "prom.one", "--token"],
                               check=True, capture_output=True,
                               text=True).stdout.strip()
        assert re.fullmatch(r"prom\.one\.\w{24}", token), token
        with open(node.config, encoding="ascii") as f:
            assert token.rpartition(".")[2] not in f.read()
        reload(node)
        stranger = tcp(node, "/", user=None)
        same("a stranger", 401, stranger.status)
        same("asked", ["Basic", "Bearer"], [
            v.split()[0] for v in stranger.headers["www-authenticate"]])
        same("health", 200, tcp(node, "/healthz", user=None).status)
        same("password", 200, tcp(node, "/", user="ann:secret").status)
        for user in ("ann:wrong", "ann:", "root:", "unknown:x", "prom.one:" +
                     token.rpartition(".")[2], "ann:" + "x" * 300):
            same(user, 401, tcp(node, "/", user=user).status)
        for secret, status in ((token, 200), (token + "x", 401),
                               ("ann.secret", 401), ("", 401), (".", 401),
                               ("x" * 9000 + ".y", 401),
                               ("x." + "y" * 9000, 401)):
            same(secret, status, tcp(node, "/metrics", "-H",
                                     f"Authorization: Bearer {secret}",
                                     user=None).status)
        for odd in ("Basic", "Basic =", "Basic YQ==", "Basic a", "Digest x",
                    "Basic " + "A" * 4096):
            same(odd, 401, tcp(node, "/", "-H", f"Authorization: {odd}",
                               user=None).status)
        try:
            Wire(node.tcp).login(b"prom.one",
                                 token.rpartition(".")[2].encode())
            raise AssertionError("a token is no password")
        except Refused as err:
            same("MySQL", 1045, err.code)


def test_privileges():
    with node_with() as node:
        denied = tcp(node, "/profiling/enable", "-X", "POST", *OWN,
                     user="ann:secret")
        same("enable", 403, denied.status)
        assert "CONTROL" in denied.text, denied.text
        same("HEAD", 403, tcp(node, "/profiling/enable", "-X", "POST", *OWN,
                              user="ann:secret").status)


@beside
def statement(node, text, path="/sql", *arguments, user="ann:secret"):
    return tcp(node, path, "-H", "X-Heapwire: 1", "--data-binary", "@-",
               *arguments, user=user, data=text.encode())


def test_statements():
    """Rows as JSON, under the account's privileges."""
    with node_with() as node:
        odd = "it''s <b>&\"\\\\\n\t'"
        answer = statement(node, f"SELECT 1 AS one, 2.5e0 AS x, NULL, '{odd} AS t")
        same("status", 200, answer.status)
        same("type", "application/json", answer.header("content-type"))
        same("rows", {"columns": ["one", "x", "NULL", "t"],
                      "rows": [[1, 2.5, None, "it's <b>&\"\\\n\t"]]},
             json.loads(answer.body))
        many = json.loads(statement(
            node, "SELECT a.name, b.name FROM heapwire.settings a, heapwire.settings b, "
            "heapwire.settings c LIMIT 20000", "/sql", "--compressed").body)
        same("many rows", 20000, len(many["rows"]))
        same("no row", [], json.loads(statement(
            node, "SELECT 1 FROM heapwire.nodes WHERE id = 0").body)["rows"])
        same("a value", b"a\nb", statement(node, "SELECT 'a\\nb'", "/value").body)
        wrong = statement(node, "SELEC 1")
        assert wrong.status == 500 and "SELEC" in wrong.text, wrong.text
        same("nothing", 400, statement(node, "").status)
        enable = ("ADMIN EXECUTE ON 10001 "
                  "'HeapProf.getInstance().enable_prof()'")
        same("a privilege is missing", 403, statement(node, enable).status)
        same("GET", 405, tcp(node, "/sql", user="ann:secret").status)
        for path in ("/sql", "/value"):
            same("without the header", 403,
                 tcp(node, path, "-d", "SELECT 1", user="ann:secret").status)
            same("a stranger", 401, statement(node, "SELECT 1", path,
                                              user=None).status)


def test_the_page_is_kept():
    """It may run its own script and nothing else, and is sent once."""
    with node_with() as node:
        size = 0
        for path, kind in (("/", "text/html"), ("/page.css", "text/css"),
                           ("/page.js", "text/javascript")):
            answer = local(node, path)
            same(path, (200, kind + "; charset=utf-8"),
                 (answer.status, answer.header("content-type")))
            policy = answer.header("content-security-policy")
            assert "default-src 'none'; script-src 'self'" in policy, policy
            assert "unsafe" not in policy, policy
            same("kept", 304, local(node, path, "-H", "If-None-Match: " +
                                    answer.header("etag")).status)
            size += len(answer.body)
        assert size < 100000, size
        assert "/sql" in local(node, "/help").text
        same("others", "default-src 'none'",
             local(node, "/help").header("content-security-policy"))


def test_failed_logins_make_their_address_wait():
    """At both doors."""
    with node_with("login_failures = 3\n") as node:
        def blocked():  # for a second, which a busy machine may take itself
            for _ in range(3):
                tcp(node, "/", user="ann:wrong")
            with socket.create_connection(node.tcp, 20) as wire:
                mysql = b"blocked" in wire.recv(1024)
            http = tcp(node, "/", user="ann:secret")
            if not mysql or http.status != 429:
                return False
            assert http.header("retry-after"), http.headers
            return True

        wait_for(blocked, 60)
        same("the socket", 200, local(node, "/").status)


def test_an_account_has_its_connections():
    with node_with() as node:
        with open(node.config, encoding="ascii") as f:
            text = f.read()
        with open(node.config, "w", encoding="ascii") as f:
            f.write(text.replace("[user ann]\n",
                                 "[user ann]\nmax_connections = 1\n"))
        reload(node)
        wire = Wire(node.tcp).login(b"ann", b"secret")
        same("one too many", 429, tcp(node, "/", user="ann:secret").status)
        wire.close()
        wait_for(lambda: tcp(node, "/", user="ann:secret").status == 200)


def test_tls():
    with node_with() as node:
        same("https", 200, tcp(node, "/", "-k", scheme="https").status)
        same("verified", 200, tcp(
            node, "/", "--cacert", os.path.join(node.state, "server-cert.pem"),
            "--resolve", f"localhost:{node.http_port}:127.0.0.1",
            scheme="https").status)
    with node_with("require_tls = yes\n") as node:
        clear = tcp(node, "/")
        same("in the clear", 403, clear.status)
        assert "https://" in clear.text
        same("https", 200, tcp(node, "/", "-k", scheme="https").status)


# What a browser may be made to send

def test_other_origins():
    with node_with() as node:
        here = f"127.0.0.1:{node.http_port}"
        for host, status in ((here, 200), ("localhost", 200),
                             ("LOCALHOST:1", 200), ("127.9.8.7:80", 200),
                             ("[::1]:80", 200), ("evil.example", 421),
                             ("localhost.evil.example", 421),
                             ("127.0.0.1.evil.example", 421), ("[::1", 421),
                             ("10.0.0.1", 421), ("0.0.0.0", 421)):
            same(host, status, tcp(node, "/", "-H", f"Host: {host}").status)
        same("TLS names it", 200, tcp(node, "/", "-k", "-H", "Host: any.name",
                                      scheme="https").status)
        post = "/profiling/disable", "-X", "POST"
        same("bare", 403, tcp(node, *post).status)
        same("another's", 403,
             tcp(node, *post, "-H", "Origin: http://evil.example").status)
        same("null", 403, tcp(node, *post, "-H", "Origin: null").status)
        same("TLS's", 403, tcp(node, *post, "-H", f"Origin: https://{here}").status)
        for more in (OWN, ("-H", f"Origin: http://{here}")):
            assert tcp(node, *post, *more).status != 403
        for path in ("/profiling/enable", "/profiling/disable", "/snapshots"):
            get = tcp(node, path)
            same(path, (405, "POST"), (get.status, get.header("allow")))
            assert f"curl -X POST -H 'X-Heapwire: 1' http://{here}{path}" in \
                get.text, get.text
        for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "POST"):
            same(method, 405, tcp(node, "/metrics", "-X", method).status)
        same("no path", 404, tcp(node, "/nothing").status)
        same("no such parameter", 400, tcp(node, "/metrics?x=1").status)
        answer = tcp(node, "/")
        same("framing", "default-src 'none'",
             answer.header("content-security-policy"))
        same("sniffing", "nosniff", answer.header("x-content-type-options"))
        assert "access-control-allow-origin" not in answer.headers


# What no program sends

HOST = b"Host: localhost\r\n"
OK = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
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
    print("http.py: ok")
