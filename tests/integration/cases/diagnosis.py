"""diagnose(): programs that have one illness each, and a healthy one.

RUNS=20 in the environment: so many of each (1 here).
"""
import os
import re
import signal
import sys
import time

from node_under_test import BUILD, frozen, wait_for
from recorded_node import LINGERS_S, Ran, heap, value
from runner import beside, named, run_tests

PATIENT = os.path.join(BUILD, "bin", "patient")
GROWER = os.path.join(BUILD, "bin", "grower")
SETTINGS = "start_timeout = 0\n[snapshots]\nring = 1\nat_percent = none\n"
RUNS = int(os.environ.get("RUNS", "1"))
ROWS = "SELECT verdict, certainty, subject, bytes, why, steps " \
    "FROM heapwire.diagnosis ORDER BY place"
# What may stand beside each verdict: that more will be known later.
LATER = {"not known yet", "nothing unusual"}
MB = 1 << 20


def text(cell):
    return None if cell is None else cell.decode()


def findings(w):
    return {text(row[0]): [text(cell) for cell in row[1:]]
            for row in w.query(ROWS)}


def patient(illness):
    return Ran(PATIENT, illness, settings=SETTINGS)


def is_ready(node):
    wait_for(lambda: "ready" in node.said())


def alone(w, verdict, least):
    """Figures may be a second old: then not all of it is there yet."""
    wait_for(lambda: int(findings(w).get(verdict, [0] * 3)[2]) > least * MB)
    found = findings(w)
    assert set(found) - LATER == {verdict}, found
    return found[verdict]


def page(w):
    return "\n".join(heap(w, "diagnose()"))


@beside
def test_fragmentation(_):
    for _ in range(RUNS):
        with patient("fragments") as node, node.asks() as w:
            is_ready(node)
            certainty, subject, size, why, steps = alone(
                w, "fragmentation", 80)
            assert certainty == "certain" and subject == "keep_few", subject
            assert int(size) < 100 * MB, size
            assert "keep_few" in why and "heap_waste" in steps, (why, steps)
            assert page(w).startswith("fragmentation in keep_few (certain): ")


@beside
def test_free_pages(_):
    for _ in range(RUNS):
        with patient("free_pages") as node, node.asks() as w:
            is_ready(node)
            certainty, subject, size, why, steps = alone(
                w, "free pages kept", 60)
            assert certainty == "certain" and subject is None, subject
            assert int(size) < 140 * MB, size
            assert re.search("without background threads.*; arena [0-9]+, of 1 "
                             "thread, has [0-9]+.[0-9] MB of them", why), why
            assert "purge()" in steps, steps
            # The lever that it names is the one that helps.
            w.query("ADMIN EXECUTE ON 10001 "
                    "'System.print(Jemalloc.getInstance().purge())'")
            wait_for(lambda: "free pages kept" not in findings(w))


@beside
def test_outside(_):
    for _ in range(RUNS):
        with patient("outside") as node, node.asks() as w:
            is_ready(node)
            _, _, size, why, steps = alone(w, "outside the allocator", 125)
            assert int(size) < 150 * MB, size
            assert "not jemalloc's" in why and "mappings" in steps, why


@beside
def test_leak(_):
    for _ in range(RUNS):
        with Ran(GROWER, "leak", settings=SETTINGS) as node, \
                node.asks() as w:
            wait_for(lambda: "leak" in findings(w), 180, 0.5)
            found = findings(w)
            assert found["leak"][1] == "lose_entry", found
            assert set(found) - LATER <= {"leak", "full soon"}, found
            assert re.search(r"What grew, an hour:\n +[0-9.]+ GB .* "
                             "lose_entry: grows", page(w)), page(w)


@beside
def test_cache(_):
    for _ in range(RUNS):
        with patient("fills") as node, node.asks() as w:
            wait_for(lambda: "cache that fills" in findings(w), 180, 0.5)
            assert findings(w)["cache that fills"][1] == "fill_cache"


@beside
def test_healthy(_):
    """Each look at it once a snapshot was added: no alarm, but that its cache
    is not full yet."""
    for _ in range(RUNS):
        with Ran(GROWER, "healthy", settings=SETTINGS) as node, \
                node.asks() as w:
            for looks in range(1, 30):
                wait_for(lambda n=looks: value(
                    w, "SELECT COUNT(*) FROM heapwire.snapshots WHERE cause = "
                    "'ring'") >= min(n, 20))
                found = findings(w)
                filling = found.pop("cache that fills", [None] * 2)[1]
                assert set(found) <= LATER, found
                assert filling in (None, "serve_cache"), filling


@beside
def test_hung_and_dead(_):
    with Ran(GROWER, "healthy", settings=SETTINGS) as node, node.asks() as w:
        is_ready(node)
        began = time.monotonic()
        pid = node.pid()
        w.query("ADMIN EXECUTE ON 10001 "
                "'HeapProf.getInstance().snapshot(\"kept\")'")
        with frozen(pid):
            wait_for(lambda: "does not answer" in findings(w))
            assert "has not answered since" in page(w)
        wait_for(lambda: "does not answer" not in findings(w))
        time.sleep(max(0, LINGERS_S - time.monotonic() + began))
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: "died" in findings(w) and
                 "SIGKILL" in findings(w)["died"][3])
        found = findings(w)["died"]
        assert "snapshot = '" in found[4], found
        assert page(w).startswith("died (certain): "), page(w)


def main():
    run_tests(named(globals(), sys.argv[1:]), None)


if __name__ == "__main__":
    main()
