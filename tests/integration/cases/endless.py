"""Ten SELECTs without end: they leave turns to another one of the same user, and
the processor to the database.
"""
import os
import sys
from contextlib import ExitStack

from mysql_wire import Wire
from node_under_test import REAL, Node, wait_for
from runner import named, run_tests

ENDLESS = (b"SELECT COUNT(*) FROM information_schema.columns a, "
           b"information_schema.columns b, information_schema.columns c "
           b"WHERE a.column_name < b.column_name "
           b"AND b.column_name < c.column_name")
LONG = (b"SELECT SUM(LENGTH(a.column_name)) > 0 FROM "
        b"information_schema.columns a, information_schema.tables b")
RUNNING = (b"SELECT COUNT(*) FROM information_schema.processlist "
           b"WHERE info LIKE '%a.column_name < b.column_name%' "
           b"AND id <> CONNECTION_ID()")


def priorities(pid):
    """Of the threads that lead, or run statements."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/stat", encoding="ascii") as f:
            name, rest = f.read().split("(")[1].rsplit(")", 1)
        if name == "hw-loop":
            found.append(int(rest.split()[16]))
    return found


def test_a_users_endless_statements_leave_it_turns():
    with Node(program=REAL, listen="none") as node, ExitStack() as stack:
        wires = [stack.enter_context(Wire(node.socket, 120).login())
                 for _ in range(11)]
        for wire in wires[1:]:
            wire.command(3, ENDLESS)
        # Both end long before the minute of those is over.
        assert wires[0].query(LONG) == [[b"1"]]
        assert wires[0].query(RUNNING) == [[b"10"]]
        usual = os.getpriority(os.PRIO_PROCESS, 0)
        wait_for(lambda: priorities(node.process.pid).count(max(usual, 10))
                 >= 10, tell=lambda: priorities(node.process.pid))
        low = priorities(node.process.pid)
        assert usual in low, low


run_tests(named(globals(), sys.argv[1:]))
