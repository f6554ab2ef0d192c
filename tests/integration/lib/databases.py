"""Redis and MariaDB, by a socket alone: with heapwire or without."""
import contextlib
import os
import signal
import subprocess
import tempfile
from glob import glob

from node_under_test import BUILD, wait_for
from redis_node import has_ended

JEMALLOC = {"LD_PRELOAD": glob("/usr/lib/*/libjemalloc.so.2")[0],
            "MALLOC_CONF": "prof:true,prof_active:false"}


def readable_build(place):
    """BUILD, or a copy of it that other users can read."""
    return subprocess.run(
        ["sh", "-c", '. tests/integration/lib/wait.inc; readable "$@"', "sh",
         BUILD, place], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


class Database:
    """In a directory that its user may write to."""

    def __init__(self, work, *options):
        self.options = options
        self.directory = os.path.join(work, self.name)
        os.mkdir(self.directory, 0o755)
        self.socket = os.path.join(self.directory, "sock")
        self.log = os.path.join(self.directory, "log")
        self.install()

    def install(self):
        pass

    def start(self, before=(), environment=()):
        """before: what stands before its command.  The process."""
        with open(self.log, "wb") as log:
            process = subprocess.Popen(
                [*before, *self.command()], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, cwd=self.directory,
                env={**os.environ, **dict(environment)})
        wait_for(lambda: self.answers() or process.poll() is not None)
        assert process.poll() is None, self.said()
        return process

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()[-3000:]


class Redis(Database):
    name, user = "redis-server", None

    def command(self):
        return ["redis-server", "--port", "0", "--unixsocket", self.socket,
                "--save", "", "--dir", self.directory, *self.options]

    def ask(self, *words):
        return subprocess.run(["redis-cli", "-s", self.socket, *words],
                              check=False, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL).stdout.strip()

    def answers(self):
        return self.ask("ping") == "PONG"

    def work(self):
        subprocess.run(["redis-benchmark", "-s", self.socket, "-n", "20000",
                        "-r", "2000", "-d", "200", "-P", "16", "-q", "-t",
                        "set,lpush,hset"], check=True, stdout=subprocess.DEVNULL)


class MariaDB(Database):
    name, user = "mariadbd", "mysql"

    def install(self):
        self.data = os.path.join(self.directory, "data")
        self.plugins = os.path.join(self.directory, "plugins")
        subprocess.run(["mariadb-install-db", "--no-defaults", "--force",
                        "--user=mysql", f"--datadir={self.data}",
                        f"--tmpdir={self.data}",
                        "--auth-root-authentication-method=normal"],
                       check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        self.socket = os.path.join(self.data, "sock")
        os.mkdir(self.plugins)
        for plugin in glob("/usr/lib/mysql/plugin/*.so"):
            os.symlink(plugin, os.path.join(self.plugins,
                                            os.path.basename(plugin)))

    def command(self):
        return ["/usr/sbin/mariadbd", "--no-defaults", "--user=mysql",
                f"--datadir={self.data}", f"--tmpdir={self.data}",
                f"--socket={self.socket}", "--skip-networking",
                "--innodb-buffer-pool-size=16M",
                f"--plugin-dir={self.plugins}", "--plugin-maturity=unknown",
                f"--pid-file={self.data}/pid", *self.options]

    def ask(self, statement):
        return subprocess.run(["mariadb", "--no-defaults", "-u", "root", "-S",
                               self.socket, "-N", "-B", "-e", statement],
                              check=False, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT).stdout.strip()

    def answers(self):
        return self.ask("SELECT 1") == "1"

    def work(self):
        """With the table open that INSTALL SONAME writes to."""
        self.ask("SELECT COUNT(*) FROM mysql.plugin; CREATE OR REPLACE "
                 "TABLE test.t ENGINE=InnoDB SELECT seq, "
                 "REPEAT('x', 200) v FROM seq_1_to_5000; "
                 "SELECT COUNT(DISTINCT v), SUM(seq) FROM test.t; "
                 "DROP TABLE test.t")


def children(pid):
    found = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children",
                      encoding="ascii") as f:
                found += map(int, f.read().split())
    return found


def comm(pid):
    with contextlib.suppress(OSError), \
            open(f"/proc/{pid}/comm", encoding="utf-8") as f:
        return f.read().strip()
    return ""


class UnderHeapwire:
    """A database that heapwire-run has started; its node listens on sockets
    alone, in its directory state."""

    def __init__(self, database, build, *options):
        self.database = database
        self.state = os.path.join(database.directory, "node")
        self.command = [f"{build}/bin/heapwire-run", "--listen", "none",
                        "--http", "none", "--linger", "0", "--state-dir",
                        self.state, *options]
        self.run = database.start([*self.command, "--"])
        self.pid, = (p for p in children(self.run.pid)
                     if comm(p) == database.name)
        wait_for(lambda: os.path.exists(self.socket))

    @property
    def socket(self):
        return os.path.join(self.state, "mysql.sock")

    def heapwired(self):
        """Its pid, by its lock; None: there is none."""
        with contextlib.suppress(OSError, ValueError), \
                open(os.path.join(self.state, "heapwired.lock"),
                     encoding="ascii") as f:
            pid = int(f.read())
            if comm(pid) == "heapwired" and not has_ended(pid):
                return pid
        return None

    def stop(self):
        """The database, and with it what serves beside it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        wait_for(lambda: has_ended(self.pid))
        self.run.terminate()
        self.run.wait(60)
