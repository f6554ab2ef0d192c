"""heap_trend.py by the clock: a limit that is foreseen from memory as it was
seen, and a ring whose interval has passed often."""
import sys

# pylint: disable=wrong-import-position
sys.path.insert(0, "tests/integration/lib")
from growing import GROWER, MB, RING, foreseen, kept, leak_within  # noqa: E402
from machine import no_cgroup  # noqa: E402
from node_under_test import wait_for  # noqa: E402
from recorded_node import Ran, value  # noqa: E402
from runner import in_parallel, named, needs, run_tests  # noqa: E402


@in_parallel
def test_the_ring_is_thinned():
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


@in_parallel
@needs(no_cgroup)
def test_the_limit_is_foreseen():
    with leak_within(1000 * MB) as node:
        if node:
            foreseen(node)


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
