"""The databases' own tests have the same verdicts without heapwire (absent),
with its agent in each server and a heapwired beside it (idle), and with
profiling on and dump_dot_snapshot() each second (dumping): Redis' suite, of
Debian's source of the installed version, and a part of MariaDB's main suite.

neutral.py [redis [UNIT...] | mariadb [TEST...]]: these alone.  PART=1: all of
them, which takes hours; else each PARTth (8), which takes half an hour.

The agent is preloaded as heapwire-run does it, but the database stays the child
of its suite, which stops and kills it by its number.  Both have jemalloc in all
three states.  A unit in which a verdict differs is run once more in all three: a
difference that does not come again is told, and is none.

While profiling is on jemalloc moves each sampled small object to 16 KB of its
own (prof promotion), one in 512 KB: allocator_active grows by 3 %, and
allocator_frag_ratio by 0.01.  Tests that compare those have that much less room:
those of defragmentation in unit/memefficiency, although Debian's Redis, which
has no defrag hints, cannot defragment at all.

It needs root."""
import contextlib
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from machine import no_root
from mysql_wire import Refused, Wire
from node_under_test import BUILD
from ports import free_port
from recorded_node import heap, prof
from redis_node import has_ended

PART = int(os.environ.get("PART", "8"))
STATES = ("absent", "idle", "dumping")
# Left out of Redis' suite, and why.
NOT_REDIS = {
    "unit/printver": "tests nothing",
    "unit/tls": "needs certificates, and a suite that runs with --tls",
    "integration/corrupt-dump-fuzzer": "does other things at each run",
}
# Of MariaDB's main suite (1,295 tests, hours) each fourth by name is run, but:
EACH = 4
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


class Beside:
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
    return tree


def redis_units(tree):
    with open(os.path.join(tree, "tests/test_helper.tcl"),
              encoding="utf-8") as f:
        text = re.search(r"set ::all_tests \{(.*?)\}", f.read(), re.S)[1]
    return [unit for unit in text.split() if unit not in NOT_REDIS]


def write_redis_server(tree, state, beside):
    """What the suite starts, in the place of the program: it becomes it."""
    given = agent_environment(state, EXES["redis"], "$directory")
    path = os.path.join(tree, "src", "redis-server")
    with open(path, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\n")
        if state != "absent":
            f.write(f'directory=$(mktemp -d "{beside.directory}/$$.XXXXXX")\n')
        f.writelines(f'export {name}="{value}"\n'
                     for name, value in given.items())
        f.write('exec /usr/bin/redis-server "$@"\n')
    os.chmod(path, 0o755)


def run_redis(tree, state, units):
    """By unit and name of the test: its verdict."""
    found = {}
    with Beside(state) as beside:
        write_redis_server(tree, state, beside)
        for unit in units:
            said = subprocess.run(
                ["./runtest", "--clients", "1", "--baseport", str(free_port()),
                 "--portcount", "200", "--single", unit], cwd=tree, check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, errors="replace", text=True).stdout
            said = re.sub("\x1b\\[[0-9;]*m", "", said)
            for verdict, name in re.findall(
                    r"^\[(ok|err|skip|exception|ignore|timeout)\]: (.*?)"
                    r"(?: \(\d+ ms\)| in tests/.*)?$", said, re.M):
                found[unit, name] = verdict
            found[unit, "the unit"] = "done" if "All tests passed" in said \
                else "not passed"
        told(state, beside)
    return found


# ---- MariaDB ----

def mariadb_tests():
    names = sorted(os.path.basename(path)[:-5]
                   for path in glob.glob(f"{MTR}/main/*.test"))
    return [f"main.{n}" for n in names[::EACH] if n not in NOT_MARIADB]


def run_mariadb(work, state, tests):
    with Beside(state) as beside:
        directory = os.path.join(beside.directory, f"{os.getpid()}.mtr")
        if state != "absent":
            os.mkdir(directory, 0o700)
        given = agent_environment(state, EXES["mariadb"], directory)
        said = subprocess.run(
            ["./mtr", "--force", "--max-test-fail=0", "--retry=0",
             f"--vardir={work}/var", *(f"--mysqld-env={k}={v}" for k, v in
                                       given.items()), *tests],
            cwd=MTR, check=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace").stdout
        told(state, beside)
    found = {}
    for name, verdict in re.findall(
            r"^(main\.\S+(?: '\S+')?) +(?:w\d+ )?\[ (\w+) \]", said, re.M):
        found[name.split()[0], name] = verdict
    assert found, said[-3000:]
    return found


# ---- both ----

def told(state, beside):
    print(f"  {state}: {beside.served} servers, {beside.dumped} dumps",
          flush=True)


def different(seen):
    names = sorted({name for found in seen.values() for name in found})
    return [name for name in names
            if len({found.get(name) for found in seen.values()}) > 1]


def compare(what, run, parts):
    """Names that differ, also at the second time."""
    began = time.monotonic()
    seen = {state: run(state, parts) for state in STATES}
    count = {state: len(found) for state, found in seen.items()}
    wrong = [name for name, verdict in seen["absent"].items()
             if verdict not in ("ok", "pass", "done", "skip", "skipped",
                                "ignore", "disabled")]
    print(f"{what}: {len(parts)} units, verdicts {count}, "
          f"{time.monotonic() - began:.0f} s; without heapwire not passed: "
          f"{wrong}", flush=True)
    first = different(seen)
    for name in first:
        print(f"  {name}:", *(f"{s} {seen[s].get(name)}" for s in STATES))
    again = sorted({unit for unit, _ in first})
    if again:
        seen = {state: run(state, again) for state in STATES}
    second = set(different(seen)) & set(first)
    print(f"{what}: {len(first)} differ, {len(second)} of them again: "
          f"{sorted(second)}", flush=True)
    return second


def main():
    if no_root():
        print(f"skipped: {no_root()}")
        return
    subprocess.run(["sh", "docker/install.sh", "neutral"], check=True)
    which, names = (sys.argv[1:2] or ["redis", "mariadb"]), sys.argv[2:]
    differ = set()
    with tempfile.TemporaryDirectory(prefix="hw-n-", dir="/tmp") as work:
        if "redis" in which:
            tree = redis_source(work)
            differ |= compare("Redis", lambda state, units: run_redis(
                tree, state, units), names or redis_units(tree)[::PART])
        if "mariadb" in which:
            differ |= compare("MariaDB", lambda state, tests: run_mariadb(
                work, state, tests), names or mariadb_tests()[::PART])
    assert not differ, differ


main()
