"""The endpoints of other databases, by the commands of their own documents.

Databend, GreptimeDB, Doris and StarRocks each publish how to profile their
heap; scripts and habits follow these documents.  Every line of them that has
a URL runs here as it stands, but for the host, the port and the place of the
binary, against a Redis under heapwire-run.  The account's password is where
each client keeps it: in .curlrc, which jeprof's curl reads as well; in the
host's place for go, which reads no such file.
"""
import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import time
from xml.etree import ElementTree

from http_under_test import (FILLED, MB, OWN, WITHOUT_SOME, fill, local, node_with,
                       redis, redis_client, reload, same, tcp)
from machine import no_terminal
from node_under_test import frozen, wait_for
from runner import named, needs, run_tests

LOOP = "aeMain"  # redis' event loop, below which it allocates


class Shell:
    """A user's: a directory, and a password in .curlrc."""

    def __init__(self, node, directory):
        self.node, self.directory = node, directory
        self.host = f"127.0.0.1:{node.http_port}"
        self.binary = os.path.realpath(
            f"/proc/{node.children['redis-server']}/exe")
        with open(os.path.join(directory, ".curlrc"), "w",
                  encoding="ascii") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write('user = "boss:b0ss"\nmax-time = 120\n')
        self.environment = {**os.environ, "HOME": directory,
                            "CURL_HOME": directory,
                            "PPROF_TMPDIR": directory,
                            "GOCACHE": subprocess.run(
                                ["go", "env", "GOCACHE"], check=True, text=True,
                                capture_output=True, timeout=60).stdout.strip()}
        self.environment.pop("JEPROF_TMPDIR", None)

    @staticmethod
    def exchanged(text, places):
        for before, after in places.items():
            assert before in text, (before, text)
            text = text.replace(before, after)
        return text

    def run(self, text, places, fails=False):
        """The document's line, its places exchanged; what it prints."""
        text = self.exchanged(text, places)
        done = subprocess.run(
            ["bash", "-c", text], cwd=self.directory, env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=120, check=False)
        said = done.stdout.decode("utf-8", "replace")
        same(f"{text} fails ({said})", fails, done.returncode != 0)
        return said

    def type(self, text, places, typed):
        """The same on a terminal, where the user then types."""
        ours, theirs = pty.openpty()
        try:
            with subprocess.Popen(
                    ["bash", "-c", self.exchanged(text, places)],
                    cwd=self.directory, stdin=subprocess.PIPE, stdout=theirs,
                    env={**self.environment, "TERM": "dumb"},
                    stderr=theirs) as p:
                os.close(theirs)
                p.stdin.write(typed)
                p.stdin.close()
                said = b""
                with contextlib.suppress(OSError):  # at its end
                    while part := os.read(ours, 65536):
                        said += part
                same("its end", 0, p.wait(120))
        finally:
            os.close(ours)
        return said.decode("utf-8", "replace").replace("\r\n", "\n")

    def read(self, name):
        with open(os.path.join(self.directory, name), encoding="utf-8") as f:
            return f.read()


@contextlib.contextmanager
def shell(settings=""):
    with redis(settings) as node, tempfile.TemporaryDirectory() as directory:
        yield Shell(node, directory)


def is_profile(text):
    assert text.startswith("heap_v2/") and "MAPPED_LIBRARIES:" in text, text


def look_at_graph(text):
    """DOT that graphviz draws, with redis' functions as nodes."""
    assert text.startswith("digraph "), text[:200]
    nodes = dict(re.findall(r'^(N\d+) \[label="([^"]*)"', text, re.M))
    assert any(LOOP in label for label in nodes.values()), nodes
    assert re.search(r"^N\d+ -> N\d+ ", text, re.M), text
    drawn = subprocess.run(["dot", "-Tplain"], input=text.encode(), check=True,
                           capture_output=True, timeout=60).stdout
    same("drawn", len(nodes), len(re.findall(rb"^node N\d", drawn, re.M)))


def total(text):
    """Of jeprof's reports in MB."""
    found = re.search(r"(?:^|\) )Total: (-?[\d.]+) MB", text, re.M)
    assert found, text
    return float(found.group(1))


def grow(user):
    """By so many MB; and a while passes, as in the documents: requests of the
    same second share one heap."""
    with redis_client(user.node) as write:
        for i in range(FILLED // MB):
            write(b"more%d" % i)
    time.sleep(1.1)  # longer than that second


# Databend: how to profile Databend

BEND = "localhost:8080"


@needs(no_terminal)
def test_databend():
    with shell() as user:
        fill(user.node)
        here = {BEND: user.host}
        said = user.type(
            "jeprof ./target/debug/databend-query "
            "http://localhost:8080/debug/mem",
            {**here, "./target/debug/databend-query": user.binary},
            b"top\nquit\n")
        assert f"Using local file {user.binary}." in said, said
        assert (f"http://{user.host}/debug/mem/pprof/profile?seconds=30 "
                "for 30 seconds") in said, said
        assert WITHOUT_SOME < total(said) < 2 * FILLED, said
        assert re.search(rf" {LOOP}$", said, re.M), said

        user.run("curl 'http://localhost:8080/debug/mem/pprof/profile"
                 "?seconds=0' > mem.prof", here)
        is_profile(user.read("mem.prof"))
        text = user.run("jeprof --text BINARY mem.prof",
                        {"BINARY": user.binary})
        assert WITHOUT_SOME < total(text) < 2 * FILLED, text

        user.run("curl 'http://localhost:8080/debug/mem/pprof/profile"
                 "?seconds=0' > a.prof", here)
        grow(user)
        user.run("curl 'http://localhost:8080/debug/mem/pprof/profile"
                 "?seconds=0' > b.prof", here)
        # --pdf needs ghostscript: what it draws is this graph
        user.run("""jeprof \
    --show_bytes \
    --nodecount=1024 \
    --nodefraction=0.001 \
    --edgefraction=0.001 \
    --maxdegree=64 \
    --pdf \
    ./target/debug/databend-meta \
    --base=a.prof \
    b.prof \
    > mem.pdf""", {"--pdf": "--dot", "./target/debug/databend-meta":
                   user.binary})
        graph = user.read("mem.pdf")
        look_at_graph(graph)
        grown = int(re.search(r"Total B: (\d+)", graph).group(1)) / (1 << 20)
        assert WITHOUT_SOME < grown < 2 * FILLED, grown

        # without the binary, jeprof asks for names at the same place
        text = user.run("jeprof --text http://localhost:8080/debug/mem", here)
        assert re.search(rf" {LOOP}$", text, re.M), text
        look_at_databend_errors(user)


def look_at_databend_errors(user):
    node, path = user.node, "/debug/mem/pprof/profile"
    first = tcp(node, path)
    same("a file", 'attachment; filename="mem.prof"',
         first.header("content-disposition"))
    for wrong in ("seconds=abc", "seconds=-1", "seconds=1&seconds=2",
                  "second=1"):
        answer = tcp(node, f"{path}?{wrong}")
        same(wrong, (400, None), (answer.status,
                                  answer.header("content-disposition")))
    # The document's first step is a profile of the processor.
    said = user.run(
        "go tool pprof -top "
        "http://localhost:8080/debug/pprof/profile?seconds=2",
        {BEND: f"boss:b0ss@{user.host}"})
    assert "Type: cpu" in said, said


# GreptimeDB: the article on leaks, and how to profile memory

def test_greptimedb():
    with shell("http_get_changes = yes\n") as user:
        article = {"<greptimedb_ip>:4000": user.host}
        here = {"localhost:4000": user.host}

        def ask(text):
            return user.run(text, here)

        same("at first", {"active": False},
             json.loads(ask("curl -s -X GET localhost:4000/debug/prof/mem/status")))
        same("on", "Heap profiling activated\n",
             ask("curl -s -X POST localhost:4000/debug/prof/mem/activate"))
        same("it is on", '{"active": true}',
             ask("curl -s -X GET localhost:4000/debug/prof/mem/status"))

        user.run("curl <greptimedb_ip>:4000/v1/prof/mem > base.hprof", article)
        grow(user)
        user.run("curl <greptimedb_ip>:4000/v1/prof/mem > mem.hprof", article)
        for name in ("base.hprof", "mem.hprof"):
            is_profile(user.read(name))
        stacks = user.run("jeprof BINARY --base=base.hprof mem.hprof "
                          "--collapsed", {"BINARY": user.binary})
        assert re.search(rf"^\S*;{LOOP}\S*;\S* \d+$", stacks, re.M), stacks

        ask("curl -s -X POST localhost:4000/debug/prof/mem > greptime.hprof")
        is_profile(user.read("greptime.hprof"))
        ask('curl -s -X POST "localhost:4000/debug/prof/mem?output=flamegraph"'
            " > greptime.svg")
        look_at_flame_graph(user.read("greptime.svg"))
        ask('curl -s -X POST "localhost:4000/debug/prof/mem?output=proto"'
            " > greptime.pprof")
        top = user.run("go tool pprof -unit=mb -top greptime.pprof", {})
        assert re.search(rf"MB +100%.* {LOOP}$|MB .* {LOOP}$", top, re.M), top

        same("off", "Heap profiling deactivated\n",
             ask("curl -s -X POST localhost:4000/debug/prof/mem/deactivate"))
        same("it is off", '{"active": false}',
             ask("curl -s -X GET localhost:4000/debug/prof/mem/status"))
        for output in ("svg", "Text", "text&output=text"):
            same(output, 400,
                 tcp(user.node, f"/debug/prof/mem?output={output}").status)


def look_at_flame_graph(text):
    root = ElementTree.fromstring(text)
    same("an SVG", "{http://www.w3.org/2000/svg}svg", root.tag)
    names = [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(LOOP in (name or "") for name in names), names


# Doris: heap profile analysis

DORIS = "be_host:8040"


def test_doris():
    # JEMALLOC_CONF's prof_active:true of its first step
    with shell("profiling = on\nhttp_get_changes = yes\n") as user:
        grow(user)
        here = {DORIS: user.host}
        look_at_graph(user.run("curl -s http://be_host:8040/jeheap/dump", here))
        user.run("curl http://HOST/pprof/heap > profile_file",
                 {"HOST": user.host})
        look_at_graph(user.run(
            "jeprof --dot ${DORIS_HOME}/lib/doris_be "
            "${DORIS_HOME}/log/profile_file 2>/dev/null",
            {"${DORIS_HOME}/lib/doris_be": user.binary,
             "${DORIS_HOME}/log/": ""}))

        same("off", "heap profiler stoped\n",
             user.run("curl -s http://be_host:8040/jeheap/active/false", here))
        dump = tcp(user.node, "/jeheap/dump")
        same("while it is off", 503, dump.status)
        assert dump.text.startswith(
            "Jemalloc heap profiler is not enabled, refer to the following "
            "method to enable it.\nPOST /jeheap/active/true starts it."), (
                dump.text)
        same("on", "Jemalloc heap profiler started\n",
             user.run("curl -s http://be_host:8040/jeheap/active/true", here))
        same("another rate", "Jemalloc reset all memory profile statistics and "
             "update the sample rate:17\n",
             user.run("curl -s http://be_host:8040/jeheap/reset/17", here))
        same("its rate", "131072\n",
             sql(user, "SELECT sample_rate FROM heapwire.profiler"))
        for wrong in ("0", "5", "31", "99"):
            answer = tcp(user.node, f"/jeheap/reset/{wrong}")
            same(wrong, 400, answer.status)
            assert "script" not in answer.text, answer.text
        for wrong in ("", "abc", "-1", "1/2", "0x10"):
            same(wrong, 404, tcp(user.node, f"/jeheap/reset/{wrong}").status)
        same("its rate stays", "131072\n",
             sql(user, "SELECT sample_rate FROM heapwire.profiler"))


def sql(user, text):
    return local(user.node, "/value", "--data-binary", text).text + "\n"


# StarRocks: Jemalloc heap profiling, the part for releases before 3.1.6

def test_starrocks():
    with shell() as user:
        fill(user.node)
        here = {"{$be_ip}:{$be_http_port}": user.host}
        user.run("curl http://{$be_ip}:{$be_http_port}/pprof/heap >a.heap",
                 here)
        grow(user)
        user.run("curl http://{$be_ip}:{$be_http_port}/pprof/heap >b.heap",
                 here)
        user.run("jeprof --dot /{$path_to_be}/lib/starrocks_be --base=a.heap "
                 "b.heap >a.dot",
                 {"/{$path_to_be}/lib/starrocks_be": user.binary})
        graph = user.read("a.dot")
        look_at_graph(graph)
        grown = float(re.search(r"Total MB: ([\d.]+)", graph).group(1))
        assert WITHOUT_SOME < grown < 2 * FILLED, grown
        user.run("dot -Tpdf a.dot -o a.pdf", {})
        with open(os.path.join(user.directory, "a.pdf"), "rb") as f:
            assert f.read(5) == b"%PDF-"


# Where the heap cannot be profiled

def test_without_profiling():
    """The words of each, with the reason behind them."""
    reason = "heap profiling is not prepared"
    with shell("profiling = off\nhttp_get_changes = yes\n") as user:
        for path in ("/v1/prof/mem", "/debug/prof/mem",
                     "/debug/prof/mem?output=proto",
                     "/debug/prof/mem?output=flamegraph",
                     "/debug/prof/mem/activate"):
            answer = tcp(user.node, path)
            same(path, (501, "application/json", None),
                 (answer.status, answer.header("content-type"),
                  answer.header("content-disposition")))
            said = json.loads(answer.text)
            same(path, "Memory profiling is not enabled", said["error"])
            assert reason in said["reason"], said
        same("status", '{"active": false}',
             tcp(user.node, "/debug/prof/mem/status").text)
        for path, words in (
                ("/debug/mem/pprof/profile?seconds=0",
                 "opt.prof is not ON, please start the application with "
                 "proper MALLOC env. e.g. MALLOC_CONF=prof:true\n"),
                ("/jeheap/active/true",
                 "Jemalloc heap profiler is not enabled, "),
                ("/jeheap/dump", "Jemalloc heap profiler is not enabled, "),
                ("/jeheap/reset/19", "Jemalloc have not reset.\n")):
            answer = tcp(user.node, path)
            same(path, 501, answer.status)
            assert answer.text.startswith(words), answer.text
            assert reason in answer.text, answer.text
            assert "starts it" not in answer.text, answer.text
        same("jeprof's", 501, tcp(user.node, "/pprof/heap").status)


def test_without_jemalloc():
    """The reason, and no advice that cannot help."""
    with redis("profiling_source = jemalloc\njemalloc = no\n"
               "http_get_changes = yes\n",
               ["sleep", "1000"]) as node:
        for path in ("/jeheap/dump", "/jeheap/active/true", "/jeheap/reset/19",
                     "/debug/prof/mem", "/debug/prof/mem/activate",
                     "/debug/mem/pprof/profile", "/debug/pprof/heap",
                     "/pprof/heap"):
            answer = tcp(node, path)
            same(path, 501, answer.status)
            assert "does not allocate through jemalloc" in answer.text, answer.text
            assert "starts it" not in answer.text, answer.text


def test_a_stopped_database():
    """All say what has become of it: no switch of theirs would help."""
    with redis() as node, frozen(node.children["redis-server"]):
        wait_for(lambda: tcp(node, "/readyz").status == 503, 60)
        for path in ("/jeheap/dump", "/debug/prof/mem", "/v1/prof/mem",
                     "/debug/prof/mem/status", "/debug/mem/pprof/profile"):
            answer = tcp(node, path)
            same(path, 503, answer.status)
            assert "stopped" in answer.text, (path, answer.text)
            assert "not enabled" not in answer.text, (path, answer.text)


# What changes something

CHANGES = ("/jeheap/active/true", "/jeheap/active/false", "/jeheap/reset/19",
           "/debug/prof/mem/activate", "/debug/prof/mem/deactivate")


def test_changes_by_get():
    """By the setting alone; by no page of another site; by no account without
    the privilege.  There is no database: 503 is what comes after all that."""
    with node_with() as node:
        here = f"http://127.0.0.1:{node.http_port}"
        for path in CHANGES:
            get = tcp(node, path)
            same(path, (405, "POST"), (get.status, get.header("allow")))
            assert f" -u boss '{here}{path}'\n" in get.text, get.text
            assert "http_get_changes = yes" in get.text, get.text
            same("bare", 403, tcp(node, path, "-X", "POST").status)
            same("POST", 503, tcp(node, path, "-X", "POST", *OWN).status)
        with open(node.config, encoding="ascii") as f:
            text = f.read()
        with open(node.config, "w", encoding="ascii") as f:
            f.write(text.replace("[node]\n", "[node]\nhttp_get_changes = yes\n"))
        reload(node)
        for path in CHANGES:
            look_at_change(node, here, path)
        same("others stay", 405, tcp(node, "/profiling/enable").status)
        same("others stay", 403,
             tcp(node, "/profiling/enable", "-X", "POST").status)


def look_at_change(node, here, path):
    def status(*headers, method="GET", **more):
        pairs = [part for header in headers for part in ("-H", header)]
        return tcp(node, path, "-X", method, *pairs, **more).status

    for method in ("GET", "POST"):
        same(path, 503, status(method=method))
        for site, wanted in (("none", 503), ("same-origin", 503),
                             ("same-site", 403), ("cross-site", 403),
                             ("anything", 403)):
            same(site, wanted, status(f"Sec-Fetch-Site: {site}", method=method))
        for origin, wanted in ((here, 503), ("null", 403),
                               ("http://evil.example", 403),
                               (here.replace("http", "https"), 403)):
            same(origin, wanted, status(f"Origin: {origin}", method=method))
        same("another name", 421, status("Host: evil.example", method=method))
        same("no login", 401, status(method=method, user=None))
        same("no privilege", 403, status(method=method, user="ann:secret"))
    same("HEAD", 405, tcp(node, path, "-I").status)
    same("PUT", 405, status(method="PUT"))


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
    print("seeds.py: ok")
