"""Each command of README.md, as it stands there and in its order, and that the
answers shown there are those that come.

"sh" blocks run in a directory of their own: cmake at the top of the tree,
cmake --install into a root of ours, what starts with heapwire-run in the
background.  "sql" blocks go through the stock client over the node's socket.
A "text" block shows the answer to the block before it: each of its words is in
the answer, and a table has the same heads.  Numbers are not compared.
"""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import pymysql
import pyodbc

from node_under_test import wait_for
from readme_blocks import BLOCKS, DEATH, LINGERS_FROM, PORT, README, differs

TOP = os.getcwd()
STATE = "/run/heapwire/10001"
SOCKET = STATE + "/mysql.sock"
CLIENT = ["mysql", "--no-defaults", "--socket", SOCKET, "--user", "root",
          "--table", "heapwire"]


def run(command, text=None, cwd=None, env=None):
    """(whether it succeeded, what it printed)"""
    done = subprocess.run(command, input=text, text=True, cwd=cwd, env=env,
                          timeout=300, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout


class Reader:
    """A reader of README.md with a directory, and a node."""

    def __init__(self):
        self.work = tempfile.mkdtemp(prefix="hw-readme-")
        self.root = os.path.join(self.work, "root")
        bin_ = os.path.join(self.root, "usr/local/bin")
        self.env = dict(os.environ, DESTDIR=self.root, PPROF_TMPDIR=self.work,
                        PATH=bin_ + ":" + os.environ["PATH"])
        self.node = None
        self.checks = self.faults = 0

    def fault(self, *what):
        self.faults += 1
        print("FAULT:", *what, flush=True)

    def check(self, good, *what):
        self.checks += 1
        if not good:
            self.fault(*what)

    def sh(self, block):
        lines = block.splitlines()
        starts = [line for line in lines if line.startswith("heapwire-run ")]
        rest = "\n".join(line for line in lines if line not in starts)
        cwd = TOP if "cmake" in block else self.work
        good, got = run(["sh", "-e"], rest, cwd, self.env)
        for line in starts:
            with open(self.work + "/node.log", "w", encoding="utf-8") as log:
                self.node = subprocess.Popen(
                    ["sh", "-c", "exec " + line], cwd=self.work, stdout=log,
                    env=self.env, stderr=subprocess.STDOUT)
            good = good and self.ready()
        return good, got

    def ready(self):
        asks = "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().has_enable()';"
        try:
            wait_for(lambda: run(CLIENT, asks)[0] and
                     run(["redis-cli", "-p", PORT, "ping"])[0])
        except AssertionError:
            with open(self.work + "/node.log", encoding="utf-8") as log:
                print(log.read())
            return False
        return True

    def sql(self, block):
        return run(CLIENT, block)

    def kill_redis(self):
        """Once it has run for so long that its end is no failed start."""
        wait_for(lambda: int(self.redis("uptime_in_seconds")) > LINGERS_FROM)
        os.kill(int(self.redis("process_id")), signal.SIGKILL)
        wait_for(lambda: "SIGKILL" in run(CLIENT, "SELECT how FROM deaths")[1])

    @staticmethod
    def redis(key):
        info = run(["redis-cli", "-p", PORT, "info", "server"])[1]
        return re.search(rf"{key}:(\d+)", info)[1]

    def read(self, blocks):
        got = None
        for language, block in blocks:
            if language == "text":
                self.check(got is not None, "an answer to nothing:", block)
                why = differs(block, got)
                self.check(not why, f"{why}\nREADME.md shows:\n{block}"
                           f"and the answer is:\n{got}")
                continue
            good, got = getattr(self, language)(block)
            self.check(good, f"README.md says:\n{block}{got}")

    def clients(self):
        """Those that need no compiler, with what "Connect" says of each."""
        with open(self.work + "/admin.password", encoding="ascii") as f:
            password = f.read().strip()
        ways = {name: way.replace("…", password, 1) for name, way in
                re.findall(r"^\| (\w+).* \| `(.*?)`", README, re.M)}
        asks = "SELECT user FROM heapwire.sessions WHERE id = CONNECTION_ID()"
        got = run(["sh", "-c", f"mysql --no-defaults {ways['mysql']} "
                   f"-N -e '{asks}'"], cwd=self.work)[1]
        self.check(got == "admin\n", ways["mysql"], got)
        for name, connection in (
                ("Python", lambda: eval(ways["Python"].replace(
                    password, repr(password)), {"pymysql": pymysql})),
                ("ODBC", lambda: pyodbc.connect(ways["ODBC"]))):
            cursor = connection().cursor()
            cursor.execute(asks)
            got = [tuple(row) for row in cursor.fetchall()]
            self.check(got == [("admin",)], ways[name], got)

    def files(self):
        for name in ("bin/heapwire-run", "bin/heapwire-passwd",
                     "bin/heapwire-prof", "lib/heapwire/heapwired",
                     "lib/heapwire/heapwire-symbolizer",
                     "lib/heapwire/heapwire-debuginfod",
                     "lib/heapwire/libheapwire.so",
                     "share/bash-completion/completions/heapwire",
                     "share/zsh/site-functions/_heapwire"):
            self.check(os.path.exists(f"{self.root}/usr/local/{name}"),
                       "not installed:", name)
        with open(self.work + "/heap.svg", encoding="utf-8") as f:
            picture = f.read()
        self.check("<svg" in picture and "setCommand" in picture, picture)

    def libraries(self):
        """What is linked is named by install.sh runtime: a container has no
        more."""
        with open("docker/install.sh", encoding="ascii") as f:
            runtime = " ".join(re.findall(r'^ *runtime="([^"]*)"', f.read(),
                                          re.M)).split()
        installed = [p for folder in ("bin", "lib") for p in glob.glob(
            f"{self.root}/usr/local/{folder}/**", recursive=True)
            if os.path.isfile(p)]
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]",
                                run(["readelf", "-d", *installed])[1]))
        self.check("libuv.so.1" in needed, "needed:", needed)
        for library in needed:
            owners = re.findall(r"^([^:]+):", run(["dpkg", "-S", "*/" + library])[1],
                                re.M)
            self.check({"libc6", *runtime} & set(owners),
                       "install.sh runtime lacks the package of", library)

    def leave(self):
        if self.node and self.node.poll() is None:
            self.node.terminate()
            self.node.wait(30)
        shutil.rmtree(self.work)


def main():
    if os.getuid() != 0 or os.path.exists(SOCKET):
        print("readme.py needs root, and node 10001 for itself")
        return 1
    # What an earlier run left: snapshots and ends outlive their node.
    for name in glob.glob(STATE + "/snapshots/before.*") + glob.glob(
            STATE + "/deaths"):
        os.remove(name)
    reader = Reader()
    try:
        at = [text for _, text in BLOCKS].index(DEATH)
        reader.read(BLOCKS[:at] + BLOCKS[at + 2:])
        reader.clients()
        reader.kill_redis()
        reader.read(BLOCKS[at:at + 2])  # what is asked of a dead database
        reader.files()
        reader.libraries()
    finally:
        reader.leave()
    print(f"{reader.checks} checks, {reader.faults} faults")
    return int(reader.faults > 0 or reader.checks < 20)


sys.exit(main())
