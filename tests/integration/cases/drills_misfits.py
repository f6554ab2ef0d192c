"""All that can be wrong with nodes, in one statement, beside two Redis nodes
that are well; and what others say to a node, or show it, that is not so.
"""
import contextlib
import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from meddler import Meddler
from mysql_wire import Wire
from node_under_test import REAL, Node, wait_for
from peer_stand_in import StandIn, no_such_statement
from peer_wire import make_key
from ports import free_port
from redis_node import SECRET, RedisNode
from runner import named, run_tests

KEY = make_key(SECRET.encode(), b"redis")
ASKED, WELL = 10001, 10002
TIMEOUT, LATE = 4, 10  # seconds; what a busy machine may add
IN_CLUSTER = f"[cluster]\nname = redis\nsecret = {SECRET}\n"


def node(number, port, settings=IN_CLUSTER):
    return Node(program=REAL, listen=f"127.0.0.1:{port}", settings=settings,
                arguments=["--node-id", str(number)])


class Misfits:
    """By id: where they are, and what their row says."""

    def __init__(self, stack):
        self.stack, self.places, self.said, self.real = stack, {}, {}, {}
        self.work = tempfile.mkdtemp(prefix="hw-misfits-", dir="/tmp")
        stack.callback(shutil.rmtree, self.work, ignore_errors=True)

    def add(self, number, port, text):
        self.places[number] = port
        self.said[number] = text.format(at=f"127.0.0.1:{port}")

    def add_node(self, number, text, relayed=False, own=None, **how):
        """own: its node, if it is not the one that it should be."""
        port = free_port()
        n = self.real[number] = self.stack.enter_context(
            node(own or number, port, **how))
        if relayed:
            n.relay = Meddler()
            n.relay.target = ("127.0.0.1", port)
            port = n.relay.port
        self.add(number, port, text)

    def add_sockets(self):
        refusing = self.stack.enter_context(socket.socket())
        refusing.bind(("127.0.0.1", 0))
        self.add(10004, refusing.getsockname()[1],
                 "ERROR submit failed for {at}: Connection refused")
        hole = self.stack.enter_context(socket.socket())
        hole.bind(("127.0.0.1", 0))
        hole.listen(0)
        for _ in range(4):  # its backlog is full: no client gets an answer
            s = self.stack.enter_context(socket.socket())
            s.setblocking(False)
            s.connect_ex(hole.getsockname())
        self.add(10014, hole.getsockname()[1], "ERROR submit failed for {at}: "
                 "no connection within 1000 ms")
        mute = self.stack.enter_context(
            socket.create_server(("127.0.0.1", 0)))
        self.add(10015, mute.getsockname()[1], "ERROR submit failed for {at}: "
                 "it took the connection, and did not end the login within "
                 "2000 ms: it hangs, is too busy, or is no heapwired")

    def add_stand_ins(self):
        self.newer = StandIn(10009, KEY, version=b"9.9.9")
        self.add(10009, self.newer.port, "OK 1")
        other = StandIn(10010, KEY, protocol=2)
        self.add(10010, other.port, "ERROR submit failed for {at}: Bad "
                 "handshake: the other node speaks version 2 of the nodes' "
                 "protocol, this one version 1; run the same heapwire on both")
        older = StandIn(10011, KEY, version=b"0.0.9",
                        answer=no_such_statement())
        self.add(10011, older.port, "ERROR that is not known here")
        liar = StandIn(10016, make_key(b"another-secret-of-some-length"))
        self.add(10016, liar.port, "ERROR submit failed for {at}: Access "
                 "denied: the other node does not prove that it is of this "
                 "cluster; name and secret of [cluster] must be the same on "
                 "both")

    def add_nodes(self):
        self.add_node(10003, f"ERROR timeout after {TIMEOUT}s", relayed=True)
        self.add_node(10005, "ERROR rpc failed {at}: ", relayed=True)
        self.add_node(10006, "ERROR submit failed for {at}: Connection refused")
        self.add_node(10007, f"ERROR timeout after {TIMEOUT}s")
        self.add_node(10008, "ERROR id mismatch: node 10044 answers for node "
                      "10008", own=10044)
        self.add_node(10012, "ERROR submit failed for {at}: Access denied: the "
                      "other node does not prove that it is of this cluster",
                      settings="[cluster]\nname = redis\n"
                      "secret = another-secret-of-some-length\n")
        self.add_node(10013, "ERROR id mismatch: node 10001 answers for node "
                      "10013", own=ASKED)

    def start(self):
        for i in (ASKED, WELL):
            self.add(i, free_port(), "OK 1")
        self.add_sockets()
        self.add_stand_ins()
        self.add_nodes()
        for i in (ASKED, WELL):
            self.real[i] = RedisNode(self.work, i, self.places, self.places[i])
            self.stack.callback(self.real[i].stop)
        for i in (ASKED, WELL):
            self.real[i].wait()
        self.sql = self.stack.enter_context(
            Wire(self.real[ASKED].socket, timeout=60).login())

    def misbehave(self):
        """Once each was asked, so that there are links to them all."""
        self.expect("System.print(1)", dict.fromkeys(
            (ASKED, WELL, 10003, 10005, 10006, 10007, 10009), "OK 1"))
        self.real[10003].relay.mode = "drip"
        self.real[10005].relay.mode = "garbage"
        self.real[10006].process.kill()
        self.real[10006].process.wait()
        self.real[10006].stop = lambda: 0
        self.real[10007].signal(signal.SIGSTOP)
        self.stack.callback(self.real[10007].signal, signal.SIGCONT)

    def ask(self, script, *ids):
        """All, or these."""
        began = time.monotonic()
        rows = self.sql.query(
            f"ADMIN EXECUTE /*+ heapwire_timeout({TIMEOUT}) */ ON "
            f"{', '.join(map(str, ids)) or 'ALL'} '{script}'".encode())
        took = time.monotonic() - began
        assert took < TIMEOUT + LATE, took
        said = {int(i): f"{s.decode()} {(r or b'').decode()}"
                for i, s, r in rows}
        assert sorted(said) == sorted(ids or self.places), rows
        return said

    def expect(self, script, wanted, *ids):
        """Of these what is wanted.  A machine that stands still for a second or
        two has nodes late: then once more, and once more again."""
        for _ in range(3):
            said = self.ask(script, *ids)
            wrong = {i: (said[i], text) for i, text in wanted.items()
                     if not fits(said[i], text)}
            if not wrong or not all(is_late(text) for text, _ in
                                    wrong.values()):
                break
        assert not wrong, wrong
        return said


def fits(said, wanted):
    """Those that end there are to be equal; of others the begin is."""
    return said == wanted or (wanted[-1:] not in "01s" and
                              said.startswith(wanted))


def is_late(said):
    """For heapwired's own limits."""
    return any(limit in said for limit in (
        "within 1000 ms", "within 2000 ms", f"timeout after {TIMEOUT}s"))


def check_each_has_its_row_in_one_statement(m):
    m.misbehave()
    said = m.expect("System.print(1)", m.said)
    rows = m.sql.query(b"SELECT id, version, last_error FROM heapwire.nodes")
    known = {int(r[0]): (r[1], r[2]) for r in rows}
    assert known[10009][0] == b"9.9.9", known
    assert known[10011][0] == b"0.0.9", known
    for i in (10004, 10008, 10010, 10012, 10013):
        assert said[i] == "ERROR " + known[i][1].decode(), (said[i], known[i])
    for i in (10008, 10012, 10013):  # and these were asked nothing
        assert "ADMIN EXECUTE" not in m.real[i].log(), i


def check_so_it_is_of_a_statement_that_changes_something(m):
    failing = 10004, 10006, 10008, 10010, 10012, 10013
    for verb, then in (("enable_prof", "true"), ("enable_prof", "true"),
                       ("disable_prof", "false")):
        m.expect(f"System.print(HeapProf.getInstance().{verb}())",
                 {ASKED: "OK instance of HeapProf",
                  WELL: "OK instance of HeapProf",
                  **{i: m.said[i] for i in failing}}, ASKED, WELL, *failing)
        m.expect("System.print(HeapProf.getInstance().has_enable())",
                 {ASKED: f"OK {then}", WELL: f"OK {then}"}, ASKED, WELL)


def check_a_reload_that_is_wrong_changes_nothing(m):
    asked = m.real[ASKED]
    twice = f"[peer 10002]\naddress = 127.0.0.1:{free_port()}\n"
    own = f"127.0.0.1:{m.places[WELL]}"
    for text, why in ((twice, "[peer 10002] was given before"),
                      (f"[peer 10077]\naddress = {own}\n",
                       "[peer 10077] has the address of [peer 10002]"),
                      ("[peer 10077]\naddress = localhost:1\n",
                       "no name is looked up")):
        asked.write(m.places)
        with open(asked.config, "a", encoding="ascii") as f:
            f.write(text)
        os.kill(asked.heapwired, signal.SIGHUP)
        wait_for(lambda why=why: why in asked.log())
        m.expect("System.print(1)",
                 {WELL: "OK 1", 10006: m.said[10006],
                  10077: "ERROR node not found"}, WELL, 10006, 10077)
    asked.write(m.places)


def check_its_own_id_elsewhere_is_no_start(m):
    config = os.path.join(m.work, "elsewhere.ini")
    with open(config, "w", encoding="ascii") as f:
        os.fchmod(f.fileno(), 0o600)
        f.write(f"[node]\nlisten = 127.0.0.1:{free_port()}\n{IN_CLUSTER}"
                f"[peer 10001]\naddress = 127.0.0.1:{free_port()}\n")
    done = subprocess.run(
        [REAL, "--config", config, "--node-id", "10001", "--state-dir",
         os.path.join(m.work, "elsewhere")], capture_output=True, timeout=20,
        check=False)
    assert done.returncode != 0
    assert (b"[peer 10001] is this node, which listens on 127.0.0.1:" in
            done.stderr), done


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.ExitStack() as the_stack:
        misfits = Misfits(the_stack)
        misfits.start()
        run_tests(named(globals(), prefix="check_"), misfits)
