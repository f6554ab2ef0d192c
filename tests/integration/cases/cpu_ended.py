"""What was sampled of a process that is killed meanwhile is answered, and kept.

All at once: heapwired outlives only those that ran for ten seconds."""
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import tempfile

from mysql_wire import Refused, Wire
from node_under_test import wait_for
from ports import free_port
from profiled import SOURCES
from redis_node import LINGERS_S, RedisNode, age_s
from runner import named, of_each, run_tests

KEEPS = "ADMIN EXECUTE ON 10001 'CpuProf.getInstance().snapshot{}(\"k\", 120)'"
ASKED = (("SELECT top('cpu:120')", "perf_event_open|ptrace"),
         ("SELECT top('wall:120')", "ptrace"),
         (KEEPS.format(""), ""), (KEEPS.format("_wall"), ""))


class Killed:
    def __init__(self, work, text, way):
        self.text, self.way = text, way
        port = free_port()
        self.node = RedisNode(
            tempfile.mkdtemp(dir=work), 10001, {10001: port}, port, linger=300,
            program=[os.path.join(work, "unwound"), "shares"]).wait()
        wait_for(lambda: not self.refusal("SELECT tid FROM heapwire.threads"), 60)
        self.node.find_children()
        self.pid, = (pid for name, pid in self.node.children.items()
                     if name != "heapwired")

    def rows(self, text):
        with Wire(self.node.socket, timeout=60).login() as w:
            return [[cell and cell.decode() for cell in row]
                    for row in w.query(text)]

    def refusal(self, text):
        try:
            self.rows(text)
        except Refused as err:
            return str(err)
        return ""


def test_it_is_answered_or_kept(killed):
    def is_due():
        assert not answer.done(), answer.result()
        took = killed.rows("SELECT time FROM heapwire.sessions WHERE info LIKE "
                           "'%120%' AND id <> CONNECTION_ID()")
        return (age_s(killed.pid) > LINGERS_S and
                [int(t) >= 6 for t, in took] == [True])
    with concurrent.futures.ThreadPoolExecutor(1) as asks:
        answer = asks.submit(killed.rows, killed.text)
        wait_for(is_due, 60, 0.1)
        os.kill(killed.pid, signal.SIGKILL)
        said = answer.result(100)
    if not killed.way:
        assert killed.rows("SELECT name FROM heapwire.snapshots") == [["k"]]
        said = killed.rows("SELECT top('k')")
    (head,), = said
    assert re.search(rf"^by ({killed.way or '.*'}) for ", head, re.M), head
    assert re.search(r"^the process ended after \d+\.\d s of 120\.0 s", head,
                     re.M), head
    assert "burn_sixty" in head, head


def test_later_ones_are_told(killed):
    wait_for(lambda: f"(pid {killed.pid}) ended" in killed.refusal(
        "SELECT stack FROM heapwire.threads"), 30, 0.1)
    for text in ("SELECT tid FROM heapwire.threads",
                 killed.text.replace('"k"', '"other"'),
                 "ADMIN EXECUTE ON 10001 'System.print(ExecEnv."
                 "get_stack_trace_for_all_threads())'"):
        said = killed.refusal(text)
        assert f"(pid {killed.pid}) ended" in said, said


def main():
    work = tempfile.mkdtemp(prefix="hw-ended-", dir="/tmp")
    all_of_them = []
    try:
        subprocess.run(["g++", "-O2", "-pthread", SOURCES + "cc", "-o",
                        os.path.join(work, "unwound")], check=True)
        all_of_them += [Killed(work, *asked) for asked in ASKED]
        run_tests({name: lambda test=test: of_each(test, *all_of_them)
                   for name, test in named(globals()).items()})
    finally:
        for killed in all_of_them:
            killed.node.stop()
        shutil.rmtree(work)


main()
