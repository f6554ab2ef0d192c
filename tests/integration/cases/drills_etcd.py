"""Three nodes on hosts of their own that know each other by etcd alone, which
stops, dies, forgets, is slow, and is cut off.  All the while each node asks all
nodes: that goes on as if nothing happened.
"""
import contextlib
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from etcd import Etcd, TTL, ask, entry
from hosts import HERE, Hosts, own_network
from mysql_wire import Wire
from node_under_test import REAL, Node, freeze, wait_for
from runner import named, run_tests

IDS = (10001, 10002, 10003)
PORT = 9036
SOON = 60
LATE = 8  # seconds that a busy machine may add
SLOW = 1 + LATE  # of a statement that waits for no node


class Gate:
    """In front of etcd: passes all on, each piece after a delay."""

    def __init__(self, target):
        self.target, self.delay = target, 0
        self.listener = socket.create_server((HERE, 0), backlog=64)
        self.url = f"http://{HERE}:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                server = socket.create_connection(self.target)
            except OSError:
                client.close()
                continue
            for a, b in ((client, server), (server, client)):
                threading.Thread(target=self.carry, args=(a, b),
                                 daemon=True).start()

    def carry(self, a, b):
        with contextlib.suppress(OSError):
            while data := a.recv(1 << 16):
                time.sleep(self.delay)  # so slow etcd is
                b.sendall(data)
        for s in (a, b):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)


class Asker:
    """Asks all nodes, again and again; their answers, and the slowest."""

    def __init__(self, node):
        self.node, self.ends = node, False
        self.wire = Wire(node.socket, timeout=60).login()
        self.forget()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def forget(self):
        self.seen, self.slowest, self.failed, self.count = set(), 0, None, 0

    def run(self):
        while not self.ends:
            began = time.monotonic()
            try:
                rows = self.wire.query(
                    b"ADMIN EXECUTE /*+ heapwire_timeout(10) */ ON ALL "
                    b"'System.print(1)'")
            except BaseException as err:
                self.failed = err
                return
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.seen.add(" ".join(f"{int(i)} {s.decode()} {(r or b'').decode()}"
                                   for i, s, r in rows))
            self.count += 1
            time.sleep(0.05)  # it is a client, not a load

    def has_heard(self, text):
        wait_for(lambda: text in self.seen or self.failed, SOON)
        assert not self.failed, self.failed

    def stop(self):
        self.ends = True
        self.thread.join()
        self.wire.close()


def look(node, text):
    """As a user that may not ask the other nodes: that takes no time."""
    with Wire(node.socket, timeout=60) as wire:
        return wire.login(b"plain", b"secret").query(text)


def members(node):
    """Their ports by id."""
    return {int(i): int(port) for i, port in look(
        node, "SELECT id, port FROM heapwire.nodes "
              "WHERE state IS NULL OR state <> 'left'")}


def trouble(node):
    return (look(node, "SELECT last_error FROM heapwire.nodes WHERE self")
            [0][0] or b"").decode()


def said(*ids):
    return " ".join(f"{i} OK 1" for i in ids)


class Cluster:
    def __init__(self, stack):
        self.hosts = stack.enter_context(Hosts(3))
        self.etcd = stack.enter_context(Etcd())
        self.gate = Gate(("127.0.0.1", self.etcd.client))
        self.nodes, self.askers = [], []
        for host, i in enumerate(IDS, 1):
            self.nodes.append(stack.enter_context(Node(
                program=REAL, listen=f"{Hosts.address(host)}:{PORT}",
                users=[("plain", b"secret", "status")],
                wrapper=self.hosts.wrapper(host), settings=(
                    f"id = {i}\n[cluster]\nname = test\nsecret = "
                    f"the-secret-of-these-drills\netcd = {self.gate.url}\n"
                    f"etcd_ttl = {TTL}\n"))))
            self.nodes[-1].number = i
        for node in self.nodes:
            wait_for(lambda n=node: set(members(n)) == set(IDS), SOON)
        for node in self.nodes:
            self.askers.append(Asker(node))
            stack.callback(self.askers[-1].stop)
        for asker in self.askers:  # the first time it connects
            asker.has_heard(said(*IDS))

    def is_told(self, text, nodes=None):
        """That etcd is no help; and not before it was."""
        for n in nodes or self.nodes:
            wait_for(lambda n=n: text in trouble(n), SOON, 0.1)

    def is_well(self):
        for n in self.nodes:
            wait_for(lambda n=n: trouble(n) == "", SOON, 0.1)

    def forget(self):
        for asker in self.askers:
            asker.forget()

    def nobody_noticed(self):
        """Nor does who asks a few times more."""
        for asker in self.askers:
            enough = asker.count + 20
            wait_for(lambda a=asker: a.count > enough or a.failed, SOON)
            assert not asker.failed, asker.failed
            assert asker.seen == {said(*IDS)}, (asker.node.number, asker.seen)
            assert asker.slowest < SLOW, asker.slowest


LOST = "etcd cannot be reached"


def check_etcd_is_stopped(c):
    c.forget()
    freeze(c.etcd.process.pid)
    c.is_told(LOST)
    for n in c.nodes:
        rows = ask(n, "SHOW BACKENDS")
        assert [int(r[0]) for r in rows] == list(IDS), rows
        own, = [r for r in rows if int(r[0]) == n.number]
        assert LOST.encode() in own[17], own
    time.sleep(TTL)  # their leases have ended, as it will find
    c.etcd.process.send_signal(signal.SIGCONT)
    c.is_well()
    c.nobody_noticed()


def check_etcd_is_killed_and_comes_back(c):
    c.forget()
    c.etcd.stop(signal.SIGKILL)
    c.is_told(LOST)
    c.etcd.start()
    c.is_well()
    c.nobody_noticed()


def check_etcd_loses_all_that_it_knew(c):
    c.forget()
    c.etcd.stop(signal.SIGKILL)
    c.etcd.forget()
    c.is_told(LOST)
    c.etcd.start()
    c.is_well()
    for i in IDS:
        wait_for(lambda i=i: c.etcd.get(i), SOON)
    time.sleep(TTL + 1)  # and when those of before are forgotten
    c.nobody_noticed()
    assert any("nodes that were known before: they have" in n.log()
               for n in c.nodes)


def check_etcd_is_slow(c):
    c.forget()
    c.gate.delay = 0.2
    time.sleep(TTL)  # leases are kept all the same
    c.gate.delay = 2
    c.is_told(LOST)
    c.gate.delay = 0
    c.is_well()
    c.nobody_noticed()


def check_etcd_is_cut_off_from_some(c):
    """To those its lease has ended; it knows the others all the same."""
    cut, (near, other) = c.nodes[2], c.nodes[:2]
    c.forget()
    c.hosts.route(3, "blackhole", HERE)
    c.is_told(LOST, [cut])
    for n in (near, other):
        wait_for(lambda n=n: set(members(n)) == set(IDS[:2]), SOON)
        wait_for(lambda n=n: trouble(n) == "", SOON)
    assert set(members(cut)) == set(IDS)
    for asker in c.askers[:2]:
        asker.has_heard(said(*IDS[:2]))
    c.hosts.unroute(3, HERE)
    c.is_well()
    for n in c.nodes:
        wait_for(lambda n=n: set(members(n)) == set(IDS), SOON)
    assert c.etcd.get(IDS[2]) is not None
    for asker in c.askers:
        assert not asker.failed, asker.failed
        assert asker.slowest < SLOW, asker.slowest
        # It may leave between a statement's list and its questions.
        asker.seen.discard(f"{said(*IDS[:2])} {IDS[2]} ERROR node not found")
        wanted = {said(*IDS)}
        if asker.node is not cut:
            wanted.add(said(*IDS[:2]))
        assert asker.seen == wanted, (asker.node.number, asker.seen)


def check_a_dead_node_is_forgotten_in_the_end(c):
    """Though it died when etcd was not there to see it."""
    near, dead = c.nodes[0], c.nodes[2]
    c.etcd.stop(signal.SIGKILL)
    c.is_told(LOST)
    dead.process.kill()
    dead.process.wait()
    c.askers[2].ends = True
    c.etcd.start()
    wait_for(lambda: set(members(near)) == set(IDS[:2]), SOON)
    dead.start()
    wait_for(lambda: set(members(near)) == set(IDS), SOON)


class Mute:
    """A place that takes connections, and says nothing."""

    def __init__(self):
        self.listener = socket.create_server((HERE, 0), backlog=64)
        self.listener.setblocking(False)
        self.port, self.taken = self.listener.getsockname()[1], []
        self.row = (f"ERROR submit failed for {HERE}:{self.port}: it took "
                    "the connection, and did not end the login within 2000 ms"
                    ": it hangs, is too busy, or is no heapwired")

    def is_asked(self):
        """Since the last time."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self.taken.append(self.listener.accept()[0])
        return bool(self.taken)

    def forget(self):
        self.is_asked()
        while self.taken:
            self.taken.pop().close()


def check_members_change_during_a_statement(c):
    """Each node that was a member as it began has its row, and no other."""
    # One after another they hold up a statement for 6 s.
    kept, moved, left, came = (10018, 10019, 10020), 10021, 10022, 10023
    at = {i: Mute() for i in (*kept, moved, left, came)}
    new_place, node = Mute(), c.nodes[0]
    healthy = [(i, "OK 1") for i in IDS] + [(i, at[i].row) for i in kept]
    for asker in c.askers[:2]:  # whom the mute ones would hear, too
        asker.ends = True
        asker.thread.join()

    def put(i, place):
        c.etcd.put(i, entry(i, HERE, place.port))

    def change(asked):
        wait_for(lambda: all([at[i].is_asked() for i in asked]), SOON)
        c.etcd.delete(left)
        put(moved, new_place)
        put(came, at[came])

    def all_say(sql, limits, *asked):
        """Of a statement that has members change once these are asked."""
        with ThreadPoolExecutor(1) as pool:
            changed = pool.submit(change, asked) if asked else None
            rows = sql.query(
                f"ADMIN EXECUTE /*+ heapwire_timeout(20) {limits} */ "
                "ON ALL 'System.print(1)'".encode())
            if changed:
                changed.result()
        return [(int(i), f"{s.decode()} {r.decode()}") for i, s, r in rows]

    with Wire(node.socket, timeout=60).login() as sql:
        # All at once; and one after another, the last ones after the change.
        for limits, asked, then in (
                ("", (*kept, moved, left),
                 [(moved, at[moved].row), (left, at[left].row)]),
                ("heapwire_parallel(1)", kept[:1],
                 [(moved, new_place.row), (left, "ERROR node not found")])):
            for i in (*kept, moved, left):
                put(i, at[i])
                at[i].forget()
            c.etcd.delete(came)
            wait_for(lambda: set(members(node)) == {*IDS, *kept, moved, left} and
                     members(node)[moved] == at[moved].port, SOON, 0.1)
            rows = all_say(sql, limits, *asked)
            assert rows == [*healthy, *then], rows
            wait_for(lambda: set(members(node)) == {*IDS, *kept, moved, came},
                     SOON, 0.1)
        rows = all_say(sql, "")
        assert rows == [*healthy, (moved, new_place.row),
                        (came, at[came].row)], rows


if __name__ == "__main__":
    own_network()
    with contextlib.ExitStack() as the_stack:
        run_tests(named(globals(), prefix="check_"), Cluster(the_stack))
