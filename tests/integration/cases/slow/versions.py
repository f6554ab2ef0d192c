"""What CHANGELOG.md promises to keep: the build of the version before, which
HW_BEFORE names, and this one work together, and nothing that it had is gone.

    HW_BEFORE=/tmp/before/build/release BUILD=build/release ...

Both may be directories of Debian packages instead, as build/package is.

Each mix is tried both ways: whichever is the older, the other may be, too.
Arguments name single tests.
"""
import contextlib
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import pymysql

from node_under_test import BUILD, wait_for
from ports import free_port
from redis_node import RedisNode
from runner import named, run_tests

BEFORE = os.environ.get("HW_BEFORE", "")
AGENT = ("libheapwire.so", "libheapwire-recorder.so")
HEAP = "ADMIN EXECUTE ON {} 'System.print(HeapProf.getInstance().{})'"
FUNCTIONS = ("SELECT function, flat_bytes, cum_bytes FROM heap_functions "
             "WHERE snapshot = '{}' ORDER BY function")


def program(build, name):
    return os.path.join(build, "bin", name)


def put(source, target):
    """As an upgrade does it: the new file takes the name of the old one."""
    shutil.copy2(source, target + ".new")
    os.rename(target + ".new", target)


def install(directory, run, agent, server):
    """Programs of three builds in one place; heapwire-run's path."""
    for folder in "bin", "lib":
        os.makedirs(os.path.join(directory, folder), exist_ok=True)
    for name in "heapwire-run", "heapwire", "heapwire-passwd":
        put(program(run, name), program(directory, name))
    for name in "heapwired", "heapwire-symbolizer", "heapwire-debuginfod":
        put(program(server, name), program(directory, name))
    for name in AGENT:
        put(os.path.join(agent, "lib", name),
            os.path.join(directory, "lib", name))
    return program(directory, "heapwire-run")


def unpack(packages, target):
    """The packages' programs and libraries, placed as a build has them."""
    found = glob.glob(os.path.join(packages, "*.deb"))
    if not found:
        return os.path.abspath(packages)
    for package in found:
        subprocess.run(["dpkg-deb", "-x", package, target], check=True)
    for folder, pattern in (("bin", "bin/*"), ("bin", "lib/heapwire/heap*[!o]"),
                            ("lib", "lib/heapwire/*.so")):
        os.makedirs(os.path.join(target, folder), exist_ok=True)
        for path in glob.glob(os.path.join(target, "usr", pattern)):
            shutil.copy2(path, os.path.join(target, folder))
    return target


def version_of(build):
    return subprocess.run([program(build, "heapwired"), "--version"],
                          check=True, capture_output=True,
                          text=True).stdout.split()[-1]


@contextlib.contextmanager
def node(work, run, number=10001, places=None):
    port = free_port() if places is None else places[number]
    one = RedisNode(work, number, places or {number: port}, port, run=run)
    try:
        one.wait()
        wait_for(lambda: query(one, "SELECT state FROM profiler") ==
                 [("connected",)])
        yield one
    finally:
        one.stop()


def query(one, statement):
    link = pymysql.connect(unix_socket=one.socket, user="root",
                           database="heapwire", charset="utf8mb4")
    with contextlib.closing(link), link.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def fill(one, count=20000):
    subprocess.run(["redis-benchmark", "-p", str(one.redis_port), "-n",
                    str(count), "-r", str(count), "-d", "500", "-P", "16",
                    "-q", "-t", "set,lpush"], check=True, timeout=120,
                   stdout=subprocess.DEVNULL)


def profile(one, name):
    """A snapshot with something in it; its functions."""
    query(one, HEAP.format(one.id, "enable_prof()"))
    fill(one)
    query(one, HEAP.format(one.id, f'snapshot("{name}")'))
    found = query(one, FUNCTIONS.format(name))
    assert len(found) > 10, found
    return found


def both_ways(test):
    """With (older, newer) and, as who goes back, with (newer, older)."""
    def run():
        for one, other in ((BEFORE, BUILD), (BUILD, BEFORE)):
            with tempfile.TemporaryDirectory(prefix="hw-versions-") as work:
                test(work, one, other)
    return run


# ---- one node of two versions ----


@both_ways
def test_an_agent_and_a_heapwired(work, agent, server):
    """From the start on, with all that an agent is asked for."""
    run = install(work + "/programs", agent, agent, server)
    with node(work, run) as one:
        version = query(one, "SELECT VERSION()")[0][0]
        assert version.endswith("-" + version_of(server)), version
        profile(one, "mixed")
        assert query(one, "SELECT allocated > 0, rss > 0 FROM memory") == \
            [(1, 1)]
        assert len(query(one, "SELECT tid FROM threads")) > 3
        assert query(one, "SELECT count(*) > 0 FROM mappings") == [(1,)]
        assert query(one, "SELECT top('cpu:1')")
        query(one, "ADMIN EXECUTE ON 10001 "
                   "'Jemalloc.getInstance().purge()'")
        query(one, HEAP.format(10001, "disable_prof()"))


@both_ways
def test_heapwired_is_replaced_while_the_database_runs(work, first, then):
    run = install(work + "/programs", first, first, first)
    with node(work, run) as one:
        before = profile(one, "kept")
        redis, began = one.children["redis-server"], one.heapwired
        for name in "heapwired", "heapwire-symbolizer", "heapwire-debuginfod":
            put(program(then, name), program(work + "/programs", name))
        os.kill(began, 15)
        wait_for(lambda: one.find_children() and
                 one.children.get("heapwired", began) != began)
        with_then = "-" + version_of(then)

        def serves():
            with contextlib.suppress(pymysql.Error):
                return query(one, "SELECT VERSION()")[0][0].endswith(
                    with_then) and query(
                        one, "SELECT state FROM profiler") == [("connected",)]
            return False
        wait_for(serves)
        assert one.children["redis-server"] == redis
        assert query(one, FUNCTIONS.format("kept")) == before
        assert query(one, "SELECT active FROM profiler") == [(1,)]
        profile(one, "later")
        assert query(one, "SELECT count(*) > 0 FROM heap_diff "
                          "WHERE base = 'kept' AND snapshot = 'later'") == \
            [(1,)]


@both_ways
def test_a_state_directory(work, first, then):
    """Read, added to, and read again by the first."""
    runs = [install(f"{work}/{i}", build, build, build)
            for i, build in enumerate((first, then))]
    port, seen, one = free_port(), {}, None
    for turn, run in enumerate((*runs, runs[0])):
        if one:
            one.command[one.command.index("--config") - 1] = run
            one.start()
        else:
            one = RedisNode(work, 10001, {10001: port}, port, run=run)
        try:
            one.wait()
            wait_for(lambda: query(one, "SELECT state FROM profiler") ==
                     [("connected",)])
            for name, functions in seen.items():
                assert query(one, FUNCTIONS.format(name)) == functions, name
            assert len(query(one, "SELECT name FROM snapshots WHERE "
                                  "cause = 'asked'")) == len(seen)
            ended = query(one, "SELECT how FROM deaths")
            assert len(ended) == turn, ended
            if turn:
                assert query(one, "SELECT limit_bytes FROM budgets") == \
                    [(2 << 30,)]
                assert query(one, "SELECT count(*) > 0 FROM memory_history "
                                  f"WHERE pid <> {one.children['redis-server']}"
                             ) == [(1,)]
            else:
                query(one, "CALL budget('function dictAddRaw', '2G')")
            seen[f"of_{turn}"] = profile(one, f"of_{turn}")
            wait_for(lambda: query(
                one, "SELECT count(*) > 2 FROM memory_history") == [(1,)])
        finally:
            one.stop()


# ---- several ----


def test_a_cluster():
    """Each is asked for both."""
    with tempfile.TemporaryDirectory(prefix="hw-versions-") as work:
        runs = {number: install(f"{work}/{number}", build, build, build)
                for number, build in ((10001, BEFORE), (10002, BUILD))}
        ports = {number: free_port() for number in runs}
        with node(work, runs[10001], 10001, ports) as one, \
                node(work, runs[10002], 10002, ports) as other:
            functions = {n.id: profile(n, "before") for n in (one, other)}
            for asked in one, other:
                wait_for(lambda a=asked: query(
                    a, "SELECT id, alive FROM nodes ORDER BY id") ==
                    [(10001, 1), (10002, 1)])
                said = query(asked, HEAP.format("ALL", "has_enable()"))
                assert [row[:3] for row in said] == [
                    ("10001", "OK", "true"), ("10002", "OK", "true")], said
                for number, rows in functions.items():
                    got = query(asked, FUNCTIONS.format("before").replace(
                        "heap_functions", "cluster_heap_functions").replace(
                        "ORDER", f"AND node_id = {number} ORDER"))
                    assert got == rows, (asked.id, number)
                assert query(asked, "SELECT top('cluster:before')")
                assert query(asked, "SELECT how FROM cluster_deaths") == []
            # A snapshot of one is imported into the other.
            for source, target in (one, other), (other, one):
                data = query(source, "SELECT HEX(export('before'))")[0][0]
                query(target, f"CALL import_snapshot('theirs', x'{data}')")
                assert query(target, FUNCTIONS.format("theirs")) == \
                    functions[source.id]


def test_the_client():
    """The command of one version with a node of the other, offline files of
    both, and nothing that it cannot read is taken for something else."""
    with tempfile.TemporaryDirectory(prefix="hw-versions-") as work:
        for client, server in (BEFORE, BUILD), (BUILD, BEFORE):
            directory = os.path.join(work, version_of(server))
            run = install(directory, server, server, server)
            with node(directory, run) as one:
                profile(one, "kept")

                def heapwire(*arguments, c=client, o=one):
                    return subprocess.run(
                        [program(c, "heapwire"), "-S", o.socket, *arguments],
                        check=True, capture_output=True, timeout=120).stdout
                assert b"\n4712\n" in heapwire("sql", "SELECT 4711 + 1")
                assert b"true" in heapwire(
                    "on", "ALL",
                    "System.print(HeapProf.getInstance().has_enable())")
                assert heapwire("get", "top")
                assert b"RSS" in heapwire("diagnose")
                page = os.path.join(directory, "page.html")
                heapwire("bundle", "--output", page)
                with open(page, "rb") as f:
                    assert b"kept" in f.read()
                # heapwire-prof reads what the node exports.
                exported = os.path.join(directory, "kept.heapwire")
                with open(exported, "wb") as f:
                    f.write(bytes.fromhex(query(
                        one, "SELECT HEX(export('kept'))")[0][0]))
                top = subprocess.run(
                    [program(client, "heapwire-prof"), "--top", exported],
                    check=True, capture_output=True, timeout=120).stdout
                assert b"zmalloc" in top or b"sdsnew" in top, top


def test_a_snapshot_of_the_future():
    """Both say which version it has and which they know, and keep nothing."""
    with tempfile.TemporaryDirectory(prefix="hw-versions-") as work:
        for build in BEFORE, BUILD:
            directory = os.path.join(work, version_of(build))
            with node(directory, install(directory, build, build, build)) as one:
                profile(one, "kept")
                data = bytearray.fromhex(query(
                    one, "SELECT HEX(export('kept'))")[0][0])
                assert data[:8] == b"HWSNAP\r\n"
                data[8:12] = (1000).to_bytes(4, "little")
                try:
                    query(one, f"CALL import_snapshot('new', x'{data.hex()}')")
                    raise AssertionError("it was imported")
                except pymysql.Error as error:
                    assert "its version is 1000, and this heapwire knows 1 to" \
                        in error.args[1], error
                assert query(one, "SELECT name FROM snapshots") == [("kept",)]


KEEPER = """#include <stdlib.h>
__attribute__((noinline)) void *keep_it_all(size_t n) { return malloc(n); }
int main(void) { return !keep_it_all(1 << 20); }
"""


@both_ways
def test_an_index(work, first, then):
    """One makes it, the other has all names of a stripped program from it."""
    source, keeper = work + "/keeper.c", work + "/keeper"
    with open(source, "w", encoding="ascii") as f:
        f.write(KEEPER)
    subprocess.run(["cc", "-g", "-O1", "-fno-builtin", "-o", keeper, source,
                    "-ljemalloc"], check=True)
    subprocess.run([program(first, "heapwire-prof"), "--index", keeper],
                   check=True, capture_output=True, timeout=300)
    assert os.path.exists(keeper + ".hwindex")
    subprocess.run(["strip", keeper], check=True)
    subprocess.run([keeper], check=True, env={
        **os.environ, "MALLOC_CONF": "prof:true,lg_prof_sample:0,"
        "prof_final:true,prof_prefix:" + keeper})
    dump, = glob.glob(keeper + ".*.heap")
    said = subprocess.run([program(then, "heapwire-prof"), "--text", keeper,
                           dump], check=True, capture_output=True, timeout=120,
                          text=True)
    assert "keep_it_all" in said.stdout, (said.stdout, said.stderr)


# ---- nothing is gone ----


def columns(one):
    """Of each table, the columns and their types, in their order."""
    found = {}
    for table, column, kind in query(
            one, "SELECT table_name, column_name, column_type FROM "
                 "information_schema.columns WHERE table_schema = 'heapwire' "
                 "ORDER BY table_name, ordinal_position"):
        found.setdefault(table, {})[column] = kind
    return found


def surface(build, work):
    """What a user may have written down of that build."""
    run = install(f"{work}/{version_of(build)}", build, build, build)
    with node(f"{work}/{version_of(build)}", run) as one:
        found = {f"table {table}": kinds
                 for table, kinds in columns(one).items()}
        found["routines"] = dict(query(
            one, "SELECT routine_name, routine_type FROM "
                 "information_schema.routines"))
        found["variables"] = dict.fromkeys(
            name for name, _ in query(one, "SHOW VARIABLES"))
        http = os.path.join(os.path.dirname(one.socket), "http.sock")

        def get(path):
            return subprocess.run(
                ["curl", "-sS", "--unix-socket", http,
                 "http://localhost" + path], check=True, capture_output=True,
                text=True, timeout=60).stdout
        found["paths"] = dict.fromkeys(re.findall(r"(?<!\w)/[\w/]+",
                                                  get("/help")))
        found["metrics"] = dict(re.findall(r"^# TYPE (\w+) (\w+)",
                                           get("/metrics"), re.M))
        reference = get("/reference")
    found["methods"] = dict.fromkeys(re.findall(
        r"`((?:HeapProf|CpuProf|ExecEnv|Jemalloc|Profile)\.\w+)\(", reference))
    found["privileges"] = dict.fromkeys(re.findall(
        r"^\| `(\w+)` \| to ", reference, re.M))
    found["statements"] = dict.fromkeys(re.findall(
        r"`([^`]+)`", re.search(r"## Statements\n(.*?)\n## ", reference,
                                re.S)[1]))
    for name in ("heapwire", "heapwire-run", "heapwired", "heapwire-prof",
                 "heapwire-passwd"):
        said = subprocess.run([program(build, name), "--help"], timeout=60,
                              stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.STDOUT, text=True).stdout
        found[f"options of {name}"] = dict.fromkeys(
            re.findall(r"^ +(?:-\w, )?(--[\w-]+)", said, re.M))
    found["library"] = dict.fromkeys(re.findall(
        r" T (\w+)$", subprocess.run(
            ["nm", "-D", "--defined-only", "--format=bsd",
             os.path.join(build, "lib", "libheapwire.so")], check=True,
            capture_output=True, text=True).stdout, re.M))
    return found


def test_nothing_is_gone():
    with tempfile.TemporaryDirectory(prefix="hw-versions-") as work:
        before, now = surface(BEFORE, work), surface(BUILD, work)
    assert len(before) > 40 and all(before.values()), sorted(before)
    gone = {part: [(name, kind, now.get(part, {}).get(name, "gone"))
                   for name, kind in names.items()
                   if now.get(part, {}).get(name, "gone") != kind]
            for part, names in before.items()}
    gone = {part: names for part, names in gone.items() if names}
    assert not gone, gone
    # Columns that SELECT * gave stay in front, in their order.
    for part, names in before.items():
        if part.startswith("table "):
            assert list(now[part])[:len(names)] == list(names), part


def test_a_configuration():
    """Every key of the version before is a key of this one, with its default
    value."""
    with tempfile.TemporaryDirectory(prefix="hw-versions-") as work:
        path = os.path.join(work, "heapwire.ini")
        with open(path, "w", encoding="ascii") as f:
            os.fchmod(f.fileno(), 0o600)
        settings = [subprocess.run(
            [program(build, "heapwired"), "--config", path, "--state-dir",
             work + "/state", "--check"], check=True, text=True,
            capture_output=True, timeout=60).stdout.splitlines()
            for build in (BEFORE, BUILD)]
        missing = set(settings[0]) - set(settings[1])
        assert settings[0] and not missing, missing


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="hw-versions-") as unpacked:
        BEFORE = BEFORE and unpack(BEFORE, unpacked + "/before")
        BUILD = unpack(BUILD, unpacked + "/now")
        if not os.path.exists(program(BEFORE, "heapwired")):
            print("skipped: HW_BEFORE names no build of the version before")
            sys.exit(0)
        run_tests(named(globals(), sys.argv[1:]))
    print("versions.py: ok")
