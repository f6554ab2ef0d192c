"""A Redis under heapwire-run, as a node of a cluster."""
import contextlib
import os
import signal
import subprocess

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


class RedisNode:
    """heapwire-run, its heapwired and its redis-server."""

    def __init__(self, work, i, places, listen, wrapper=(), program=None,
                 environment=(), linger=0):
        """places: by id, the node's own as well; a port alone is of
        127.0.0.1.  program: a command in the place of Redis;
        linger: how many seconds heapwired outlives it."""
        self.id, self.directory = i, os.path.join(work, f"{i}-{listen}")
        os.makedirs(self.directory, mode=0o700)
        self.config = os.path.join(self.directory, "heapwire.ini")
        self.log_path = os.path.join(self.directory, "log")
        self.write(places)
        self.database = None if program else "redis-server"  # as /proc has it
        self.command = [
            *wrapper, RUN, "--config", self.config, "--node-id", str(i),
            "--listen", place(listen),
            "--state-dir", os.path.join(self.directory, "state"),
            "--log", self.log_path, "--linger", str(linger), "--",
            *(program or [
                "redis-server", "--port", str(free_port()), "--bind",
                "127.0.0.1", "--save", "", "--dir", self.directory])]
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
                # One of them may end meanwhile.
                with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
                        open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as comm:
                    self.children[comm.read().strip()] = pid
        return "heapwire-run" not in self.children

    def wait(self):
        """Until it serves; finds its processes by their parent."""
        wait_for(lambda: "serves node" in self.log() or
                 self.process.poll() is not None, 30)
        wait_for(lambda: self.find_children() and
                 (self.database is None or self.database in self.children), 30)
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
