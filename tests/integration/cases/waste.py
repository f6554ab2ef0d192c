"""heapwire.heap_waste: a program's free regions, which are known, by function
and size class; by jemalloc's own profile and by a recorder's.  And a Redis whose
values of one size are mostly deleted.
"""
import os
import re
import signal
import socket
import sys

from mysql_wire import Refused
from node_under_test import BUILD, wait_for
from recorded_node import Ran, heap, redis_command, value
from redis_node import grow_old
from runner import in_parallel, named, run_tests

PROGRAM = os.path.abspath(os.path.join(BUILD, "bin", "wasted_slabs"))
LG_SAMPLE = 13  # one sample each 8 KB: a function's share is known to 5 %
KEYS = 100000
SMALL, LARGE = 120, 150  # bytes of values: with an sds's head classes 128, 160
PREFIX = b"a-key-that-is-longer-than-that"  # with the rest class 48


class Own(Ran):
    """By jemalloc's own profiling."""

    def write(self, places):
        super().write(places)
        with open(self.config, "r+", encoding="ascii") as f:
            text = f.read().replace("profiling_source = interposed\n", "")
            f.seek(0)
            f.truncate()
            f.write(text)


def rows_of(w, text):
    return [[cell and cell.decode() for cell in row] for row in w.query(text)]


def wasted(w, where="1"):
    """By function and class: waste, error, utilization, live objects, method."""
    rows = rows_of(w, "SELECT function, size_class, waste_bytes, error_bytes, "
                   "utilization, live_objects, method FROM heapwire.heap_waste "
                   f"WHERE kind = 'slabs' AND utilization IS NOT NULL AND {where}")
    return {(function, int(size)): (int(waste), int(error), float(used),
                                    int(live), method)
            for function, size, waste, error, used, live, method in rows}


def wasted_bins(w):
    """By class: bytes of free regions, as jemalloc counts."""
    return {int(size): int(free) for size, free in rows_of(
        w, "SELECT size, wasted FROM heapwire.malloc_bins")}


def truth(said):
    return {(name, int(size)): int(count) for name, size, count in
            re.findall(r"^(\w+) (\d+) (\d+)$", said, re.M)}


def begin(node, w):
    heap(w, f"reset({LG_SAMPLE}, true)")
    wait_for(lambda: "ready" in node.said(), 60)  # else it would end by that
    os.kill(node.pid(), signal.SIGUSR1)
    wait_for(lambda: "done" in node.said(), 60)


def check_sums(w, part=0):
    """With the process at rest; part: by how much they may differ."""
    (active, resident, allocated), = rows_of(
        w, "SELECT active - allocated, resident - active, allocated FROM "
        "heapwire.memory")
    rows = rows_of(w, "SELECT within, SUM(waste_bytes), COUNT(*) FROM "
                   "heapwire.heap_waste GROUP BY within")
    sums = {within: (int(size), int(count)) for within, size, count in rows}
    for within, known in ("active", active), ("resident", resident):
        found, count = sums[within]
        assert abs(found - int(known)) <= count + part * int(known), (
            within, found, known, rows)
    assert sums["allocated"][0] < int(allocated), rows
    print(f"  active - allocated {active}, resident - active {resident}: "
          f"{sums}")
    (bins,), = rows_of(w, "SELECT SUM(wasted) FROM heapwire.malloc_bins")
    (slabs,), = rows_of(w, "SELECT SUM(waste_bytes) FROM heapwire.heap_waste "
                        "WHERE kind = 'slabs'")
    assert abs(int(slabs) - int(bins)) <= sums["active"][1] + part * int(bins), (
        slabs, bins)


def check_program(node, exact):
    with node.asks() as w:
        begin(node, w)
        counts = truth(node.said())
        assert counts[("shrink", 160)] == 20000, counts
        # Profiles and statistics may be a moment old: of 28.2 and 19.6 MB.
        wait_for(lambda: wasted_bins(w)[160] > 27e6 and
                 wasted_bins(w)[224] > 19e6, 30, tell=lambda: wasted_bins(w))
        wait_for(lambda: all(wasted(w).get(row, (0, 0, 1))[2] < 0.3 for row in
                             (("shrink", 160), ("mix", 224))), 30)
        rows, bins = wasted(w), wasted_bins(w)
        kept_160 = counts[("shrink", 160)] + counts[("stay", 160)]
        for (function, size), count in counts.items():
            share = count / kept_160 if size == 160 else 1
            known = bins[size] * share
            waste, error, used, live, method = rows[(function, size)]
            print(f"  {function} {size}: waste {waste} +- {error}, known "
                  f"{known:.0f}; live {live}, known {count}; {used} {method}")
            assert abs(waste - known) <= 5.5 * error + known / 100, (
                function, size, rows)
            assert method == "samples" if exact else method in (
                "one class", "spread"), rows
        assert rows[("full", 96)][0] < rows[("shrink", 160)][0] / 20, rows
        largest = rows_of(w, "SELECT function, size_class FROM "
                          "heapwire.heap_waste WHERE function IS NOT NULL "
                          "ORDER BY waste_bytes DESC LIMIT 2")
        assert sorted(largest) == [["mix", "224"], ["shrink", "160"]], largest
        check_sums_once(w, 0)
        check_views(w)
        (one,), = rows_of(w, "SELECT GROUP_CONCAT(DISTINCT size_class) FROM "
                          "heapwire.heap_stacks WHERE function = 'full'")
        assert one == "96", one
    check_kept(node)


def check_views(w):
    """The same in each form that draws functions."""
    top = value(w, "SELECT top('now', NULL, 'by=waste')")
    lines = [line for line in top.splitlines() if "shrink" in line]
    assert lines, top
    folded = value(w, "SELECT collapsed('now', NULL, 'by=waste')")
    drawn = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()
                if line.rsplit(" ", 1)[0].endswith("shrink"))
    of_table = wasted(w)[("shrink", 160)][0]
    assert abs(drawn / of_table - 1) < 0.2, (drawn, of_table)
    svg = value(w, "SELECT flamegraph('now', NULL, 'by=waste')")
    assert "shrink" in svg and "not in use" in svg, svg[:2000]


def check_kept(node):
    """A snapshot has the classes of its own time; another heapwired reads them
    from the file."""
    where = "snapshot = 'kept'"
    with node.asks() as w:
        heap(w, 'snapshot("kept")')
        before = wasted(w, where)
    assert before[("shrink", 160)][0] > 1 << 20, before
    node.stop()
    node.start().wait()
    with node.asks() as w:
        after = wasted(w, where)
    assert after == before, (after, before)


def test_the_holders_are_named_by_jemallocs_profile():
    with Own(PROGRAM) as node:
        check_program(node, False)


@in_parallel
def test_who_held_it_is_named_of_a_dead_process():
    """By the classes that were asked for last."""
    with Ran(PROGRAM) as node, node.asks() as w:
        begin(node, w)
        counts = truth(node.said())
        wait_for(lambda: wasted_bins(w)[160] > 27e6)
        free = wasted_bins(w)[160]
        grow_old(node.pid())
        os.kill(node.pid(), signal.SIGKILL)
        ended = "SELECT name FROM heapwire.snapshots WHERE reason LIKE '%ended'"
        wait_for(lambda: rows_of(w, ended), 60)
        row = wasted(w, f"snapshot = ({ended})")[("shrink", 160)]
        share = counts[("shrink", 160)] / (counts[("shrink", 160)] +
                                           counts[("stay", 160)])
        assert abs(row[0] - free * share) <= 5.5 * row[1] + free / 100, (
            row, free, share)
        assert row[4] == "samples", row


def test_the_holders_are_named_by_the_recorder():
    with Ran(PROGRAM) as node:
        check_program(node, True)
        with node.asks() as w:
            of_all = rows_of(w, "SELECT node_id, function FROM "
                             "heapwire.cluster_heap_waste WHERE snapshot = "
                             "'kept' AND size_class = 160 AND function = "
                             "'shrink'")
            assert of_all == [["10001", "shrink"]], of_all


def redis(port, *words):
    with socket.create_connection(("127.0.0.1", port), 60) as s:
        s.settimeout(60)
        for part in words:
            s.sendall(part)
        end = b"+PONG\r\n"
        s.sendall(b"PING\r\n")
        got = b""
        while not got.endswith(end):
            read = s.recv(1 << 20)
            assert read, "Redis hung up"
            got = (got + read)[-64:]


def serves(port):
    try:
        redis(port)
    except ConnectionRefusedError:  # not yet
        return False
    return True


def resp(*words):
    return b"*%d\r\n" % len(words) + b"".join(
        b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def fill_redis(port):
    """In turns: a small value, and a large one; then most large ones go."""
    for at in range(0, KEYS, 1000):
        redis(port, b"".join(
            resp(b"SET", PREFIX + b"s%d" % i, b"s" * SMALL) +
            resp(b"SET", PREFIX + b"l%d" % i, b"l" * LARGE)
            for i in range(at, at + 1000)))
    for at in range(0, KEYS, 1000):
        redis(port, b"".join(resp(b"DEL", PREFIX + b"l%d" % i)
                             for i in range(at, at + 1000) if i % 10))


def check_redis(kind):
    with redis_command() as (port, command), kind(*command) as node:
        with node.asks() as w:
            heap(w, f"reset({LG_SAMPLE}, true)")
            wait_for(lambda: serves(port))
            fill_redis(port)
            wait_for(lambda: ("_sdsnewlen", 160) in wasted(w) and
                     wasted(w)[("_sdsnewlen", 160)][2] < 0.3, 60)
            (size, objects), = rows_of(
                w, "SELECT flat_bytes, flat_objects FROM "
                "heapwire.heap_functions WHERE function = '_sdsnewlen'")

            def largest():
                return rows_of(w, "SELECT function, size_class, waste_bytes, "
                               "error_bytes, utilization, method FROM "
                               "heapwire.heap_waste WHERE kind = 'slabs' ORDER "
                               "BY waste_bytes DESC LIMIT 5")
            # The profile may be younger than the statistics, which then have
            # more than it knows of.
            wait_for(lambda: largest()[0][:2] == ["_sdsnewlen", "160"], 30,
                     tell=largest)
            rows = largest()
            mean = int(size) / int(objects)
            print(f"  _sdsnewlen: {mean:.0f} bytes on average;", *rows,
                  sep="\n    ")
            assert 65 < mean < 115, mean  # no class of its values
            assert rows[0][:2] == ["_sdsnewlen", "160"], rows
            free = wasted_bins(w)[160]
            assert float(rows[0][2]) > 0.5 * free, (rows, free)
            check_sums_once(w, 0.02)


def check_sums_once(w, part):
    """Of two looks.  Redis works ten times a second, and jemalloc's dump and the
    agent allocate in it."""
    def agree():
        try:
            check_sums(w, part)
        except AssertionError as e:
            print(" ", e)
            return False
        return True
    wait_for(agree)


def test_redis_values_are_named_by_jemallocs_profile():
    check_redis(Own)


def test_redis_values_are_named_by_the_recorder():
    check_redis(Ran)


def test_a_program_without_jemalloc_has_none():
    with Ran(os.path.join(BUILD, "bin", "recorded_blocks")) as node:
        node.keeps()
        with node.asks() as w:
            assert rows_of(w, "SELECT * FROM heapwire.heap_waste") == []
            (warning,) = rows_of(w, "SHOW WARNINGS")
            assert "by size class" in warning[2], warning
            assert value(w, "SELECT COUNT(size_class) FROM "
                         "heapwire.heap_stacks") == 0
            try:
                value(w, "SELECT top('now', NULL, 'by=waste')")
            except Refused as e:
                assert "has no figures of waste" in str(e), e
            else:
                raise AssertionError("a view of what is not known")


def main():
    run_tests(named(globals(), sys.argv[1:]))
    print("waste.py: all as expected")


if __name__ == "__main__":
    main()
