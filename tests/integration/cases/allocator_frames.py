"""Two Redis, of which one names its malloc's wrappers and both begin without the
known ones: in all forms, tables and kept snapshots, after reloads and in sums."""
import gzip
import os
import shutil
import signal
import subprocess
import tempfile

from mysql_wire import Refused, Wire
from node_under_test import BUILD, wait_for
from ports import free_port
from redis_node import RedisNode
from runner import named, run_tests

IDS = (10001, 10002)
PROF = os.path.join(BUILD, "bin", "heapwire-prof")
WRAPPERS = ("zmalloc", "zcalloc", "zrealloc", "ztry")
NAMED = "none, zmalloc*, zcalloc*, zrealloc*, ztry*"
FORMS = ("dot", "text", "top", "tree", "collapsed", "flamegraph", "pprof")


class Node(RedisNode):
    frames = "none"

    def write(self, places):
        super().write(places)
        with open(self.config, "a", encoding="ascii") as f:
            if self.frames:
                f.write(f"[node]\nallocator_frames = {self.frames}\n")

    def load(self):
        subprocess.run(
            ["redis-cli", "-p", str(self.redis_port), "eval", """for i = 1, 20000 do
             redis.call('set', KEYS[1] .. i, string.rep('x', 500))
             redis.call('hset', KEYS[1], i, string.rep('y', 300)) end""",
             "1", "k"], check=True, stdout=subprocess.DEVNULL)

    def reload(self, places, frames):
        before = self.log().count("configuration again")
        self.frames = frames
        self.write(places)
        os.kill(self.heapwired, signal.SIGHUP)
        wait_for(lambda: self.log().count("configuration again") > before)


class Pair:
    def __enter__(self):
        self.work = tempfile.mkdtemp(prefix="hw-frames-", dir="/tmp")
        self.places = {i: free_port() for i in IDS}
        self.nodes = {i: Node(self.work, i, self.places, self.places[i])
                      for i in IDS}
        self.sql = {}
        for i, node in self.nodes.items():
            node.wait()
            self.sql[i] = Wire(node.socket, timeout=60)
            self.sql[i].login()
            wait_for(lambda node=i: self.has_database(node))
            self.script(i, "HeapProf.getInstance().enable_prof()")
        return self

    def has_database(self, node):
        try:
            self.script(node, "HeapProf.getInstance().has_enable()")
            return True
        except Refused:
            return False

    def __exit__(self, *_):
        for sql in self.sql.values():
            sql.close()
        for node in self.nodes.values():
            node.terminate()
        for node in self.nodes.values():
            node.stop()
        shutil.rmtree(self.work)

    def ask(self, statement, node=IDS[0]):
        return self.sql[node].query(statement.encode())

    def one(self, statement, node=IDS[0]):
        return self.ask(statement, node)[0][0]

    def script(self, node, text):
        return self.ask(f"ADMIN EXECUTE ON {node} '{text}'", node)

    def top(self, snapshot, node=IDS[0]):
        """The function that the memory is charged to."""
        return {name.decode(): float(flat) for name, flat in self.ask(
            "SELECT function, flat_bytes FROM heapwire.heap_functions WHERE "
            f"snapshot = '{snapshot}' AND flat_bytes > 0", node)}

    def form(self, form, snapshot, more="", node=IDS[0]):
        text = self.one(f"SELECT {form}('{snapshot}'{more})", node)
        return gzip.decompress(text) if form == "pprof" else text

    def export(self, snapshot, node=IDS[0]):
        path = os.path.join(self.work, f"{snapshot}.{node}")
        with open(path, "wb") as f:
            f.write(self.one(f"SELECT export('{snapshot}')", node))
        return path


def wrappers_of(top):
    """What is charged to them."""
    return sum(b for name, b in top.items() if name.startswith(WRAPPERS))


def prof(*arguments):
    done = subprocess.run([PROF, *arguments], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else done.stderr


def test_they_are_charged_for_all_until_they_are_named(p):
    for i in IDS:
        p.nodes[i].load()
        p.script(i, 'HeapProf.getInstance().snapshot("before")')
    before = p.top("before")
    assert wrappers_of(before) > 0.9 * sum(before.values()), before
    for form in FORMS:
        assert b"zmalloc_usable" in p.form(form, "before"), form
    p.nodes[IDS[0]].reload(p.places, NAMED)
    after = p.top("before")
    assert wrappers_of(after) == 0, after
    assert any("sds" in name for name in after), after
    assert abs(sum(after.values()) - sum(before.values())) < 1000
    assert wrappers_of(p.top("now")) == 0
    for form in FORMS:  # a kept view was another one's
        assert b"zmalloc_usable" not in p.form(form, "before"), form
    kept = p.form("text", "before", ", NULL, 'allocator_frames'")
    assert b"zmalloc_usable" in kept


def test_a_sum_leaves_out_what_each_node_names(p):
    own = {i: p.top("before", i) for i in IDS}
    assert wrappers_of(own[IDS[1]]) > 0.9 * sum(own[IDS[1]].values())
    for asked in IDS:
        total = p.top("cluster:before", asked)
        assert set(total) == set(own[IDS[0]]) | set(own[IDS[1]])
        for name, flat in total.items():
            each = sum(top.get(name, 0) for top in own.values())
            assert abs(flat - each) < 10, (name, flat, each)
    p.nodes[IDS[1]].reload(p.places, "zmalloc_usable")
    for asked in IDS:
        assert "zmalloc_usable" not in p.top("cluster:before", asked)


def test_known_ones_need_no_name(p):
    p.nodes[IDS[1]].reload(p.places, "sdsnewlen*")
    top = p.top("before", IDS[1])
    assert wrappers_of(top) == 0 and "sdsnewlen" not in top, top
    for form in FORMS:
        assert b"zmalloc_usable" not in p.form(form, "before", "", IDS[1]), form
    named = p.top("before")
    for i in IDS:
        p.nodes[i].reload(p.places, "")
    assert p.top("before") == named
    assert wrappers_of(p.top("now", IDS[1])) == 0
    for asked in IDS:
        assert wrappers_of(p.top("cluster:before", asked)) == 0


def test_what_is_exported_says_so(p):
    first, other = p.export("before"), p.export("before", IDS[1])
    for path in first, other:
        assert "zmalloc_usable" not in prof("--collapsed", path)
        assert "zmalloc_usable" not in prof(
            "--collapsed", "--allocator-frame=none", path)
    p.nodes[IDS[1]].reload(p.places, "none")
    other = p.export("before", IDS[1])
    assert "zmalloc_usable" not in prof("--collapsed", other)
    assert "zmalloc_usable" in prof(
        "--collapsed", "--allocator-frame=none", other)
    assert "zmalloc_usable" not in prof(
        "--collapsed", "--allocator-frame=none", "--allocator-frame", "zmalloc*",
        other)
    assert "zmalloc_usable" in prof("--text", "--allocator-frames", first)
    assert "keeps" in prof("--text", "--allocator-frames",
                           "--allocator-frame=z", first)
    assert "keeps all" in prof("--text", "--allocator-frames=z", first)
    assert "must be names" in prof("--text", "--allocator-frame", "*", first)


def test_a_wrong_list_changes_nothing(p):
    node = p.nodes[IDS[0]]
    node.frames = "*"
    node.write(p.places)
    os.kill(node.heapwired, signal.SIGHUP)
    wait_for(lambda: "stays as it was" in node.log())
    assert "allocator_frames = *: must be names of functions" in node.log()
    assert wrappers_of(p.top("before")) == 0


with Pair() as pair:
    run_tests(named(globals()), pair)
