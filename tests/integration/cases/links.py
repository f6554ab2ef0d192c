"""A node that asks others, over links that do all that links can do wrong.

Real heapwireds on 127.0.0.1; a relay in front of one of them lets the proof
pass and then meddles.  All the while a client pings the node that asks: its
loop must never wait.
"""
import contextlib
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

from meddler import Meddler
from mysql_wire import Refused, Wire
from node_under_test import REAL, SANITIZED, Node, wait_for
from ports import free_port
from runner import named, run_tests

SECRET = "a-secret-for-the-tests-of-links"
A, B, C, GONE = 10001, 10002, 10003, 10009
STALL_MS = 1500  # others use the processor, too
LATE = 5  # seconds that a busy machine may add
# Where the time of a login is not the test, a machine may be late with it.
PATIENT, USUAL = "connect_timeout = 10\n", ""


class Cluster:
    """Nodes by id; meddled: those that the first one reaches by a relay."""

    def __init__(self, ids=(A, B, C), meddled=(B,), settings="", extra="",
                 cluster=PATIENT):
        self.nodes, self.relays = {}, {}
        self.ports = {i: free_port() for i in ids}
        for i in meddled:
            self.relays[i] = Meddler()
            self.relays[i].target = ("127.0.0.1", self.ports[i])
        self.settings, self.extra, self.cluster = settings, extra, cluster
        for i in ids:
            self.start(i)
        self.sql = Wire(self.nodes[A].socket, timeout=90)
        self.sql.login()

    def text(self, i, shown):
        peers = "".join(f"[peer {n}]\naddress = 127.0.0.1:{shown(n)}\n"
                        for n in self.ports)
        return (f"{self.settings}[cluster]\nname = links\nsecret = {SECRET}\n"
                f"{self.cluster}{peers}{self.extra if i == A else ''}")

    def start(self, i):
        def shown(n):
            relay = self.relays.get(n)
            return relay.port if relay and i == A else self.ports[n]
        node = Node(program=REAL, listen=f"127.0.0.1:{self.ports[i]}",
                    users=[("boss", b"boss", "status, profile, control, cluster, admin")], start=False,
                    settings=self.text(i, shown),
                    arguments=["--node-id", str(i)])
        self.nodes[i] = node
        node.start()

    def kill(self, i):
        node = self.nodes.pop(i)
        node.process.kill()
        node.process.wait()
        shutil.rmtree(node.directory)

    def ask(self, target, script="System.print(7)", seconds=30):
        text = (f"SET STATEMENT heapwire_timeout = {seconds} FOR "
                f"ADMIN EXECUTE ON {target} '{script}'")
        return [tuple(row) for row in self.sql.query(text.encode())]

    def one(self, i, **how):
        """What a list says of one node."""
        row, = [r for r in self.ask(f"{A}, {i}", **how) if r[0] == b"%d" % i]
        return row[1].decode() + " " + (row[2] or b"").decode("utf-8", "replace")

    def comes_back(self, i):
        """A busy machine may be too late with a login, which is tried again."""
        wait_for(lambda: self.one(i) == "OK 7")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sql.close()
        with contextlib.ExitStack() as stack:  # all end, whatever one does
            for node in self.nodes.values():
                stack.push(node)
                with contextlib.suppress(ProcessLookupError):
                    node.signal(signal.SIGCONT)


class Ticking:
    """A client that pings all the time; how often it waited for long, while the
    machine did not stand still."""

    def __init__(self, node):
        self.wire = Wire(node.socket, timeout=90)
        self.wire.login()
        self.stalls, self.count, self.ends = [], 0, False
        self.late_ms = 0  # the machine, with a thread that only sleeps
        self.threads = [threading.Thread(target=way)
                        for way in (self.run, self.sleep)]

    def sleep(self):
        while not self.ends:
            began = time.monotonic()
            time.sleep(0.01)
            self.late_ms += max(0, 1000 * (time.monotonic() - began) - 100)

    def run(self):
        while not self.ends:
            began, late_ms = time.monotonic(), self.late_ms
            self.wire.ping()
            took_ms = 1000 * (time.monotonic() - began)
            time.sleep(0.01)  # it is a client, not a load
            if took_ms - (self.late_ms - late_ms) > STALL_MS:
                self.stalls.append(took_ms)
            self.count += 1

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, *_):
        self.ends = True
        for thread in self.threads:
            thread.join()
        self.wire.close()
        if kind is None:
            # One may be the machine's; a fault comes again with each
            # way of being late that is tried.
            assert len(self.stalls) < 2, self.stalls
            assert self.count > 0


def between(low, high, began):
    took = time.monotonic() - began
    assert low <= took <= high + LATE, f"took {took:.2f} s"


def test_every_node_is_asked():
    with Cluster() as c:
        for _ in range(3):
            rows = c.ask("ALL")
            assert rows == [(b"%d" % i, b"OK", b"7") for i in (A, B, C)], rows
        assert c.ask(B) == [(b"7",)]
        assert c.ask(f"{GONE}, {B}") == [(b"10002", b"OK", b"7"),
                                         (b"10009", b"ERROR",
                                          b"node not found")]
        assert c.relays[B].connections == 1, c.relays[B].connections


def test_a_node_that_cannot_be_reached_has_its_row():
    with Cluster(cluster=USUAL) as c, Ticking(c.nodes[A]):
        relay = c.relays[B]
        place = f"127.0.0.1:{relay.port}"
        for mode, seconds, text in (
                ("silent", 2, f"submit failed for {place}: it took the "
                 "connection, and did not end the login within 2000 ms: it "
                 "hangs, is too busy, or is no heapwired"),
                ("slow", 2, f"submit failed for {place}: it took the "),
                ("noise", 0, f"submit failed for {place}: "),
                ("giant", 0, f"submit failed for {place}: "),
                ("open", 0, f"submit failed for {place}: ")):
            relay.mode = mode
            began = time.monotonic()
            said = c.one(B)
            assert said.startswith("ERROR " + text), (mode, said)
            between(0.9 * seconds, seconds + 2, began)
        relay.mode = "relay"
        c.comes_back(B)
        c.kill(C)
        said = c.one(C)
        assert said == (f"ERROR submit failed for 127.0.0.1:{c.ports[C]}: "
                        "Connection refused"), said
        try:
            c.ask(C)
            assert False
        except Refused as refused:
            assert "Connection refused" in str(refused), refused


def test_a_black_hole_takes_the_time_to_connect_and_no_more():
    hole = socket.socket()
    hole.bind(("127.0.0.1", 0))
    hole.listen(0)
    waiting = [socket.socket() for _ in range(4)]
    for s in waiting:  # its backlog is full: connections get no answer
        s.setblocking(False)
        s.connect_ex(hole.getsockname())
    extra = f"[peer {GONE}]\naddress = 127.0.0.1:{hole.getsockname()[1]}\n"
    with Cluster(ids=(A, B), meddled=(), extra=extra, cluster=USUAL) as c:
        with Ticking(c.nodes[A]):
            began = time.monotonic()
            said = c.one(GONE)
            assert said == ("ERROR submit failed for 127.0.0.1:"
                            f"{hole.getsockname()[1]}: no connection within "
                            "1000 ms"), said
            between(0.9, 2, began)
            c.comes_back(B)


def test_what_is_no_answer_is_a_failure_of_that_node_alone():
    with Cluster() as c, Ticking(c.nodes[A]):
        relay = c.relays[B]
        place = f"127.0.0.1:{relay.port}"
        rpc = f"ERROR rpc failed {place}: "
        for mode, text in (
                ("garbage", rpc),
                ("hangup", rpc + "the connection was lost"),
                ("half", rpc + "the connection was lost"),
                ("two", rpc + "it answered with 2 columns instead of 1"),
                ("ok", rpc + "it answered with 0 columns instead of 1"),
                ("infile", rpc),
                ("more", rpc + "it answers more than it was asked"),
                ("lost", rpc),
                ("control", "ERROR a?[31mb"),
                ("long", "ERROR xxxx"),
                ("liar", rpc),
                ("jumbo", rpc),
                ("columns", rpc + "the columns of its answer have no end"),
                ("null", "OK \n\nend")):
            relay.mode = mode
            rows = c.ask(f"{A}, {B}, {C}", seconds=20)
            assert rows[0] == (b"10001", b"OK", b"7"), (mode, rows)
            assert rows[2] == (b"10003", b"OK", b"7"), (mode, rows)
            said = (rows[1][1] + b" " + rows[1][2]).decode("utf-8", "replace")
            assert said.startswith(text), (mode, said)
            assert len(said) < 700, len(said)
            relay.mode = "relay"
            assert c.one(B) == "OK 7", mode


def test_a_deadline_is_one_for_all():
    with Cluster(cluster=USUAL) as c, Ticking(c.nodes[A]):
        for mode in ("mute", "drip", "huge"):
            c.relays[B].mode = mode
            began = time.monotonic()
            rows = c.ask("ALL", seconds=2)
            between(1.9, 3, began)
            assert rows[1] == (b"10002", b"ERROR", b"timeout after 2s"), rows
            assert rows[0][1] == rows[2][1] == b"OK", rows
        c.relays[B].mode = "relay"
        c.comes_back(B)
        c.nodes[B].signal(signal.SIGSTOP)
        began = time.monotonic()
        assert c.one(B, seconds=2) == "ERROR timeout after 2s"
        between(1.9, 3, began)
        began = time.monotonic()  # its link is gone: it does not log us in
        assert "did not end the login" in c.one(B)
        between(1.9, 3, began)
        c.nodes[B].signal(signal.SIGCONT)
        c.comes_back(B)


def test_a_silent_node_delays_a_view_for_seconds():
    """Far less than the statement's time: over a link that answered before, and
    over a fresh one."""
    view = b"SELECT COUNT(*) FROM heapwire.cluster_daemon"
    with Cluster(ids=(A, B, C), cluster=USUAL) as c, Ticking(c.nodes[A]):
        c.sql.query(b"SET heapwire_timeout = 60")
        assert c.sql.query(view) == [[b"3"]]
        c.nodes[B].signal(signal.SIGSTOP)
        began = time.monotonic()
        assert c.sql.query(view) == [[b"2"]]
        took = time.monotonic() - began
        assert 8 < took < 40, took
        (_, _, text), = c.sql.query(b"SHOW WARNINGS")
        assert b"no answer for 10 s" in text, text
        assert c.sql.query(view) == [[b"2"]]
        c.nodes[B].signal(signal.SIGCONT)
        wait_for(lambda: c.sql.query(view) == [[b"3"]])


def test_a_silent_node_is_asked_once_in_a_statement():
    """Each further question would take the time to find it silent again: ten
    seconds, and two for each of the others."""
    tables = ("daemon", "profiler", "snapshots", "deaths", "memory_history",
              "symbol_indexes")
    parts = " UNION ALL ".join(
        f"SELECT DISTINCT node_id FROM heapwire.cluster_{t}" for t in tables)
    view = (f"SET STATEMENT heapwire_timeout = 18 FOR SELECT "
            f"GROUP_CONCAT(DISTINCT node_id ORDER BY node_id) FROM ({parts}) n")
    with Cluster(ids=(A, B, C), cluster=USUAL) as c, Ticking(c.nodes[A]):
        assert c.sql.query(view.encode()) == [[b"10001,10002,10003"]]
        c.nodes[B].signal(signal.SIGSTOP)
        for _ in "over a link that answered", "over a fresh one":
            assert c.sql.query(view.encode()) == [[b"10001,10003"]]


def test_a_long_statement_to_who_does_not_read_waits_for_nobody():
    script = "System.print(7) // " + "x" * 65000
    for settings in ("", "require_tls = yes\n"):
        with Cluster(settings=settings) as c, Ticking(c.nodes[A]):
            assert c.one(B, script=script, seconds=10) == "OK 7"
            c.relays[B].mode = "deaf"
            began = time.monotonic()
            rows = c.ask("ALL", script=script, seconds=2)
            between(1.9, 3, began)
            assert rows[1] == (b"10002", b"ERROR", b"timeout after 2s"), rows
            assert rows[0][1] == rows[2][1] == b"OK", rows
            c.relays[B].mode = "relay"
            assert c.one(B) == "OK 7"


def test_an_answer_without_end_is_cut():
    with Cluster() as c, Ticking(c.nodes[A]):
        c.relays[B].mode = "endless"
        began = time.monotonic()
        status, _, text = c.one(B, seconds=60).partition(" ")
        assert status == "OK" and "[truncated after" in text[-100:], text[-100:]
        assert (4 << 20) < len(text) < (17 << 20), len(text)
        between(0, 30, began)


def test_large_packets_come_in_a_few_at_a_time():
    askers = 24  # of 15 MB each, and eight may come in at once
    with Cluster(ids=(A, B), cluster="connect_timeout = 40\n") as c:
        c.relays[B].mode = "wide"
        before = high_water(c.nodes[A])
        got = all_at_once(c, askers, "System.print(7)")
        assert [g[0] for g in got] == [b"OK"] * askers, got
        grown = (high_water(c.nodes[A]) - before) >> 20
        assert SANITIZED or grown < 170, f"{grown} MB more"
        c.relays[B].mode = "relay"
        assert c.one(B) == "OK 7"


def test_rows_of_nothing_end_with_the_deadline():
    with Cluster() as c, Ticking(c.nodes[A]):
        for mode in ("void", "lively"):
            c.relays[B].mode = mode
            before = high_water(c.nodes[A])
            began = time.monotonic()
            said = c.one(B, seconds=3)
            assert said == "ERROR timeout after 3s", said[:80]
            between(0, 20, began)
            grown = (high_water(c.nodes[A]) - before) >> 20
            assert SANITIZED or grown < 100, f"{grown} MB more"
            c.relays[B].mode = "relay"
            assert c.one(B) == "OK 7"


def high_water(node):
    """The most of memory that it had, in bytes."""
    with open(f"/proc/{node.process.pid}/status", encoding="ascii") as f:
        line, = [x for x in f if x.startswith("VmHWM")]
    return int(line.split()[1]) << 10


def all_at_once(c, askers, script):
    """The answer of B to each of so many sessions."""
    got = []

    def ask():
        with Wire(c.nodes[A].socket, timeout=300) as sql:
            sql.login()
            rows = sql.query("SET STATEMENT heapwire_timeout = 240 FOR ADMIN "
                             f"EXECUTE ON {A}, {B} '{script}'".encode())
            got.append(tuple([r for r in rows if r[0] == b"10002"][0][1:3]))
    threads = [threading.Thread(target=ask) for _ in range(askers)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return got


def test_a_dead_link_is_tried_once_more_on_a_fresh_one():
    with Cluster() as c, Ticking(c.nodes[A]):
        relay = c.relays[B]
        relay.mode = "once"
        before = relay.connections
        for i in range(1, 6):
            assert c.one(B) == "OK 7", i
            assert relay.connections == before + i, relay.connections
        relay.mode = "relay"
        assert c.one(B) == "OK 7"
        port = c.ports[C]
        assert c.one(C) == "OK 7"
        c.nodes[C].stop()
        c.start(C)
        assert c.ports[C] == port
        assert c.one(C) == "OK 7"


def test_who_is_killed_asks_no_longer():
    with Cluster() as c, Ticking(c.nodes[A]) as ticking:
        c.relays[B].mode = "mute"
        number = int(c.sql.query(b"SELECT CONNECTION_ID()")[0][0])
        with Wire(c.nodes[A].socket) as other:
            other.login()
            killed, asked = [], c.relays[B].connections

            def kill():
                wait_for(lambda: c.relays[B].connections > asked)
                killed.append(time.monotonic())
                other.query(f"KILL QUERY {number}".encode())
            killer = threading.Thread(target=kill)
            killer.start()
            try:
                c.ask("ALL", seconds=60)
                assert False
            except Refused as refused:
                assert "interrupted" in str(refused), refused
            between(0, 3, killed[0])
            killer.join()
            pings = ticking.count
            wait_for(lambda: ticking.count > pings + 5)


def test_nodes_come_and_go_with_a_reload():
    with Cluster() as c:
        assert len(c.ask("ALL")) == 3
        node = c.nodes[A]
        with open(node.config, encoding="ascii") as f:
            text = f.read()
        with open(node.config, "w", encoding="ascii") as f:
            f.write(text.replace(f"[peer {C}]", f"[peer {GONE}]"))
        node.signal(signal.SIGHUP)
        wait_for(lambda: "configuration again" in node.log())
        assert c.one(C) == "ERROR node not found"
        said = c.one(GONE)
        assert said.startswith("ERROR id mismatch: "), said
        with open(node.config, "w", encoding="ascii") as f:
            f.write(text)
        node.signal(signal.SIGHUP)
        wait_for(lambda: node.log().count("configuration again") == 2)
        assert c.one(C) == "OK 7"


def test_another_secret_ends_links_of_the_old_one():
    with Cluster() as c:
        assert c.one(B) == "OK 7"
        node = c.nodes[A]
        with open(node.config, encoding="ascii") as f:
            text = f.read()
        with open(node.config, "w", encoding="ascii") as f:
            f.write(text.replace(SECRET, "another-secret-for-node-a"))
        node.signal(signal.SIGHUP)
        wait_for(lambda: "configuration again" in node.log())
        said = c.one(B)
        assert said.startswith("ERROR ") and "does not prove" in said, said
        with open(node.config, "w", encoding="ascii") as f:
            f.write(text.replace(f"[peer {A}]", f"[peer {GONE}]"))
        assert "has no [peer] section" not in node.log()
        node.signal(signal.SIGHUP)
        wait_for(lambda: "has no [peer] section" in node.log())
        assert c.one(B) == "OK 7"


def test_tls_ends_where_it_was_proven():
    with Cluster(settings="require_tls = yes\n",
                 cluster="connect_timeout = 2\n") as c, Ticking(c.nodes[A]):
        relay = c.relays[B]
        assert [r[1] for r in c.ask("ALL")] == [b"OK"] * 3
        asked = relay.connections
        assert asked == 2, asked  # in the clear, by TLS
        assert c.one(B) == "OK 7" and relay.connections == asked
        relay.mode = "handshake"
        relay.cut()
        began = time.monotonic()
        said = c.one(B)
        assert "did not end the login within 4000 ms" in said, said
        between(3.9, 5, began)
        relay.mode = "relay"
        asked = relay.connections
        assert c.one(B) == "OK 7" and relay.connections == asked + 1
        asked = relay.connections
        os.remove(os.path.join(c.nodes[B].state, "server-cert.pem"))
        os.remove(os.path.join(c.nodes[B].state, "server-key.pem"))
        c.nodes[B].stop()
        c.start(B)
        assert c.one(B) == "OK 7"
        assert relay.connections == asked + 1, relay.connections


def test_nothing_is_asked_where_somebody_is_in_between():
    with Cluster(settings="require_tls = yes\n") as c, Ticking(c.nodes[A]):
        relay = c.relays[B]
        cert, key = (os.path.join(c.nodes[B].directory, name)
                     for name in ("between.cert", "between.key"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
             "-subj", "/CN=heapwire", "-keyout", key, "-out", cert],
            check=True, capture_output=True)
        relay.certificate = cert, key
        assert c.one(B) == "OK 7"
        relay.cut()
        relay.mode = "between"
        said = c.one(B)
        assert said == (f"ERROR submit failed for 127.0.0.1:{relay.port}: the "
                        "certificate is not the one that it proves to have: "
                        "a third party may be in between"), said
        assert relay.heard, "it logs in"
        assert b"ADMIN" not in relay.heard
        relay.mode = "relay"
        assert c.one(B) == "OK 7"


def test_a_login_without_end_holds_up_nobody():
    with Cluster(settings="require_tls = yes\n") as c, Ticking(c.nodes[A]):
        relay, state = c.relays[B], c.nodes[B].state
        relay.certificate = (os.path.join(state, "server-cert.pem"),
                             os.path.join(state, "server-key.pem"))
        assert c.one(B) == "OK 7"  # and so it is reached by TLS
        relay.mode = "flood"
        relay.cut()
        began = time.monotonic()
        said = c.one(B)  # the first of it says enough
        assert said.startswith("ERROR submit failed for "), said
        between(0, 1, began)
        relay.cut()
        relay.mode = "old"
        said = c.one(B)
        assert "TLS/SSL error: " in said and "protocol version" in said, said
        relay.mode = "relay"
        assert c.one(B) == "OK 7"


def test_what_goes_wrong_on_one_link_is_no_others_fault():
    script = f'System.print("{"x" * 60000}")'
    with Cluster(meddled=(B, C), settings="require_tls = yes\n",
                 cluster="connect_timeout = 2\n") as c:
        assert [r[1] for r in c.ask("ALL")] == [b"OK"] * 3
        c.relays[C].mode = "bits"
        c.relays[B].mode = "handshake"  # given up in the middle of it
        c.relays[B].cut()
        rows = c.ask("ALL", script=script, seconds=60)
        assert b"did not end the login within 4000 ms" in rows[1][2], rows[1]
        assert rows[2] == (b"10003", b"OK", b"x" * 60000), rows[2]


def test_nothing_is_asked_in_the_clear_of_who_shows_a_certificate():
    with Cluster() as c:
        assert c.one(B) == "OK 7"  # in the clear, as it is so near
        c.relays[B].cut()
        c.relays[B].mode = "strip"
        said = c.one(B)
        assert said == (f"ERROR submit failed for 127.0.0.1:{c.relays[B].port}"
                        ": it uses TLS, and this connection does not: "
                        "a third party is in between"), said
        assert c.relays[B].stripped == 1
        c.relays[B].mode = "relay"
        assert c.one(B) == "OK 7"


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
run_tests(named(globals(), sys.argv[1:]))
