"""A program whose threads hold known blocks (thread_pools.c), as a node."""
import os

from mysql_wire import Refused, Wire
from node_under_test import BUILD, wait_for
from ports import free_port
from redis_node import RedisNode

BLOCK = 16 << 20
# Blocks that each pool holds, and once it has gone on.
FIRST = {"scan-*": 6, "write-*": 5, "gone-*": 1}
SECOND = {"scan-*": 12, "write-*": 3, "gone-*": 1}


class Pools(RedisNode):
    def __init__(self, work, source, i=1, ports=None):
        """ports: of all nodes, by id; None: it is alone."""
        self.fifo = os.path.join(work, f"fifo-{source}")
        os.mkfifo(self.fifo)
        self.source = source
        ports = ports or {i: free_port()}
        super().__init__(work, i, ports, ports[i], linger=60, program=[
            os.path.join(BUILD, "bin", "thread_pools"), self.fifo])
        self.database = "thread_pools"

    def start(self):
        program = self.command.index("--")
        self.command[program:program] = ["--profiling-source", self.source,
                                         "--profiling", "on"]
        return super().start()

    def write(self, places):
        super().write(places)
        with open(self.config, "a", encoding="ascii") as f:
            f.write("[budgets]\nevery = 5\n")

    def is_ready(self):
        """Once its threads hold what they do first."""
        self.wait()
        self.await_word(b"first")
        wait_for(lambda: self.sql("SELECT state FROM heapwire.profiler") ==
                 [["connected"]])
        return self

    def go_on(self):
        with open(self.fifo, "wb") as fifo:
            fifo.write(b"\n")
        self.await_word(b"second")

    def sql(self, text):
        with Wire(self.socket, 60).login() as w:
            return [[cell and cell.decode() for cell in row]
                    for row in w.query(text)]

    def keep(self, name):
        self.sql(f"ADMIN EXECUTE ON {self.id} 'HeapProf.getInstance()."
                 f"snapshot(\"{name}\")'")


def blocks(value):
    """How many blocks that many bytes are."""
    found = float(value) / BLOCK
    assert abs(found - round(found)) < 0.001, found
    return round(found)


def refusal(node, statement):
    try:
        node.sql(statement)
    except Refused as error:
        return str(error)
    raise AssertionError(statement)
