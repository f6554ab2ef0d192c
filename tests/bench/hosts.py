"""What heapwire costs a database: CPU a command, memory, threads.

    python3 tests/bench/hosts.py [redis] [mariadb]      ROUNDS=60 STARTS=6

One database runs in each of these ways at the same time, and is loaded in turn,
in an order that is drawn anew each round, so that what else the machine does
meets all of them alike:

    plain     without heapwire
    again     the same: what the figures of equal things differ by
    disabled  the recorder is preloaded and switched off
    on        it samples, once in 512 KB
    jemalloc  jemalloc's own profiling, once in 512 KB (in MariaDB jemalloc is
              the allocator then, so that its figure is of that, too)

After ROUNDS/STARTS rounds all are started anew, for each start lays memory out
differently.  CPU is that of the whole process (its threads that ended, and the
agent's, too) by its clock of nanoseconds.  A ratio is the middle of each
round's, to plain (Hodges-Lehmann), with its interval of 95 % (signed ranks).
"""
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(TOP, "tests", "integration", "lib"))
from ports import free_port  # noqa: E402 (it is there only now)

BIN = os.path.join(TOP, os.environ.get("BUILD", "build/release"), "bin")
ROUNDS = int(os.environ.get("ROUNDS", "60"))
STARTS = int(os.environ.get("STARTS", "6"))
WAYS = {
    "plain": None,
    "again": None,
    "disabled": ("interposed", "prepared"),
    "on": ("interposed", "on"),
    "jemalloc": ("jemalloc", "on"),
}
LIMIT = 30


def pin(cpu):
    """For the start of a process; nothing where there is one processor."""
    cpus = sorted(os.sched_getaffinity(0))
    return lambda: os.sched_setaffinity(0, {cpus[cpu % len(cpus)]})


def find_child(pid, name):
    """The process of that name below pid, or pid itself."""
    for child in subprocess.run(["pgrep", "-P", str(pid)], text=True,
                                capture_output=True).stdout.split():
        found = find_child(int(child), name)
        if found:
            return found
    try:
        exe = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return None
    return pid if exe.startswith(name) else None


class Host:
    def __init__(self, work, way):
        self.way = way
        self.dir = os.path.join(work, way)
        os.makedirs(self.dir)
        self.port = free_port()
        command = self.command()
        if WAYS[way]:
            source, profiling = WAYS[way]
            command = [f"{BIN}/heapwire-run", "--state-dir",
                       f"{self.dir}/node", "--listen", "none",
                       "--profiling-source", source,
                       "--profiling", profiling, "--"] + command
        with open(f"{self.dir}/log", "w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log,
                                            preexec_fn=pin(1))
        until = time.monotonic() + LIMIT
        while not self.answers():
            assert time.monotonic() < until, open(f"{self.dir}/log").read()
            time.sleep(0.05)
        self.pid = find_child(self.process.pid, self.program)
        self.warm_up()

    def cpu(self):
        return time.clock_gettime_ns((~self.pid << 3) | 2)

    def load(self):
        before = self.cpu()
        subprocess.run(self.loader(), check=True, stdout=subprocess.DEVNULL,
                       preexec_fn=pin(0))
        return (self.cpu() - before) / self.commands

    def status(self, field):
        text = open(f"/proc/{self.pid}/status").read()
        return int(re.search(rf"^{field}:\s*(\d+)", text, re.M).group(1))

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Redis(Host):
    program = "redis-"
    commands = 3 * 60_000

    def command(self):
        return ["redis-server", "--port", str(self.port), "--bind",
                "127.0.0.1", "--save", "", "--dir", self.dir]

    def answers(self):
        return subprocess.run(["redis-cli", "-p", str(self.port), "ping"],
                              capture_output=True).returncode == 0

    def loader(self):
        return ["redis-benchmark", "-p", str(self.port), "-n", "60000", "-r",
                "100000", "-d", "200", "-P", "16", "-q", "-t",
                "set,lpush,lpop"]

    def warm_up(self):
        self.load()


class MariaDB(Host):
    program = "mariadbd"
    commands = 2000
    setup = "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT, " \
        "b VARCHAR(200)) ENGINE=InnoDB; INSERT INTO t (a, b) SELECT seq, " \
        "repeat('x', 100) FROM seq_1_to_1000"
    query = "SELECT a, count(*), group_concat(left(b, 3)) FROM t WHERE id " \
        "BETWEEN 100 AND 120 GROUP BY a ORDER BY a; INSERT INTO t (a, b) " \
        "VALUES (1, repeat('y', 150)); SELECT * FROM t WHERE id = 7; DELETE " \
        "FROM t WHERE id > 1000 LIMIT 2"

    def command(self):
        data = f"{self.dir}/data"
        subprocess.run(["mariadb-install-db", "--no-defaults", "--user=root",
                        f"--datadir={data}",
                        "--auth-root-authentication-method=normal"],
                       check=True, capture_output=True)
        return ["mariadbd", "--no-defaults", "--user=root",
                f"--datadir={data}", f"--socket={self.dir}/sock",
                f"--port={self.port}", "--bind-address=127.0.0.1",
                "--innodb-buffer-pool-size=16M",
                "--innodb-flush-log-at-trx-commit=0"]

    def answers(self):
        return self.client("SELECT 1").returncode == 0

    def client(self, text):
        return subprocess.run(["mariadb", "--no-defaults", "-uroot", "-S",
                               f"{self.dir}/sock", "-e", text, "test"],
                              capture_output=True)

    def loader(self):
        return ["mariadb-slap", "--no-defaults", "-uroot", "-S",
                f"{self.dir}/sock", "--create-schema=test",
                "--no-drop", "--delimiter=;", f"--query={self.query}",
                "--concurrency=4", f"--number-of-queries={self.commands}"]

    def warm_up(self):
        assert self.client(self.setup).returncode == 0
        self.load()


def ratio(values, plain):
    """Hodges-Lehmann: low, middle, high of each round's ratio less 1."""
    logs = [math.log(v / p) for v, p in zip(values, plain)]
    n = len(logs)
    walsh = sorted((logs[i] + logs[j]) / 2
                   for i in range(n) for j in range(i, n))
    half = n * (n + 1) / 4
    out = int(half - 1.96 * math.sqrt(half * (2 * n + 1) / 6))
    return [math.exp(x) - 1 for x in (walsh[max(out, 0)],
                                      statistics.median(walsh),
                                      walsh[-1 - max(out, 0)])]


def measure(kind, name):
    figures = {way: [] for way in WAYS}
    memory = {way: [] for way in WAYS}
    threads = {}
    for _ in range(STARTS):
        work = tempfile.mkdtemp()
        hosts = [kind(work, way) for way in WAYS]
        try:
            for _ in range(ROUNDS // STARTS):
                random.shuffle(hosts)
                for host in hosts:
                    figures[host.way].append(host.load())
            for host in hosts:
                memory[host.way].append(host.status("VmRSS"))
                threads[host.way] = host.status("Threads")
        finally:
            for host in hosts:
                host.stop()
            shutil.rmtree(work)
    print(f"{name}: {len(figures['plain'])} rounds, {STARTS} starts, load "
          f"{os.getloadavg()[0]:.1f}")
    for way, values in figures.items():
        low, middle, high = ratio(values, figures["plain"])
        print(f"    {way:9} {statistics.median(values) / 1000:8.3f} us a "
              f"command  {100 * middle:+6.2f} % ({100 * low:+.2f} to "
              f"{100 * high:+.2f})  RSS "
              f"{statistics.median(memory[way]) / 1024:.1f} MB, "
              f"{threads[way]} threads", flush=True)


KINDS = {"redis": Redis, "mariadb": MariaDB}
for name in sys.argv[1:] or KINDS:
    measure(KINDS[name], name)
