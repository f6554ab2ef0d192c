"""A Redis under heapwire-run, as a node of a cluster."""
import contextlib
import os
import signal
import socket
import subprocess
import time

from node_under_test import BUILD, wait_for
from ports import free_port

RUN = os.path.join(BUILD, "bin", "heapwire-run")
SECRET = "a-secret-for-the-tests-of-clusters"


def place(where):
    return f"127.0.0.1:{where}" if isinstance(where, int) else where


def has_ended(pid):
    """All of it: its sockets are open until its last thread has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return (f.read().rsplit(")", 1)[1].split()[0] in "ZX" and
                    len(os.listdir(f"/proc/{pid}/task")) <= 1)
    except (FileNotFoundError, ProcessLookupError):
        return True


LINGERS_S = 11  # a database that ends sooner has failed to start


def age_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        ticks = int(f.read().rsplit(")", 1)[1].split()[19])
    return (time.clock_gettime(time.CLOCK_BOOTTIME) -
            ticks / os.sysconf("SC_CLK_TCK"))


def grow_old(pid):
    """Until its heapwired outlives it."""
    wait_for(lambda: age_s(pid) > LINGERS_S)


def redis_answers(port):
    """Its title has the port by then, too."""
    with contextlib.suppress(OSError), \
            socket.create_connection(("127.0.0.1", port), 60) as s:
        s.sendall(b"PING\r\n")
        return s.recv(16) == b"+PONG\r\n"
    return False


def port_of(program):
    """Redis'; None: it is another, or has none."""
    words = list(program)
    if words[0] != "redis-server" or "--port" not in words:
        return None
    return int(words[words.index("--port") + 1]) or None


class RedisNode:
    """heapwire-run, its heapwired and its redis-server."""

    def __init__(self, work, i, places, listen, wrapper=(), program=None,
                 environment=(), linger=0, run=RUN):
        """places: by id, the node's own as well; a port alone is of
        127.0.0.1.  program: a command in the place of Redis;
        linger: how many seconds heapwired outlives it; run: heapwire-run,
        with its programs beside it."""
        self.id, self.directory = i, os.path.join(work, f"{i}-{listen}")
        os.makedirs(self.directory, mode=0o700)
        self.config = os.path.join(self.directory, "heapwire.ini")
        self.log_path = os.path.join(self.directory, "log")
        self.write(places)
        self.database = None if program else "redis-server"  # as /proc has it
        program = program or [
            "redis-server", "--port", str(free_port()), "--bind",
            "127.0.0.1", "--save", "", "--dir", self.directory]
        # Where it can be asked: not below a wrapper, which may be elsewhere.
        self.redis_port = None if wrapper else port_of(program)
        self.command = [
            *wrapper, run, "--config", self.config, "--node-id", str(i),
            "--listen", place(listen),
            "--state-dir", os.path.join(self.directory, "state"),
            "--log", self.log_path, "--linger", str(linger), "--",
            *program]
        self.environment = {**os.environ, **dict(environment)}
        self.start()

    def start(self):
        self.children = {}
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.log_path)
        with open(os.path.join(self.directory, "out"), "wb") as out:
            self.process = subprocess.Popen(self.command, stdout=out, stderr=out,
                                            env=self.environment)
        return self

    def write(self, places):
        text = f"[cluster]\nname = redis\nsecret = {SECRET}\n" + "".join(
            f"[peer {n}]\naddress = {place(where)}\n"
            for n, where in places.items())
        with open(self.config + ".new", "w", encoding="ascii") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write(text)
        os.replace(self.config + ".new", self.config)

    @property
    def socket(self):
        return os.path.join(self.directory, "state", "mysql.sock")

    def await_word(self, word):
        """Until the database, or heapwire-run, has said it."""
        wait_for(lambda: word in self.output())

    def output(self):
        with open(os.path.join(self.directory, "out"), "rb") as out:
            return out.read()

    def log(self):
        with contextlib.suppress(FileNotFoundError):
            with open(self.log_path, encoding="utf-8") as f:
                return f.read()
        return ""

    def find_children(self):
        """True once each has executed its program."""
        run = self.process.pid
        self.children = {}
        with open(f"/proc/{run}/task/{run}/children", encoding="ascii") as f:
            for pid in map(int, f.read().split()):
                with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
                        open(f"/proc/{pid}/comm", encoding="utf-8",
                             errors="replace") as comm:
                    self.children[comm.read().strip()] = pid
        return "heapwire-run" not in self.children

    def wait(self):
        """Until it serves; finds its processes by their parent."""
        wait_for(lambda: "serves node" in self.log() or
                 self.process.poll() is not None)
        wait_for(lambda: self.find_children() and
                 (self.database is None or self.database in self.children))
        wait_for(lambda: self.redis_port is None or
                 redis_answers(self.redis_port))
        assert "heapwired" in self.children, self.children
        return self

    @property
    def heapwired(self):
        return self.children["heapwired"]

    def crash(self):
        """Kills all at once, as the loss of a machine does."""
        pids = [self.process.pid, *self.children.values()]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        wait_for(lambda: all(map(has_ended, pids)))

    def terminate(self):
        if self.process.poll() is not None:
            return
        for pid in self.children.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.process.terminate()

    def stop(self):
        self.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.crash()
            raise
        with open(os.path.join(self.directory, "out"), "rb") as out:
            said = out.read().decode("utf-8", "replace")
        assert "Sanitizer" not in said, said
