"""One statement on ten thousand nodes by TLS: time, memory, log-ins.

    python3 tests/bench/ten_thousand.py [N...]          (1000 10000)

The node that asks is a real heapwired.  The others are many_nodes, one process
with heapwired's own proofs, TLS, seals and packets, but without sessions: it
answers at once.  All are on this machine, in a network of its own (which takes
root), with an address each: a statement's time is that of both processes on its
processors; "its loop" is the asking node's thread alone, which is what a
cluster of so many machines has.  The rest of a node's part (session, statement)
is measured by cluster.py with real nodes, 0.3 ms, on each node's own processor.

Lines: the first statement, which logs in; the median of ROUNDS further ones;
two at once, of two clients; the first after a thousand nodes hung up; a killed
one, from KILL to when no link of it is left; what idle links cost.

On 2 processors, both processes on them, 10,000 nodes: the first statement 18 s
(12.8 s its loop), each further one 0.63 to 0.85 s (0.55 s) without log-ins, two
at once 1.5 s; 20 KB a link, 218 MB in all, which are given back once the links
have closed and a session has ended.  PATIENCE=10 where the machine is busy: a
log-in may take twice that many seconds.
"""
import os
import resource
import statistics
import subprocess
import sys
import threading
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(TOP, "tests", "integration", "lib"))
from many_stand_ins import ManyNodes  # noqa: E402 (it is there only now)
from mysql_wire import Refused  # noqa: E402
from node_under_test import wait_for  # noqa: E402

ROUNDS = 9
IDLE_S = 10
PATIENCE_S = os.environ.get("PATIENCE", "1")  # connect_timeout


def enter_network():
    """Where all of 198.18 is ours, and no other machine is."""
    if os.environ.get("IN_NETWORK") != str(os.getpid()):
        os.environ["IN_NETWORK"] = str(os.getpid())  # exec keeps it
        os.execvp("unshare", ["unshare", "--net", sys.executable] + sys.argv)
    for command in ("link set lo up", "route add local 198.18.0.0/16 dev lo"):
        subprocess.run(["ip"] + command.split(), check=True)


class Bench(ManyNodes):
    def processor(self):
        """Milliseconds of its loop."""
        path = f"/proc/{self.node.process.pid}/schedstat"
        with open(path, encoding="ascii") as f:
            return int(f.read().split()[0]) / 1e6

    def line(self, what, run):
        """Milliseconds: of run, or what it returns."""
        logins, loop, began = self.counts()[1], self.processor(), time.time()
        took = run() or 1000 * (time.time() - began)
        loop = self.processor() - loop
        print(f"{self.count:6} {what:32} {took:9.0f} {loop:9.0f} "
              f"{1000 * loop / self.count:8.0f} "
              f"{self.counts()[1] - logins:8} {self.counts()[3]:7} "
              f"{self.node.descriptors():7} {self.node.rss_kb() / 1024:8.1f}",
              flush=True)
        return took

    def once(self, sql=None):
        bad, _ = self.ask(sql)
        if bad:
            print(f"{len(bad)} failed: {bad[0]}")

    def twice(self):
        with self.connect() as other:
            askers = [threading.Thread(target=self.once, args=(sql,))
                      for sql in (self.sql, other)]
            for asker in askers:
                asker.start()
            for asker in askers:
                asker.join()

    def killed(self):
        """From KILL."""
        asked = self.tell("hold")[2]

        def ask():
            try:
                self.ask()
            except Refused:
                pass
        asker = threading.Thread(target=ask)
        asker.start()
        wait_for(lambda: self.counts()[2] >= asked + self.count)
        with self.connect() as other:
            running, = [r[0] for r in other.query(
                b"SELECT id FROM information_schema.processlist WHERE "
                b"info LIKE '%ON ALL%' AND id <> CONNECTION_ID()")]
            began = time.time()
            other.query(b"KILL QUERY " + running)
        asker.join()
        wait_for(lambda: self.counts()[3] == 0)
        took = 1000 * (time.time() - began)
        self.tell("release")
        return took


def segments():
    """Sent in this network, a second of IDLE_S."""
    with open("/proc/net/snmp", encoding="ascii") as f:
        names, values = [line.split() for line in f if line.startswith("Tcp:")]
    return int(values[names.index("OutSegs")]) / IDLE_S


def bench(count):
    with Bench(count, network="198.18",
               cluster=f"connect_timeout = {PATIENCE_S}\n") as b:
        b.line("at the start", lambda: time.sleep(1))
        before = b.node.rss_kb()
        b.line("first", b.once)
        after = b.node.rss_kb()
        times = []
        for _ in range(ROUNDS - 1):
            began = time.time()
            b.once()
            times.append(1000 * (time.time() - began))
        times.append(b.line("then, one", b.once))
        print(f"{count:6} then, the median {statistics.median(times):25.0f} "
              f"{min(times):.0f} to {max(times):.0f}; "
              f"{(after - before) / count:.1f} KB a link")
        b.line("two at once", b.twice)
        b.tell(f"drop {min(1000, count)}")
        b.line("after a thousand hung up", b.once)
        b.line("killed", b.killed)
        b.line("the next", b.once)
        sent = segments()
        b.line(f"idle for {IDLE_S} s", lambda: time.sleep(IDLE_S))
        print(f"{count:6} of that, a second, {segments() - sent:.0f} segments "
              "of TCP, those of the other ends included")


def main(counts):
    enter_network()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; at "
          f"most {hard} descriptors.  Milliseconds, microseconds a node, MB")
    print(f"{'nodes':>6} {'statement':32} {'took':>9} {'its loop':>9} "
          f"{'us/node':>8} {'log-ins':>8} {'links':>7} {'files':>7} {'RSS':>8}")
    for count in counts or (1000, 10000):
        bench(int(count))


main(sys.argv[1:])
