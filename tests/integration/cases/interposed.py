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

from http_door import local, redis, same
from machine import no_namespaces, no_root
from mysql_wire import Refused, Wire
from node_under_test import BUILD, frozen, wait_for
from recorded_node import (AT_ITS_END, BLOCKS, COPIED, LARGE, LINGERS_S, Ran,
                           SETTINGS, SMALL, heap, prof, profiled,
                           redis_command, said, script, value, within)
from redis_node import RUN
from runner import beside, named, needs, run_tests

LG = 14  # a mean at which some MB have a thousand samples


# ---- a Redis ----


def test_source(node):
    explained = subprocess.run(
        [RUN, "--config", node.config, "--explain", "--", "redis-server"],
        check=True, capture_output=True, text=True).stdout
    assert re.search("^source +interposed", explained, re.M), explained
    assert "prof:true" not in explained, explained
    with Wire(node.socket).login() as w:
        same("source", [[b"interposed", b"1", b"524288"]], w.query(
            "SELECT source, active, sample_rate FROM heapwire.profiler"))
        assert "source: interposed" in "\n".join(heap(w, "state()"))
        same("jemalloc's own", [[b"0"]], w.query(
            "SELECT value FROM heapwire.malloc_stats WHERE name = 'opt.prof'"))


def test_switches(node):
    with Wire(node.socket).login() as w:
        same("on from the start", ["true"], heap(w, "has_enable()"))
        heap(w, "disable_prof()")
        same("off", ["false"], heap(w, "has_enable()"))
        assert heap(w, "state()")[0] != "state: active"
        heap(w, "enable_prof(600)")
        same("on", ["true"], heap(w, "has_enable()"))
        heap(w, "disable_prof()")
        changes = value(w, "SELECT changes FROM heapwire.profiler")
        heap(w, "enable_prof(1)")
        wait_for(lambda: heap(w, "has_enable()") == ["false"])
        same("on and off", changes + 2,
             value(w, "SELECT changes FROM heapwire.profiler"))
        heap(w, "enable_prof()")
        assert value(w, "SELECT active_until FROM heapwire.profiler") is None
        heap(w, f"reset({LG}, true)")
        same("rate", 1 << LG,
             value(w, "SELECT sample_rate FROM heapwire.profiler"))
        same("resets", 1, value(w, "SELECT resets FROM heapwire.profiler"))
        try:
            heap(w, "reset(12)")
            raise AssertionError("a rate that slows the database was taken")
        except Refused as refused:
            assert "slows the database down; reset(12, true) does" in \
                refused.text, refused.text


def test_counts(node):
    """Samples are counted as they are taken: no profile is needed."""
    with Wire(node.socket).login() as w:
        heap(w, f"reset({LG}, true)")
        populate(node, "counts", 20000, 1018)
        state = "\n".join(heap(w, "state()"))
        taken = re.search(r"^samples: (\d+) taken; no profile was", state,
                          re.M)
        assert state.startswith("state: active\n"), state
        assert 800 < int(taken.group(1)) < 2000, state
        wait_for(lambda: "samples a second, counted, " in
                 "\n".join(heap(w, "state()")))


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
        within("growth", 10000 * (1024 + 64), grown, 0.25)
        populate(node, "at_once", 10000, 1018)
        grown = value(w, "SELECT cum_bytes FROM heapwire.heap_diff WHERE base ="
                      " 'after' AND function = 'debugCommand'")
        # Redis' table of keys has perhaps grown by a MB, too.
        within("since, in the same second", 10000 * (1024 + 64), grown, 0.35)
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
    """Nothing is asked of it: its profile comes as soon as that of a running
    one, and the agent's figures are those that were known."""
    with Wire(node.socket, 60).login() as w:
        def took():
            began = time.monotonic()
            heap(w, "snapshot()")
            return time.monotonic() - began

        before = profiled(w)
        running = [took() for _ in range(5)]
        heap(w, "enable_prof()")  # no answer of before it is shared
        with frozen(node.children["redis-server"]):
            wait_for(lambda: value(w, "SELECT state FROM heapwire.profiler") ==
                     "unresponsive", 30)
            within("hung", before, profiled(w), 0.05)
            hung = [took() for _ in range(5)]
            print(f"  ms, running: {[round(1000 * t, 1) for t in running]}, "
                  f"hung: {[round(1000 * t, 1) for t in hung]}")
            # An answer of the agent would be waited for for seconds.
            assert min(hung) < 3 * max(running) + 1, (running, hung)
            assert "debugCommand" in "\n".join(heap(w, "dump_dot_snapshot()"))
            said(w, "now", "the process does not respond")
            assert allocated(w) > 0, "what it told last is forgotten"
            said(w, "now", "MB allocated")
        wait_for(lambda: value(w, "SELECT state FROM heapwire.profiler") ==
                 "connected")


# ---- others, of which each has a node of its own ----


def last_of(node):
    """The signal of the only death; its profile's bytes, and by function."""
    with node.asks() as w:
        deaths = ("SELECT d.killed_by, s.name FROM heapwire.deaths d "
                  "JOIN heapwire.snapshots s ON s.name = d.last_snapshot "
                  "WHERE s.reason LIKE 'the database (pid %) ended'")
        wait_for(lambda: w.query(deaths))
        (killed_by, name), = w.query(deaths)
        name = name.decode()
        said(w, name, AT_ITS_END, COPIED)
        return int(killed_by), profiled(w, name), {
            row[0].decode(): int(row[1]) for row in w.query(
                "SELECT function, cum_bytes FROM heapwire.heap_functions "
                f"WHERE snapshot = '{name}'")}


def killed(node, by=signal.SIGKILL):
    """The next heapwired tells of it: this one does not linger."""
    os.kill(node.pid(), by)
    same("status", 128 + by, node.process.wait(60))
    with open(node.log_path, encoding="utf-8") as f:
        print("  " + f.read().splitlines()[-1][:100])
    node.start().wait()
    return last_of(node)


@beside
def test_killed_early(_):
    """A second after its start: the next heapwired has it, with its names."""
    with Ran(BLOCKS, linger=0) as node:
        node.keeps()
        killed_by, total, functions = killed(node)
        same("signal", 9, killed_by)
        within("a second old", SMALL + LARGE, total, 0.6)
        within("large", LARGE, functions["keep_large"], 0.9)


@beside
def test_a_redis_killed(_):
    with redis_command() as (port, command), \
            Ran(*command, linger=0) as node:
        populate(node, "k", 200000, 1018)
        killed_by, _, functions = killed(node)
        same("signal", 9, killed_by)
        within("values", 200000 * (1024 + 64), functions["debugCommand"], 0.4)


@beside
def test_known_bytes_and_a_crash(_):
    """glibc's malloc; a rate at which chance is small."""
    with Ran(BLOCKS) as node:
        began = time.monotonic()  # it had started before
        with node.asks() as w:
            heap(w, "reset(12, true)")
            node.keeps()
            within("small", SMALL, cumulative(w, "keep_small"), 0.15)
            within("large", LARGE, cumulative(w, "keep_large"), 0.1)
            node.keeps(2)
            w.query("SELECT SLEEP(1.1)")
            within("half", SMALL // 2, cumulative(w, "keep_small"), 0.25)
            now = profiled(w)
        time.sleep(max(0, LINGERS_S - time.monotonic() + began))
        os.kill(node.pid(), signal.SIGUSR2)
        killed_by, total, functions = last_of(node)
        same("signal", 11, killed_by)
        same("all", now, total)
        within("half", SMALL // 2, functions["keep_small"], 0.25)


@beside
def test_modules(_):
    """One that came to a closed one's place: both have their names, here and in
    what jeprof makes of the raw text."""
    program, one, other = (
        os.path.abspath(os.path.join(BUILD, name)) for name in
        ("bin/recorded_modules", "lib/librecorded_module_a.so",
         "lib/librecorded_module_b.so"))
    known = {"keep_in_a": 16 << 20, "keep_in_b": 48 << 20}
    with Ran("env", "--block-signal=USR1", program, "-", str(1 << 20), one,
             "16", other, "48", settings=f"exe = {program}\n") as node:
        wait_for(lambda: "ready" in node.said())
        with node.asks() as w:  # at a rate at which each block is sampled
            heap(w, "reset(14, true)")
        os.kill(node.pid(), signal.SIGUSR1)
        wait_for(lambda: "done" in node.said() or "elsewhere" in node.said())
        assert "done" in node.said(), node.said()
        with node.asks() as w:
            name, = heap(w, "snapshot()")
            dot = "\n".join(prof(w, f'Profile.of("{name}").dot()'))
            for function, size in known.items():
                within(function, size, value(
                    w, "SELECT cum_bytes FROM heapwire.heap_functions WHERE "
                    f"snapshot = '{name}' AND function = '{function}'"), 0.4)
                assert function in dot, dot
            (raw,), = w.query(f"SELECT raw('{name}')")
    for library in one, other:
        assert library.encode() in raw, raw[-3000:]
    if not shutil.which("jeprof"):
        print("skipped: jeprof is not installed")
        return
    with tempfile.NamedTemporaryFile("wb", suffix=".heap") as f:
        f.write(raw)
        f.flush()
        text = subprocess.run(["jeprof", "--text", program, f.name],
                              check=True, capture_output=True, text=True).stdout
    for function, size in known.items():
        found, = re.findall(rf"^ *([\d.]+) .* {function}$", text, re.M)
        within(f"{function} by jeprof", size, float(found) * (1 << 20), 0.4)


def cumulative(w, function):
    return value(w, "SELECT cum_bytes FROM heapwire.heap_functions "
                 f"WHERE function = '{function}'")


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
             "--clear-groups", BLOCKS, linger=0) as node:
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


@beside
def test_who_sets_how_to_profile_keeps_jemalloc(_):
    for options, source in (({}, "interposed"),
                            ({"MALLOC_CONF": "narenas:2"}, "interposed"),
                            ({"MALLOC_CONF": "narenas:2,prof:true"}, "jemalloc"),
                            ({"MALLOC_CONF": "prof:false"}, "jemalloc")):
        explained = subprocess.run(
            [RUN, "--explain", "--", BLOCKS], check=True, capture_output=True,
            text=True, env={**os.environ, **options}).stdout
        assert re.search(f"^source +{source}:", explained, re.M), \
            (options, explained)


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
        pid = node.pid()
        before = mapped_bytes(pid)
        os.kill(pid, signal.SIGUSR1)
        wait_for(lambda: mapped_bytes(pid) > before + SMALL + LARGE)
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
        forked = subprocess.run(
            [RUN, "--profiling-source", "interposed", "--process", "child",
             "--explain", "--", BLOCKS], check=True, capture_output=True,
            text=True)
        assert "names a forked process, and the recorder samples none; " in \
            forked.stderr, forked.stderr
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
            wait_for(lambda: serves_the_living(node))
        with Ran(built(directory, "-fsanitize=thread", "clang"),
                 wrapper=quiet) as node:
            assert "its malloc is a part of the program" in node.said()
            with node.asks() as w:
                same("state", "connected",
                     value(w, "SELECT state FROM heapwire.profiler"))


@beside
def test_a_filter_that_kills(_):
    """For what a sample asks of the kernel: none is taken any more."""
    with tempfile.TemporaryDirectory(prefix="hw-i-") as directory:
        run = subprocess.Popen(
            [RUN, "--profiling-source", "interposed", "--profiling", "on",
             "--listen", "none", "--linger", "0", "--state-dir",
             f"{directory}/node", "--", f"{BUILD}/bin/recorded_filter"],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: os.path.exists(f"{directory}/node/agent.sock"))
        _, said = run.communicate("\n", timeout=60)
        same("status", 0, run.returncode)
        assert "SIGSYS" not in said, said


@beside
def test_a_daemon(_):
    """The survivor begins a table of its own, once its parent has ended."""
    with redis_command() as (port, command), \
            Ran(*command, "--daemonize", "yes") as node, node.asks() as w:
        def survivor_is_served():
            info = subprocess.run(["redis-cli", "-p", str(port), "info"],
                                  text=True, capture_output=True).stdout
            pid = re.search(r"process_id:(\d+)", info)
            return pid and w.query(
                "SELECT 1 FROM heapwire.profiler JOIN heapwire.memory_history "
                f"WHERE source = 'interposed' AND pid = {pid.group(1)}")

        wait_for(survivor_is_served)  # its parent is first
        subprocess.run(["redis-cli", "-p", str(port), "setrange", "large",
                        "50000000", "x"], check=True, capture_output=True)
        held = value(w, "SELECT SUM(flat_bytes) FROM heapwire.heap_functions")
        assert 49e6 < held < 60e6, held


def main():
    with redis_command() as (_, command), \
            redis(SETTINGS, command) as node:
        try:
            run_tests(named(globals(), sys.argv[1:]), node)
        except BaseException:
            print(node.log()[-3000:])
            raise
    print("interposed.py: all as expected")


if __name__ == "__main__":
    main()
