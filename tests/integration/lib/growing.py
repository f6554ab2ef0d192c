"""What heap_trend.py and slow/heap_trend.py ask of a program that grows."""
import contextlib
import os
import re

from cgroup import cgroup
from http_under_test import same
from node_under_test import BUILD, wait_for
from recorded_node import Ran, value

GROWER = os.path.join(BUILD, "bin", "grower")
RING = "[snapshots]\nring = 1\nat_percent = none\n"
MB = 1 << 20


def kept(w):
    return value(w, "SELECT COUNT(*) FROM heapwire.snapshots "
                 "WHERE cause = 'ring'")


def outlook(w):
    return w.query("SELECT full_at, hours_left, growth_per_hour, note "
                   "FROM heapwire.memory")[0]


@contextlib.contextmanager
def leak_within(limit):
    """A leak in such a cgroup, and a mark at an hour; None: there is none."""
    with cgroup("trend", limit) as procs:
        if not procs:
            print("skipped: no memory cgroup can be made here")
            yield None
            return
        with Ran(GROWER, "leak", settings=RING + "hours_left = 1\n", wrapper=(
                "sh", "-c", 'echo $$ >"$0"; exec "$@"', procs)) as node:
            yield node


def foreseen(node):
    """The limit is, and a snapshot taken, once."""
    with node.asks() as w:
        wait_for(lambda: outlook(w)[1] is not None, 180, 0.5)
        full_at, left, rate, note = outlook(w)
        assert full_at is not None and 0 < float(left) < 1, left
        assert int(rate) > 0 and b"meets the cgroup's limit in" in note, note
        wait_for(lambda: "reached in" in node.log(), 60)
        # The recorder keeps a peak, too.
        taken = re.findall(r"took the automatic snapshot (heap_\S+): "
                           "(.* is reached in .*)", node.log())
        same("marks", 1, len(taken))
        assert "the cgroup's limit is reached in 0." in taken[0][1], taken
        same("cause", "mark", value(
            w, "SELECT cause FROM heapwire.snapshots WHERE name = "
            f"'{taken[0][0]}'"))
