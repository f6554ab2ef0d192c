"""What grows, and when memory meets its limit: of a program that leaks and of
one that does not, with the ring's interval at a second."""
import contextlib
import os
import re
import signal
import sys

from http_door import same
from cgroup import cgroup
from machine import no_cgroup
from node_under_test import BUILD, wait_for
from recorded_node import Ran, profiled, value
from runner import beside, named, needs, run_tests

GROWER = os.path.join(BUILD, "bin", "grower")
RING = "[snapshots]\nring = 1\nat_percent = none\n"
GROWS = "SELECT GROUP_CONCAT(`function`) FROM heapwire.heap_trend " \
    "WHERE verdict = 'grows'"
MB = 1 << 20


def kept(w):
    return value(w, "SELECT COUNT(*) FROM heapwire.snapshots "
                 "WHERE cause = 'ring'")


def outlook(w):
    return w.query("SELECT full_at, hours_left, growth_per_hour, note "
                   "FROM heapwire.memory")[0]


@beside
def test_a_leak():
    with Ran(GROWER, "leak", settings=RING) as node, node.asks() as w:
        wait_for(lambda: value(w, GROWS) == "lose_entry", 120, 0.5)
        (low, rate, high, share, folded, base, ages, snapshot), = w.query(
            "SELECT low, bytes_per_hour, high, growth_percent, folded, base, "
            "ages, snapshot FROM heapwire.heap_trend "
            "WHERE `function` = 'lose_entry'")
        assert int(low) <= int(rate) <= int(high), (low, rate, high)
        # 2 MB a second, or less where the machine is busy.
        assert 0.02 * 7200 * MB < int(rate) < 1.5 * 7200 * MB, rate
        same("share", 100, float(share))
        assert re.search(rb"\bmain;lose_entry", folded), folded
        assert base.startswith(b"auto_") and snapshot == b"now", base
        assert b"1 s to 10 s" in ages, ages
        # RSS, over the last two minutes.
        wait_for(lambda: outlook(w)[2] is not None, 120, 0.5)
        restart(node)


def restart(node):
    """Of heapwired: the ring and the history stay."""
    with node.asks() as w:
        first = value(w, "SELECT MIN(at) FROM heapwire.memory_history")
        names = {n for n, in w.query("SELECT name FROM heapwire.snapshots "
                                     "WHERE cause = 'ring'")}
    before = node.heapwired
    os.kill(before, signal.SIGKILL)
    wait_for(lambda: node.find_children() and
             node.children.get("heapwired", before) != before, 60)

    def answers():
        with contextlib.suppress(AssertionError, OSError, EOFError), \
                node.asks() as w:
            return value(w, "SELECT state FROM heapwire.profiler") == \
                "connected"
    wait_for(answers, 60)
    with node.asks() as w:
        same("first", first,
             value(w, "SELECT MIN(at) FROM heapwire.memory_history"))
        after = {n for n, in w.query("SELECT name FROM heapwire.snapshots "
                                     "WHERE cause = 'ring'")}
        assert len(names & after) >= len(names) // 2, (names, after)
        base = value(w, "SELECT base FROM heapwire.heap_trend "
                     "WHERE `function` = 'lose_entry'")
        assert base.encode() in names, (base, names)


@beside
def test_a_healthy_one():
    with Ran(GROWER, "healthy", settings=RING) as node, node.asks() as w:
        wait_for(lambda: kept(w) >= 25, 120, 0.5)
        same("grows", None, value(w, GROWS))
        verdicts = dict(w.query("SELECT `function`, verdict FROM "
                                "heapwire.heap_trend"))
        same("hold_table", b"steady", verdicts[b"hold_table"])
        full_at, left, _, note = outlook(w)
        assert full_at is None and left is None, (full_at, left)
        assert b"full_at is NULL: " in note, note
        # They crowd out nobody: names and short names are others'.
        w.query("ADMIN EXECUTE ON 10001 'System.print("
                "HeapProf.getInstance().snapshot(\"mine\"))'")
        before = kept(w)
        wait_for(lambda: kept(w) > before, 60, 0.2)
        same("last", profiled(w, "mine"), profiled(w, "last"))
        same("seconds", 1, value(
            w, "SELECT MAX(seconds) FROM heapwire.memory_history"))


@beside
def test_the_ring_is_thinned():
    """An interval that has passed often."""
    with Ran(GROWER, "healthy", settings=RING) as node, node.asks() as w:
        wait_for(lambda: value(
            w, "SELECT COALESCE(TIMESTAMPDIFF(SECOND, MIN(taken), MAX(taken)), 0) FROM "
               "heapwire.snapshots WHERE cause = 'ring'") > 75, 240, 0.5)
        assert kept(w) <= 64, kept(w)
        old = value(w, "SELECT COUNT(*) FROM heapwire.snapshots s JOIN "
                    "(SELECT MAX(taken) AS last FROM heapwire.snapshots) l "
                    "WHERE cause = 'ring' AND "
                    "TIMESTAMPDIFF(SECOND, taken, last) > 50")
        assert 1 <= old <= 2, old


@beside
def test_it_can_be_switched_off():
    with Ran(GROWER, "healthy", settings="[snapshots]\nring = 0\n") as node, \
            node.asks() as w:
        looks = "SELECT COUNT(*) FROM heapwire.memory_history"
        wait_for(lambda: value(w, looks) >= 4, 60)
        same("kept", 0, kept(w))


@beside
@needs(no_cgroup)
def test_the_limit_is_foreseen():
    """And a snapshot taken, once."""
    with cgroup("trend", 1000 * MB) as procs:
        if not procs:
            print("skipped: no memory cgroup can be made here")
            return
        with Ran(GROWER, "leak", settings=RING + "hours_left = 1\n", wrapper=(
                "sh", "-c", 'echo $$ >"$0"; exec "$@"', procs)) as node, \
                node.asks() as w:
            wait_for(lambda: outlook(w)[1] is not None, 180, 0.5)
            full_at, left, rate, note = outlook(w)
            assert full_at is not None and 0 < float(left) < 1, left
            assert int(rate) > 0 and b"meets the cgroup's limit in" in note, \
                note
            wait_for(lambda: "reached in" in node.log(), 60)
            taken = re.findall(r"took the automatic snapshot (heap_\S+): (.*)",
                               node.log())
            same("marks", 1, len(taken))
            assert "the cgroup's limit is reached in 0." in taken[0][1], taken
            same("cause", "mark", value(
                w, "SELECT cause FROM heapwire.snapshots WHERE name = "
                f"'{taken[0][0]}'"))


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
