"""Levers: what is changed in the database's jemalloc for a time, and put back
by its agent, whatever becomes of heapwired.

Over a program that keeps many dirty pages, Redis, and programs without (such
a) jemalloc.  Arguments name single tests.
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from mysql_wire import Refused, Wire
from node_under_test import BUILD, frozen, wait_for
from ports import free_port
from redis_node import RedisNode
from runner import in_parallel, named, run_tests

RUN = os.path.join(BUILD, "bin", "heapwire-run")
PASSWD = os.path.join(BUILD, "bin", "heapwire-passwd")
PYTHON = os.path.realpath("/usr/bin/python3")
MB = 1 << 20
# Answers each line with what it is worth.
PROGRAM = """
import ctypes, os, sys, threading
own = ctypes.CDLL(None)
def number(name, kind=ctypes.c_ssize_t):
    value, size = kind(), ctypes.c_size_t(ctypes.sizeof(kind))
    error = own.mallctl(name.encode(), ctypes.byref(value), ctypes.byref(size), None, 0)
    return -error if error else value.value
def decay(arena):
    return [number(f"arena.{arena}.{kind}_decay_ms") for kind in ("dirty", "muzzy")]
def set_decay(arena, ms):
    value = ctypes.c_ssize_t(ms)
    return own.mallctl(f"arena.{arena}.dirty_decay_ms".encode(), None, None,
                       ctypes.byref(value), ctypes.c_size_t(8))
def background():
    return number("background_thread", ctypes.c_bool)
def new_arena():
    value, size = ctypes.c_uint(), ctypes.c_size_t(4)
    own.mallctl(b"arenas.create", ctypes.byref(value), ctypes.byref(size), None, 0)
    return value.value
def make_dirty(megabytes):
    # What lies between keeps them apart: jemalloc gives back at once what is
    # larger than oversize_threshold.
    blocks = [(b"x" * 100000, b"y" * 20000) for _ in range(megabytes * 10)]
    kept.append([small for _, small in blocks])
def in_child(call):
    there, here = os.pipe()
    if os.fork() == 0:
        os.write(here, repr(call()).encode())
        os._exit(0)
    os.close(here)
    said = os.read(there, 1000).decode()
    os.wait()
    os.close(there)
    return said
def name_of(task):
    try:
        return open(f"/proc/self/task/{task}/comm").read().strip()
    except OSError:  # it has just ended
        return ""
def threads():
    return sorted(map(name_of, os.listdir("/proc/self/task")))
def descriptors(name):
    for t in os.listdir("/proc/self/task"):
        if name_of(t) == name:
            return len(os.listdir(f"/proc/self/task/{t}/fd"))
kept = []
for line in sys.stdin:
    print(eval(line), flush=True)
"""

# In front of the real one: as before 5.0, and as built without threads.
OLD = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
int mallctl(const char *name, void *old, size_t *size, void *new, size_t new_size)
{
    static const char version[] = "4.5.0-0-g04380e79f1e2428bd0ad000bbc6e3d2dfc6b66a5";
    int (*real)(const char *, void *, size_t *, void *, size_t) = dlsym(RTLD_NEXT, "mallctl");
    if (strcmp(name, "version") == 0 && old)
        return *(const char **)old = version, 0;
    if (strstr(name, "decay_ms") || strstr(name, "background_thread") ||
        strcmp(name, "arena.4096.purge") == 0)
        return ENOENT;
    return real(name, old, size, new, new_size);
}
"""


class Program:
    """heapwire-run, that program, and sessions of both."""

    def __init__(self, *options, source="jemalloc", conf="dirty_decay_ms:600000,narenas:2",
                 environment=()):
        self.work = tempfile.mkdtemp(prefix="hw-levers-", dir="/tmp")
        self.state = self.work + "/state"
        self.config = self.work + "/heapwire.ini"
        with open(self.config, "w", encoding="ascii") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write("[node]\nid = 10001\n")
        self.sessions = contextlib.ExitStack()
        for name, privileges in (("tuner", "status,tune"),
                                 ("looker", "status,profile,control,cluster,admin")):
            subprocess.run([PASSWD, self.config, name, "--stdin", "--privileges",
                            privileges], input=b"pw\n", check=True)
        self.run = subprocess.Popen(
            [RUN, "--config", self.config, "--listen", f"127.0.0.1:{free_port()}",
             "--http", "none", "--state-dir", self.state, "--log", self.work + "/log",
             "--linger", "0", "--profiling-source", source, *options, "--", PYTHON, "-c", PROGRAM],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "MALLOC_CONF": conf, **dict(environment)}, text=True)
        self.lock = threading.Lock()
        self.pid = self.of("os.getpid()")
        self.sql = self.login()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            print(self.log()[-3000:])
        self.sessions.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)
        self.run.send_signal(signal.SIGCONT)
        self.run.stdin.close()
        self.run.terminate()
        self.run.wait(20)
        self.run.stdout.close()
        shutil.rmtree(self.work, ignore_errors=True)

    def log(self):
        with contextlib.suppress(FileNotFoundError):
            with open(self.work + "/log", encoding="utf-8") as f:
                return f.read()
        return ""

    def of(self, expression):
        """What that is in the database."""
        with self.lock:
            self.run.stdin.write(expression + "\n")
            self.run.stdin.flush()
            return eval(self.run.stdout.readline())  # of our own program

    @property
    def heapwired(self):
        with open(self.state + "/heapwired.lock", encoding="ascii") as text:
            return int(text.read() or 0)

    def session(self, user=b"root", password=b""):
        return self.sessions.enter_context(
            Wire(self.state + "/mysql.sock", 60).login(user, password))

    def login(self):
        def knocks():
            with contextlib.suppress(OSError, EOFError):
                wire = Wire(self.state + "/mysql.sock", 60).login()
                if wire.query("SELECT alive FROM heapwire.nodes") == [[b"1"]]:
                    self.sql = self.sessions.enter_context(wire)
                    return True
                wire.close()
            return False
        wait_for(knocks)
        return self.sql

    def rss(self):
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def pull(self, call, wire=None):
        return pull(wire or self.sql, call)


def pull(wire, call, node="10001"):
    return "\n".join((line or b"").decode() for line, in wire.query(
        f"ADMIN EXECUTE ON {node} 'System.print(Jemalloc.getInstance().{call})'"))


def refused(wire, call, code):
    try:
        said = pull(wire, call)
    except Refused as err:
        assert err.code == code, (err.code, err.text)
        return err.text
    raise AssertionError(f"{call} was not refused: {said}")


def in_force(wire, table="levers"):
    return wire.query(f"SELECT lever, value, user FROM heapwire.{table} WHERE in_force "
                      "AND until > NOW() AND seconds_left > 0")


def change_of(said, name):
    """MB before and after."""
    before, after = re.search(
        rf"^{name}: ([0-9.]+) MB before, ([0-9.]+) MB after$", said, re.M).groups()
    return float(before), float(after)


def test_purge_lowers_rss():
    with Program() as p:
        p.of("make_dirty(200)")
        high = p.rss()
        said = p.pull("purge()")
        assert said.startswith("risk: purge of "), said
        for name in "rss", "resident", "dirty":
            before, after = change_of(said, name)
            assert before - after > 150, said
        assert change_of(said, "active")[0] > 0, said
        assert high - p.rss() > 150 * MB, (high, p.rss())
        assert re.search(r"^took: [0-9.]+ ms$", said, re.M), said


def test_note_names_the_arena_and_the_lever():
    with Program() as p:
        p.of("make_dirty(200)")
        wait_for(lambda: b"rss stays" in p.sql.query("SELECT note FROM heapwire.memory")[0][0])
        (note,), = p.sql.query("SELECT note FROM heapwire.memory")
        assert re.search(rb"rss stays, because \d+\.\d MB of free pages are kept, \d+\.\d MB of "
                         rb"them in (idle )?arena \d+ .*: background_thread is 0, .*"
                         rb"background_threads\(true, 3600\).*purge\(\)", note), note
        p.pull("purge()")
        wait_for(lambda: b"rss stays" not in
                 p.sql.query("SELECT note FROM heapwire.memory")[0][0])


@in_parallel
def test_decay_ends_by_itself():
    with Program() as p:
        p.of("set_decay(1, 7777)")
        before = [p.of(f"decay({i})") for i in (0, 1)]
        assert before[1][0] == 7777, before
        p.of("make_dirty(100)")
        said = p.pull("decay(0, 0, 2)")
        assert "dirty_decay_ms 0, muzzy_decay_ms 0 until " in said, said
        assert ", by root, since " in said, said
        assert change_of(said, "dirty")[1] < 10, said
        made = p.of("new_arena()")
        while_in_force = p.of(f"decay(0), decay(1), decay({made})")
        # It may be over on a busy machine.
        assert while_in_force[0] in ([0, 0], before[0]), while_in_force
        # One after the other.
        wait_for(lambda: p.of(f"decay(0), decay(1), decay({made})") ==
                 (*before, [600000, 0]), tell=lambda: p.of(f"decay({made})"))
        wait_for(lambda: "decay() of root ended at " in p.log())
        assert "because its time was over" in p.log(), p.log()
        assert "decay: not in force; the last one ended at " in p.pull("state()")


@in_parallel
def test_heapwired_is_killed_meanwhile():
    with Program() as p:
        before = p.of("decay(0), background()")
        p.pull("background_threads(true, 600)")
        assert p.of("background()") is True
        wait_for(lambda: "jemalloc_bg_thd" in p.of("threads()"))
        # Theirs is no copy of the agent's table.
        assert p.of("descriptors('jemalloc_bg_thd')") <= 3
        p.pull("background_threads(true, 5)")
        p.pull("decay(5, 6, 5)")
        os.kill(p.run.pid, signal.SIGSTOP)  # it starts no other one
        gone = p.heapwired
        os.kill(gone, signal.SIGKILL)
        wait_for(lambda: p.of("decay(0), background()") == before)
        wait_for(lambda: "jemalloc_bg_thd" not in p.of("threads()"))
        os.kill(p.run.pid, signal.SIGCONT)
        wait_for(lambda: p.heapwired != gone)
        p.login()
        wait_for(lambda: "background_threads() of root ended at " in p.log() and
                 "decay() of root ended at " in p.log())
        gone = p.heapwired
        os.kill(gone, signal.SIGKILL)
        wait_for(lambda: p.heapwired != gone)
        p.login()
        assert "decay: not in force; the last one ended at " in p.pull("state()")
        assert p.log().count("() of root ended at ") == 2, p.log()


def test_a_second_one_and_undo():
    with Program() as p:
        before = p.of("decay(0), decay(1)")
        p.pull("decay(100, 0, 600)")
        other = p.session(b"tuner", b"pw")
        said = pull(other, "decay(200, 50, 900)")
        assert ", by tuner, since " in said, said
        assert said.startswith("risk: decay to a longer time: "), said
        assert "\nreplaces decay: dirty_decay_ms 100, muzzy_decay_ms 0 until " in said, said
        assert p.of("decay(0)") == [200, 50]
        assert "decay: dirty_decay_ms 200" in p.pull("state()")
        assert in_force(p.sql) == [[b"decay", b"dirty_decay_ms 200, muzzy_decay_ms 50", b"tuner"]]
        (note,), = p.sql.query("SELECT note FROM heapwire.memory")
        assert note.startswith(b"in force (heapwire.levers): decay: dirty_decay_ms 200"), note
        said = p.pull("undo()")
        assert "decay: not in force" in said, said
        assert p.of("decay(0), decay(1)") == before
        assert "because it was undone" in p.pull("state()")
        assert p.sql.query("SELECT lever, in_force, value, ended_how FROM heapwire.levers") == [
            [b"decay", b"0", None, b"it was undone"],
            [b"background_threads", b"0", None, None]]
        (note,), = p.sql.query("SELECT note FROM heapwire.memory")
        assert b"in force" not in note, note


def test_two_sessions_at_a_time():
    with Program() as p:
        before = p.of("decay(0), background()")
        wires = [p.session() for _ in range(4)]
        threads = [threading.Thread(target=lambda w=w, i=i: [
            pull(w, f"decay({i}, {j}, 600)") and
            pull(w, f"background_threads({'true' if j % 2 else 'false'}, 600)")
            for j in range(5)]) for i, w in enumerate(wires)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        p.pull("undo()")
        assert p.of("decay(0), background()") == before


def test_a_forked_child_has_the_old_values():
    with Program() as p:
        before = p.of("decay(0)")
        p.pull("decay(123, 45, 600)")
        p.pull("background_threads(true, 600)")
        assert p.of("decay(0)") == [123, 45]
        assert p.of("in_child(lambda: (decay(0), background()))") == (before, False)
        assert p.of("decay(0)") == [123, 45]


def test_privileges_and_audit():
    with Program() as p:
        looker, tuner = p.session(b"looker", b"pw"), p.session(b"tuner", b"pw")
        for call in ("purge()", "decay(0, 0, 5)", "background_threads(true, 5)",
                     "flush_tcaches()", "undo()"):
            assert "TUNE privilege" in refused(looker, call, 1227)
        assert pull(looker, "state()").startswith("decay: not in force")
        risks = pull(looker, "risks()")
        assert risks.count("risk: ") == 5, risks
        pull(tuner, "purge()")
        rows = p.sql.query("SELECT user, error, statement FROM heapwire.audit_log "
                           "WHERE statement LIKE '%purge%' ORDER BY error")
        assert [r[:2] for r in rows] == [[b"tuner", b"0"], [b"looker", b"1227"]], rows
        wait_for(lambda: "purge()" in p.log() and "tuner" in p.log())


def test_wrong_arguments():
    with Program() as p:
        for call in ("decay(-2, 0, 5)", "decay(0, 0.5, 5)", "decay(0, 0, 0)",
                     "decay(0, 0, 86401)", "decay(1e12, 0, 5)",
                     "background_threads(true, 0)"):
            refused(p.sql, call, 1210)
        refused(p.sql, "background_threads(1, 5)", 1064)
        assert p.pull("state()").count("not in force") == 2


def test_tcaches_are_not_flushed_from_outside():
    with Program() as p:
        said = refused(p.sql, "flush_tcaches()", 1235)
        assert "thread.tcache.flush acts only on the calling thread" in said, said
        assert re.search(r"caches \([0-9.]+ MB in all\)", said), said


def test_a_jemalloc_without_these_levers():
    with tempfile.TemporaryDirectory(prefix="hw-levers-", dir="/tmp") as work:
        library = work + "/libold.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-x", "c", "-", "-o", library],
                       input=OLD, text=True, check=True)
        with Program("--allocator", library, environment={
                "LD_PRELOAD": f"{library} libjemalloc.so.2"}) as p:
            for call, why in (("purge()", "does not purge all arenas at a time"),
                              ("decay(0, 0, 5)", "have no dirty_decay_ms"),
                              ("background_threads(true, 5)", "has no background threads")):
                said = refused(p.sql, call, 1235)
                assert "with jemalloc 4.5.0" in said and why in said, said
            assert pull(p.sql, "state()").count("not in force") == 2


def test_without_a_jemalloc():
    with Program(source="interposed") as p:
        for call in ("purge()", "decay(0, 0, 5)", "background_threads(true, 5)",
                     "flush_tcaches()"):
            said = refused(p.sql, call, 1235)
            assert "no jemalloc serves it" in said, said
        assert pull(p.sql, "state()").count("not in force") == 2


@in_parallel
def test_a_hung_database_fails_at_once():
    with Program() as p:
        p.pull("decay(0, 0, 600)")
        with frozen(p.pid):
            with contextlib.suppress(Refused):
                p.pull("purge()")  # the first one waits for an answer
            said = refused(p.sql, "purge()", 1105)
            assert "is not responding since" in said, said
            assert [row[0] for row in in_force(p.sql)] == [b"decay"]  # as last seen


def test_redis_has_it_too():
    work = tempfile.mkdtemp(prefix="hw-levers-", dir="/tmp")
    port = free_port()
    node = RedisNode(work, 10001, {10001: port}, port).wait()
    try:
        with Wire(node.socket, 60).login() as wire:
            def has_them_on():
                with contextlib.suppress(Refused):
                    return wire.query("SELECT value FROM heapwire.malloc_stats WHERE name "
                                      "= 'background_thread'") == [[b"1"]]
                return False
            wait_for(has_them_on)  # Redis switches them on
            said = pull(wire, "purge()")
            assert change_of(said, "rss")[0] > 0, said
            said = pull(wire, "background_threads(false, 600)")
            assert "background_threads: off until " in said, said
            assert "; then on" in said, said
            assert "background_threads: not in force" in pull(wire, "undo()")
            wait_for(has_them_on)
    finally:
        node.stop()
        shutil.rmtree(work, ignore_errors=True)


def test_three_nodes_one_after_the_other():
    work = tempfile.mkdtemp(prefix="hw-levers-", dir="/tmp")
    places = {i: free_port() for i in (10001, 10002, 10003)}
    nodes = {i: RedisNode(work, i, places, places[i]) for i in places}
    try:
        for node in nodes.values():
            node.wait()
        with Wire(nodes[10001].socket, 60).login() as wire:
            def on_all(call):
                return [(int(i), status, text.decode()) for i, status, text in wire.query(
                    f"ADMIN EXECUTE ON ALL 'System.print(Jemalloc.getInstance().{call})'")]
            wait_for(lambda: [r[1] for r in on_all("state()")] == [b"OK"] * 3)
            rows = on_all("purge()")
            assert [r[:2] for r in rows] == [(i, b"OK") for i in places], rows
            assert all("rss: " in text for _, _, text in rows), rows
            rows = on_all("decay(1000, 0, 600)")
            assert all("by root" in text for _, _, text in rows), rows
            assert len(in_force(wire, "cluster_levers")) == 3
            nodes[10002].crash()
            rows = on_all("purge()")
            assert [r[1] for r in rows] == [b"OK", b"ERROR", b"ERROR"], rows
            assert rows[2][2].startswith("not asked: node 10002 failed before"), rows
            # What changes nothing goes to all.
            assert [r[1] for r in on_all("state()")] == [b"OK", b"ERROR", b"OK"]
    finally:
        for i, node in nodes.items():
            if i != 10002 or node.process.poll() is None:
                node.stop()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
