"""One statement on N nodes of this machine: time to the last row, memory.

    python3 tests/bench/cluster.py [N...]          (10 100 1000)

AGENTS=yes (the default): under each node is a stand-in for a database,
"sleep infinity" with the real agent and jemalloc, and the statement asks
has_enable().  AGENTS=no: heapwireds alone, and System.print(1), since
has_enable() is an error where there is no database.  LOOP=kind (the default):
the loop over the mariadb client, which does not prepare for TLS, so that it is
four to eight times as fast as the stock client, which LOOP=both runs, too.
BEFORE=DIR: another build's programs, which the second node runs; it is the
coordinator, too, in a line of its own.
TLS=yes: the nodes' addresses are no loopback's, so that they speak TLS and pin
each other's certificates; they are this machine's in a network of its own,
which takes root.

Every node is one or three processes and two dozen threads, so that 1,000 of
them need 24,000 threads of pid_max.

How it grows.  The coordinator's part is linear: of its one thread 0.03 ms a
node and statement (0.05 by TLS), 0.15 ms to log in (0.85 by TLS); of its memory
5 KB a link (22 by TLS) over 15 MB; on the wire 0.3 KB to a node and 0.1 back,
without headers.  What grows faster here is the machine's: all nodes share its
processors and caches, and a node costs 0.3 ms of each second while it idles.

10,000 nodes are ten_thousand.py's, as stand-ins.
"""
import ctypes
import glob
import os
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(TOP, "tests", "integration", "lib"))
from mysql_wire import Wire  # noqa: E402 (it is there only now)

BIN = os.path.join(TOP, os.environ.get("BUILD", "build/release"), "bin")
BEFORE = os.environ.get("BEFORE")
AGENTS = os.environ.get("AGENTS", "yes") != "no"
TLS = os.environ.get("TLS", "no") == "yes"
LOOP = {"no": (), "kind": ("--skip-ssl",), "both": ("--skip-ssl", "")}[
    os.environ.get("LOOP", "kind")]
ROUNDS = 9
STARTING_MAX = 16  # at once
THREADS_EACH = 26
FIRST = 10001
CALL = "HeapProf.getInstance().has_enable()" if AGENTS else "1"
SCRIPT = f"System.print({CALL})"
ANSWER = b"false" if AGENTS else b"1"
NETWORK = "198.18" if TLS else "127.1"
PORT = int(os.environ.get("PORT", "19416"))

libc = ctypes.CDLL(None)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def die_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def children():
    with open(f"/proc/self/task/{os.getpid()}/children",
              encoding="ascii") as f:
        return [int(pid) for pid in f.read().split()]


def end_children():
    """All that were ever started here: orphans become ours, too."""
    deadline = time.monotonic() + 20
    signalled = set()
    while left := children():
        late = time.monotonic() > deadline
        for pid in left:
            if late or pid not in signalled:
                os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
                signalled.add(pid)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.02)


def figure(pid, path, key):
    try:
        with open(f"/proc/{pid}/{path}", encoding="ascii") as f:
            return int(re.search(rf"^{key}:\s+(\d+)", f.read(), re.M)[1])
    except (OSError, TypeError):
        return 0


def tree_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        below = [int(p) for p in f.read().split()]
    return [pid] + [q for p in below for q in tree_of(p)]


def is_heapwired(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as f:
        return f.read().strip() == "heapwired"


class Nodes:
    def __init__(self, count):
        self.ids = range(FIRST, FIRST + count)
        self.work = tempfile.mkdtemp(prefix="hw-bench-nodes-", dir="/tmp")
        self.config = os.path.join(self.work, "heapwire.ini")
        with open(self.config, "w", encoding="ascii") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write("[cluster]\nname = bench\nsecret = " + os.urandom(32).hex())
            for i in self.ids:
                n = i - FIRST
                f.write(f"\n[peer {i}]\naddress = {NETWORK}."
                        f"{n // 250}.{n % 250 + 1}:{PORT}\n")
        self.processes = {}

    def socket(self, i):
        return os.path.join(self.work, str(i), "mysql.sock")

    def start(self):
        waiting = []
        for i in self.ids:
            state = os.path.join(self.work, str(i))
            options = ["--config", self.config, "--node-id", str(i),
                       "--state-dir", state, "--log", state + ".log"]
            programs = BEFORE if BEFORE and i == FIRST + 1 else BIN
            command = ([os.path.join(programs, "heapwire-run")] + options +
                       ["--linger", "0", "--", "sleep", "infinity"]
                       if AGENTS else
                       [os.path.join(programs, "heapwired")] + options)
            self.processes[i] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent,
                stderr=subprocess.DEVNULL)
            waiting.append(i)
            while len(waiting) >= STARTING_MAX:
                waiting = self.still(waiting)
        while waiting:
            waiting = self.still(waiting)

    def serves(self, i):
        with socket.socket(socket.AF_UNIX) as s:
            return s.connect_ex(self.socket(i)) == 0

    def still(self, waiting):
        left = [i for i in waiting if not self.serves(i)]
        for i in left:
            if self.processes[i].poll() is not None:
                sys.exit(f"node {i} ended: {self.log(i)}")
        if len(left) == len(waiting):
            time.sleep(0.01)
        return left

    def log(self, i):
        try:
            with open(os.path.join(self.work, f"{i}.log"),
                      encoding="utf-8") as f:
                return f.read()[-500:]
        except OSError:
            return "it said nothing"

    def heapwired(self, i):
        return next(p for p in tree_of(self.processes[i].pid)
                    if is_heapwired(p))

    def memory(self):
        """Of one heapwired, and of all processes, in MB."""
        pids = [p for i in self.ids for p in tree_of(self.processes[i].pid)]
        one = self.heapwired(self.ids[-1])
        return (figure(one, "status", "VmRSS") / 1024,
                figure(one, "smaps_rollup", "Pss") / 1024,
                sum(figure(p, "status", "VmRSS") for p in pids) / 1024,
                sum(figure(p, "smaps_rollup", "Pss") for p in pids) / 1024)

    def close(self):
        end_children()
        shutil.rmtree(self.work, ignore_errors=True)


def ask(wire, count, may_fail=False):
    """Milliseconds to the last row; None where a node failed."""
    statement = f"ADMIN EXECUTE ON ALL '{SCRIPT}'".encode()
    began = time.monotonic()
    rows = wire.query(statement)
    took = 1000 * (time.monotonic() - began)
    bad = [r for r in rows if r[1:] != [b"OK", ANSWER]]
    if len(rows) != count or bad:
        if may_fail:
            return None
        sys.exit(f"{len(rows)} rows, {len(bad)} of them failed: {bad[:3]}")
    return took


def loop(nodes, options):
    """The loop that people have: milliseconds."""
    command = (f"printf '%s\\n' {' '.join(map(str, nodes.ids))} | "
               f"xargs -P 32 -I{{}} mariadb --no-defaults {options} "
               f"-S {nodes.work}/{{}}/mysql.sock -u root -N -B "
               f"-e \"ADMIN EXECUTE ON {{}} '{SCRIPT}'\"")
    began = time.monotonic()
    done = subprocess.run(["sh", "-c", command], capture_output=True,
                          check=False)
    took = 1000 * (time.monotonic() - began)
    answers = done.stdout.split(b"\n")[:-1]
    if answers != [ANSWER] * len(nodes.ids):
        sys.exit(f"the loop: {len(answers)} answers; {done.stderr[:300]}")
    return took


def room_for(count):
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as f:
        most = int(f.read())
    used = len(glob.glob("/proc/[0-9]*/task/*"))
    return used + count * THREADS_EACH + 1000 < most


def bench(count):
    if not room_for(count):
        print(f"{count} nodes are more than pid_max has room for")
        return
    nodes = Nodes(count)
    try:
        began = time.monotonic()
        nodes.start()
        with Wire(nodes.socket(nodes.ids[-1]), timeout=120) as wire:
            wire.login()
            while AGENTS and ask(wire, count, True) is None:
                time.sleep(0.2)  # an agent is not there yet
        started = time.monotonic() - began
        head = " ".join(f"{x:7.1f}" for x in (started, *nodes.memory()))
        askers = [Asker(nodes, i, count)
                  for i in list(nodes.ids)[:1 + bool(BEFORE)]]
        for _ in range(ROUNDS):
            for asker in askers:
                asker.ask()
        for asker in askers:
            connected = asker.report(head)
            for options in LOOP:
                took = loop(nodes, options)
                print(f" {took:9.0f} {took / connected:6.0f}", end="")
            print(f" {os.getloadavg()[0]:6.1f}", flush=True)
    finally:
        nodes.close()


class Asker:
    """A coordinator, a node which has asked nobody yet."""

    def __init__(self, nodes, i, count):
        self.pid, self.count = nodes.heapwired(i), count
        self.kind = "before" if i != FIRST else "now" if BEFORE else ""
        self.wire = Wire(nodes.socket(i), timeout=120)
        self.wire.login()
        self.before = self.memory()
        self.times, self.cpu = [], []  # of the first, which logs in, too
        self.ask()

    def memory(self, key="VmRSS"):
        return figure(self.pid, "status", key)

    def processor(self):
        """Milliseconds of its loop."""
        with open(f"/proc/{self.pid}/schedstat", encoding="ascii") as f:
            return int(f.read().split()[0]) / 1e6

    def ask(self):
        began = self.processor()
        self.times.append(ask(self.wire, self.count))
        self.cpu.append(self.processor() - began)

    def report(self, head):
        after = self.memory()
        connected = statistics.median(self.times[1:])
        print(f"{self.count:6} {self.kind:6} {head} {self.times[0]:8.1f} "
              f"{self.cpu[0]:8.1f} "
              f"{connected:8.1f} {statistics.median(self.cpu[1:]):8.1f} "
              f"{self.before / 1024:7.1f} {after / 1024:7.1f} "
              f"{self.memory('VmHWM') / 1024:7.1f} "
              f"{(after - self.before) / self.count:7.1f}", end="")
        self.wire.close()
        return connected


def enter_network():
    """Where all of NETWORK is ours, and no other machine is."""
    if os.environ.get("IN_NETWORK") != str(os.getpid()):
        os.environ["IN_NETWORK"] = str(os.getpid())  # exec keeps it
        os.execvp("unshare", ["unshare", "--net", sys.executable] + sys.argv)
    for command in ("link set lo up", f"route add local {NETWORK}.0.0/16 "
                    "dev lo"):
        subprocess.run(["ip"] + command.split(), check=True)


def main(counts):
    if TLS:
        enter_network()

    def end(number, _):
        sys.exit(128 + number)
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGHUP, end)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(f"{SCRIPT} on ALL; {os.cpu_count()} processors.  MB; milliseconds "
          f"to the last row, then is the median of {ROUNDS}")
    heads = "".join(f" {o or 'stock loop':>9} {'times':>6}" for o in LOOP)
    print(f"{'':21} {'a heapwired':>15} {'all processes':>15} "
          f"{'statement':>35} {'the coordinator':>31} "
          f"{'xargs -P 32 mariadb' if LOOP else ''}")
    print(f"{'nodes':>6} {'':6} {'start':>7} {'RSS':>7} {'PSS':>7} {'RSS':>7} "
          f"{'PSS':>7} {'first':>8} {'its loop':>8} {'then':>8} "
          f"{'its loop':>8} {'before':>7} {'after':>7} "
          f"{'most':>7} {'KB/link':>7}{heads} {'load':>6}")
    for count in counts or (10, 100, 1000):
        bench(int(count))


main(sys.argv[1:])
