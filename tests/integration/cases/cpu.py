"""Profiles of time of two Redis under load, by every way to ask for them.

A load keeps the first one busy; the second one idles.  Arguments name tests.
"""
import concurrent.futures
import contextlib
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from http_under_test import local, redis
from mysql_wire import Refused, Wire
from node_under_test import BUILD, frozen, wait_for
from ports import free_port
from redis_node import RedisNode, redis_answers
from runner import named, needs, run_tests

BUSY, IDLE = 10001, 10002
LATE = 30  # seconds that naming takes at first, on a busy machine
AT_ONCE = 4  # seconds; a profile takes at least 5 where none are given
CPU = "CpuProf.getInstance()."
OTHERS = ("SELECT COUNT(*) FROM heapwire.sessions WHERE info LIKE '%cpu:60%' "
          "AND id <> CONNECTION_ID()")


class Two:
    def __init__(self):
        self.work = tempfile.mkdtemp(prefix="hw-cpu-", dir="/tmp")
        ports = {i: free_port() for i in (BUSY, IDLE)}
        self.redis = {i: free_port() for i in ports}
        self.nodes = [
            RedisNode(self.work, i, ports, ports[i], program=[
                "redis-server", "--port", str(self.redis[i]), "--bind",
                "127.0.0.1", "--save", "", "--dir", self.work])
            for i in ports]
        for node in self.nodes:
            node.wait()
        wait_for(lambda: all(map(redis_answers, self.redis.values())))
        self.node = self.nodes[0]
        self.sql = Wire(self.node.socket, timeout=120).login()
        wait_for(lambda: self.rows("SELECT COUNT(*) FROM heapwire.nodes "
                                   "WHERE alive") == [["2"]], 60, 0.1)

    def rows(self, text):
        return [[None if cell is None else cell.decode() for cell in row]
                for row in self.sql.query(text)]

    def value(self, text):
        (value,), = self.rows(text)
        return value

    def script(self, call, target=BUSY):
        """The text that it prints."""
        return "\n".join(line or "" for line, in self.rows(
            f"ADMIN EXECUTE ON {target} 'System.print({call})'"))

    def refused(self, text, within=LATE):
        began = time.monotonic()
        try:
            rows = self.sql.query(text)
        except Refused as err:
            took(time.monotonic() - began, 0, within)
            return err
        raise AssertionError(f"{text} should fail: {rows}")

    @contextlib.contextmanager
    def load(self):
        with subprocess.Popen(
                ["redis-benchmark", "-p", str(self.redis[BUSY]), "-l", "-q",
                 "-c", "4", "-P", "16", "-t", "set,lpush", "-d", "100"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
            try:
                yield
            finally:
                p.kill()

    def end(self):
        self.sql.close()
        for node in self.nodes:
            node.stop()
        shutil.rmtree(self.work)


def took(seconds, least, most):
    assert least <= seconds < most, (seconds, least, most)


@contextlib.contextmanager
def lasts(least, most):
    began = time.monotonic()
    yield
    took(time.monotonic() - began, least, most)


def shares(rows):
    return {function: float(share) for function, share in rows}


def asked_until(holds, ask):
    """What is asked again and again, until that holds of it: in a second or two
    a busy machine may leave the program a sample or two, or none."""
    for _ in range(20):
        said = ask()
        if holds(said):
            return said
    raise AssertionError(said)


def asked_for_main(ask):
    return asked_until(lambda said: "main" in said, ask)


def test_what_runs_is_at_the_top(two):
    asked_until(
        lambda found: found.get("main", 0) > 70 and found.get("aeMain", 0) > 70 and
        found.get("processCommand", 0) > 10,
        lambda: shares(two.rows(
            "SELECT `function`, cum_percent FROM heapwire.cpu_functions "
            "WHERE snapshot = 'cpu:3' AND cum_percent > 1")))
    total, samples, percent = asked_until(
        lambda row: row[0] and float(row[0]) > 0.2,
        lambda: two.rows(
            "SELECT SUM(time), SUM(samples), COUNT(DISTINCT snapshot) "
            "FROM heapwire.cpu_stacks WHERE snapshot = 'cpu:2:99'")[0])
    took(float(total), 0.2, 8)
    took(float(samples), 0.2 * 99 * 0.9, 99 * 8)
    assert percent == "1"
    asked_until(lambda top: top and ";main;" in top[0][0], lambda: two.rows(
        "SELECT folded FROM heapwire.cpu_stacks WHERE snapshot = "
        "'cpu:2' AND depth > 3 ORDER BY time DESC LIMIT 1"))


def test_the_clock_sees_who_waits(two):
    asked = ("SELECT `function`, cum_percent FROM heapwire.cluster_cpu_functions "
             f"WHERE node_id = {IDLE} AND snapshot = '{{}}:2'")
    asked_until(
        lambda waits: waits.get("aeMain", 0) > 5 and
        any("epoll" in name for name in waits),
        lambda: shares(two.rows(asked.format("wall"))))
    runs = shares(two.rows(asked.format("cpu")))
    assert len(runs) < 1000  # may be nothing at all: it idles


def test_every_form(two):
    forms = [form for form, in two.rows(
        "SELECT routine_name FROM information_schema.routines "
        "WHERE routine_type = 'FUNCTION'") if form not in ("raw", "address_names")]
    def ask_all():
        with lasts(1, 2 + LATE):
            return two.rows("SELECT " + ", ".join(
                f"LENGTH({form}('cpu:1'))" for form in forms))[0]
    asked_until(lambda sizes: all(size and int(size) > 50 for size in sizes),
                ask_all)
    for form in forms:
        if form not in ("pprof", "pdf", "export"):
            said = asked_for_main(lambda: two.script(
                f"{CPU}profile(1, 99).{form}()"))
            assert form in ("flamegraph", "svg") or \
                " MB" not in said and "in use" not in said, (form, said[:500])
    bare = asked_for_main(lambda: two.script(f"{CPU}profile(1)"))
    assert len(bare.splitlines()) > 3, bare
    assert "pprof" in two.refused("SELECT raw('cpu:1')", 2 + LATE).text
    plain = asked_until(lambda plain: b"aeMain" in plain, lambda: gzip.decompress(
        two.sql.query("SELECT pprof('cpu:1')")[0][0]))
    for word in (b"samples", b"count", b"cpu", b"nanoseconds"):
        assert word in plain, word


@needs(lambda: "" if shutil.which("go") else "there is no go")
def test_go_reads_it(two):
    path = os.path.join(two.work, "p.pb.gz")
    def ask():
        with open(path, "wb") as f:
            f.write(two.sql.query("SELECT pprof('cpu:2')")[0][0])
        return subprocess.run(["go", "tool", "pprof", "-top", path], check=True,
                              capture_output=True, timeout=300).stdout.decode()
    said = asked_until(lambda said: re.search(r"\baeMain$", said, re.M) and
                       "Duration: 2" in said, ask)  # a busy machine's is longer
    assert "Type: cpu" in said, said


def kept(two, call):
    """The name of a snapshot; one that met too little is not kept."""
    def take():
        name = two.script(call)
        if int(two.value("SELECT COUNT(*) FROM heapwire.cpu_functions "
                         f"WHERE snapshot = '{name}'")) > 3:
            return name
        two.script(f'HeapProf.getInstance().delete("{name}")')
        return None
    return asked_until(bool, take)


def test_kept_and_compared(two):
    assert kept(two, f'{CPU}snapshot("before", 1)') == "before"
    name = kept(two, f"{CPU}snapshot(1, 49)")
    assert two.script(f'{CPU}snapshot_wall("waits", 1)') == "waits"
    assert two.rows("SELECT name, kind, cause FROM heapwire.snapshots "
                    "ORDER BY taken, name") == [
        ["before", "cpu", "asked"], [name, "cpu", "asked"],
        ["waits", "wall", "asked"]]
    assert b"heapwire_snapshots_last_timestamp" not in local(
        two.node, "/metrics").body  # it is the heap's
    assert two.rows("SELECT snapshot, COUNT(*) > 3 FROM heapwire.cpu_functions "
                    "GROUP BY 1 ORDER BY 1") == [
        [one, "1"] for one in sorted(("before", name, "waits"))]
    assert two.rows("SELECT s.kind, COUNT(*) > 1 FROM heapwire.snapshots s JOIN "
                    "heapwire.cpu_stacks f ON f.snapshot = s.name "
                    "GROUP BY 1 ORDER BY 1") == [["cpu", "1"], ["wall", "1"]]
    asked_for_main(lambda: two.value("SELECT top('cpu:1', 'before')"))
    assert "main" in two.script('Profile.of("before").text()')
    assert "CpuProf" in two.refused(
        f"ADMIN EXECUTE ON {BUSY} 'Profile.of(\"cpu:1\")'").text
    assert two.script('HeapProf.getInstance().to_dot_format("before")'
                      ).startswith("digraph")
    assert two.refused("SELECT top('waits', 'before')").code == 1210
    assert two.refused("SELECT top('waits', 'before', 'force')").code == 1210
    said = two.refused("SELECT 1 FROM heapwire.heap_diff WHERE base = 'waits' "
                       "AND snapshot = 'before'").text
    assert "of the clock" in said and "force" not in said, said
    path = os.path.join(two.work, "before.heapwire")
    with open(path, "wb") as f:
        f.write(two.sql.query("SELECT export('before')")[0][0])
    said = subprocess.run([os.path.join(BUILD, "bin", "heapwire-prof"), "--top",
                           path], check=True, capture_output=True).stdout
    assert b"main" in said, said
    assert two.refused(f"ADMIN EXECUTE ON {BUSY} '{CPU}snapshot(\"before\", 60)'"
                       ).code == 1062
    for one in ("before", name, "waits"):
        two.script(f'HeapProf.getInstance().delete("{one}")')


def test_what_is_wrong_is_refused_at_once(two):
    kept(two, f'{CPU}snapshot("c", 1)')
    for text, code in (
            ("SELECT top('cpu:0')", 1210), ("SELECT top('cpu:601')", 1210),
            ("SELECT top('wall:10:1001')", 1210), ("SELECT top('wall:1:kernel')", 1210),
            ("SELECT top('cpu:x')", 1210),
            ("SELECT top('c', 'cpu:60')", 1210),
            ("SELECT top('cluster:cpu:0')", 1210),
            ("SELECT * FROM heapwire.heap_functions WHERE snapshot = 'cpu:60'", 1210),
            ("SELECT * FROM heapwire.heap_functions WHERE snapshot = 'c'", 1210),
            ("SELECT * FROM heapwire.cpu_functions WHERE snapshot = 'now'", 1210),
            ("SELECT * FROM heapwire.cpu_stacks WHERE snapshot = 'wall:601'", 1210),
            (f"ADMIN EXECUTE ON {BUSY} '{CPU}profile(0)'", 1210),
            (f"ADMIN EXECUTE ON {BUSY} '{CPU}profile(1, 1001)'", 1210),
            (f"ADMIN EXECUTE ON {BUSY} '{CPU}snapshot(\"cpu\")'", 1210),
            (f"ADMIN EXECUTE ON {BUSY} '{CPU}profile(\"x\")'", 1064)):
        err = two.refused(text)
        assert err.code == code, (text, err)
    with lasts(0, AT_ONCE):
        assert two.rows("SELECT DISTINCT snapshot FROM heapwire.cpu_stacks") == [["c"]]
    two.script('HeapProf.getInstance().delete("c")')


def test_seconds_are_no_part_of_the_limit(two):
    with lasts(3, 3 + LATE):
        two.value("SET STATEMENT heapwire_timeout = 2 FOR SELECT LENGTH(top('cpu:3'))")
    with lasts(3, 3 + LATE):
        two.value("SELECT /*+ MAX_EXECUTION_TIME(2000) */ LENGTH(top('cpu:3'))")
    for target in (BUSY, IDLE):
        with lasts(3, 3 + LATE):
            two.rows(f"ADMIN EXECUTE /*+ heapwire_timeout(2) */ ON {target} "
                     f"'System.print({CPU}profile(3).text())'")
    with lasts(3, 3 + LATE):
        two.value("SET STATEMENT heapwire_timeout = 2 FOR SELECT "
                  "LENGTH(top('cluster:cpu:3'))")


def in_the_background(two, text):
    """Its session's id; the thread; its error, once it has ended."""
    ended = []
    w = Wire(two.node.socket, 120).login()
    (victim,), = w.query("SELECT CONNECTION_ID()")

    def run():
        with w:
            try:
                w.query(text)
                ended.append(None)
            except Refused as err:
                ended.append(err)
    thread = threading.Thread(target=run)
    thread.start()
    wait_for(lambda: two.value("SELECT COUNT(*) FROM heapwire.sessions WHERE "
                               f"id = {victim.decode()} AND info LIKE '%cpu:60%'")
             == "1")
    return victim.decode(), thread, ended


def head_of(two, names):
    """Its lines are broken."""
    return " ".join(two.value(f"SELECT top({names})").split())


def test_the_head_says_what_it_is_worth(two):
    asked_until(lambda head: re.search(
        r"by chance alone shares are off by up to \d+\.\d points, in 95% "
        "of cases", head), lambda: head_of(two, "'cpu:1'"))
    idle = two.nodes[1]
    idle.find_children()
    with frozen(idle.children["redis-server"]):
        said = " ".join(two.script(f"{CPU}profile(1)", IDLE).split())
    assert "the process is stopped by a signal (SIGSTOP)" in said, said


def test_the_kernels_functions(two):
    """Redis spends much of its time in there; as root, or paranoid < 2."""
    def calls_in(tree):
        return [line for line in tree.splitlines() if "_[k];" in line or
                "_[k] " in line or "[kernel]" in line]
    try:
        tree = asked_until(
            lambda tree: any(";aeMain;" in line for line in calls_in(tree)),
            lambda: two.value("SELECT collapsed('cpu:2:99:kernel')"))
    except Refused as err:
        assert "with the kernel's functions: " in str(err), err
        return
    calls = calls_in(tree)
    for line in calls:  # they are all above the process's
        frames = [f.endswith("_[k]") or f == "[kernel]"
                  for f in line.rsplit(" ", 1)[0].split(";")]
        assert frames == sorted(frames), line
    name, = two.rows(f"ADMIN EXECUTE ON {BUSY} 'System.print({CPU}snapshot("
                     "\"kernel\", 5, 99, \"kernel\"))'")
    assert "kernel" in name[0], name
    modules = {module for module, in two.rows(
        "SELECT module FROM heapwire.cpu_functions WHERE snapshot = 'kernel'")}
    assert "[kernel]" in modules and len(modules) > 1, modules
    asked_until(lambda said: "_[k]" in said, lambda: two.value(
        "SELECT collapsed('cluster:cpu:1:kernel')"))
    asked_until(
        lambda answer: answer.status == 200 and "_[k]" in answer.text,
        lambda: local(two.node, "/pprof/profile?seconds=1&kernel=1&type=text"))
    assert "with the kernel's functions" in head_of(two, "'kernel'")
    plain = head_of(two, "'cpu:1', 'kernel'")
    assert "only the base has the kernel's functions" in plain, plain
    assert "by chance" not in plain, plain
    two.rows(f"ADMIN EXECUTE ON {BUSY} 'HeapProf.getInstance().delete(\"kernel\")'")
    assert "[k]" not in two.value("SELECT collapsed('cpu:1')")


def test_who_would_wait_long_is_told(two):
    victim, thread, ended = in_the_background(two, "SELECT top('cpu:60')")
    wait_for(lambda: "Sampling" in two.value(
        f"SELECT state FROM information_schema.processlist WHERE id = {victim}"))
    with lasts(0, LATE):
        err = two.refused("SELECT top('cpu:1')")
    assert err.code == 1105 and "others (the last is of 'root') need " in str(err), err
    two.sql.query(f"KILL QUERY {victim}")
    thread.join(LATE)
    assert two.value("SELECT top('cpu:1')")


def test_a_kill_ends_it(two):
    for text in ("SELECT top('cpu:60')", "SELECT top('cluster:cpu:60')",
                 "SELECT * FROM heapwire.cpu_stacks WHERE snapshot = 'cpu:60'",
                 f"ADMIN EXECUTE ON {BUSY} '{CPU}profile(60) // cpu:60'",
                 f"ADMIN EXECUTE ON {IDLE} '{CPU}profile(60) // cpu:60'"):
        victim, thread, ended = in_the_background(two, text)
        with lasts(0, LATE):
            two.sql.query(f"KILL QUERY {victim}")
            thread.join(LATE)
        assert getattr(ended[0], "code", 0) == 1317, (text, ended)
        with lasts(1, 3 + LATE):  # nor does it go on: others would wait for it
            two.value("SELECT LENGTH(top('cluster:wall:1'))")


class HangingSymbolizer:
    """Below a heapwire-run of its own (run): of those that are started, the one
    hangs whose number is set, from 1."""

    def __init__(self, place):
        self.starts = os.path.join(place, "starts")
        self.hangs_at = os.path.join(place, "hangs-at")
        self.run = os.path.join(place, "bin", "heapwire-run")
        for part in ("bin/heapwire-run", "bin/heapwired", "lib/libheapwire.so"):
            os.makedirs(os.path.dirname(os.path.join(place, part)), exist_ok=True)
            shutil.copy(os.path.join(BUILD, part), os.path.join(place, part))
        script = os.path.join(place, "bin", "heapwire-symbolizer")
        with open(script, "w", encoding="ascii") as f:
            f.write(f"""#!/bin/sh
echo >>{self.starts}
read -r hangs_at <{self.hangs_at}
n=0
while read -r _; do n=$((n + 1)); done <{self.starts}
[ "$n" != "$hangs_at" ] || exec sleep 600
exec {BUILD}/bin/heapwire-symbolizer "$@"
""")
        os.chmod(script, 0o755)
        self.set(0)

    def set(self, number):
        """Counts anew."""
        for path, text in (self.starts, ""), (self.hangs_at, f"{number}\n"):
            with open(path, "w", encoding="ascii") as f:
                f.write(text)

    def count(self):
        return os.path.getsize(self.starts)


def test_a_kill_ends_what_the_symbolizer_does(two):
    """The first one makes unwind tables, the second one finds names."""
    symbolizer = HangingSymbolizer(os.path.join(two.work, "hanging"))
    with redis(run=symbolizer.run) as node, \
            Wire(node.socket, 60).login() as sql, \
            concurrent.futures.ThreadPoolExecutor(1) as pool:
        for nth in 1, 2:
            symbolizer.set(nth)
            with Wire(node.socket, 120).login() as w:
                (victim,), = w.query("SELECT CONNECTION_ID()")
                asks = pool.submit(w.query, "SELECT top('wall:1')")
                wait_for(lambda n=nth: symbolizer.count() == n or asks.done())
                with lasts(0, LATE):
                    sql.query(f"KILL QUERY {victim.decode()}")
                    err = asks.exception(LATE)
                assert getattr(err, "code", 0) == 1317, (nth, err)
        symbolizer.set(0)
        with lasts(1, 1 + LATE):  # nobody waits for it
            (said,), = sql.query("SELECT top('wall:1')")
        assert b"aeMain" in said, said


def test_a_client_that_leaves_ends_it(two):
    door = os.path.join(os.path.dirname(two.node.socket), "http.sock")
    with subprocess.Popen(
            ["curl", "-s", "--unix-socket", door,
             "http://localhost/debug/pprof/profile?seconds=60"],
            stdout=subprocess.DEVNULL) as asks:
        wait_for(lambda: two.value(OTHERS) == "1")
        asks.kill()
    wait_for(lambda: two.value(OTHERS) == "0")
    with lasts(1, 3 + LATE):
        two.value("SELECT LENGTH(top('wall:1'))")
    assert two.value(OTHERS) == "0"


def test_all_nodes_at_once(two):
    def ask_both():
        with lasts(2, 3 + LATE):
            return two.value("SELECT top('cluster:cpu:2')")
    head = asked_for_main(ask_both)
    assert str(BUSY) in head, head
    with lasts(2, 3 + LATE):
        rows = two.rows("SELECT node_id, COUNT(*) FROM "
                        "heapwire.cluster_cpu_functions WHERE snapshot = 'wall:2' "
                        "GROUP BY 1 ORDER BY 1")
    assert [int(i) for i, _ in rows] == [BUSY, IDLE], rows
    with lasts(2, 3 + LATE):
        rows = two.rows("ADMIN EXECUTE ON ALL "
                        f"'System.print({CPU}profile_wall(2).text())'")
    assert [(int(i), status) for i, status, _ in rows] == [
        (BUSY, "OK"), (IDLE, "OK")], rows
    assert all("main" in said for _, _, said in rows), rows
    asked_until(
        lambda tree: f"node {BUSY};" in tree and f"node {IDLE};" in tree,
        lambda: two.value(
            f"SELECT collapsed('cluster_by_node@{BUSY},{IDLE}:wall:1')"))
    two.rows(f"ADMIN EXECUTE ON ALL '{CPU}snapshot(\"all\", 1)'")
    assert str(IDLE) in head_of(two, "'cluster:cpu:1', 'cluster:all'")
    two.rows("ADMIN EXECUTE ON ALL 'HeapProf.getInstance().delete(\"all\")'")


@needs(lambda: "" if shutil.which("gdb") else "there is no gdb")
def test_a_node_that_fails_is_named_with_its_reason(two):
    pid = two.nodes[1].children["redis-server"]

    def is_traced():
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            return "TracerPid:\t0\n" not in f.read()
    with subprocess.Popen(
            ["gdb", "-q", "-nx", "-iex", "set debuginfod enabled off", "-p",
             str(pid)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL) as gdb:
        wait_for(is_traced, 30)
        head = two.value("SELECT top('cluster:wall:1')").replace(" \n", " ")
        assert re.search(
            rf"^1 of 2 nodes, without {IDLE} \(process {pid} cannot be sampled: "
            r".* gdb \(process \d+\) traces it: a process can have only one tracer at a time\)",
            head, re.M), head
        assert "different rates" not in head and "aeMain" in head, head
        gdb.kill()


FORKS = """
import os, time
parent = os.getpid()
if os.fork() == 0:
    while os.getppid() == parent:
        sum(range(1000))
while True:
    time.sleep(0.1)
    if os.fork() == 0:
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            sum(range(1000))
        os._exit(0)
    os.waitpid(-1, 0)
"""


def test_what_a_process_forked_is_in_it(_):
    """As PostgreSQL forks: one process for each connection."""
    with redis(program=["/usr/bin/python3", "-c", FORKS]) as node, \
            Wire(node.socket, 60).login() as w:
        for kind, least in ("cpu", 0.2), ("wall", 3):
            (head,), = w.query(f"SELECT top('{kind}:2')")
            assert re.search(rb"threads of it and its \d+ child process", head), head
            asked_until(
                lambda found: float(found[0][0] or 0) > least,
                lambda: w.query("SELECT SUM(flat_time) FROM heapwire.cpu_functions "
                                f"WHERE snapshot = '{kind}:2'"))
        for column in "tid", "stack":
            asked_until(lambda count: int(count[0][0]) >= 2, lambda: w.query(
                f"SELECT COUNT({column}) FROM heapwire.threads"))
        (pid,), = w.query("SELECT DISTINCT pid FROM heapwire.threads "
                          "WHERE process IS NULL")
        assert int(pid) == node.children["python3"], (pid, node.children)
        asked_until(  # one that has ended has no program
            lambda children: children and all(
                c[0] == b"/usr/bin/python3" and c[1] == c[2] for c in children),
            lambda: w.query("SELECT process, pid, tid FROM heapwire.threads "
                            "WHERE process IS NOT NULL"))
        said = b"\n".join(line or b"" for line, in w.query(
            "ADMIN EXECUTE ON 10001 'System.print(ExecEnv."
            "get_stack_trace_for_all_threads())'"))
        assert re.search(rb"^of the database and [12] child process(es)?: \d+ threads, ",
                         said, re.M), said[-300:]


def test_the_http_listener(two):
    def is_pprof(body):
        return b"aeMain" in gzip.decompress(body)

    def is_wall(body):
        plain = gzip.decompress(body)
        return b"wall" in plain and b"__futex" in plain

    def is_text(body):
        assert b" MB" not in body, body[:300]
        return b"aeMain" in body

    def is_svg(body):
        return b"<svg" in body
    for path, looks in (
            ("/debug/pprof/profile?seconds=1", is_pprof),
            ("/debug/pprof/profile?seconds=1&frequency=99", is_pprof),
            ("/debug/pprof/profile?seconds=1&hz=49&node=all", is_pprof),
            ("/debug/pprof/profile?seconds=1&kind=wall", is_wall),
            ("/pprof/profile?seconds=1", is_pprof),
            ("/pprof/profile?seconds=1&type=text", is_text),
            ("/pprof/profile?seconds=1&type=flamegraph", is_svg),
            ("/debug/prof/cpu?seconds=1", is_pprof),
            ("/debug/prof/cpu?seconds=1&frequency=99&output=text", is_text),
            ("/debug/prof/cpu?seconds=1&output=flamegraph", is_svg)):
        post = ("-X", "POST") if "prof/cpu" in path else ()

        def ask():
            with lasts(1, 2 + LATE):
                answer = local(two.node, path, *post)
            assert answer.status == 200, (path, answer.text)
            return answer.body
        asked_until(looks, ask)
    for path in ("/debug/pprof/profile?seconds=601", "/pprof/profile?type=svg",
                 "/debug/prof/cpu?output=x", "/debug/pprof/profile?hz=1001",
                 "/debug/pprof/profile?kind=heap",
                 "/debug/pprof/profile?kind=wall&kernel=1"):
        with lasts(0, AT_ONCE):
            assert local(two.node, path).status == 400, path
    with lasts(0, AT_ONCE):
        assert local(two.node, "/debug/pprof/profile", "-I").status == 200


def test_those_who_ask_together_share(two):
    """Six profiles of their own are six different ones; who is late on a busy
    machine has the next one."""
    def ask(_):
        with Wire(two.node.socket, 120).login() as w:
            return w.query("SELECT collapsed('cpu:2')")[0][0]

    def ask_all():
        with lasts(2, 6 + LATE):
            return list(pool.map(ask, range(6)))
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        said = asked_until(lambda said: b";main;" in said[0], ask_all)
    assert len(set(said)) < 4, [len(one) for one in said]


def main():
    two = Two()
    try:
        with two.load():
            run_tests(named(globals(), sys.argv[1:]), two)
    finally:
        two.end()


main()
