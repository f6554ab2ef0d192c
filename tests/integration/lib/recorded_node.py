"""Databases with profiling_source = interposed, and what is asked of them."""
import os
import re
import shutil
import signal
import tempfile
from contextlib import contextmanager

from mysql_wire import Wire
from node_under_test import BUILD, wait_for
from ports import free_port
from redis_node import RedisNode

BLOCKS = os.path.abspath(os.path.join(BUILD, "bin", "recorded_blocks"))
SMALL, LARGE = 32000 * 1000, 16 << 20  # what it keeps
SETTINGS = "profiling_source = interposed\nprofiling = on\n"
# What the last profile of a process says: it is of its end, or, where that has
# taken too long, of the copy that was made before.
AT_ITS_END = "of its last moment: the process has ended"
COPIED = "the last copy before the process ended"


def prof(w, text):
    return [row[0].decode() for row in
            w.query(f"ADMIN EXECUTE ON 10001 'System.print({text})'")]


def heap(w, method):
    return prof(w, f"HeapProf.getInstance().{method}")


def value(w, text):
    """Of one row with one column: a number, a text, or None."""
    (found,), = w.query(text)
    if found is None:
        return None
    return int(found) if re.fullmatch(rb"-?\d+", found) else found.decode()


def profiled(w, snapshot=None):
    """Bytes in use; without a name, of a fresh one: "now" may be shared."""
    snapshot = snapshot or heap(w, "snapshot()")[0]
    size = value(w, "SELECT SUM(bytes) FROM heapwire.heap_stacks "
                 f"WHERE snapshot = '{snapshot}'")
    assert size is not None, "the profile is empty"
    return size


def said(w, snapshot, *words):
    """One of these in its head, whose lines are broken anywhere."""
    head = value(w, f"SELECT top('{snapshot}', NULL, 3)")
    assert any(one in " ".join(head.split()) for one in words), head


def within(what, known, found, parts):
    assert abs(found - known) <= known * parts, (what, known, found)
    print(f"  {what}: {found / known - 1:+.2%} of {known / 1e6:.1f} MB")


class Ran(RedisNode):
    """What heapwire-run starts, with its log and tables."""

    def __init__(self, *program, settings="", wrapper=(), linger=60):
        self.settings = SETTINGS + settings
        super().__init__(tempfile.mkdtemp(prefix="hw-i-", dir="/tmp"), 10001,
                         {}, free_port(), wrapper, program or None,
                         linger=linger)

    def write(self, places):
        for path in self.directory, os.path.dirname(self.directory):
            os.chmod(path, 0o711)  # a database of another user passes
        with open(self.config, "w", encoding="ascii") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write(f"[node]\nhttp = none\n{self.settings}")

    def __enter__(self):
        try:
            return self.wait()
        except BaseException:
            self.__exit__(True)
            raise

    def __exit__(self, kind, *_):
        if kind:
            print(self.said()[-3000:], self.log()[-3000:], flush=True)
        self.stop()
        shutil.rmtree(os.path.dirname(self.directory))

    def wait(self):
        super().wait()
        with self.asks() as w:
            wait_for(lambda: value(w, "SELECT state FROM heapwire.profiler") in
                     ("connected", "gone"))
        return self

    def asks(self):
        wait_for(lambda: os.path.exists(self.socket))
        return Wire(self.socket, 60).login()

    def said(self):
        with open(os.path.join(self.directory, "out"), encoding="utf-8") as f:
            return f.read()

    def pid(self):
        """The database's, of which heapwire-run may be a grandparent."""
        with self.asks() as w:
            return int(re.search(r"\(pid (\d+)\)",
                                 "\n".join(heap(w, "state()"))).group(1))

    def keeps(self, times=1):
        """Recorded_blocks does its next step.  Before it is ready, the signal
        would end it."""
        wait_for(lambda: "ready" in self.said())
        os.kill(self.pid(), signal.SIGUSR1)
        wait_for(lambda: ("kept", "freed")[times - 1] in self.said())


@contextmanager
def redis_command():
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="hw-i-") as directory:
        yield port, ["redis-server", "--port", str(port), "--bind",
                     "127.0.0.1", "--save", "", "--dir", directory,
                     "--enable-debug-command", "local"]


@contextmanager
def script(text):
    with tempfile.NamedTemporaryFile("w", suffix=".sh", dir="/tmp",
                                     delete=False) as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(f.name, 0o755)
    try:
        yield f.name
    finally:
        os.remove(f.name)
