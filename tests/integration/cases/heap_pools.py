"""What pools of threads grew by: from one moment to another, across the nodes
of a cluster, and across a restart of the database; beside what is known.

Node 1 has a recorder, node 2 jemalloc's profile; node 1 alone goes on.
"""
import json
import re
import shutil
import sys
import tempfile

from node_under_test import wait_for
from pools_node import FIRST, SECOND, Pools, blocks, refusal
from ports import free_port
from runner import named, run_tests

GROWN = {pool: SECOND[pool] - FIRST[pool] for pool in FIRST}
SHRUNK = {pool: -grown for pool, grown in GROWN.items()}
STILL = {pool: 0 for pool in FIRST}
BY_POOL = "SELECT {}('{}', '{}', 'by_pool{}')"


def same(what, known, found):
    """Both as a line."""
    for pool, wanted in known.items():
        got = found.get(pool, 0)
        print(f"  {what:34} {pool:8} {wanted:+4} {got:+4}")
        assert got == wanted, (what, pool, wanted, got, found)


def grown(node, snapshot, base):
    """By heap_pool_diff."""
    return {pool: blocks(size) for pool, size in node.sql(
        "SELECT pool, grown_bytes FROM heapwire.heap_pool_diff WHERE snapshot "
        f"= '{snapshot}' AND base = '{base}'") if pool in FIRST}


def drawn(node, snapshot, base, options=""):
    """By the collapsed stacks, and the same by the flame graph's tree."""
    sums = {}
    for line in node.sql(BY_POOL.format("collapsed", snapshot, base, options)
                         )[0][0].splitlines():
        stack, size = line.rsplit(" ", 1)
        root = stack.split(";")[0].removeprefix("pool ")
        sums[root] = sums.get(root, 0) + int(size)
    calls = json.loads(node.sql(BY_POOL.format("calls", snapshot, base,
                                               options))[0][0])
    shown = {calls["names"][name].removeprefix("pool "): total
             for depth, name, total in zip(calls["depth"], calls["name"],
                                           calls["total"]) if depth == 1}
    for pool, size in sums.items():
        assert shown.get(pool, 0) == size, (pool, shown, sums)
    svg = node.sql(BY_POOL.format("flamegraph", snapshot, base, options))[0][0]
    for pool, held in sums.items():
        if pool in FIRST and held:
            assert f"pool {pool}" in svg, (pool, svg[:2000])
    return {pool: blocks(size) for pool, size in sums.items() if pool in FIRST}


def by_tables(node, snapshot, base, which, where=""):
    """As the reference has it, for what heap_pool_diff does not compare."""
    side = ("SELECT pool, {}CAST(live_bytes AS SIGNED) AS held FROM heapwire."
            + which + " WHERE snapshot = '{}'" + where)
    return {pool: blocks(size) for pool, size in node.sql(
        "SELECT pool, SUM(held) FROM (" + side.format("", snapshot) +
        " UNION ALL " + side.format("-", base) + ") AS two GROUP BY pool")
        if pool in FIRST}


def test_from_one_moment_to_another(nodes):
    for node in nodes.values():
        node.keep("first")
    nodes[1].go_on()
    for node in nodes.values():
        node.keep("second")
    for node, known in (nodes[1], GROWN), (nodes[2], STILL):
        same(f"node {node.id}: heap_pool_diff", known,
             grown(node, "second", "first"))
        same(f"node {node.id}: collapsed, flame graph", known,
             drawn(node, "second", "first"))


def test_across_nodes(nodes):
    for node in nodes.values():
        same(f"node {node.id}: of both, the table", GROWN,
             grown(node, "cluster:second", "cluster:first"))
        same(f"node {node.id}: of both, flame graph", GROWN,
             drawn(node, "cluster:second", "cluster:first"))
    same("now, since the second", STILL,
         grown(nodes[1], "cluster", "cluster:second"))
    same("of node 2 alone", STILL,
         grown(nodes[1], "cluster@2:second", "cluster@2:first"))
    top = nodes[2].sql("SELECT top_function, significant FROM "
                       "heapwire.heap_pool_diff WHERE snapshot = "
                       "'cluster:second' AND base = 'cluster:first' LIMIT 1")
    assert top == [["second_block", "1"]], top
    same("node 1 less node 2", GROWN, {
        pool: blocks(size) for pool, size in nodes[2].sql(
            "SELECT pool, SUM(IF(node_id = 1, 1, -1) * CAST(live_bytes AS "
            "SIGNED)) FROM heapwire.cluster_heap_threads WHERE snapshot = "
            "'second' GROUP BY pool") if pool in FIRST})
    for i, known in (1, GROWN), (2, STILL):
        same(f"of node {i}, by its threads", known, by_tables(
            nodes[2], "second", "first", "cluster_heap_threads",
            f" AND node_id = {i}"))
    assert not grown(nodes[1], "cluster_by_node:second",
                     "cluster_by_node:first")
    folded = nodes[1].sql(BY_POOL.format(
        "collapsed", "cluster_by_node:second", "cluster_by_node:first", ""))
    assert re.search(r"^node 1;pool scan-\*;.*second_block ", folded[0][0],
                     re.M), folded[0][0]


def test_across_a_restart(nodes):
    """Of two processes: only by force, or by their threads."""
    node = nodes[1]
    node.stop()
    node.start().is_ready()
    wait_for(lambda: nodes[2].sql("SELECT SUM(alive) FROM heapwire.nodes") ==
             [["2"]])
    node.keep("again")
    said = refusal(node, "SELECT * FROM heapwire.heap_pool_diff WHERE "
                         "snapshot = 'again' AND base = 'second'")
    assert "force" in said, said
    same("collapsed, flame graph, force", SHRUNK,
         drawn(node, "again", "second", "; force"))
    same("by their threads", SHRUNK,
         by_tables(node, "again", "second", "heap_threads"))
    same("likewise, asked of node 2", SHRUNK, by_tables(
        nodes[2], "again", "second", "cluster_heap_threads",
        " AND node_id = 1"))
    same("as it was at first", STILL,
         by_tables(node, "again", "first", "heap_threads"))


def main():
    work = tempfile.mkdtemp(prefix="hw-", dir="/tmp")
    ports = {i: free_port() for i in (1, 2)}
    nodes = {}
    try:
        for i, source in (1, "interposed"), (2, "jemalloc"):
            nodes[i] = Pools(work, source, i, ports)
        for node in nodes.values():
            node.is_ready()
        for node in nodes.values():
            wait_for(lambda node=node: node.sql(
                "SELECT SUM(alive) FROM heapwire.nodes") == [["2"]])
        print(f"  {'':34} {'pool':8} {'known':>4} {'shown':>4}")
        run_tests(named(globals(), sys.argv[1:]), nodes)
    except BaseException:
        for node in nodes.values():
            print(node.log()[-3000:])
        raise
    finally:
        for node in nodes.values():
            node.stop()
        shutil.rmtree(work, ignore_errors=True)
    print("heap_pools.py: all as expected")


if __name__ == "__main__":
    main()
