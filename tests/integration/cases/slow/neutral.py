"""The databases' own tests have the same verdicts without heapwire (absent),
with its agent in each server and a heapwired beside it (idle), and with
profiling on and dump_dot_snapshot() each second (dumping): Redis' suite, of
Debian's source of the installed version, and a part of MariaDB's main suite.

neutral.py [redis [UNIT...] | mariadb [TEST...]]: these alone.  PART=1: all of
them, which takes hours; else each PARTth (8), which takes half an hour.  At
SIGTERM it ends after the units that run, and says what was seen so far.

The agent is preloaded as heapwire-run does it, but the database stays the child
of its suite, which stops and kills it by its number.  Both have jemalloc in all
three states.  The states run side by side, so that a busy machine is as busy for
each.  A unit in which a verdict differs is run at once once more in all three: a
difference that does not come again in the same states is told, and is none.

Two tests of unit/memefficiency fail while profiling, with heapwire or without it
(MALLOC_CONF=prof:true,prof_active:true): jemalloc moves each sampled small object,
one in 512 KB, to 16 KB of its own, so allocator_allocated and _active grow by 3 %.
"Active defrag eval scripts" asks for a ratio of the two that prints less than
1.05, finds 1.04 without profiling and 1.05 with it, and leaves its 50,000 scripts;
beside these "Active defrag big keys" finds a ratio of 1.67 for 1.7.  Alone it
finds 1.84, and passes.

2026-11-30, Redis 7.0.15 (all 81 units, 2,629 tests) and MariaDB 10.11.19 (the
first 120 of the 162 tests of PART=2, to main.servers), on 2 cores with
a load of 5 to 100: all have the same verdicts in the three states, but for the
two above, and for unit/cluster, in which now and then a node with a timeout of
1 ms cannot be added, absent, idle or dumping.  In all states one test each of
unit/dump and integration/corrupt-dump fails, and Redis' 20 minutes ended "Active
defrag edge case".

It needs root."""
import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from machine import no_root
from mysql_wire import Refused, Wire
from node_under_test import BUILD
from ports import free_port
from recorded_node import heap, prof
from redis_node import has_ended

PART = int(os.environ.get("PART", "8"))
STATES = ("absent", "idle", "dumping")
SAID = 1500  # characters of a suite's end that are told where verdicts differ
ending = threading.Event()
# Left out of Redis' suite, and why.
NOT_REDIS = {
    "unit/printver": "tests nothing",
    "unit/tls": "needs certificates, and a suite that runs with --tls",
    "integration/corrupt-dump-fuzzer": "does other things at each run",
}
# Verdicts that any profiling changes (see above): told, and no difference while
# profiling.
PROFILING = {("unit/memefficiency", name) for name in (
    "Active defrag eval scripts", "Active defrag big keys", "the unit")}
# Of MariaDB's main suite (1,295 tests, hours) each fourth by name is run, but:
EACH = 4
AT_ONCE = 20  # tests of one mtr, which begins with making its databases
NOT_MARIADB = {
    "mysql_client_test": "fails on Debian (MDEV-40955)",
    "mysql_client_test_comp": "fails on Debian (MDEV-40955)",
}
MTR = "/usr/share/mysql/mysql-test"
EXES = {"redis": os.path.realpath("/usr/bin/redis-server"),
        "mariadb": "/usr/sbin/mariadbd"}


def agent_environment(state, exe, directory):
    """What a server has in its environment."""
    library = glob.glob("/usr/lib/*/libjemalloc.so.2")[0]
    if state == "absent":
        return {"LD_PRELOAD": library}
    return {"LD_PRELOAD": f"{library}:{BUILD}/lib/libheapwire.so",
            "MALLOC_CONF": "prof:true,prof_active:false",
            "HEAPWIRE_EXE": exe, "HEAPWIRE_STATE_DIR": directory}


class Sidecars:
    """A heapwired for each server: in each directory PID.* of its own until that
    process has ended."""

    def __init__(self, state):
        self.directory = tempfile.mkdtemp(prefix="hw-n-", dir="/tmp")
        self.state, self.dumped, self.served = state, 0, 0
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.watch)]
        self.threads[0].start()

    def watch(self):
        known = set()
        while not self.ended.wait(0.02):
            for name in set(os.listdir(self.directory)) - known:
                known.add(name)
                thread = threading.Thread(target=self.serve, args=(name,))
                self.threads.append(thread)
                thread.start()

    def serve(self, name):
        state, pid = os.path.join(self.directory, name), int(name.split(".")[0])
        self.served += 1
        process = subprocess.Popen(
            [f"{BUILD}/bin/heapwired", "--state-dir", state, "--listen", "none",
             "--http", "none", "--log", os.path.join(state, "log")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        while not self.ended.wait(0.1) and not has_ended(pid):
            if self.state == "dumping":
                with contextlib.suppress(OSError, EOFError, Refused,
                                         AssertionError):
                    self.dump(os.path.join(state, "mysql.sock"), pid)
        process.terminate()
        process.wait()
        shutil.rmtree(state, ignore_errors=True)

    def dump(self, path, pid):
        with Wire(path, 60).login() as w:
            while not self.ended.is_set() and not has_ended(pid):
                if prof(w, "HeapProf.getInstance().has_enable()") != ["true"]:
                    heap(w, "enable_prof()")
                heap(w, "dump_dot_snapshot()")
                self.dumped += 1
                self.ended.wait(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.threads[0].join()
        for thread in self.threads:
            thread.join()
        shutil.rmtree(self.directory, ignore_errors=True)


# ---- Redis ----

def redis_source(work):
    """Debian's, of the installed version, with its patches."""
    version = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", "redis-server"], check=True,
        stdout=subprocess.PIPE, text=True).stdout
    parts = os.path.join(work, "parts")
    lists = os.path.join(work, "lists")
    os.mkdir(parts)
    os.makedirs(os.path.join(lists, "partial"))
    for path in glob.glob("/etc/apt/sources.list.d/debian.sources"):
        with open(path, encoding="utf-8") as f, open(
                os.path.join(parts, "source.sources"), "w",
                encoding="utf-8") as out:
            out.write(re.sub("^Types:.*", "Types: deb-src", f.read(),
                             flags=re.M))
    apt = ["apt-get", "-qq", "-o", "Dir::Etc::sourcelist=/dev/null", "-o",
           f"Dir::Etc::sourceparts={parts}", "-o", f"Dir::State::lists={lists}"]
    subprocess.run([*apt, "update"], check=True, stderr=subprocess.DEVNULL)
    subprocess.run([*apt, "source", "--download-only", f"redis={version}"],
                   cwd=work, check=True, stderr=subprocess.DEVNULL)
    dsc, = glob.glob(os.path.join(work, "*.dsc"))
    tree = os.path.join(work, "redis")
    subprocess.run(["dpkg-source", "-x", dsc, tree], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name in ("redis-cli", "redis-benchmark", "redis-check-aof",
                 "redis-check-rdb"):
        os.symlink(f"/usr/bin/{name}", os.path.join(tree, "src", name))
    for state in STATES:
        shutil.copytree(tree, os.path.join(work, f"redis-{state}"),
                        symlinks=True)
    return tree


def redis_units(tree):
    with open(os.path.join(tree, "tests/test_helper.tcl"),
              encoding="utf-8") as f:
        text = re.search(r"set ::all_tests \{(.*?)\}", f.read(), re.S)[1]
    return [unit for unit in text.split() if unit not in NOT_REDIS]


def write_redis_server(tree, state, sidecars):
    """What the suite starts, in the place of the program: it becomes it."""
    given = agent_environment(state, EXES["redis"], "$directory")
    path = os.path.join(tree, "src", "redis-server")
    with open(path, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\n")
        if state != "absent":
            f.write(f'directory=$(mktemp -d "{sidecars.directory}/$$.XXXXXX")\n')
        f.writelines(f'export {name}="{value}"\n'
                     for name, value in given.items())
        f.write('exec /usr/bin/redis-server "$@"\n')
    os.chmod(path, 0o755)


def run_redis(work, state, units):
    """By unit and name of the test: its verdicts.  One unit."""
    tree, (unit,) = os.path.join(work, f"redis-{state}"), units
    found = {(unit, "the unit"): []}
    with Sidecars(state) as sidecars:
        write_redis_server(tree, state, sidecars)
        said = subprocess.run(
            ["./runtest", "--clients", "1", "--baseport", str(free_port()),
             "--portcount", "200", "--timeout", "7200", "--single", unit],
            cwd=tree, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, errors="replace", text=True).stdout
    said = re.sub("\x1b\\[[0-9;]*m", "", said)
    for verdict, name in re.findall(
            r"^\[(ok|err|skip|exception|ignore|timeout)\]: (.*?)"
            r"(?: \(\d+ ms\)| in tests/.*)?$", said, re.M):
        # Some have ports, times and random numbers.
        name = re.sub(r"\d+", "N", name)
        found.setdefault((unit, name), []).append(verdict)
    found[unit, "the unit"].append(
        "done" if "All tests passed" in said else "not passed")
    return found, sidecars, said


# ---- MariaDB ----

def mariadb_tests():
    names = sorted(os.path.basename(path)[:-5]
                   for path in glob.glob(f"{MTR}/main/*.test"))
    return [f"main.{n}" for n in names[::EACH] if n not in NOT_MARIADB]


def run_mariadb(work, state, tests):
    with Sidecars(state) as sidecars:
        directory = os.path.join(sidecars.directory, f"{os.getpid()}.mtr")
        if state != "absent":
            os.mkdir(directory, 0o700)
        given = agent_environment(state, EXES["mariadb"], directory)
        said = subprocess.run(
            ["./mtr", "--force", "--max-test-fail=0", "--retry=0",
             f"--vardir={work}/mtr-{state}", *(f"--mysqld-env={k}={v}" for k, v
                                               in given.items()), *tests],
            cwd=MTR, check=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace").stdout
    found = {}
    for name, verdict in re.findall(
            r"^(main\.\S+(?: '\S+')?) +(?:w\d+ )?\[ ([\w-]+) \]", said, re.M):
        found.setdefault((name.split()[0], name), []).append(verdict)
    assert found, said[-3000:]
    return found, sidecars, said


# ---- both ----

def see(run, units, count):
    """What each state, side by side, has found, and the verdicts of names that
    differ.  How often one comes is random in some units."""
    with ThreadPoolExecutor(len(STATES)) as pool:
        seen = dict(zip(STATES, pool.map(lambda state: run(state, units),
                                         STATES)))
    differ = {}
    for name in sorted({name for found, *_ in seen.values() for name in found}):
        absent, idle, dumping = verdicts = [
            sorted(set(found.get(name, ()))) for found, *_ in seen.values()]
        if absent == idle == dumping:
            continue
        known = name in PROFILING and absent == idle
        print(f"  {'known' if known else 'differs'}: {': '.join(name)}: absent "
              f"{absent} idle {idle} dumping {dumping}")
        if not known:
            differ[name] = verdicts
    for state, (found, sidecars, said) in seen.items():
        count[state].update(verdict for one in found.values()
                            for verdict in one)
        count[state].update(servers=sidecars.served, dumps=sidecars.dumped)
        if differ:
            print(f"--- {state}\n{said[-SAID:]}\n---")
    return seen, differ


def compare(what, run, units, at_once):
    """Names that differ in the same way at the second time."""
    began = time.monotonic()
    count, again_count = ({state: Counter() for state in STATES}
                          for _ in range(2))
    first, second, failed, done = set(), set(), [], 0
    for i in range(0, len(units), at_once):
        if ending.is_set():
            break
        these, start = units[i:i + at_once], time.monotonic()
        seen, names = see(run, these, count)
        done += len(these)
        failed += [name for name, verdicts in seen["absent"][0].items()
                   if {"err", "exception", "timeout", "fail", "not passed"} & set(verdicts)]
        first |= set(names)
        again = sorted({unit for unit, _ in names})
        for j in range(0, len(again), at_once):
            second |= {
                name for name, verdicts in
                see(run, again[j:j + at_once], again_count)[1].items()
                if names.get(name) == verdicts}
        print(f"  {' '.join(these)}: {time.monotonic() - start:.0f} s", {
            state: len(found) for state, (found, *_) in seen.items()},
              f"{len(names)} differ", flush=True)
    print(f"{what}: {done} of {len(units)} units, "
          f"{time.monotonic() - began:.0f} s")
    for state in STATES:
        print(f"  {state}: {dict(count[state])}")
    print(f"  without heapwire failed: {failed}\n  {len(first)} differed once:"
          f" {sorted(first)}\n  {len(second)} of them again: {sorted(second)}",
          flush=True)
    return second


def main():
    if no_root():
        print(f"skipped: {no_root()}")
        return
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    subprocess.run(["sh", "docker/install.sh", "neutral"], check=True)
    which, names = (sys.argv[1:2] or ["redis", "mariadb"]), sys.argv[2:]
    differ = set()
    with tempfile.TemporaryDirectory(prefix="hw-n-", dir="/tmp") as work:
        if "redis" in which:
            tree = redis_source(work)
            differ |= compare("Redis", lambda *what: run_redis(work, *what),
                              names or redis_units(tree)[::PART], 1)
        if "mariadb" in which:
            differ |= compare("MariaDB", lambda *what: run_mariadb(work, *what),
                              names or mariadb_tests()[::PART], AT_ONCE)
    assert not differ, differ


main()
