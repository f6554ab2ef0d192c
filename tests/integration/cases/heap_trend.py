"""What grows, and when memory meets its limit: of a program that leaks and of
one that does not, with the ring's interval at a second.

By the clock: slow/heap_trend.py."""
import contextlib
import datetime
import os
import re
import signal
import struct
import sys
import time

from growing import (GROWER, MB, RING, foreseen, kept, leak_within, outlook)
from http_under_test import same
from machine import no_cgroup
from node_under_test import wait_for
from recorded_node import Ran, profiled, value
from redis_node import has_ended
from runner import in_parallel, named, needs, run_tests

GROWS = "SELECT GROUP_CONCAT(`function`) FROM heapwire.heap_trend " \
    "WHERE verdict = 'grows'"


@in_parallel
def test_a_leak():
    with Ran(GROWER, "leak", settings=RING) as node, node.asks() as w:
        wait_for(lambda: value(w, GROWS) == "lose_entry", 120, 0.5)
        (low, rate, high, share, folded, base, ages, snapshot), = w.query(
            "SELECT low, bytes_per_hour, high, growth_percent, folded, base, "
            "ages, snapshot FROM heapwire.heap_trend "
            "WHERE `function` = 'lose_entry'")
        assert int(low) <= int(rate) <= int(high), (low, rate, high)
        # 2 MB a second, or less where the machine is busy; by some forty
        # samples, which may be half as many again by chance.
        assert 0.02 * 7200 * MB < int(rate) < 3 * 7200 * MB, rate
        same("share", 100, float(share))
        assert re.search(rb"\bmain;lose_entry", folded), folded
        assert base.startswith(b"auto_") and snapshot == b"now", base
        assert b"1 s to 10 s" in ages, ages
        restart(node)


def answers(node):
    with contextlib.suppress(AssertionError, OSError, EOFError), \
            node.asks() as w:
        return value(w, "SELECT state FROM heapwire.profiler") == "connected"


def start_again(node, meanwhile=lambda: None):
    """Heapwired, which is killed."""
    before = node.heapwired
    node.process.send_signal(signal.SIGSTOP)  # it starts no other one yet
    os.kill(before, signal.SIGKILL)
    wait_for(lambda: has_ended(before))
    meanwhile()
    node.process.send_signal(signal.SIGCONT)
    wait_for(lambda: node.find_children() and
             node.children.get("heapwired", before) != before, 60)
    wait_for(lambda: answers(node), 60)


def restart(node):
    """The ring and the history stay."""
    with node.asks() as w:
        first = value(w, "SELECT MIN(at) FROM heapwire.memory_history")
        names = dict(w.query(
            "SELECT name, TIMESTAMPDIFF(SECOND, taken, NOW()) FROM "
            "heapwire.snapshots WHERE cause = 'ring'"))
    began = time.monotonic()
    start_again(node)
    with node.asks() as w:
        same("first", first,
             value(w, "SELECT MIN(at) FROM heapwire.memory_history"))
        after = {n for n, in w.query("SELECT name FROM heapwire.snapshots "
                                     "WHERE cause = 'ring'")}
        # For 48 s all stay, after that few.
        passed = time.monotonic() - began
        young = {n for n, age in names.items() if int(age) + passed < 45}
        assert len(young & after) >= len(young) // 2, (names, passed, after)
        base = value(w, "SELECT base FROM heapwire.heap_trend "
                     "WHERE `function` = 'lose_entry'")
        assert base.encode() in names.keys() | after, (base, names)


@in_parallel
def test_a_healthy_one():
    with Ran(GROWER, "healthy", settings=RING) as node, node.asks() as w:
        # On a busy machine the first snapshots see it being filled.
        wait_for(lambda: [[b"steady"]] == w.query(
            "SELECT verdict FROM heapwire.heap_trend WHERE `function` = "
            "'hold_table'"), 120, 0.5)
        assert kept(w) >= 11, kept(w)
        # Of two in a hundred that is said by chance, once.
        wait_for(lambda: value(w, GROWS) is None, 30, 0.5,
                 lambda: value(w, GROWS))
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


@in_parallel
def test_the_ring_is_thinned():
    """Once its interval is longer, of those nearer than half of it one stays."""
    taken = "SELECT name, taken FROM heapwire.snapshots " \
        "WHERE cause = 'ring' ORDER BY taken"
    with Ran(GROWER, "healthy", settings=RING) as node, node.asks() as w:
        wait_for(lambda: kept(w) >= 6, 60)
        before = dict(w.query(taken))
        with open(node.config, encoding="ascii") as f:
            text = f.read().replace("ring = 1\n", "ring = 4\n")
        with open(node.config, "w", encoding="ascii") as f:
            f.write(text)
        os.kill(node.heapwired, signal.SIGHUP)
        wait_for(lambda: len(before.keys() & dict(w.query(taken)).keys()) <=
                 len(before) // 2 + 1, 60)
        now = [datetime.datetime.fromisoformat(at.decode())
               for _, at in w.query(taken)]
        # Their seconds are cut off.
        assert all((b - a).seconds >= 1 for a, b in zip(now, now[1:])), now
        same("the first", min(before.values()).decode(), str(now[0]))


@in_parallel
def test_it_can_be_switched_off():
    with Ran(GROWER, "healthy", settings="[snapshots]\nring = 0\n") as node, \
            node.asks() as w:
        looks = "SELECT COUNT(*) FROM heapwire.memory_history"
        wait_for(lambda: value(w, looks) >= 4, 60)
        same("kept", 0, kept(w))


# Of the file history (history.c).
RECORD, BODY, SECONDS = 128, 120, 7200
MAGIC, ALL = 0x0079726f74736968, (1 << 64) - 1


def seal(body):
    """As history_record.c does."""
    total = MAGIC
    for word in struct.unpack("<15Q", body):
        total ^= word
        for factor in 0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53:
            total = (total ^ total >> 33) * factor & ALL
        total ^= total >> 33
    return body + struct.pack("<Q", total)


def plant_past(path, seconds, rate):
    """In front of the latest sample others, of which each has less."""
    with open(path, "rb") as f:
        data = f.read()
    number, at = max(struct.unpack_from("<2Q", data, i * RECORD)
                     for i in range(1, min(SECONDS, len(data) // RECORD - 1) + 1))
    last = data[number * RECORD:][:BODY]
    same("at", at, struct.unpack_from("<Q", last, 8)[0])
    same("seal", data[number * RECORD:][:RECORD], seal(last))
    past = [data[:RECORD]]
    for i in range(seconds + 1):
        body = bytearray(last)
        less = (seconds - i) * rate
        struct.pack_into("<2Q", body, 0, i + 1, at - (seconds - i) * 1000)
        for offset in 40, 48:  # rss, cgroup_current
            figure, = struct.unpack_from("<Q", last, offset)
            assert less < figure < 1 << 62, (less, figure)
            struct.pack_into("<Q", body, offset, figure - less)
        past.append(seal(bytes(body)))
    with open(path, "r+b") as f:
        f.write(b"".join(past))
        f.truncate()


@in_parallel
@needs(no_cgroup)
def test_the_limit_is_foreseen():
    """It needs 40 s, of which an earlier heapwired has left 30: what is known
    when one starts is no news, and no mark."""
    with leak_within(300 * MB) as node:
        if not node:
            return
        looks = "SELECT LEAST(MAX(rss), MAX(cgroup_current)) FROM " \
            "heapwire.memory_history"
        with node.asks() as w:  # its table is filled
            wait_for(lambda: (value(w, looks) or 0) > 60 * MB, 60)
        start_again(node, lambda: plant_past(
            os.path.join(node.directory, "state", "history"), 30, MB))
        foreseen(node)


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
