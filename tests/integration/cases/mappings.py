"""heapwire.mappings: whose each mapping of a program is that has known ones,
under glibc's malloc and jemalloc, open and closed to heapwired.
"""
import contextlib
import ctypes.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from machine import no_root
from mysql_wire import Wire
from node_under_test import BUILD, freeze, wait_for
from runner import in_parallel, named, needs, run_tests

RUN = os.path.join(BUILD, "bin", "heapwire-run")
PROGRAM = os.path.join(BUILD, "bin", "owned_mappings")
MB, NOBODY = 1 << 20, 65534
FOREIGN, MORE, SHARED, FILE, LARGE, POOL = 64 * MB, 32 * MB, 8 * MB, 2 * MB, \
    8 * MB, 40
JEMALLOC = ("--profiling-source", "jemalloc")
KNOWN = "evidence NOT LIKE 'presumed%'"


class Owned:
    """heapwire-run, the program below it, and a session."""

    def __init__(self, *options, uid=0, closed=False):
        self.work = tempfile.mkdtemp(prefix="hw-mappings-", dir="/tmp")
        self.state = self.work + "/state"
        os.chown(self.work, uid, uid)
        self.out = open(self.work + "/out", "wb")
        become = ["setpriv", f"--reuid={uid}", f"--regid={uid}",
                  "--clear-groups"] if uid else []
        program = shutil.copy(PROGRAM, self.work) if uid else PROGRAM
        self.run = subprocess.Popen(
            [*become, readable(RUN, uid, self.work), "--listen", "none",
             "--state-dir", self.state, "--linger", "0", *options, "--",
             program, self.work + "/file", *(["closed"] if closed else [])],
            stdout=self.out, stderr=self.out)
        wait_for(lambda: "ready" in self.said())
        self.pid = int(re.search(r"pid (\d+)", self.said())[1])
        self.login()

    def login(self):
        def knocks():
            with contextlib.suppress(OSError):
                self.sql = Wire(self.state + "/mysql.sock", 120).login()
                return True
            return False
        wait_for(knocks)
        wait_for(lambda: self.rows("SELECT alive FROM heapwire.nodes") ==
                 [("1",)])

    def said(self):
        with open(self.work + "/out", encoding="utf-8", errors="replace") as f:
            return f.read()

    def rows(self, text):
        return [tuple(None if c is None else c.decode() for c in row)
                for row in self.sql.query(text)]

    def total(self, where, what="rss"):
        (value,), = self.rows(f"SELECT COALESCE(SUM({what}), 0) FROM "
                              f"heapwire.mappings WHERE {where}")
        return int(value)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)
        self.sql.close()
        self.run.terminate()
        self.run.wait(60)
        self.out.close()
        shutil.rmtree(self.work)


def readable(path, uid, work):
    """A build in a home that nobody may enter is copied."""
    if not uid:
        return path
    build = os.path.join(work, "build")
    os.makedirs(build)
    for folder in ("bin", "lib"):
        os.makedirs(os.path.join(build, folder))
        for name in os.listdir(os.path.join(BUILD, folder)):
            if name.startswith(("heapwire", "libheapwire")):
                shutil.copy(os.path.join(BUILD, folder, name),
                            os.path.join(build, folder))
    return os.path.join(build, "bin", os.path.basename(path))


def jemalloc():
    found = ctypes.util.find_library("jemalloc")
    assert found, "there is no libjemalloc"
    return (*JEMALLOC, "--jemalloc", next(
        path for path in (f"/usr/lib/{arch}/{found}" for arch in
                          os.listdir("/usr/lib")) if os.path.exists(path)))


def check_sum(node):
    """All of rss has an owner.  Either may be a second old; what changes else
    are the agent's pages."""
    def is_all():
        total, rss = map(int, node.rows(
            "SELECT SUM(m.rss), MAX(x.rss) FROM heapwire.mappings m, "
            "heapwire.memory x")[0])
        return abs(total - rss) < MB
    wait_for(is_all)


def check_named(node):
    """What has a name, or a place, whoever reads it."""
    check_sum(node)
    assert node.total("kind = 'shared memory' AND owner LIKE 'owned%'") == SHARED
    assert node.total("kind = 'shared memory' AND owner LIKE 'owned%'",
                      "size") == SHARED
    assert node.total(f"kind = 'file' AND owner = '{node.work}/file'") == FILE
    assert node.total("kind = 'file' AND owner LIKE '%/owned_mappings'") > 0
    assert node.total("kind = 'vdso'", "size") > 0
    (place, rss), = node.rows("SELECT start, rss FROM heapwire.mappings "
                              "WHERE kind = 'page tables'")
    assert place is None and rss is None, (place, rss)
    stacks = node.total("kind = 'thread stack' AND rss > 0", "1")
    assert POOL + 1 <= stacks <= POOL + 4, stacks


def check_threads(node):
    """Once each waits: of one that runs nobody knows the stack."""
    pool = []

    def are_all():
        pool[:] = node.rows(
            "SELECT m.owner, m.tid, t.name FROM heapwire.mappings m JOIN "
            "heapwire.threads t ON t.tid = m.tid WHERE m.kind = 'thread stack' "
            "AND m.owner LIKE 'pool-%' AND m.rss > 0")
        return len(pool) >= POOL
    wait_for(are_all, tell=lambda: pool)
    assert len(pool) == POOL, pool
    assert {owner for owner, _, _ in pool} == \
        {f"pool-{i}" for i in range(POOL)}, pool
    assert all(owner == name for owner, _, name in pool), pool


def check_foreign(node, wanted):
    """The kernel may have joined it to what lies beside it."""
    largest, = node.rows(
        "SELECT size, rss, first_seen IS NOT NULL FROM heapwire.mappings WHERE "
        "kind = 'foreign anonymous' ORDER BY size DESC LIMIT 1")
    size, rss, seen = map(int, largest)
    assert wanted <= size < wanted + MB and wanted <= rss < wanted + MB, largest
    assert seen, largest


def test_glibc():
    with Owned("--jemalloc", "no") as node:
        check_named(node)
        check_threads(node)
        check_foreign(node, FOREIGN)
        malloc = node.total("kind = 'glibc malloc'")
        assert LARGE + 10 * MB < malloc < LARGE + 20 * MB, malloc
        assert node.total("kind = 'glibc malloc' AND owner LIKE '%block%'") >= \
            LARGE - MB  # the last ones may be in the heap: the threshold grows
        assert node.total("kind = 'jemalloc'") == 0


def test_jemalloc():
    with Owned(*jemalloc()) as node:
        check_named(node)
        check_threads(node)
        check_foreign(node, FOREIGN)

        def counts_the_same():
            """Its own count of what it has mapped, to the page; it may map
            more for the agent's questions between the two looks."""
            own[:] = node.rows(
                "SELECT SUM(m.size), MAX(x.mapped + x.retained) FROM "
                "heapwire.mappings m, heapwire.memory x WHERE m.kind = "
                "'jemalloc'")[0]
            return own[0] == own[1]
        own = []
        wait_for(counts_the_same, tell=lambda: own)
        assert node.total("kind = 'jemalloc' AND NOT " + KNOWN, "1") == 0
        (gap,), = node.rows("SELECT MAX(x.rss) - SUM(m.rss) - "
                            "MAX(x.unexplained) FROM heapwire.mappings m, "
                            "heapwire.memory x WHERE m.kind <> 'jemalloc'")
        assert int(gap) < 8 * MB, gap


def test_what_comes_later_is_seen_first_then():
    with Owned(*jemalloc()) as node:
        check_foreign(node, FOREIGN)
        os.kill(node.pid, signal.SIGUSR1)
        wait_for(lambda: "mapped" in node.said())
        wait_for(lambda: node.total("kind = 'foreign anonymous'") >=
                 FOREIGN + MORE)
        assert node.total("kind = 'foreign anonymous'") < \
            FOREIGN + MORE + MB


@in_parallel
def test_of_a_hung_one():
    """Nothing is asked of it, and no thread runs."""
    with Owned(*jemalloc()) as node:
        freeze(node.pid)
        wait_for(lambda: node.rows("SELECT answered FROM heapwire.memory") ==
                 [("0",)])
        check_threads(node)
        check_foreign(node, FOREIGN)


@needs(no_root)
def test_of_a_closed_one():
    """It is open for the reading alone."""
    with Owned(*jemalloc(), uid=NOBODY, closed=True) as node:
        assert os.stat(f"/proc/{node.pid}/mem").st_uid == 0
        check_named(node)
        check_threads(node)
        check_foreign(node, FOREIGN)
        assert node.rows("SHOW WARNINGS") == []
        wait_for(lambda: os.stat(f"/proc/{node.pid}/mem").st_uid == 0)


@in_parallel
@needs(no_root)
def test_of_one_that_stays_closed():
    """The agent reads its own."""
    for options in (jemalloc(), ("--jemalloc", "no")):
        with Owned(*options, "--dumpable", "no", uid=NOBODY,
                   closed=True) as node:
            node.rows("SELECT allocated FROM heapwire.memory")
            check_named(node)
            check_foreign(node, FOREIGN)
            node.total("1")
            (_, _, said), = node.rows("SHOW WARNINGS")
            assert "may not read" in said and "the agent has" in said, said
            if "jemalloc" in options:
                assert node.total("kind = 'jemalloc'") > LARGE
                assert node.total("kind = 'jemalloc' AND " + KNOWN, "1") == 0
            assert os.stat(f"/proc/{node.pid}/mem").st_uid == 0
            freeze(node.pid)
            wait_for(lambda: node.rows(
                "SELECT kind FROM heapwire.mappings") == [("unknown",)])
            (name,), = node.rows("SELECT name FROM heapwire.mappings")
            assert "may not read" in name and "its agent did not" in name, name


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
