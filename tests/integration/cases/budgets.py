"""Budgets of functions (heap_threads.py has pools): what a crossing makes, that it is told once, and that
budgets outlive heapwired and the database.

They are looked at each five seconds at most."""
import os
import signal
import subprocess
import sys
import tempfile

from http_under_test import local, same
from mysql_wire import Refused
from node_under_test import wait_for
from recorded_node import BLOCKS, SMALL, Ran, heap, value
from redis_node import has_ended
from runner import in_parallel, named, run_tests

EVERY = "[budgets]\nevery = 5\n"
LIMIT = 20 << 20  # of 32 MB, of which half is freed
LEAK = "tests/integration/programs/leaking_server.cc"


def budget(w, function, limit):
    w.query(f"CALL heapwire.budget('{function}', {limit})")


def row(w, function="keep_small"):
    """Of the table, by column; None: there is none."""
    columns = ("limit_bytes now_bytes margin state crossed_at crossings "
               "snapshot looked_at").split()
    rows = w.query(f"SELECT {', '.join(columns)} FROM heapwire.budgets "
                   f"WHERE name = '{function}'")
    return {c: v if v is None else v.decode()
            for c, v in zip(columns, rows[0])} if rows else None


def await_state(w, state, function="keep_small"):
    wait_for(lambda: row(w, function)["state"] == state)
    return row(w, function)


def refusal(w, function, limit):
    try:
        budget(w, function, limit)
    except Refused as err:
        return err.code, err.text
    raise AssertionError((function, limit))


def accepted(w, function, limit):
    """Once it has memory in use."""
    try:
        budget(w, function, limit)
    except Refused as err:
        same("until then", 1210, err.code)
        return False
    return True


def metrics(node):
    text = local(node, "/metrics").text
    return [line for line in text.splitlines()
            if line.startswith("heapwire_budget")]


def restart_heapwired(node):
    before = node.heapwired
    os.kill(before, signal.SIGKILL)
    wait_for(lambda: has_ended(before) and node.find_children() and
             node.children.get("heapwired", before) != before)
    wait_for(lambda: node.log().count("serves node") == 2)


@in_parallel
def test_what_a_crossing_makes():
    with Ran(BLOCKS, settings=EVERY) as node:
        with node.asks() as w:
            heap(w, "reset(12, true)")
            same("none yet", None, row(w))
            code, text = refusal(w, "keep_small", "'20M'")
            assert code == 1210 and "write 'function NAME'" in text, text
            budget(w, "function keep_small", "'20M'")
            found = await_state(w, "within budget")
            same("before it", (str(LIMIT), "0", "0", None, None),
                 (found["limit_bytes"], found["now_bytes"],
                  found["crossings"], found["crossed_at"], found["snapshot"]))
            wait_for(lambda: metrics(node) == [
                "heapwire_budgets 1", "heapwire_budgets_over 0",
                'heapwire_budget_crossings_total{name="keep_small"} 0',
                'heapwire_budget_used_bytes{name="keep_small"} 0',
                f'heapwire_budget_limit_bytes{{name="keep_small"}} {LIMIT}'])
            node.keeps()
            await_state(w, "over budget")
            wait_for(lambda: row(w)["snapshot"])
            found = row(w)
            same("one", "1", found["crossings"])
            # It may be looked at while the blocks are being kept.
            assert LIMIT < int(found["now_bytes"]) < SMALL * 9 / 8, found
            assert 0 < int(found["margin"]) < SMALL / 8, found
            assert found["crossed_at"] and found["looked_at"], found
            name = found["snapshot"]
            reason = value(w, "SELECT reason FROM heapwire.snapshots WHERE "
                           f"name = '{name}' AND cause = 'mark'")
            assert "keep_small is over its budget of 20.0 MB" in reason, reason
            kept = value(w, "SELECT cum_bytes FROM heapwire.heap_functions "
                         f"WHERE snapshot = '{name}' AND "
                         "function = 'keep_small'")
            assert LIMIT < kept < SMALL * 9 / 8, kept
            wait_for(lambda: abs(int(row(w)["now_bytes"]) - SMALL) < SMALL / 8,
                     tell=lambda: row(w))
            wait_for(lambda: "heapwire_budgets_over 1" in metrics(node))
            assert 'heapwire_budget_crossings_total{name="keep_small"} 1' in metrics(node)
            same("in the log", 1, node.log().count(
                "keep_small is over its budget: "))

        # Another heapwired knows that it was crossed.
        restart_heapwired(node)
        with node.asks() as w:
            found = await_state(w, "over budget")
            same("the same one", ("1", name),
                 (found["crossings"], found["snapshot"]))
            same("in the log", 1, node.log().count(
                "keep_small is over its budget: "))
            node.keeps(2)
            await_state(w, "within budget")
            wait_for(lambda: "keep_small is within its budget again" in
                     node.log())
            heap(w, "disable_prof()")
            found = await_state(w, "profiling is off")
            same("not known", None, found["now_bytes"])
            budget(w, "keep_small", "NULL")
            same("removed", None, row(w))
            same("is none", 1032, refusal(w, "keep_small", "NULL")[0])


@in_parallel
def test_kept_over_a_restart_of_the_database():
    """Another process crosses it anew; what was removed stays away."""
    with Ran(BLOCKS, settings=EVERY) as node:
        with node.asks() as w:
            heap(w, "reset(12, true)")
            budget(w, "function keep_small", LIMIT)
            budget(w, "function gone", 1)
            budget(w, "gone", "NULL")
            node.keeps()
            await_state(w, "over budget")
        node.stop()
        node.start().wait()
        with node.asks() as w:
            heap(w, "reset(12, true)")
            same("those kept", [[b"keep_small"]],
                 w.query("SELECT name FROM heapwire.budgets"))
            same("still one", "1", await_state(w, "within budget")["crossings"])
            node.keeps()
            same("two", "2", await_state(w, "over budget")["crossings"])


@in_parallel
def test_a_leak():
    """Without a signal to anybody: it grows, and is found."""
    with tempfile.TemporaryDirectory() as work:
        program = os.path.join(work, "leaking_server")
        subprocess.run(["g++", "-O1", "-g", "-o", program, LEAK], check=True)
        with Ran(program, settings=EVERY) as node, node.asks() as w:
            wait_for(lambda: accepted(w, "SessionLog::append", "'8M'"))
            wait_for(lambda: accepted(w, "PageCache::*", "'1G'"))
            await_state(w, "over budget", "SessionLog::append")
            wait_for(lambda: row(w, "SessionLog::append")["snapshot"])
            same("the cache", "within budget",
                 await_state(w, "within budget", "PageCache::*")["state"])


@in_parallel
def test_what_is_refused():
    with Ran(BLOCKS, settings=EVERY) as node, node.asks() as w:
        for limit in ("'2X'", "'-1'", "0", "''", "'1.5G'", "'9E'",
                      "'99999999999999999999'"):
            code, text = refusal(w, "f", limit)
            assert code == 1210 and "is no size" in text, (limit, code, text)
        same("a negative number", 1064, refusal(w, "f", "-1")[0])
        code, text = refusal(w, "worker-*", "'500M'")
        assert code == 1210 and "no pool of threads called" in text, text
        code, text = refusal(w, "pool worker-12", "'500M'")
        assert code == 1210 and "write 'pool worker-*'" in text, text
        heap(w, "disable_prof()")
        code, text = refusal(w, "main", "'500M'")
        assert code == 1210 and "profiling is not active" in text, text
        budget(w, "no_thread_has_such_a_name", "'1G'")
        same("a function's", [[b"no_thread_has_such_a_name"]],
             w.query("SELECT name FROM heapwire.budgets"))
        budget(w, "no_thread_has_such_a_name", "NULL")
        same("no name", 1210, refusal(w, "", "1")[0])
        same("a long one", 1210, refusal(w, "x" * 256, "1")[0])
        same("a line's end", 1210, refusal(w, "a\\nb", "1")[0])
        for i in range(64):
            budget(w, f"function f{i}", "1")
        same("too many", 1041, refusal(w, "function one more", "1")[0])
        same("all", 64, value(w, "SELECT COUNT(*) FROM heapwire.budgets"))
        wait_for(lambda: "heapwire_budgets 64" in metrics(node))
        budget(w, "f0", "NULL")
        budget(w, 'function a"b\\\\c{}', "1")
        wait_for(lambda: 'heapwire_budget_limit_bytes'
                 '{name="a\\"b\\\\c{}"} 1' in metrics(node))


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
