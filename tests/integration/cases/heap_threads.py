"""Who holds it: threads and their pools, by a recorder and by jemalloc.

A program has two pools of threads that hold known bytes, a thread that has
ended, and threads whose names attack; it knows how many.
"""
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from html import unescape
from xml.etree import ElementTree

from http_under_test import local
from mysql_wire import Wire
from node_under_test import BUILD, frozen, wait_for
from pools_node import BLOCK, FIRST, SECOND, Pools, blocks, refusal
from ports import free_port
from redis_node import RedisNode
from runner import named, of_each, run_tests

HOSTILE = 11  # threads that hold one block each


def by_pool(node, snapshot):
    """Without threads that hold no block: each sample of something small stands
    for half a megabyte."""
    return {pool: blocks(size) for pool, size in node.sql(
        "SELECT pool, SUM(live_bytes) FROM heapwire.heap_threads WHERE "
        f"snapshot = '{snapshot}' AND live_bytes > {BLOCK // 2} "
        "GROUP BY pool")}


def known(pools):
    return {pool: held for pool, held in pools.items() if pool in FIRST}


def rest(pools):
    return sum(held for pool, held in pools.items() if pool not in FIRST)


def test_pools_hold_what_they_do(node):
    node.keep("first")
    pools = by_pool(node, "first")
    assert known(pools) == FIRST, pools
    assert rest(pools) == HOSTILE, pools


def test_the_diagnosis_has_the_pools(node):
    shown = "\n".join(row[0] or "" for row in node.sql(
        "ADMIN EXECUTE ON 1 "
        "'System.print(HeapProf.getInstance().diagnose())'"))
    line = re.search(r"^By the threads that allocated it: (.*)\.$", shown, re.M)
    assert line, shown
    pools = [one.split(" ", 2)[2] for one in line[1].split(", ")]
    # 96 and 80 MB; jemalloc gives names that attack none, and those are 80 too.
    assert pools[0] == "scan-*" and "write-*" in pools[1:3], shown


def test_threads_are_rows(node):
    rows = node.sql(
        "SELECT name, tid, number, live_bytes, live_objects, top_function, "
        "top_bytes, samples FROM heapwire.heap_threads WHERE snapshot = "
        "'first' AND (pool LIKE 'scan%' OR pool LIKE 'write%' OR pool LIKE "
        "'gone%') AND live_bytes > 1e6 ORDER BY name")
    assert [(row[0], blocks(row[3]), blocks(row[6]), row[5]) for row in rows] \
        == [(name, n, n, "first_block") for name, n in
            (("gone-7", 1), ("scan-1", 1), ("scan-2", 2), ("scan-3", 3),
             ("write-15", 3), ("write-4", 2))], rows
    assert all(int(row[4]) >= blocks(row[3]) for row in rows), rows
    pid = node.children["thread_pools"]
    if node.source == "interposed":
        assert all(row[2] is None for row in rows), rows
        for name, tid in (row[:2] for row in rows if row[0] != "gone-7"):
            with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as f:
                assert f.read().strip() == name, (name, tid)
    else:
        assert all(row[1] is None for row in rows), rows
        assert len({row[2] for row in rows}) == len(rows), rows
    shares = node.sql("SELECT SUM(percent) FROM heapwire.heap_threads WHERE "
                      "snapshot = 'first'")
    assert abs(float(shares[0][0]) - 100) < 0.2, shares


def pprof_texts(profile):
    """Its table of strings."""
    data, at, texts = gzip.decompress(profile), 0, set()

    def varint():
        nonlocal at
        number = shift = 0
        while True:
            number |= (data[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 128:
                return number
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            varint()
            continue
        assert key & 7 == 2, key
        size = varint()
        if key >> 3 == 6:
            texts.add(data[at:at + size].decode("utf-8"))
        at += size
    return texts


def test_hostile_names_are_text(node):
    """Those of the recorder are cleaned; jemalloc has the printable alone."""
    names = {row[0] for row in node.sql(
        "SELECT name FROM heapwire.heap_threads WHERE snapshot = 'first'")}
    wanted = {"123456789", "longer than Lin", "<img src=x>", "f<int>(x);g",
              "'\"\\`$(x)", "../../%s%n"}
    assert wanted <= names, names
    if node.source == "interposed":
        assert {"?[31mred?", "??bad", "a?@ zz?t*:9:9["} <= names, names
    for name in filter(None, names):
        assert not re.search("[\x00-\x1f\x7f]", name), names
    folded = node.sql("SELECT collapsed('first', NULL, 'by_pool')")[0][0]
    lines = folded.splitlines()
    assert all(re.fullmatch(r"(pool .+|unknown pool)(;[^;]+)* \d+", line)
               for line in lines), folded
    assert any(line.startswith("pool f<int>(x):g;") for line in lines), folded
    svg = node.sql("SELECT flamegraph('first', NULL, 'by_pool')")[0][0]
    assert "<img" not in svg and "pool scan-*" in svg
    for form in ("dot", "text", "top", "tree", "calls"):
        said = node.sql(f"SELECT {form}('first', NULL, 'by_pool; "
                        "nodefraction=0')")[0][0]
        assert "scan-*" in said, (form, said)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", said), form
        assert "../../%s%n" in said, (form, said)
    assert "pool <img src=x>" in json.loads(node.sql(
        "SELECT calls('first', NULL, 'by_pool')")[0][0])["names"]
    for form in "flamegraph", "svg":
        said = node.sql(f"SELECT {form}('first', NULL, 'by_pool; "
                        "nodefraction=0')")[0][0]
        said = re.sub("<!DOCTYPE[^>]*>", "", said)
        tags = {one.tag.rpartition("}")[2] for one in ElementTree.fromstring(said).iter()}
        assert "pool &lt;img src=x&gt;" in said or "<img src=x>" in unescape(said)
        assert not tags & {"img", "int"}, (form, tags)
    with Wire(node.socket, 60).login() as w:
        texts = pprof_texts(w.query("SELECT pprof('first', NULL, 'by_pool')")[0][0])
    assert {"pool <img src=x>", "pool '\"\\`$(x)", "pool ../../%s%n",
            "pool scan-*"} <= texts, texts


# By pool: its budget, whether it is over it at first, and at last.
BUDGETS = {"scan-*": (8 * BLOCK, False, True), "write-*": (4 * BLOCK, True, False)}


def budget_of(node, pool):
    return node.sql("SELECT state, now_bytes, crossings, snapshot FROM "
                    f"heapwire.budgets WHERE name = 'pool {pool}'")[0]


def await_budgets(node, i):
    """Until all are as they are first (1), or at last (2)."""
    for pool, wanted in BUDGETS.items():
        wanted_state = ("within budget", "over budget")[wanted[i]]
        held = (FIRST, SECOND)[i - 1][pool]

        def is_so():
            """It may be looked at while its blocks come and go."""
            state, now, *_ = budget_of(node, pool)
            return state == wanted_state and blocks(now) == held
        wait_for(is_so, 60, tell=lambda: (pool, held, budget_of(node, pool)))


def test_pools_have_budgets(node):
    for pool, (limit, *_) in BUDGETS.items():
        node.sql(f"CALL heapwire.budget('{pool}', {limit})")
    await_budgets(node, 1)
    assert budget_of(node, "scan-*")[2:] == ["0", None]
    wait_for(lambda: budget_of(node, "write-*")[3], 60)
    assert re.search(r"pool write-\* is over its budget: 80\.0 MB in use "
                     r"\(\+-\d+ bytes\) of 64\.0 MB", node.log()), node.log()
    reason, cause = node.sql(
        "SELECT reason, cause FROM heapwire.snapshots WHERE name = "
        f"'{budget_of(node, 'write-*')[3]}'")[0]
    assert cause == "mark" and "pool write-* is over its budget" in reason, reason
    assert 'used_bytes{name="pool write-*"} ' + str(5 * BLOCK) in \
        local(node, "/metrics").text
    for name, said in (("scan-1", "no pool of threads called 'scan-1'"),
                       ("pool scan-1", "write 'pool scan-*'"),
                       ("scan", "no pool of threads")):
        assert said in refusal(node, f"CALL heapwire.budget('{name}', 1)"), name


def test_hostile_pools_have_budgets(node):
    """In the table, in the log, as a metric: as text."""
    names = [row[0] for row in node.sql(
        "SELECT DISTINCT pool FROM heapwire.heap_threads WHERE snapshot = "
        "'first' AND live_bytes > 1e6 AND pool IS NOT NULL")
        if row[0] not in FIRST]
    assert len(names) >= 5, names
    for name in names:
        quoted = name.replace("\\", "\\\\").replace("'", "\\'")
        node.sql(f"CALL heapwire.budget('pool {quoted}', '1K')")
    wait_for(lambda: node.sql(
        "SELECT COUNT(*) FROM heapwire.budgets WHERE state = 'over budget' AND "
        "now_bytes >= 16777216 AND limit_bytes = 1024") == [[str(len(names))]],
        60)
    rows = {row[0] for row in node.sql("SELECT name FROM heapwire.budgets")}
    log, metrics = node.log(), local(node, "/metrics").text
    for name in names:
        assert f"pool {name}" in rows, (name, rows)
        logged = "".join(chr(byte) if 32 <= byte < 127 and byte != 92 else
                         f"\\x{byte:02x}" for byte in name.encode())
        assert f"pool {logged} is over its budget: " in log, (name, log)
        assert " of 1.0 KB" in log, log
        label = name.replace("\\", "\\\\").replace('"', '\\"')
        assert f'used_bytes{{name="pool {label}"}} ' in metrics, (name, metrics)
        quoted = name.replace("\\", "\\\\").replace("'", "\\'")
        node.sql(f"CALL heapwire.budget('{quoted}', NULL)")
    for text in log, metrics.replace("\u202e", "", 3):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", text), text


def sums_of(node, options, base="NULL"):
    """The bytes below each root of the collapsed form."""
    sums = {}
    for line in node.sql(f"SELECT collapsed('second', {base}, '{options}')"
                         )[0][0].splitlines():
        stack, size = line.rsplit(" ", 1)
        root = stack.split(";")[0]
        sums[root] = sums.get(root, 0) + int(size)
    return sums


def test_pools_grow(node):
    node.go_on()
    node.keep("second")
    assert known(by_pool(node, "second")) == SECOND
    await_budgets(node, 2)
    assert "pool write-* is within its budget again: 48.0 MB" in node.log()
    rows = {row[0]: row[1:] for row in node.sql(
        "SELECT pool, grown_bytes, significant, top_function, top_bytes "
        "FROM heapwire.heap_pool_diff WHERE snapshot = 'second' AND base = "
        "'first'")}
    assert blocks(rows["scan-*"][0]) == 6 and rows["scan-*"][1] == "1", rows
    assert rows["scan-*"][2] == "second_block", rows
    assert blocks(rows["scan-*"][3]) == 6, rows
    assert blocks(rows["write-*"][0]) == -2, rows
    assert rows["write-*"][1:] == ["1", None, None], rows
    assert int(rows["gone-*"][0]) == 0 and rows["gone-*"][1] == "0", rows
    assert next(iter(rows)) == "scan-*", rows
    tree = node.sql("SELECT tree('second', 'first', 'by_pool; by_growth')")
    assert "pool scan-*" in tree[0][0] and "second_block" in tree[0][0], tree


def test_a_hung_one_has_budgets(node):
    """A recorder's names are found without it; jemalloc's are not."""
    with frozen(node.children["thread_pools"]):
        wait_for(lambda: node.sql("SELECT state FROM heapwire.profiler") ==
                 [["unresponsive"]], 60)
        if node.source == "interposed":
            node.sql("CALL heapwire.budget('gone-*', '1G')")
            wait_for(lambda: budget_of(node, "gone-*")[0] == "within budget", 60)
            assert blocks(budget_of(node, "gone-*")[1]) == 1
        else:
            assert "write 'function NAME' or 'pool NAME'" in refusal(
                node, "CALL heapwire.budget('gone-*', '1G')")
            node.sql("CALL heapwire.budget('pool gone-*', '1G')")
            assert budget_of(node, "gone-*")[1] is None
        node.sql("CALL heapwire.budget('gone-*', NULL)")
    wait_for(lambda: node.sql("SELECT state FROM heapwire.profiler") ==
             [["connected"]], 60)


def test_forms_are_rooted(node):
    pools = sums_of(node, "by_pool")
    assert blocks(pools["pool scan-*"]) == 12, pools
    assert blocks(pools["pool write-*"]) == 3, pools
    threads = sums_of(node, "by_thread")
    scans = {root: size for root, size in threads.items()
             if re.fullmatch(r"thread #?\d+ scan-3", root)}
    assert [blocks(size) for size in scans.values()] == [6], threads
    both = node.sql("SELECT collapsed('second', NULL, 'by_thread; by_pool')")
    assert re.search(r"^pool scan-\*;thread #?\d+ scan-2;", both[0][0], re.M), both
    script = node.sql("ADMIN EXECUTE ON 1 'System.print(Profile.of(\"second\")"
                      ".by_pool().tree())'")
    assert any("pool scan-*" in row[0] for row in script), script
    assert "not known by thread" in refusal(
        node, "SELECT top('second', NULL, 'by_pool; by=alloc_space')")


def test_sums_of_nodes_are_rooted(node):
    for name in "cluster", "cluster:second":
        pools = node.sql(f"SELECT collapsed('{name}', NULL, 'by_pool')")[0][0]
        assert re.search(r"^pool scan-\*;", pools, re.M), pools
    grown = node.sql("SELECT collapsed('cluster:second', 'cluster:first', "
                     "'by_pool')")[0][0]
    assert re.search(r"^pool scan-\*;.*second_block \d+$", grown, re.M), grown
    of_all = node.sql("SELECT node_id, SUM(live_bytes) FROM "
                      "heapwire.cluster_heap_threads WHERE snapshot = 'second' "
                      "AND pool = 'scan-*' GROUP BY 1")
    assert [(i, blocks(size)) for i, size in of_all] == [("1", 12)], of_all


def test_offline_they_are_the_same(node):
    path = os.path.join(node.directory, "second.heapwire")
    with Wire(node.socket, 60).login() as w, open(path, "wb") as f:
        f.write(w.query("SELECT export('second')")[0][0])
    for options, wanted in ((["--by-pool"], "pool scan-*;"),
                            (["--by-thread"], " scan-3;")):
        done = subprocess.run(
            [os.path.join(BUILD, "bin", "heapwire-prof"), "--collapsed",
             *options, path], stdout=subprocess.PIPE, text=True, check=True)
        assert wanted in done.stdout, done.stdout


def test_another_heapwired_reads_them_from_the_file(node):
    tables = {
        "heap_threads": "snapshot = 'second'",
        "heap_pool_diff": "snapshot = 'second' AND base = 'first'"}
    before = {table: sorted(map(str, node.sql(
        f"SELECT * FROM heapwire.{table} WHERE {condition}")))
        for table, condition in tables.items()}
    kept = [budget_of(node, pool)[2] for pool in BUDGETS]
    os.kill(node.heapwired, signal.SIGKILL)
    wait_for(lambda: node.log().count("serves node") == 2)
    assert [budget_of(node, pool)[2] for pool in BUDGETS] == kept == ["1", "1"]
    for table, condition in tables.items():
        after = sorted(map(str, node.sql(
            f"SELECT * FROM heapwire.{table} WHERE {condition}")))
        assert after == before[table] and after, (table, after, before)


def check_filter():
    """No sample asks for a name under a filter that kills for it."""
    work = tempfile.mkdtemp(prefix="hw-", dir="/tmp")
    program = os.path.join(BUILD, "bin", "named_samples")
    try:
        done = subprocess.run(
            [os.path.join(BUILD, "bin", "heapwire-run"), "--listen", "none",
             "--state-dir", os.path.join(work, "state"), "--log",
             os.path.join(work, "log"), "--profiling-source", "jemalloc",
             "--profiling", "on", "--", program], stdout=subprocess.PIPE,
            env={**os.environ, "MALLOC_CONF": "lg_prof_sample:0"}, check=False)
        assert done.returncode == 0 and b"alive" in done.stdout, done
    finally:
        shutil.rmtree(work, ignore_errors=True)


class Mixed(RedisNode):
    """Threads of one stack, whose sizes differ."""

    def start(self):
        program = self.command.index("--")
        self.command[program:program] = ["--profiling-source", "jemalloc",
                                         "--profiling", "on"]
        return super().start()

    def known(self):
        with open(os.path.join(self.directory, "out"), encoding="utf-8") as out:
            return re.findall(r"^((?:small|large)-\d) (\d+)$", out.read(), re.M)


def check_mixed():
    """By jemalloc's own lines each thread has what it holds, though its stack's mean is another."""
    work, port = tempfile.mkdtemp(prefix="hw-", dir="/tmp"), free_port()
    node = Mixed(work, 1, {1: port}, port, program=[os.path.join(BUILD, "bin", "mixed_sizes")],
                 environment={"MALLOC_CONF": "lg_prof_sample:16"})
    try:
        node.wait()
        with Wire(node.socket, 60).login() as w:
            wait_for(lambda: w.query("SELECT state FROM heapwire.profiler")[0][0] == b"connected", 60)
            wait_for(lambda: len(node.known()) == 8, 60)
            got = {name.decode(): int(size) for name, size in w.query(
                "SELECT name, live_bytes FROM heapwire.heap_threads WHERE name LIKE '%-%'")}
        known = {name: int(size) for name, size in node.known()}
        for name, size in known.items():  # six standard errors
            assert abs(got[name] / size - 1) < (.6 if "small" in name else .2), (name, size, got, known)
    finally:
        node.stop()
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def pools(source):
    work = tempfile.mkdtemp(prefix="hw-", dir="/tmp")
    node = Pools(work, source)
    try:
        yield node.is_ready()
    except BaseException:
        print(node.log()[-3000:])
        raise
    finally:
        node.stop()
        shutil.rmtree(work, ignore_errors=True)


def check_source(source):
    with pools(source) as node:
        run_tests(named(globals(), sys.argv[1:]), node, label=f"{source}: ")


def main():
    if not sys.argv[1:]:
        check_filter()
        check_mixed()
    of_each(check_source, "interposed", "jemalloc")
    print("heap_threads.py: all as expected")


if __name__ == "__main__":
    main()
