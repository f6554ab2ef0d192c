"""The HTTP interface, with the programs that people point at it.

curl, go tool pprof, jeprof and, where it is installed, promtool; all on the
real heapwired.  Those tests that need something to look at have a redis-server.
Arguments name single tests.  What no program sends: http_hostile.py.
"""
import base64
import contextlib
import gzip
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from concurrent.futures import ThreadPoolExecutor

from http_under_test import (FILLED, HOST, MB, OK, OWN, USERS, WITHOUT_SOME, curl,
                       fill, local, node_with, read_answer, redis,
                       redis_client, reload, same, talk, tcp)
from mysql_wire import Refused, Wire
from node_under_test import PASSWD, REAL, Node, frozen, wait_for
from ports import free_port
from runner import named, run_tests

# With a database


def go_pprof(node, path, *flags):
    url = f"http://boss:b0ss@127.0.0.1:{node.http_port}{path}"
    with tempfile.TemporaryDirectory() as keep:
        return subprocess.run(["go", "tool", "pprof", "-unit=mb", *flags, url], check=True,
                              env={**os.environ, "PPROF_TMPDIR": keep},
                              capture_output=True, timeout=300).stdout.decode()


def jeprof(node, *flags):
    url = f"http://boss:b0ss@127.0.0.1:{node.http_port}/pprof/heap"
    with tempfile.TemporaryDirectory() as keep:
        return subprocess.run(["jeprof", *flags, url], check=True,
                              env={**os.environ, "JEPROF_TMPDIR": keep},
                              capture_output=True, timeout=300).stdout.decode()


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
    assert WITHOUT_SOME < megabytes(top) < 2 * FILLED and " aeMain" in top, top
    same("allocs", True, "redis" in go_pprof(node, "/debug/pprof/allocs",
                                             "-top"))
    grown = go_pprof(node, "/debug/pprof/heap?base=before", "-top")
    assert WITHOUT_SOME < megabytes(grown) < 2 * FILLED, grown


def look_at_web(node):
    """What go tool pprof shows in a browser."""
    url = f"http://boss:b0ss@127.0.0.1:{node.http_port}/debug/pprof/heap"
    here = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as keep:
        serving = subprocess.Popen(
            ["go", "tool", "pprof", "-http", here, "-no_browser", url],
            env={**os.environ, "PPROF_TMPDIR": keep}, start_new_session=True,
            stderr=subprocess.DEVNULL)  # go has pprof as a child
        try:
            for path in ("top", "flamegraph", "peek?f=aeMain"):
                shown = curl("--retry", "3000", "--retry-connrefused",
                             "--retry-delay", "0", "--retry-max-time", "300",
                             f"http://{here}/ui/{path}")
                assert b"aeMain" in shown, (path, shown[-3000:])
        finally:
            os.killpg(serving.pid, signal.SIGTERM)
            serving.wait(30)


def look_at_delta(node):
    """What grows while go tool pprof waits, and nothing of what was there."""
    url = f"http://boss:b0ss@127.0.0.1:{node.http_port}/debug/pprof/heap"
    with tempfile.TemporaryDirectory() as keep, redis_client(node) as write:
        waiting = subprocess.Popen(
            ["go", "tool", "pprof", "-unit=mb", "-top", "-seconds", "3",
             url],
            env={**os.environ, "PPROF_TMPDIR": keep}, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        written = 0
        while waiting.poll() is None:  # before, meanwhile and after
            write(b"d%05d" % written)
            written += MB
            time.sleep(0.2)  # some fall into the three seconds
        top = waiting.communicate(timeout=300)[0].decode()
    assert MB <= megabytes(top) <= written + FILLED // 2, (written, top)
    same("too long", 400, local(node, "/debug/pprof/heap?seconds=3601").status)


def look_at_jeprof(node):
    text = jeprof(node, "--text")
    total = re.search(r"^Total: ([\d.]+) MB$", text, re.M)
    assert total and WITHOUT_SOME < float(total.group(1)), text
    assert re.search(r" aeMain$", text, re.M), text
    assert re.search(r" z\w*alloc\w*$", text.splitlines()[1]), text
    assert "libjemalloc" not in text, text
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
    for path in ("heap?snapshot=nothing", "heap?base=nothing",
                 "heap?snapshot=before&base=nothing",
                 "heap?snapshot=nothing&node=all"):
        none = local(node, "/debug/pprof/" + path)
        same(path, 404, none.status)
        assert "'nothing'" in none.text, none.text
    for name, status in (("before", 200), ("nothing", 404)):
        head = local(node, f"/debug/pprof/heap?snapshot={name}", "-I")
        same("HEAD", (status, b""), (head.status, head.body))
    same("now has no tag", None, local(node, "/pprof/heap").header("etag"))
    for name in ("a'b", "a%27b", "x;y", "../x", "A", "%00", "a%0ab"):
        same(name, 400,
             local(node, f"/debug/pprof/heap?snapshot={name}").status)
    for text in ("a&snapshot=b", "a%00", "a" * 160):
        same(text, "the parameter 'snapshot' may be given once, with at most "
             "159 bytes and no control characters\n",
             local(node, f"/debug/pprof/heap?snapshot={text}").text)


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
    """Another node's, or the sum of all, wherever there is one."""
    def asks(path, status, text=None, *arguments):
        answer = local(node, path, *arguments)
        same(path, status, answer.status)
        if text:
            assert text in answer.text, (path, answer.text)
        return answer

    heap = "/debug/pprof/heap?node="
    for node_of in ("10001", "all", "all&snapshot=before", "all&base=before",
                    "10001&snapshot=before"):
        same(node_of, b"\x1f\x8b", asks(heap + node_of, 200).body[:2])
    gone = "there is no node 10002\n"
    for path in (heap + "10002", heap + "10002&snapshot=before",
                 "/pprof/cmdline?node=10002", "/readyz?node=10002",
                 "/snapshots?node=10002"):
        asks(path, 404, gone)
    own = "-X", "POST"
    asks("/snapshots?name=before", 409, "is kept already", *own)
    asks("/snapshots?name=Before", 400, "1 to 64 of a-z, 0-9, _", *own)
    asks("/debug/pprof/heap?seconds=1.5", 400, "a whole number from 0 to")
    asks("/snapshots?name=before&node=all", 503,
         "10001\tERROR\ta snapshot named 'before' is kept already", *own)
    asks("/snapshots?name=b&node=10002", 404, "node not found: 10002", *own)
    asks(heap + "x", 400)
    asks(heap + "all&seconds=5", 400, "that node's own HTTP listener")
    asks("/pprof/heap?node=10002", 400, "node 10002's own HTTP listener")
    asks("/pprof/heap?node=all", 400, "no sum")
    asks("/pprof/cmdline?node=all", 400)
    asks("/readyz?node=all", 200, "the database is connected\n")
    for path in ("/snapshots", "/snapshots?node=all", "/snapshots?node=10001"):
        kept = json.loads(asks(path, 200).body)
        same("names", ["before"], [row[kept["columns"].index("name")]
                                   for row in kept["rows"]])
    asks("/profiling/enable?node=all", 200,
         "10001\tOK\tinstance of HeapProf\n", "-X", "POST")


def look_at_audit(node):
    rows = [r for r in sql_rows(node, "SELECT statement FROM "
                                      "heapwire.audit_log") if "enable" in r]
    assert any("enable_prof(600)" in r for r in rows), rows
    assert re.search(r"'root'@'localhost' \(connection \d+, HTTP\): ok, .*"
                     r"enable_prof\(600\)", node.log())


def sql_rows(node, text):
    """First columns."""
    sql = Wire(node.socket).login()
    result = sql.query(text)
    sql.close()
    rows = result[1] if isinstance(result, tuple) else result
    return [(r[0] or b"").decode() for r in rows]


def look_at_kill(node):
    """What hangs is seen and killed like any statement."""
    def kills():
        """Not what was over before, as it is after four seconds."""
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

        wait_for(lambda: runs() or waiting.poll() is not None)
        sql, killed = Wire(node.socket).login(), False
        with contextlib.suppress(Refused):
            if ids:
                sql.query(f"KILL QUERY {ids[0]}")
                killed = True
        sql.close()
        same("killed", b"503", waiting.communicate(timeout=60)[0][-3:])
        return killed

    with frozen(node.children["redis-server"]):
        assert any(kills() for _ in range(5))


def test_a_redis():
    with redis() as node:
        look_at_pprof(node)
        look_at_web(node)
        look_at_delta(node)
        look_at_jeprof(node)
        look_at_snapshots(node)
        look_at_forms(node)
        look_at_nodes(node)
        look_at_audit(node)
        look_at_metrics(node)
        look_at_hung(node)
        look_at_kill(node)
        with open(os.path.join(node.directory, "out"),
                  encoding="utf-8") as out:
            assert f" http://127.0.0.1:{node.http_port}, log " in out.read()
        same("program", True, "redis" in local(node, "/pprof/cmdline").text)
        # Again: it was stopped, perhaps for so long that this was seen.
        wait_for(lambda: local(node, "/readyz").status == 200)
        same("ready", "the database is connected\n",
             local(node, "/readyz").text)


def test_of_all_nodes_some_fail():
    """200, whichever answers first, and a line for each."""
    with redis("[peer 5]\naddress = 127.0.0.1:1\n[peer 20000]\n"
               "address = 127.0.0.1:2\n") as node:
        answer = local(node, "/snapshots?name=a&node=all", "-X", "POST")
        same("status", 200, answer.status)
        same("each", [["10001", "OK"], ["20000", "ERROR"], ["5", "ERROR"]],
             sorted(line.split("\t")[:2] for line in
                    answer.text.splitlines()))
        same("all", 503, local(node, "/snapshots?name=a&node=all", "-X",
                               "POST").status)


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
    assert found["heapwire_allocator_allocated_bytes"] > FILLED << 20, found
    assert found["heapwire_process_resident_bytes"] > FILLED << 20, found
    assert found["heapwire_snapshots"] == 1, found
    assert found["heapwire_profiler_changes_total"] >= 1, found
    assert (found["heapwire_daemon_resident_peak_bytes"] >=
            found["heapwire_daemon_resident_bytes"] > 0), found
    same("0 is this node", 200, tcp(node, "/metrics?node=0").status)
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


def look_at_hung(node):
    """The scrape that waited for it in vain says so; figures of just before may
    be shown until then."""
    allocated = "heapwire_allocator_allocated_bytes"
    found = {}

    def is_without():
        found.clear()
        found.update(samples(local(node, "/metrics").text))
        return allocated not in found
    with frozen(node.children["redis-server"]):
        wait_for(is_without, tell=lambda: found)
    same("up", 0, found["heapwire_database_up"])
    same("state", 1, found.get(
        'heapwire_database_state_info{state="unresponsive"}'))
    assert found["heapwire_process_resident_bytes"] > FILLED << 20, found
    wait_for(lambda: samples(local(node, "/metrics").text)[
        "heapwire_database_up"] == 1, 60)


# Logins

def test_without_a_database():
    with node_with() as node:
        for path in ("/readyz", "/readyz?node=all", "/pprof/cmdline",
                     "/pprof/heap", "/debug/pprof/heap",
                     "/debug/pprof/heap?seconds=1"):
            same(path, 503, local(node, path).status)
        for path in ("/healthz", "/metrics", "/snapshots", "/"):
            same(path, 200, local(node, path).status)


def test_tcp_needs_an_account():
    with node_with(users=()) as node:
        same("the socket", 200, local(node, "/healthz").status)
        assert "HTTP: listening on 127.0.0.1" not in node.log()
        node.passwd("ann", b"secret", "status, profile")
        reload(node)
        same("the port", 200, tcp(node, "/", user="ann:secret").status)


def set_node(node, old, new):
    with open(node.config, encoding="ascii") as f:
        text = f.read()
    assert text.count(old) == 1, text
    with open(node.config, "w", encoding="ascii") as f:
        f.write(text.replace(old, new))


def test_a_reload_moves_the_port():
    """And ends what was connected; keys that it does not take are named."""
    first, second = free_port(), free_port()  # nobody takes them in between
    with Node(REAL, users=USERS, settings=f"http = 127.0.0.1:{first}\n") as node:
        same("port", first, node.http_port)
        with socket.create_connection(("127.0.0.1", first), 20) as s:
            stream = s.makefile("rwb")
            stream.write(OK)
            stream.flush()
            same("kept", 200, read_answer(stream)[0])
            set_node(node, f"http = 127.0.0.1:{first}",
                     f"http = 127.0.0.1:{second}")
            reload(node)
            same("closed", b"", stream.read())
        wait_for(lambda: node.http_port == second)
        same("moved", 200, tcp(node, "/").status)
        reload(node)
        same("the same", 200, tcp(node, "/").status)
        assert "need a restart" not in node.log(), node.log()
        set_node(node, f"http = 127.0.0.1:{second}",
                 "http = none\nmax_connections = 7")
        with open(node.config, "a", encoding="ascii") as f:
            f.write("[cluster]\nname = another\n")
        reload(node)
        assert re.search(r"these need a restart: max_connections, "
                         r"cluster\.name$", node.log(), re.M), node.log()
        for port in (first, second):
            try:
                socket.create_connection(("127.0.0.1", port), 20).close()
                raise AssertionError(f"{port} is open")
            except ConnectionRefusedError:
                pass
        same("the socket", 200, local(node, "/").status)
        set_node(node, "http = none", f"http = 127.0.0.1:{first}")
        reload(node)
        wait_for(lambda: node.http_port == first)
        same("again", 200, tcp(node, "/").status)


def test_two_listeners_need_two_ports():
    for listen, http, good in (
            ("127.0.0.1:9036", "127.0.0.1:9036", False),
            ("0.0.0.0:9036", "127.0.0.1:9036", False),
            ("127.0.0.1:9036", "[::]:9036", False),
            ("127.0.0.1:9036", "127.0.0.2:9036", True),
            ("127.0.0.1:0", "127.0.0.1:0", True), ("none", "none", True),
            ("127.0.0.1:9037", None, True)):
        options = ["--listen", listen] + (["--http", http] if http else [])
        done = subprocess.run([REAL, "--check", *options], check=False,
                              capture_output=True, text=True, timeout=60)
        same(options, 0 if good else 78, done.returncode)
        assert good or "has the port of 'listen'" in done.stderr, done.stderr
        assert http or "http=none\n" in done.stdout, done.stdout


def test_logins():
    with node_with("login_failures = 1000\n") as node:
        token = subprocess.run([PASSWD, node.config, "prom.one", "--token"],
                               check=True, capture_output=True,
                               text=True).stdout.strip()
        assert re.fullmatch(r"prom\.one\.\w{24}", token), token
        with open(node.config, encoding="ascii") as f:
            assert token.rpartition(".")[2] not in f.read()
        same("none of one's own", 64, subprocess.run(
            [PASSWD, node.config, "prom.two", "--token", "--stdin"],
            input=b"short.one\n", capture_output=True,
            check=False).returncode)
        reload(node)
        stranger = tcp(node, "/", user=None)
        same("a stranger", 401, stranger.status)
        same("asked", ["Basic", "Bearer"], [
            v.split()[0] for v in stranger.headers["www-authenticate"]])
        same("our page, whose browser does not prompt", (401, None), (
            (own := tcp(node, "/sql", "-H", "X-Heapwire: 1", user="ann:wrong", data=b"SELECT 1")).status,
            own.header("www-authenticate")))
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
        for name, status in ((b"ann", 200), (b"ann\0", 401), (b"ann\0x", 401),
                             (b"\0ann", 401), (b"ann" + b" " * 90, 401)):
            proof = base64.b64encode(name + b":secret").decode()
            same(name, status, tcp(node, "/", "-H",
                                   f"Authorization: Basic {proof}",
                                   user=None).status)
        for odd in ("Basic", "Basic =", "Basic YQ==", "Basic a", "Digest x",
                    "Basic " + "A" * 4096):
            answer = tcp(node, "/", "-H", f"Authorization: {odd}", user=None)
            same(odd, 401, answer.status)
            assert "'Basic'" in answer.text, answer.text
        try:
            Wire(node.tcp).login(b"prom.one",
                                 token.rpartition(".")[2].encode())
            raise AssertionError("a token is no password")
        except Refused as err:
            same("MySQL", 1045, err.code)


def test_privileges():
    """Each path has its statement's, whether an account's or a token's; and a
    statement of the client's has no more."""
    heaps = ("/debug/pprof/heap", "/debug/pprof/allocs", "/pprof/heap",
             "/debug/prof/mem", "/debug/prof/mem?output=proto",
             "/debug/prof/mem?output=flamegraph", "/v1/prof/mem",
             "/debug/mem/pprof/profile",
             "/debug/pprof/heap?snapshot=a", "/debug/pprof/heap?base=a",
             "/debug/pprof/heap?seconds=1", "/pprof/heap?snapshot=a")
    posts = ("/pprof/symbol", "/debug/pprof/symbol", "/debug/mem/pprof/symbol",
             "/debug/prof/mem", "/snapshots", "/snapshots?name=a")
    changes = ("/profiling/enable", "/profiling/enable?seconds=1",
               "/profiling/disable", "/jeheap/active/true",
               "/jeheap/active/false", "/jeheap/reset/19",
               "/debug/prof/mem/activate", "/debug/prof/mem/deactivate")
    others = ("/readyz", "/metrics", "/pprof/cmdline", "/snapshots")
    statements = [
        "SELECT * FROM heapwire.heap_flame_graph",
        "SELECT * FROM heapwire.heap_functions WHERE snapshot = 'a'",
        "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().enable_prof()'",
        "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().snapshot()'",
        "SELECT * FROM heapwire.cluster_daemon"]
    with node_with("http_get_changes = yes\n",
                   users=USERS + (("see", b"it", "status"),)) as node:
        token = subprocess.run(
            [PASSWD, node.config, "tok", "--token", "--privileges", "status"],
            check=True, capture_output=True, text=True).stdout.strip()
        reload(node)
        with Wire(node.socket).login() as w:
            statements += [f"SELECT {form.decode()}('{name}')" for form, in w.query(
                "SELECT routine_name FROM information_schema.routines "
                "WHERE routine_type = 'FUNCTION'") for name in ("now", "a")]
        seer = (None, "-H", f"Authorization: Bearer {token}")
        post = ("-X", "POST", *OWN)
        for user, *proof in (seer, ("see:it",)):
            for path in heaps + changes[3:]:
                same(path, 403, tcp(node, path, *proof, user=user).status)
            for path in posts + changes:
                same(path, 403,
                     tcp(node, path, *post, *proof, user=user).status)
            for path in others:
                assert tcp(node, path, *proof, user=user).status != 403, path
                same(path, 403, tcp(node, path + "?node=10002", *proof,
                                    user=user).status)
            for text in statements:
                same(text, 403, tcp(node, "/value", *OWN, *proof, "-d", text,
                                    user=user).status)
        for path in changes:
            denied = tcp(node, path, *post, user="ann:secret")
            same(path, 403, denied.status)
            assert "CONTROL" in denied.text, denied.text


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
        same("no UTF-8", [["a??b"]], json.loads(statement(
            node, "SELECT x'61fffe62'").body)["rows"])
        many = json.loads(statement(
            node, "SELECT a.name, b.name FROM heapwire.settings a, heapwire.settings b, "
            "heapwire.settings c LIMIT 20000", "/sql", "--compressed").body)
        same("many rows", 20000, len(many["rows"]))
        same("no row", [], json.loads(statement(
            node, "SELECT 1 FROM heapwire.nodes WHERE id = 0").body)["rows"])
        for text, value in (("'a\\nb'", b"a\nb"), ("7", b"7"), ("1.5e0", b"1.5"),
                            ("0.03e0", b"0.03"), ("1e20", b"1e20")):
            same(text, value, statement(node, "SELECT " + text, "/value").body)
        same("none", 503, statement(node, "SELECT NULL", "/value").status)
        wrong = statement(node, "SELEC 1")
        assert wrong.status == 400 and "SELEC" in wrong.text, wrong.text
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
        assert size < 110 << 10, size  # as its README says
        assert "/sql" in local(node, "/help").text
        for path in ("/debug/pprof", "/debug/pprof/", "/debug/pprof/?debug=1"):
            for named in re.findall("^/debug/pprof/[a-z]+",
                                    local(node, path).text, re.M):
                assert local(node, named).status in (200, 503), named
            same(path, 200, local(node, path).status)
        for path in ("/debug/pprof/5", "/jeheap/reset/"):
            same(path, 404, local(node, path).status)
        same("others", "default-src 'none'",
             local(node, "/help").header("content-security-policy"))


def test_failed_logins_make_their_account_wait():
    """At both listeners; the right login is answered in its turn."""
    with node_with("login_failures = 3\n") as node:
        def right():
            same("right", 200, tcp(node, "/", user="ann:secret").status)
            return time.monotonic()

        def another_waits():
            """Where it does, it is answered after that which came before."""
            began = time.monotonic()
            for _ in range(3):
                same("wrong", 401, tcp(node, "/", user="ann:wrong").status)
            with ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(right)
                same("another", 200, tcp(node, "/").status)
                waits = waiting.done()
            assert waiting.result() - began > 1.9, "it waited for its turn"
            return waits

        # A busy machine may take two seconds for it, too, now and then.
        assert not all(another_waits() for _ in range(5))
        for _ in range(3):
            same("wrong", 401, tcp(node, "/", user="ann:wrong").status)
        ask = (b"GET / HTTP/1.1\r\nConnection: close\r\n" + HOST +
               b"Authorization: Basic " + base64.b64encode(b"ann:wrong") +
               b"\r\n\r\n")
        with ThreadPoolExecutor(12) as pool:
            at_once = list(pool.map(lambda _: talk(node, ask), range(12)))
        assert {a[9:12] for a in at_once} == {b"401", b"429"}, at_once
        refused = [a for a in at_once if a[9:12] == b"429"]
        assert len(refused) >= 9, at_once
        for a in refused:
            assert b"unix socket" in a and b"retry-after: " in a.lower(), a
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


def test_a_get_tells_the_command():
    """Which then does it, as it is."""
    with node_with() as node:
        for path, status in (("/profiling/disable?node=10001", 503),
                             ("/sql", 200), ("/value", 200)):
            for get in (tcp, local):
                answer = get(node, path)
                same(path, (405, "POST"),
                     (answer.status, answer.header("allow")))
                command = answer.text.splitlines()[1]
                command = command.replace("-u boss", "-u boss:b0ss")
                assert command.startswith("curl -X POST ") and path in command
                done = subprocess.run(command + " -s -w '%{http_code}'",
                                      shell=True, check=True, timeout=60,
                                      capture_output=True).stdout
                same(command, str(status).encode(), done[-3:])
        odd = tcp(node, "/sql?'$(id)`id`&a=b").text
        assert "id" not in odd, odd
        odd = tcp(node, "/sql", "-k", "-H", "Host: a';id;'", scheme="https")
        assert "'https://localhost/sql'" in odd.text, odd.text


# What a browser may be made to send

def test_other_origins():
    with node_with() as node:
        here = f"127.0.0.1:{node.http_port}"
        for host, status in ((here, 200), ("localhost", 200),
                             ("LOCALHOST:1", 200), ("127.9.8.7:80", 200),
                             ("[::1]:80", 200), ("evil.example", 421),
                             ("localhost.evil.example", 421),
                             ("127.0.0.1.evil.example", 421), ("[::1", 421),
                             ("[::1]", 200), ("[::1]evil.example", 421),
                             ("[::1]evil.example:80", 421),
                             ("10.0.0.1", 421), ("0.0.0.0", 421)):
            for path in ("/", "/healthz", "/metrics", "/nothing"):
                answer = tcp(node, path, "-H", f"Host: {host}")
                same(f"{host}{path}", status == 421, answer.status == 421)
            same("forwarded, too", status == 421, local(
                node, "/", "-H", f"Host: {host}").status == 421)
        same("TLS names it", 200, tcp(node, "/", "-k", "-H", "Host: any.name",
                                      scheme="https").status)
        post = "/profiling/disable", "-X", "POST"
        same("bare", 403, tcp(node, *post).status)
        other = tcp(node, *post, "-H", "Origin: http://evil.example")
        same("another's", 403, other.status)
        assert "Origin is another site's" in other.text, other.text
        same("null", 403, tcp(node, *post, "-H", "Origin: null").status)
        same("TLS's", 403, tcp(node, *post, "-H", f"Origin: https://{here}").status)
        for more in (OWN, ("-H", f"Origin: http://{here}")):
            assert tcp(node, *post, *more).status != 403
        for site in ("cross-site", "same-site", "anything"):
            for more in (OWN, ("-H", f"Origin: http://{here}"), ("-k",)):
                for path in ("/profiling/disable", "/sql", "/pprof/symbol"):
                    same(f"{site} {path}", 403, tcp(
                        node, path, "-d", "SELECT 1", *more, "-H",
                        f"Sec-Fetch-Site: {site}").status)
            for path, status in (("/", 200), ("/healthz", 200),
                                 ("/metrics", 403), ("/pprof/heap", 403)):
                same(f"a link to {path}", status, tcp(
                    node, path, "-H", f"Sec-Fetch-Site: {site}").status)
        sql = "/sql", "-d", "SELECT 1"
        for site in ("same-origin", "none"):
            same(site, 200, tcp(node, *sql, *OWN, "-H",
                                f"Sec-Fetch-Site: {site}").status)
        # ssh may forward the socket to a port that a browser reaches
        same("no browser", 200, local(node, *sql).status)
        same("the page", 200, local(node, *sql, "-H",
                                    "Origin: http://localhost").status)
        for more in ("Origin: http://evil.example", "Origin: null",
                     "Sec-Fetch-Site: cross-site"):
            same(more, 403, local(node, *sql, "-H", more).status)
        for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "POST"):
            same(method, 405, tcp(node, "/metrics", "-X", method).status)
        same("of two", (405, "GET, HEAD, POST"),
             (lambda a: (a.status, a.header("allow")))(
                 tcp(node, "/snapshots", "-X", "DELETE")))
        same("no path", 404, tcp(node, "/nothing").status)
        same("no such parameter", 400, tcp(node, "/metrics?x=1").status)
        answer = tcp(node, "/")
        same("sniffing", "nosniff", answer.header("x-content-type-options"))
        assert "access-control-allow-origin" not in answer.headers


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
    print("http_paths.py: ok")
