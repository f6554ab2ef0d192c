"""Debug information by DEBUGINFOD_URLS: a stripped program gets its names from a
server, in the background; one that hangs, fails or gives garbage harms nothing."""
import contextlib
import http.server
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

from http_under_test import same
from node_under_test import REAL, wait_for
from recorded_node import Ran, heap, prof, value
from runner import in_parallel, named, run_tests

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[32000];
static __attribute__((noinline)) void keep_hidden(void)
{
    for (int i = 0; i < 32000; i++)
        kept[i] = malloc(1000);
}
int main(void)
{
    keep_hidden();
    printf("ready\\n");
    fflush(stdout);
    for (;;)
        pause();
}
"""


class Server(http.server.ThreadingHTTPServer):
    """Answers /buildid/ID/debuginfo as `answers` says: bytes, None for 404, or
    a function of the request."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.asked, self.over = {}, [], threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        build_id = re.fullmatch(r"/buildid/([0-9a-f]+)/debuginfo", self.path)
        build_id = build_id and build_id.group(1)
        self.server.asked.append(build_id)
        answer = self.server.answers.get(build_id)
        if callable(answer):
            answer(self)
            return
        self.give(answer)

    def give(self, answer):
        self.send_response(404 if answer is None else 200)
        self.send_header("Content-Length", str(len(answer or b"")))
        self.end_headers()
        self.wfile.write(answer or b"")

    def log_message(self, *_):
        pass


def hangs(request):
    """Until the test is over."""
    request.server.over.wait(120)


def hangs_in_the_middle(request):
    request.send_response(200)
    request.send_header("Content-Length", "1000000")
    request.end_headers()
    request.wfile.write(b"\x7fELF" + bytes(1000))
    request.server.over.wait(120)


class Program:
    def __init__(self, work):
        source = os.path.join(work, "hidden.c")
        self.path = os.path.join(work, "hidden")
        debug = os.path.join(work, "separate")
        with open(source, "w", encoding="ascii") as f:
            f.write(SOURCE)
        subprocess.run(["gcc", "-g", "-O1", "-Wl,--build-id", "-o", self.path,
                        source], check=True)
        notes = subprocess.run(["readelf", "-n", self.path], check=True,
                               capture_output=True, text=True).stdout
        self.build_id = re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)
        subprocess.run(["objcopy", "--only-keep-debug", self.path, debug],
                       check=True)
        subprocess.run(["strip", self.path], check=True)
        with open(debug, "rb") as f:
            self.debug = f.read()


@contextlib.contextmanager
def ran(settings="", answer=None):
    with tempfile.TemporaryDirectory(prefix="hw-d-") as work, Server() as server:
        program = Program(work)
        server.debug = program.debug
        server.answers[program.build_id] = (
            program.debug if answer == "all" else answer)
        with Ran(program.path, settings="[symbols]\ndebuginfod_urls = "
                 f"{server.url}\n{settings}") as node, node.asks() as w:
            wait_for(lambda: "ready" in node.said())  # it holds memory
            yield node, w, server, program


def functions(w):
    """Of a profile that is taken now."""
    name = heap(w, "snapshot()")[0]
    return [row[0].decode() for row in w.query(
        f"SELECT function FROM heapwire.heap_functions WHERE snapshot = '{name}'")]


def has_names(w):
    return "keep_hidden" in functions(w)


def fetched(node):
    return os.listdir(os.path.join(node.directory, "state", "debuginfo"))


def heapwired_is_well(node, w):
    same("still", "connected", value(w, "SELECT state FROM heapwire.profiler"))
    assert "heapwired: " not in node.said(), node.said()


@in_parallel
def test_names_come_later():
    looked = threading.Event()

    def answer(request):
        looked.wait(120)
        request.give(request.server.debug)
    with ran(answer=answer) as (node, w, server, program):
        first = functions(w)
        assert any(re.match(r"hidden\+0x", f) for f in first), first
        assert "keep_hidden" not in first, first
        looked.set()
        wait_for(lambda: f" hidden ({program.build_id})" in node.log())
        assert f"fetched debug information of hidden ({program.build_id})" in \
            node.log(), node.log()
        assert has_names(w), functions(w)
        same("kept", True, program.build_id + ".debug" in fetched(node))
        lines = prof(w, 'Profile.now().granularity("lines").collapsed()')
        assert any(re.search(r"keep_hidden .*hidden\.c:\d+", line)
                   for line in lines), lines
        asked = server.asked.count(program.build_id)
        same("asked once", 1, asked)

        # Another heapwired has it already.
        before = node.heapwired
        os.kill(before, 9)
        wait_for(lambda: node.log().count("serves node") == 2)
        with node.asks() as again:
            wait_for(lambda: value(again, "SELECT state FROM heapwire.profiler")
                     == "connected")
            assert has_names(again), "the file was forgotten"
        same("not asked again", asked, server.asked.count(program.build_id))


@in_parallel
def test_no_server_has_it():
    with ran() as (node, w, server, program):
        functions(w)
        wait_for(lambda: f"({program.build_id}) was fetched: no server has it"
                 in node.log())
        for _ in range(3):
            assert not has_names(w)
        time.sleep(1)  # it would ask at once
        same("asked once", 1, server.asked.count(program.build_id))
        heapwired_is_well(node, w)


@in_parallel
def test_garbage_is_refused():
    for answer, why in ((b"<html>not found</html>" * 100, "ELF"),
                        (b"\x7fELF\x02\x01\x01" + bytes(2000), ""),
                        (b"", "")):
        with ran(answer=answer) as (node, w, server, program):
            functions(w)
            wait_for(lambda: f"({program.build_id}) was fetched:" in node.log())
            line = re.search(rf"\({program.build_id}\) was fetched: (.*)",
                             node.log()).group(1)
            assert why in line, line
            print(f"  {line}")
            assert not has_names(w)
            same("nothing is kept", [], [f for f in fetched(node)
                                         if program.build_id in f])
            same("asked once", 1, server.asked.count(program.build_id))
            heapwired_is_well(node, w)


def test_another_build_is_refused():
    with tempfile.TemporaryDirectory(prefix="hw-d-") as work:
        with open(REAL, "rb") as f:
            other = f.read()
        with ran(answer=other) as (node, w, _, program):
            functions(w)
            wait_for(lambda: f"({program.build_id}) was fetched: the fetched "
                     "file is of another build" in node.log())
            assert not has_names(w)
    del work


@in_parallel
def test_a_server_that_hangs():
    for answer in hangs, hangs_in_the_middle:
        with ran("debuginfod_timeout = 3\n", answer) as (node, w, _, program):
            began = time.monotonic()
            functions(w)
            assert not has_names(w)
            wait_for(lambda: f"({program.build_id}) was fetched: the servers "
                     "did not send it within 3 s" in node.log())
            print(f"  given up after {time.monotonic() - began:.1f} s")
            heapwired_is_well(node, w)
            same("no process is left", "", subprocess.run(
                ["pgrep", "-P", str(node.heapwired), "heapwire-debugi"],
                check=False, capture_output=True, text=True).stdout)


def test_the_ceiling():
    """Of one file, and of all: the one that was unused for longest goes."""
    with ran("keep_bytes = 5000\n", "all") as (node, w, server, program):
        functions(w)
        wait_for(lambda: f"({program.build_id}) was fetched:" in node.log())
        print("  " + re.search(rf"\({program.build_id}\) was fetched: (.*)",
                               node.log()).group(1))
        same("too large", [], [f for f in fetched(node)
                               if f.endswith(".debug")])
        heapwired_is_well(node, w)
    with ran("keep_bytes = 20000\n", "all") as (node, w, server, program):
        place = os.path.join(node.directory, "state", "debuginfo")
        for i, name in enumerate(("aa" * 20, "bb" * 20)):
            path = os.path.join(place, name + ".debug")
            with open(path, "wb") as f:
                os.fchmod(f.fileno(), 0o600)
                f.write(bytes(9000))
            os.utime(path, (1700000000 + i, 1700000000 + i))
        functions(w)
        wait_for(lambda: f"of hidden ({program.build_id})" in node.log())
        same("the oldest went", {program.build_id + ".debug",
                                 "bb" * 20 + ".debug"},
             {f for f in fetched(node) if f.endswith(".debug")})
        assert has_names(w)


def test_it_ends_while_it_fetches():
    with ran(answer=hangs) as (node, w, server, program):
        functions(w)
        wait_for(lambda: program.build_id in server.asked)
        # The with statement ends heapwired, within its time.


def test_too_many_urls():
    for where in "environment", "file":
        urls = "http://127.0.0.1:1/" + "x" * 1000
        with tempfile.TemporaryDirectory(prefix="hw-d-") as work:
            config = os.path.join(work, "ini")
            with open(config, "w", encoding="ascii") as f:
                os.fchmod(f.fileno(), 0o600)
                f.write("[node]\nlisten = none\n[symbols]\n")
                if where == "file":
                    f.write(f"debuginfod_urls = {urls}\n")
            done = subprocess.run(
                [REAL, "--config", config, "--state-dir", work + "/state"],
                env={**os.environ, "DEBUGINFOD_URLS":
                     urls if where == "environment" else ""},
                capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 78 or done.returncode == 71, done
            assert "1000" in done.stderr or "190" in done.stderr, done.stderr
            print(f"  {where}: {done.stderr.strip()}")


def test_off_unless_set():
    with tempfile.TemporaryDirectory(prefix="hw-d-") as work:
        program = Program(work)
        with Ran(program.path) as node, node.asks() as w:
            assert not has_names(w)
            assert "debug information is fetched" not in node.log()
            same("no directory", False, os.path.exists(os.path.join(
                node.directory, "state", "debuginfo")))


if __name__ == "__main__":
    os.environ.pop("DEBUGINFOD_URLS", None)
    run_tests(named(globals(), sys.argv[1:]))
