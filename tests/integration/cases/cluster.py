"""Five Redis under heapwire-run, and what befalls nodes of a cluster.

The first one is asked; it reaches the last one by a relay.  Whatever happens,
each node that is asked for has its row, within heapwire_timeout.
"""
import contextlib
import os
import resource
import shutil
import signal
import socket
import tempfile
import threading
import time

from meddler import Meddler
from mysql_wire import Refused, Wire
from node_under_test import freeze, wait_for
from ports import free_port
from redis_node import RedisNode
from runner import named, run_tests

IDS = (10001, 10002, 10003, 10004, 10005)
ASKED, KILLED, STOPPED, CHANGED, RELAYED = IDS
REFUSING, NOBODY, OTHER = 10006, 10007, 10044
TIMEOUT, LONG = 5, 60  # heapwire_timeout where it passes, and else
LATE = 20  # seconds that a busy machine may add
HEAP = "System.print(HeapProf.getInstance().{}())"
HAS = HEAP.format("has_enable")


class Cluster:
    def __init__(self):
        self.work = tempfile.mkdtemp(prefix="hw-redis-", dir="/tmp")
        self.nodes, self.sql, self.timeout = {}, None, None
        self.refusing = socket.socket()  # bound, but it listens never
        self.refusing.bind(("127.0.0.1", 0))
        self.ports = {i: free_port() for i in IDS}
        self.relay = Meddler()
        self.relay.target = ("127.0.0.1", self.ports[RELAYED])
        self.seen = dict(self.ports)  # by the one that is asked
        self.seen[RELAYED] = self.relay.port

    def start(self):
        for i in IDS:
            self.nodes[i] = RedisNode(
                self.work, i, self.seen if i == ASKED else self.ports,
                self.ports[i])
        for node in self.nodes.values():
            node.wait()
        self.sql = Wire(self.nodes[ASKED].socket, timeout=60)
        self.sql.login()
        self.limit(LONG)
        wait_for(lambda: self.said() == {i: "OK false" for i in IDS}, 60, 0.1)

    def limit(self, seconds):
        self.sql.query(f"SET heapwire_timeout = {seconds}".encode())
        self.timeout = seconds

    @contextlib.contextmanager
    def in_a_hurry(self):
        """Only where it must be: a busy node is silent for seconds, too."""
        self.limit(TIMEOUT)
        yield
        self.limit(LONG)

    def query(self, target, script):
        """Its rows; never later than it may be."""
        began = time.monotonic()
        try:
            return self.sql.query(
                f"ADMIN EXECUTE ON {target} '{script}'".encode())
        finally:
            took = time.monotonic() - began
            assert took < self.timeout + LATE, f"{target} took {took:.1f} s"

    def said(self, target="ALL", script=HAS):
        """By node: status and result; each node has one row here."""
        rows = self.query(target, script)
        said = {int(i): f"{s.decode()} {(r or b'').decode()}"
                for i, s, r in rows}
        assert len(said) == len(rows), rows
        return said

    def refused(self, target, script=HAS):
        try:
            rows = self.query(target, script)
        except Refused as err:
            return err.text
        raise AssertionError(f"{target} should fail: {rows}")

    def others(self, *but, text="OK false"):
        return {i: text for i in IDS if i not in but}

    def reload(self, places):
        node = self.nodes[ASKED]
        before = node.log().count("configuration again")
        node.write(places)
        os.kill(node.heapwired, signal.SIGHUP)
        wait_for(lambda: node.log().count("configuration again") > before)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.sql:
            self.sql.close()
        with contextlib.ExitStack() as stack:  # all end, whatever one does
            stack.callback(shutil.rmtree, self.work, ignore_errors=True)
            stack.callback(self.refusing.close)
            for node in self.nodes.values():
                stack.callback(node.stop)
                node.terminate()
            if kind and ASKED in self.nodes:
                print(self.nodes[ASKED].log()[-3000:])


def check_targets(c):
    assert c.said("ALL BACKENDS") == c.others()
    assert c.said("10005, 10002") == {10002: "OK false", 10005: "OK false"}
    assert c.said(f"{NOBODY}, 10003") == {
        10003: "OK false", NOBODY: "ERROR node not found"}
    assert c.refused(NOBODY).startswith(f"node not found: {NOBODY}; SELECT")
    assert c.query(10003, HAS) == [[b"false"]]
    text = c.refused("ALL COMPUTE NODES")
    assert text == "no target nodes resolved for ADMIN EXECUTE", text


def check_all_are_enabled_and_disabled(c):
    for verb, then in (("enable_prof", "true"), ("enable_prof", "true"),
                       ("disable_prof", "false")):
        assert c.said(script=HEAP.format(verb)) == c.others(
            text="OK instance of HeapProf")
        assert c.said() == c.others(text=f"OK {then}")


def check_a_refusing_one(c):
    port = c.refusing.getsockname()[1]
    c.reload({**c.seen, REFUSING: port})
    text = f"submit failed for 127.0.0.1:{port}: Connection refused"
    assert c.said() == {**c.others(), REFUSING: f"ERROR {text}"}
    assert c.refused(REFUSING) == text
    c.reload(c.seen)
    assert c.said() == c.others()


def check_garbage(c):
    c.relay.mode = "garbage"
    said = c.said()
    text = said.pop(RELAYED)
    assert said == c.others(RELAYED), said
    assert text.startswith(
        f"ERROR rpc failed 127.0.0.1:{c.relay.port}: "), text
    c.relay.mode = "relay"
    assert c.said() == c.others()


def check_a_slow_one_while_members_change(c):
    """A node that is asked has its row, also when it is no member any more."""
    c.relay.mode = "drip"
    left = {i: p for i, p in c.seen.items() if i not in (RELAYED, KILLED)}
    failed = []

    def change():
        try:
            wait_for(lambda: c.relay.drips > drips)
            c.reload({**left, REFUSING: c.refusing.getsockname()[1]})
        except BaseException as err:  # for the thread that asks
            failed.append(err)

    drips, changes = c.relay.drips, threading.Thread(target=change)
    changes.start()
    with c.in_a_hurry():
        began = time.monotonic()
        said = c.said()
        took = time.monotonic() - began
    changes.join()
    assert not failed, failed
    assert said == {**c.others(RELAYED),
                    RELAYED: f"ERROR timeout after {TIMEOUT}s"}, said
    assert took > TIMEOUT - 0.1, took
    after = c.said()
    assert sorted(after) == sorted([*left, REFUSING]), after
    assert "Connection refused" in after[REFUSING], after
    assert c.refused(KILLED).startswith(f"node not found: {KILLED}; SELECT")
    c.relay.mode = "relay"
    c.reload(c.seen)
    assert c.said() == c.others()


def check_a_stopped_one(c):
    freeze(c.nodes[STOPPED].heapwired)
    with c.in_a_hurry():
        wait_for(lambda: c.said() == {**c.others(STOPPED),
                                      STOPPED: f"ERROR timeout after {TIMEOUT}s"})
    os.kill(c.nodes[STOPPED].heapwired, signal.SIGCONT)
    wait_for(lambda: c.said() == c.others(), 60, 0.1)


def failed_at(c):
    (at,), = c.sql.query(b"SELECT last_error_at FROM heapwire.nodes "
                         b"WHERE id = %d" % KILLED)
    return at


def check_a_killed_one(c):
    c.nodes[KILLED].crash()
    place = f"127.0.0.1:{c.ports[KILLED]}"
    text = f"submit failed for {place}: Connection refused"
    assert c.said() == {**c.others(KILLED), KILLED: f"ERROR {text}"}
    assert c.refused(KILLED) == text
    row, = c.sql.query(b"SELECT state, last_error FROM heapwire.nodes "
                       b"WHERE id = %d" % KILLED)
    assert row == [b"unreachable", text.encode()], row
    # Each attempt counts it as silent anew.
    at = failed_at(c)
    wait_for(lambda: c.refused(KILLED) == text and failed_at(c) > at, 60, 0.1)
    (silent,), = c.sql.query(b"SELECT peers_silent FROM heapwire.daemon")
    assert int(silent) >= 1, silent


def check_another_id_at_the_same_address(c):
    """While one is dead already: both have their rows."""
    c.nodes.pop(CHANGED).stop()
    port = c.ports[CHANGED]
    c.nodes[OTHER] = RedisNode(c.work, OTHER, {OTHER: port}, port).wait()
    said = c.said()
    text = said.pop(CHANGED)
    assert text.startswith("ERROR id mismatch: "), text
    assert str(OTHER) in text and str(CHANGED) in text, text
    assert "Connection refused" in said.pop(KILLED)
    assert said == c.others(CHANGED, KILLED), said
    # And it was asked nothing.
    assert "ADMIN EXECUTE" not in c.nodes[OTHER].log()


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
with Cluster() as the_cluster:
    run_tests({"started": the_cluster.start})
    run_tests(named(globals(), prefix="check_"), the_cluster)
