"""One heapwired, and stand-ins for thousands of nodes that it asks: the program
many_nodes, whose ends of the links are heapwired's own code.
"""
import os
import subprocess
import time

from mysql_wire import Wire
from node_under_test import BUILD, REAL, Node
from ports import free_port

OWN, FIRST = 10001, 10002
SECRET = "a-secret-for-the-tests-of-many-nodes"


class ManyNodes:
    """count: of the stand-ins.  network: the first two bytes of their
    addresses; in 127 TLS is used because they insist on it."""

    def __init__(self, count, network="127.1", tls=True, cluster="",
                 settings="", wrapper=()):
        self.count, self.port = count, free_port()
        self.nodes = subprocess.Popen(
            [os.path.join(BUILD, "bin", "many_nodes"), f"{network}.0.1",
             str(self.port), str(FIRST), "many", SECRET] + ["tls"] * tls,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        peers = "".join(f"[peer {FIRST + n}]\naddress = {network}."
                        f"{(n + 1) // 256}.{(n + 1) % 256}:{self.port}\n"
                        for n in range(count))
        self.node = Node(program=REAL, listen="none", settings=(
            f"{settings}[cluster]\nname = many\nsecret = {SECRET}\n{cluster}"
            f"{peers}"), arguments=["--node-id", str(OWN)], wrapper=wrapper)
        self.sql = self.connect()
        assert self.counts() == (0, 0, 0, 0)

    def connect(self):
        wire = Wire(self.node.socket, timeout=120)
        wire.login()
        return wire

    def tell(self, line):
        self.nodes.stdin.write(line + "\n")
        self.nodes.stdin.flush()
        return tuple(int(word) for word in self.nodes.stdout.readline().split())

    def counts(self):
        """Connections, logins and statements so far; connections that are
        open."""
        return self.tell("counts")

    def ask(self, sql=None, seconds=60):
        """Of all: rows that are not right, and seconds."""
        text = (f"SET STATEMENT heapwire_timeout = {seconds} FOR "
                "ADMIN EXECUTE ON ALL 'System.print(7)'")
        began = time.monotonic()
        rows = (sql or self.sql).query(text.encode())
        took = time.monotonic() - began
        assert [int(r[0]) for r in rows] == list(range(OWN,
                                                       FIRST + self.count))
        return [r for r in rows if r[1:] != [b"OK", b"7"]], took

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.sql.close()
        try:
            self.node.__exit__(*exception)
        finally:
            self.nodes.stdin.close()
            self.nodes.wait(60)
