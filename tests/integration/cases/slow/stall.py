"""A client that takes nothing for a minute is let go, one that takes a little is
not."""
import time

from mysql_wire import Wire
from node_under_test import Node, wait_for

with Node() as node:
    watcher = Wire(node.socket).login()

    def busy():
        return {r[0] for r in watcher.query("SHOW PROCESSLIST")
                if r[2] == b"Query"} - {str(watcher.id).encode()}

    stuck, slow = Wire(node.socket).login(), Wire(node.socket).login()
    began = time.monotonic()
    for w in (stuck, slow):
        w.command(3, b"SELECT rows 100000000")
    wait_for(lambda: len(busy()) == 2)
    while len(busy()) == 2:
        slow.sock.recv(4096)
        time.sleep(0.2)  # a little now and then
    # net_write_timeout is 60, and looked at each second
    assert 59 < time.monotonic() - began < 65, time.monotonic() - began
    assert busy() == {str(slow.id).encode()}
    print("ok: let go after %.0f s" % (time.monotonic() - began))
