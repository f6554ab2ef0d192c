"""Databases that the recorder profiles: profiling_source = interposed.

A Redis whose jemalloc was never told to profile, and programs without jemalloc:
switched, read in every form, forking, hung, killed, and started in the ways
that people start them.
"""
import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager

from http_door import local, redis, same
from machine import no_namespaces, no_root
from mysql_wire import Wire
from node_under_test import BUILD, frozen, wait_for
from ports import free_port
from redis_node import RUN, RedisNode
from runner import beside, named, needs, run_tests

BLOCKS = os.path.abspath(os.path.join(BUILD, "bin", "recorded_blocks"))
SMALL, LARGE = 32000 * 1000, 16 << 20  # what it keeps
SETTINGS = "profiling_source = interposed\nprofiling = on\n"
LINGERS_S = 11  # a database that ends sooner has failed to start
LG = 14  # a mean at which some MB have a thousand samples


def prof(w, text):
    return [row[0].decode() for row in
            w.query(f"ADMIN EXECUTE ON 10001 'System.print({text})'")]


def heap(w, method):
    return prof(w, f"HeapProf.getInstance().{method}")


def value(w, text):
    """Of one row with one column: a number, a text, or None."""
    (found,), = w.query(text)
    if found is None:
        return None
    return int(found) if re.fullmatch(rb"-?\d+", found) else found.decode()


def profiled(w, snapshot=None):
    """Bytes in use; without a name, of a fresh one: "now" may be shared."""
    snapshot = snapshot or heap(w, "snapshot()")[0]
    size = value(w, "SELECT SUM(bytes) FROM heapwire.heap_stacks "
                 f"WHERE snapshot = '{snapshot}'")
    assert size is not None, "the profile is empty"
    return size


def said(w, snapshot, words):
    """In its head, whose lines are broken anywhere."""
    head = value(w, f"SELECT top('{snapshot}', NULL, 3)")
    assert words in " ".join(head.split()), head


def within(what, known, found, parts):
    assert abs(found - known) <= known * parts, (what, known, found)
    print(f"  {what}: {found / known - 1:+.2%} of {known / 1e6:.1f} MB")


class Ran(RedisNode):
    """What heapwire-run starts, with its log and tables."""

    def __init__(self, *program, settings="", wrapper=(), linger=60):
        self.settings = SETTINGS + settings
        super().__init__(tempfile.mkdtemp(prefix="hw-i-", dir="/tmp"), 10001,
                         {}, free_port(), wrapper, program or None,
                         linger=linger)

    def write(self, places):
        for path in self.directory, os.path.dirname(self.directory):
            os.chmod(path, 0o711)  # a database of another user passes
        with open(self.config, "w", encoding="ascii") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write(f"[node]\nhttp = none\n{self.settings}")

    def __enter__(self):
        try:
            return self.wait()
        except BaseException:
            self.__exit__(True)
            raise

    def __exit__(self, kind, *_):
        if kind:
            print(self.said()[-3000:], self.log()[-3000:], flush=True)
        self.stop()
        shutil.rmtree(os.path.dirname(self.directory))

    def wait(self):
        super().wait()
        with self.asks() as w:
            wait_for(lambda: value(w, "SELECT state FROM heapwire.profiler") in
                     ("connected", "gone"))
        return self

    def asks(self):
        wait_for(lambda: os.path.exists(self.socket), 30)
        return Wire(self.socket, 60).login()

    def said(self):
        with open(os.path.join(self.directory, "out"), encoding="utf-8") as f:
            return f.read()

    def pid(self):
        """The database's, of which heapwire-run may be a grandparent."""
        with self.asks() as w:
            return int(re.search(r"\(pid (\d+)\)",
                                 "\n".join(heap(w, "state()"))).group(1))

    def keeps(self, times=1):
        """Recorded_blocks does its next step."""
        os.kill(self.pid(), signal.SIGUSR1)
        wait_for(lambda: ("kept", "freed")[times - 1] in self.said())


# ---- a Redis ----


@contextmanager
def redis_command():
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="hw-i-") as directory:
        yield port, ["redis-server", "--port", str(port), "--bind",
                     "127.0.0.1", "--save", "", "--dir", directory,
                     "--enable-debug-command", "local"]


def test_source(node):
    explained = subprocess.run(
        [RUN, "--config", node.config, "--explain", "--", "redis-server"],
        check=True, capture_output=True, text=True).stdout
    assert re.search("^source +interposed", explained, re.M), explained
    assert "prof:true" not in explained, explained
    with Wire(node.socket).login() as w:
        same("source", [[b"interposed", b"active", b"524288"]], w.query(
            "SELECT source, profiling, sample_rate FROM heapwire.profiler"))
        assert "source: interposed" in "\n".join(heap(w, "state()"))
        same("jemalloc's own", [[b"0"]], w.query(
            "SELECT value FROM heapwire.malloc_stats WHERE name = 'opt.prof'"))


def test_switches(node):
    with Wire(node.socket).login() as w:
        same("on from the start", ["true"], heap(w, "has_enable()"))
        heap(w, "disable_prof()")
        same("off", ["false"], heap(w, "has_enable()"))
        assert heap(w, "state()")[0] != "state: active"
        heap(w, "enable_prof(1)")
        same("on", ["true"], heap(w, "has_enable()"))
        wait_for(lambda: heap(w, "has_enable()") == ["false"], 10)
        heap(w, "enable_prof()")
        assert value(w, "SELECT active_until FROM heapwire.profiler") is None
        heap(w, f"reset({LG}, true)")
        same("rate", 1 << LG,
             value(w, "SELECT sample_rate FROM heapwire.profiler"))
        same("resets", 1, value(w, "SELECT resets FROM heapwire.profiler"))


def cli(node, *command):
    """A fault of Redis is no fault of redis-cli."""
    said = subprocess.run(
        ["redis-cli", "-p", str(node.redis_port), *map(str, command)],
        check=True, capture_output=True, text=True).stdout
    assert not said.startswith(("ERR", "(error)")), said
    return said


def populate(node, name, count, size):
    """1018: with its head and end a value is a size class of jemalloc."""
    same("populate", "OK", cli(node, "debug", "populate", count, name,
                               size).strip())


def allocated(w):
    w.query("SELECT SLEEP(1.1)")  # the agent has new figures each second
    return value(w, "SELECT allocated FROM heapwire.memory")


def test_truth(node):
    """jemalloc's own count, of what came after the reset."""
    with Wire(node.socket, 60).login() as w:
        heap(w, f"reset({LG}, true)")
        before = allocated(w)
        populate(node, "truth", 30000, 1018)
        grown = allocated(w) - before
        within("all", grown, profiled(w), 0.12)
        flat = value(w, "SELECT SUM(bytes) FROM heapwire.heap_stacks "
                     "WHERE folded LIKE '%debugCommand%createStringObject%'")
        within("the values", 30000 * 1024, flat, 0.12)


FORMS = {"dot()": "digraph", "text()": "aeMain", "top(20)": "aeMain",
         "tree()": "aeMain", "collapsed()": "aeMain;",
         "flamegraph()": "aeMain", "calls()": "aeMain",
         "address_names()": "aeMain", "raw()": "heap_v2/"}


def test_forms(node):
    with Wire(node.socket, 60).login() as w:
        assert "debugCommand" in "\n".join(heap(w, "dump_dot_snapshot()"))
        same("a snapshot", ["forms"], heap(w, 'snapshot("forms")'))
        assert "digraph" in heap(w, 'to_dot_format("forms")')[0]
        for form, text in FORMS.items():
            for profile in 'Profile.of("forms")', "Profile.now()":
                found = "\n".join(prof(w, f"{profile}.{form}"))
                assert text in found, (form, found[:2000])
        (packed,), = w.query("SELECT pprof('forms')")
        assert b"debugCommand" in gzip.decompress(packed)
        top = w.query("SELECT function, cum_bytes FROM heapwire.heap_functions "
                      "WHERE function = 'debugCommand'")
        assert int(top[0][1]) > 25 << 20, top
        (exported,), = w.query("SELECT export('forms')")
        w.query(f"CALL heapwire.import_snapshot('again', x'{exported.hex()}')")
        same("imported", profiled(w, "forms"), profiled(w, "again"))


def test_http(node):
    answer = local(node, "/debug/pprof/heap")
    same("status", 200, answer.status)
    assert b"debugCommand" in gzip.decompress(answer.body)


def test_jeprof(node):
    """Of the raw text, with the files that it names: the same estimates."""
    if not shutil.which("jeprof"):
        print("skipped: jeprof: jeprof is not installed")
        return
    with Wire(node.socket, 60).login() as w, \
            tempfile.NamedTemporaryFile("wb", suffix=".heap") as f:
        (raw,), = w.query("SELECT raw('forms')")
        f.write(raw)
        f.flush()
        text = subprocess.run(
            ["jeprof", "--text", "/usr/bin/redis-server", f.name], check=True,
            capture_output=True, text=True).stdout
        total = float(re.search(r"^Total: ([\d.]+) MB", text, re.M).group(1))
        within("jeprof's total", profiled(w, "forms"), total * (1 << 20),
               0.005)
        assert "createStringObject" in text, text[:2000]


def test_difference(node):
    with Wire(node.socket, 60).login() as w:
        heap(w, 'snapshot("before")')
        populate(node, "later", 10000, 1018)
        heap(w, 'snapshot("after")')
        grown = value(w, "SELECT cum_bytes FROM heapwire.heap_diff WHERE base ="
                      " 'before' AND snapshot = 'after' AND "
                      "function = 'debugCommand'")
        within("growth", 10000 * (1024 + 64), grown, 0.2)
        cli(node, "flushall")
        heap(w, 'snapshot("flushed")')
        shrunk = value(w, "SELECT cum_bytes FROM heapwire.heap_diff "
                       "WHERE base = 'after' AND snapshot = 'flushed' AND "
                       "function = 'debugCommand'")
        assert shrunk < -35 << 20, shrunk


def test_forks(node):
    """A child's blocks are its own; its frees change nothing of ours."""
    populate(node, "forks", 20000, 1018)
    with Wire(node.socket, 60).login() as w:
        before = profiled(w)
        for _ in range(3):
            cli(node, "bgsave")
            wait_for(lambda: "rdb_bgsave_in_progress:0" in
                     cli(node, "info", "persistence"))
            assert ("rdb_last_bgsave_status:ok" in
                    cli(node, "info", "persistence"))
        within("after three forks", before, profiled(w), 0.05)
        same("who records", [[b"interposed"]],
             w.query("SELECT source FROM heapwire.profiler"))


def test_hangs(node):
    with Wire(node.socket, 60).login() as w:
        before = profiled(w)
        heap(w, "enable_prof()")  # no answer of before it is shared
        with frozen(node.children["redis-server"]):
            wait_for(lambda: value(w, "SELECT state FROM heapwire.profiler") ==
                     "unresponsive", 30)
            began = time.monotonic()
            within("hung", before, profiled(w), 0.05)
            assert time.monotonic() - began < 1
            assert "debugCommand" in "\n".join(heap(w, "dump_dot_snapshot()"))
            said(w, "now", "the process does not respond")
        wait_for(lambda: value(w, "SELECT state FROM heapwire.profiler") ==
                 "connected")


# ---- others, of which each has a node of its own ----


def last_of(node):
    """The signal of the only death; its profile's bytes, and by function."""
    with node.asks() as w:
        deaths = ("SELECT d.killed_by, s.name FROM heapwire.deaths d "
                  "JOIN heapwire.snapshots s ON s.name = d.last_snapshot "
                  "WHERE s.reason LIKE 'the database (pid %) ended'")
        wait_for(lambda: w.query(deaths), 20)
        (killed_by, name), = w.query(deaths)
        name = name.decode()
        said(w, name, "of its last moment: the process has ended")
        return int(killed_by), profiled(w, name), {
            row[0].decode(): int(row[1]) for row in w.query(
                "SELECT function, cum_bytes FROM heapwire.heap_functions "
                f"WHERE snapshot = '{name}'")}


def killed(node, by=signal.SIGKILL):
    """Soon after its start, which the next heapwired tells of."""
    os.kill(node.pid(), by)
    same("status", 128 + by, node.process.wait(30))
    with open(node.log_path, encoding="utf-8") as f:
        print("  " + f.read().splitlines()[-1][:100])
    node.start().wait()
    return last_of(node)


@beside
def test_killed_early(_):
    """A second after its start: the next heapwired has it, with its names."""
    with Ran(BLOCKS) as node:
        node.keeps()
        killed_by, total, functions = killed(node)
        same("signal", 9, killed_by)
        within("a second old", SMALL + LARGE, total, 0.6)
        within("large", LARGE, functions["keep_large"], 0.9)


@beside
def test_a_redis_killed(_):
    with redis_command() as (port, command), \
            Ran(*command, linger=0) as node:
        node.redis_port = port
        populate(node, "k", 200000, 1018)
        killed_by, _, functions = killed(node)
        same("signal", 9, killed_by)
        within("values", 200000 * (1024 + 64), functions["debugCommand"], 0.4)


@beside
def test_known_bytes_and_a_crash(_):
    """glibc's malloc; a rate at which chance is small."""
    began = time.monotonic()
    with Ran(BLOCKS) as node:
        with node.asks() as w:
            heap(w, "reset(12, true)")
            node.keeps()
            within("small", SMALL, cumulative(w, "keep_small"), 0.15)
            within("large", LARGE, cumulative(w, "keep_large"), 0.1)
            node.keeps(2)
            w.query("SELECT SLEEP(1.1)")
            within("half", SMALL // 2, cumulative(w, "keep_small"), 0.15)
            now = profiled(w)
        time.sleep(max(0, LINGERS_S - time.monotonic() + began))
        os.kill(node.pid(), signal.SIGUSR2)
        killed_by, total, functions = last_of(node)
        same("signal", 11, killed_by)
        same("all", now, total)
        within("half", SMALL // 2, functions["keep_small"], 0.15)


def cumulative(w, function):
    return value(w, "SELECT cum_bytes FROM heapwire.heap_functions "
                 f"WHERE function = '{function}'")


@contextmanager
def script(text):
    with tempfile.NamedTemporaryFile("w", suffix=".sh", dir="/tmp",
                                     delete=False) as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(f.name, 0o755)
    try:
        yield f.name
    finally:
        os.remove(f.name)


def serves_the_living(node):
    with node.asks() as w:
        found = re.search(r"\(pid (\d+)\)", "\n".join(heap(w, "state()")))
        return found and os.path.exists(f"/proc/{found.group(1)}") and \
            value(w, "SELECT source FROM heapwire.profiler") == "interposed"


@beside
def test_a_script(_):
    """Which runs other programs before and after, and that one, too."""
    with script(f"ls / >/dev/null\ntimeout 0.1 {BLOCKS}\necho again\n"
                f"{BLOCKS}\necho over\n") as name, \
            Ran(name, settings=f"exe = {BLOCKS}\n") as node:
        wait_for(lambda: "ready\n" in node.said().partition("again\n")[2])
        wait_for(lambda: serves_the_living(node))
        node.keeps()
        with node.asks() as w:
            within("all", SMALL + LARGE, profiled(w), 0.6)
            node.keeps(2)
            w.query("SELECT SLEEP(1.1)")  # no answer of before is shared
            ever = value(w, "SELECT text('now', NULL, 'by=alloc_space')")
            total, = re.findall(r"^Total: ([\d.]+) MB", ever, re.M)
            within("ever", SMALL + LARGE, float(total) * (1 << 20), 0.6)
        os.kill(node.pid(), signal.SIGTERM)
        wait_for(lambda: "over" in node.said())


@beside
@needs(no_root)
def test_another_user(_):
    with Ran("setpriv", "--reuid", "65534", "--regid", "65534",
             "--clear-groups", BLOCKS) as node:
        node.keeps()
        with node.asks() as w:
            same("source", [[b"interposed"]],
                 w.query("SELECT source FROM heapwire.profiler"))
            within("all", SMALL + LARGE, profiled(w), 0.6)
        same("signal", 9, killed(node)[0])


def built(directory, flag, compiler="gcc"):
    """A program that allocates, and waits."""
    path = os.path.join(directory, "waits")
    subprocess.run([compiler, "-x", "c", "-", "-o", path, flag], check=True,
                   input=b"#include <stdlib.h>\n#include <unistd.h>\n"
                         b"int main(void) { void *volatile b = malloc(1);\n"
                         b"for (;;) { pause(); free(b); } }\n")
    return path


def why_not(*wrapper, program=BLOCKS):
    """What heapwire-run says of a program that it does not record."""
    explained = subprocess.run(
        [*wrapper, RUN, "--profiling-source", "interposed", "--explain", "--",
         program], check=True, capture_output=True, text=True)
    assert re.search("^source +(none|jemalloc)", explained.stdout, re.M), \
        explained.stdout
    return explained.stderr


def mapped_bytes(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as f:
        return int(f.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def test_limits(_):
    """Started without stdio; no file may grow; few descriptors; little
    memory."""
    with script("ulimit -f 0; ulimit -n 20; ulimit -v 200000\n"
                f"exec {BLOCKS}\n") as name, \
            Ran(name, settings=f"exe = {BLOCKS}\n", wrapper=[
                "sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"]) as node:
        wait_for(lambda: serves_the_living(node))
        os.kill(node.pid(), signal.SIGUSR1)
        wait_for(lambda: mapped_bytes(node.pid()) > SMALL + LARGE)
        with node.asks() as w:
            within("all", SMALL + LARGE, profiled(w), 0.6)
    assert "a memfd cannot be made; profiling_source" in \
        why_not("prlimit", "--fsize=0")


@needs(no_namespaces)
def test_strict_overcommit(_):
    """The whole machine's: in the place of its file stands another."""
    with tempfile.NamedTemporaryFile("w") as f:
        f.write("2\n")
        f.flush()
        said_of_it = why_not(
            "unshare", "--mount", "sh", "-c", 'mount --bind "$0" '
            '/proc/sys/vm/overcommit_memory && exec "$@"', f.name)
    assert "with vm.overcommit_memory = 2 a page" in said_of_it, said_of_it


@beside
def test_where_nothing_can_stand_in_front_of_malloc(_):
    with tempfile.TemporaryDirectory(prefix="hw-i-") as directory:
        assert "nothing can be preloaded into it; profiling_source" in \
            why_not(program=built(directory, "-static"))
        musl = "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"
        assert "runs with musl: only glibc is supported" in \
            why_not(program=built(directory, musl))
        with Ran(built(directory, "-fsanitize=address")) as node:
            assert "-fsanitize=address has to come first; profiling_source" \
                in node.said(), node.said()


def test_thread_sanitizer(_):
    """Of gcc, whose malloc is behind ours; of clang, a part of the program.
    Its reports are off: it does not see all that the agent does with the
    descriptors that it sees closed."""
    quiet = ["env", "TSAN_OPTIONS=report_bugs=0"]
    with tempfile.TemporaryDirectory(prefix="hw-i-") as directory:
        with Ran(built(directory, "-fsanitize=thread"),
                 wrapper=quiet) as node:
            assert serves_the_living(node)
        with Ran(built(directory, "-fsanitize=thread", "clang"),
                 wrapper=quiet) as node:
            assert "its malloc is a part of the program" in node.said()
            with node.asks() as w:
                same("state", "connected",
                     value(w, "SELECT state FROM heapwire.profiler"))


@beside
def test_a_daemon(_):
    """The survivor has no recorder, and says so."""
    with redis_command() as (_, command), \
            Ran(*command, "--daemonize", "yes") as node, node.asks() as w:
        wait_for(lambda: "samples no child" in value(  # its parent is first
            w, "SELECT reason FROM heapwire.profiler"), 20)
        assert allocated(w) > 0


def main():
    with redis_command() as (port, command), \
            redis(SETTINGS, command) as node:
        node.redis_port = port
        try:
            run_tests(named(globals(), sys.argv[1:]), node)
        except BaseException:
            print(node.log()[-3000:])
            raise
    print("interposed.py: all as expected")


if __name__ == "__main__":
    main()
