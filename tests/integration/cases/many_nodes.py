"""A node that asks hundreds of others: how often it logs in, what it holds, and
that it lets go of it; and one that is asked by as many.  Counts alone:
bench/ten_thousand.py measures times.
"""
import contextlib
import sys
import threading

from many_stand_ins import ManyNodes
from mysql_wire import Refused, Wire
from node_under_test import REAL, Node, wait_for
from peer_wire import CLUSTER, SECRET, Peer
from runner import named, run_tests

NODES = 300
PATIENT = "connect_timeout = 20\n"  # a busy machine's logins take their time


def asking_in_parallel(m, sql, ends):
    def ask():
        try:
            ends.append(m.ask(sql)[0])
        except Refused as refused:
            ends.append(refused.code)
    asker = threading.Thread(target=ask)
    asker.start()
    return asker


def test_each_node_is_logged_in_to_once():
    with ManyNodes(NODES, cluster=PATIENT) as m:
        before = m.node.descriptors()
        assert m.ask()[0] == []
        first = m.counts()
        assert first[1:] == (NODES, NODES, NODES), first
        # The first connection to each told that it has to be with TLS.
        assert first[0] == 2 * NODES, first
        # Each with one link, and one to the node itself, which has two ends.
        assert m.node.descriptors() == before + NODES + 2
        for again in (2, 3):
            assert m.ask()[0] == []
            assert m.counts() == (*first[:2], again * NODES, NODES)
        assert m.node.descriptors() == before + NODES + 2


def test_nodes_that_hang_up_are_not_connected_to_before_they_are_asked():
    with ManyNodes(NODES, cluster=PATIENT) as m:
        assert m.ask()[0] == []
        asking = m.node.descriptors()
        before = m.tell(f"drop {NODES}")
        assert before[3] == 0, before
        wait_for(lambda: m.node.descriptors() == asking - NODES)
        m.node.comes_to_rest()
        assert m.counts() == before
        assert m.ask()[0] == []
        assert m.counts() == (before[0] + NODES, 2 * NODES, 2 * NODES, NODES)


def test_a_killed_statement_lets_go_of_every_link():
    with ManyNodes(NODES, cluster=PATIENT) as m:
        assert m.ask()[0] == []
        asking = m.node.descriptors()
        m.tell("hold")
        ends = []
        asker = asking_in_parallel(m, m.sql, ends)
        wait_for(lambda: m.counts()[2] == 2 * NODES)
        with m.connect() as other:
            running, = [r[0] for r in other.query(
                b"SELECT id FROM information_schema.processlist "
                b"WHERE info LIKE '%ON ALL%' AND id <> CONNECTION_ID()")]
            other.query(b"KILL QUERY " + running)
        asker.join(60)
        assert ends == [1317], ends
        wait_for(lambda: m.counts()[3] == 0)
        wait_for(lambda: m.node.descriptors() <= asking - NODES)
        m.tell("release")
        assert m.ask()[0] == []
        assert m.counts()[1:] == (2 * NODES, 3 * NODES, NODES)


def test_where_there_is_no_room_statements_share_links():
    with ManyNodes(NODES, cluster=f"{PATIENT}max_links = {NODES + 8}\n") as m:
        assert m.ask()[0] == []
        first = m.counts()
        m.tell("hold")
        ends = []
        with m.connect() as other:
            askers = [asking_in_parallel(m, sql, ends) for sql in (m.sql, other)]
            # One has all links, the other those for which there is room: seven,
            # and perhaps one of them for the node itself.
            wait_for(lambda: m.counts()[2] >= 2 * NODES + 6, tell=m.counts,
                     seconds=8)  # after ten those that are silent are lost
            m.tell("release")
            for asker in askers:
                asker.join(60)
        assert ends == [[], []], ends
        connections, logins, statements, _ = m.counts()
        assert statements == 3 * NODES
        assert logins <= NODES + 7, logins
        assert connections - first[0] == logins - NODES


def test_the_setting_bounds_the_links():
    with ManyNodes(64, tls=False, cluster=PATIENT + "max_links = 16\n") as m:
        assert "65 nodes, and 16 of them stay connected" in m.node.log()
        before = m.node.descriptors()
        for _ in range(2):
            assert m.ask()[0] == []
            assert m.node.descriptors() <= before + 16 + 1
        assert m.counts()[3] <= 16


def test_a_thousand_nodes_that_ask_at_once_keep_nobody_out():
    settings = ("login_failures = 3\n[cluster]\n"
                f"name = {CLUSTER.decode()}\nsecret = {SECRET.decode()}\n")
    with Node(program=REAL, users=[("ann", b"secret", "all")],
              settings=settings) as node:
        before, answers = node.descriptors(), 0
        peers = [Peer(node.tcp) for _ in range(1000)]
        with Wire(node.tcp).login(b"ann", b"secret") as ann:
            for p in peers:
                with contextlib.suppress(EOFError, OSError):
                    answers += p.enter().ask("System.print(1)") == [[b"1"]]
            assert ann.query(b"SELECT 1") == [[b"1"]]
        # Those of the 256 that came last, but for one that made room for ann.
        assert answers == 255, answers
        for p in peers:
            p.close()
        Wire(node.tcp).login(b"ann", b"secret").close()
        wait_for(lambda: node.descriptors() == before)


run_tests(named(globals(), sys.argv[1:]))
