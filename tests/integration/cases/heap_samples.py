"""What the recorder's samples tell by SQL: threads, ages, churn.

A program with threads named pool-1 to pool-3 holds blocks that it has had for
ten seconds, and new ones; it knows how many.
"""
import os
import shutil
import signal
import sys
import tempfile
import time

from mysql_wire import Wire
from node_under_test import BUILD, wait_for
from ports import free_port
from redis_node import RedisNode
from runner import named, run_tests

BLOCK = 16 << 20
OLD_S = 10  # an age from which a class begins
TEMPORARY = 10  # blocks that each thread has freed
SITES = "('old_block', 'fresh_block')"


class Pool(RedisNode):
    def __init__(self, work):
        self.fifo = os.path.join(work, "fifo")
        os.mkfifo(self.fifo)
        self.port = free_port()
        self.began = time.monotonic()
        super().__init__(work, 1, {1: self.port}, self.port,
                         program=[os.path.join(BUILD, "bin", "recorded_pool"),
                                  self.fifo], linger=60)
        self.database = "recorded_pool"

    def start(self):
        program = self.command.index("--")
        self.command[program:program] = ["--profiling-source", "interposed",
                                         "--profiling", "on"]
        return super().start()

    def await_word(self, word):
        def said():
            with open(os.path.join(self.directory, "out"), "rb") as out:
                return word in out.read()
        wait_for(said)

    def go_on(self):
        with open(self.fifo, "wb") as fifo:
            fifo.write(b"\n")
        self.await_word(b"fresh")

    def sql(self, text):
        with Wire(self.socket, 60).login() as w:
            return [[cell and cell.decode() for cell in row]
                    for row in w.query(text)]


def blocks(value):
    """How many blocks that many bytes are."""
    assert abs(float(value) / BLOCK - round(float(value) / BLOCK)) < 0.001
    return round(float(value) / BLOCK)


def old_blocks(node):
    return [[int(age), blocks(size)] for age, size in node.sql(
        "SELECT age_from_s, SUM(bytes) FROM heapwire.heap_ages "
        "WHERE function = 'old_block' GROUP BY 1 ORDER BY 1")]


def check_threads(node, of="", fresh=2):
    """Each thread's blocks, its pool, its largest function."""
    rows = node.sql(
        "SELECT name, tid, pool, live_bytes, live_objects, percent, "
        "top_function, samples, snapshot FROM heapwire.heap_threads "
        f"WHERE live_bytes > 1e6 {of} ORDER BY name")
    assert [(name, pool, blocks(size), int(objects), int(samples))
            for name, _, pool, size, objects, _, _, samples, _ in rows] == [
                ("gone", "gone", 1, 1, 1)] + [
                    (f"pool-{n}", "pool-*", fresh * n, fresh * n, fresh * n)
                    for n in (1, 2, 3)], rows
    percents = [float(row[5]) for row in rows]
    assert 99 < sum(percents) <= 100.01, rows
    assert {row[6] for row in rows} <= {"old_block", "fresh_block"}, rows
    return rows


def test_threads_are_told_apart(node):
    rows = check_threads(node, fresh=1)
    assert {row[6] for row in rows} == {"old_block"}, rows
    pid = node.children["recorded_pool"]
    tasks = set(os.listdir(f"/proc/{pid}/task"))
    names = {}
    for name, tid in (row[:2] for row in rows):
        if tid in tasks:
            with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as f:
                names[name] = f.read().strip()
    assert names == {f"pool-{n}": f"pool-{n}" for n in (1, 2, 3)}, names
    by_pool = node.sql("SELECT pool, SUM(live_bytes) FROM heapwire.heap_threads "
                       "WHERE pool LIKE 'pool%' GROUP BY pool")
    assert [(pool, blocks(size)) for pool, size in by_pool] == [("pool-*", 6)]
    of_all = node.sql("SELECT node_id, name, live_objects FROM "
                      "heapwire.cluster_heap_threads WHERE pool = 'pool-*' "
                      "ORDER BY name")
    assert of_all == [["1", f"pool-{n}", str(n)] for n in (1, 2, 3)], of_all


def test_ages_tell_old_blocks_from_new_ones(node):
    wait_for(lambda: old_blocks(node) == [[OLD_S, 7]])
    took = time.monotonic() - node.began
    assert took >= OLD_S, took
    node.go_on()
    # A SELECT may show a snapshot that is a moment old.
    wait_for(lambda: node.sql("SELECT COUNT(*) FROM heapwire.heap_functions "
                              "WHERE function = 'fresh_block'") == [["1"]])
    rows = node.sql("SELECT function, age_from_s < 10, SUM(bytes), "
                    "SUM(objects) FROM heapwire.heap_ages WHERE function IN "
                    f"{SITES} GROUP BY 1, 2 ORDER BY 1")
    assert [(function, int(new), blocks(size), int(objects))
            for function, new, size, objects in rows] == [
                ("fresh_block", 1, 6, 6), ("old_block", 0, 7, 7)], rows
    check_threads(node)


def stack_of_ages(node):
    """Of the first of all stacks; it grows older."""
    rows = node.sql(
        "SELECT s.stack, s.bytes, s.objects, SUM(a.bytes), SUM(a.objects), "
        "COUNT(DISTINCT a.age) FROM heapwire.heap_stacks s JOIN "
        "heapwire.heap_ages a USING (stack) WHERE s.bytes > 1e6 "
        "GROUP BY 1, 2, 3")
    assert len(rows) >= 2, rows
    for _, size, objects, ages, aged, _ in rows:
        assert abs(int(size) - int(ages)) <= 8 and objects == aged, rows
    key = node.sql("SELECT COUNT(*), COUNT(DISTINCT stack) FROM "
                   f"heapwire.heap_ages WHERE stack = {rows[0][0]}")
    return rows[0][5], key


def test_ages_add_up_to_stacks(node):
    """In one statement; two, one after the other, may see another number of
    ages."""
    for _ in range(5):
        ages, key = stack_of_ages(node)
        if key == [[ages, "1"]]:
            break
    assert key == [[ages, "1"]], (ages, key)


def test_churn_counts_what_was_freed(node):
    rows = {row[0]: [float(cell) for cell in row[1:]] for row in node.sql(
        "SELECT function, SUM(allocated_bytes), SUM(freed_bytes), "
        "SUM(allocated_objects), SUM(freed_objects) FROM heapwire.heap_churn "
        "WHERE function LIKE '%_block' GROUP BY function")}
    temporary = rows["temporary_block"]
    took = time.monotonic() - node.began
    least = 3 * TEMPORARY * BLOCK / took
    assert least * 0.99 < temporary[0] < least * 2, (temporary, least)
    assert abs(temporary[0] - temporary[1]) < 1 + temporary[0] / 1e4, rows
    assert abs(temporary[0] / temporary[2] / BLOCK - 1) < 0.02, rows
    assert rows["old_block"][1] < 1 and rows["old_block"][3] == 0, rows


def test_a_kept_snapshot_keeps_them(node):
    node.sql("ADMIN EXECUTE ON 1 'HeapProf.getInstance().snapshot(\"kept\")'")
    rows = check_threads(node, "AND snapshot = 'kept'")
    assert {row[8] for row in rows} == {"kept"}, rows


def test_a_dead_program_has_threads_and_ages(node):
    os.kill(node.children["recorded_pool"], signal.SIGKILL)
    wait_for(lambda: node.sql("SELECT state FROM heapwire.profiler") ==
             [["gone"]])
    check_threads(node)
    # heapwired takes one by itself: the next one is the last.
    wait_for(lambda: node.sql("SELECT COUNT(*) FROM heapwire.snapshots "
                              "WHERE reason LIKE '%ended'") == [["1"]])
    node.sql("ADMIN EXECUTE ON 1 'HeapProf.getInstance().snapshot(\"dead\")'")
    check_threads(node, "AND snapshot = 'dead'")
    # heapwire-run may learn of it later.
    wait_for(lambda: node.sql("SELECT last_snapshot FROM heapwire.deaths") ==
             [["dead"]])


def test_another_heapwired_reads_them_from_the_file(node):
    kept = "SELECT * FROM heapwire.{} WHERE snapshot = 'kept'"
    tables = "heap_threads", "heap_ages", "heap_churn"
    before = {table: sorted(node.sql(kept.format(table)), key=str)
              for table in tables}
    node.stop()
    node.start().wait()
    for table in tables:
        after = sorted(node.sql(kept.format(table)), key=str)
        assert after == before[table] and after, (table, after, before)


def main():
    work = tempfile.mkdtemp(prefix="hw-", dir="/tmp")
    node = Pool(work)
    try:
        node.wait()
        node.await_word(b"old")
        wait_for(lambda: node.sql("SELECT state FROM heapwire.profiler") ==
                 [["connected"]])
        run_tests(named(globals(), sys.argv[1:]), node)
    except BaseException:
        print(node.log()[-3000:])
        raise
    finally:
        node.stop()
        shutil.rmtree(work, ignore_errors=True)
    print("heap_samples.py: all as expected")


if __name__ == "__main__":
    main()
