"""A database under heapwire-run whose processes of heapwire's may die, stop and
crash at any time; and who looks how the database answers meanwhile."""
import collections
import contextlib
import multiprocessing
import os
import socket
import subprocess
import time

from databases import UnderHeapwire, children, comm
from mysql_wire import Refused, Wire
from process_state import status
from recorded_node import heap, value

ROLES = ("heapwire-run", "heapwired", "keeper", "symbolizer")
COMMS = {"heapwire-keeper": "keeper", "heapwire-symbol": "symbolizer"}


class ChaosNode(UnderHeapwire):
    def __init__(self, database, build, spared):
        """spared: roles that are stopped, but neither killed nor crashed."""
        super().__init__(database, build)
        self.spared = spared
        self.kept = {}  # snapshots, and what is in them
        self.asked, self.failed = 0, collections.Counter()

    def replace_run(self):
        """A new heapwire-run, in the place of one that is dead."""
        self.run.wait()
        with open(self.database.log, "ab") as log:
            self.run = subprocess.Popen(
                [*self.command, "--attach", str(self.pid)], stdout=log,
                stderr=log)

    def processes(self):
        """Each by its role."""
        found = {"heapwire-run": self.run.pid}
        heapwired = self.heapwired()
        if heapwired:
            found["heapwired"] = heapwired
            found |= {COMMS[name]: p for p in children(heapwired)
                      if (name := comm(p)) in COMMS}
        return found

    def asks(self, seconds=10):
        return Wire(self.socket, seconds).login()

    def ask(self, what):
        """what(w), which may fail as long as chaos reigns: then None."""
        self.asked += 1
        try:
            with self.asks() as w:
                return what(w)
        except (OSError, EOFError, AssertionError, Refused) as why:
            self.failed[f"{type(why).__name__}: {why}"[:120]] += 1
        return None

    # ---- snapshots that are kept ----

    def keep(self, name):
        """Takes one, and remembers it if the node has answered that it is
        kept."""
        def take(w):
            taken, = heap(w, f'snapshot("{name}")')
            self.kept[taken] = None
            self.kept[taken] = bytes_of(w, taken)
            return True
        return self.ask(take)

    def forget(self, name):
        """It may be deleted, or not, if no answer comes."""
        del self.kept[name]
        self.ask(lambda w: heap(w, f'delete("{name}")'))

    def forget_unknown(self):
        """Those that were kept though no answer came."""
        def clear(w):
            for name in names_of(w) - set(self.kept):
                heap(w, f'delete("{name}")')
        self.ask(clear)

    def check_kept(self):
        """Of a node that is left alone: nothing is lost."""
        with self.asks(60) as w:
            lost = set(self.kept) - names_of(w)
            assert not lost, f"{self.database.name} lost {lost}"
            for name, size in self.kept.items():
                got = bytes_of(w, name)
                assert size is None or got == size, (name, size, got)


def names_of(w):
    return {row[0].decode() for row in w.query(
        "SELECT name FROM heapwire.snapshots WHERE cause = 'asked'")}


def bytes_of(w, name):
    return value(w, "SELECT SUM(bytes) FROM heapwire.heap_stacks "
                 f"WHERE snapshot = '{name}'")


# ---- who looks at the database ----

class RedisLoad:
    """A turn sets, reads and deletes; what is in it does not grow."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(120)
        self.socket.connect(path)
        self.turns = 0

    def turn(self):
        self.turns += 1
        commands = b""
        for i in range(16):
            key = b"k%d" % ((self.turns * 16 + i) * 7919 % 5000)
            commands += (b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$1000\r\n%s\r\n" %
                         (len(key), key, b"v" * 1000))
        commands += b"*2\r\n$3\r\nDEL\r\n$2\r\nk7\r\nPING\r\n"
        self.socket.sendall(commands)
        got = b""
        while not got.endswith(b"+PONG\r\n"):
            part = self.socket.recv(4096)
            assert part, "Redis closed the connection"
            got += part


class MariaDBLoad:
    """A turn sorts, and writes a row over."""

    def __init__(self, path):
        self.wire = Wire(path, 120).login()
        self.wire.query("CREATE TABLE IF NOT EXISTS test.chaos "
                        "(id INT PRIMARY KEY, v VARCHAR(1000))")
        self.turns = 0

    def turn(self):
        self.turns += 1
        self.wire.query(f"REPLACE INTO test.chaos VALUES ({self.turns % 500}, "
                        "REPEAT('x', 1000))")
        rows = self.wire.query("SELECT COUNT(*) FROM (SELECT v FROM test.chaos "
                               "ORDER BY v, id LIMIT 200) x")
        assert len(rows) == 1, rows


LOADS = {"redis-server": RedisLoad, "mariadbd": MariaDBLoad}
TURN_S = 0.005


def look(name, path, ended, told):
    """The times between answers, in ms: their number, the largest, and that of
    one in 1,000."""
    load, gaps, last = LOADS[name](path), [], time.monotonic()
    while not ended.is_set():
        load.turn()
        now = time.monotonic()
        gaps.append((now - last) * 1000)
        last = now
        time.sleep(TURN_S)  # the pace of the looks
    gaps.sort()
    told.send((len(gaps), gaps[-1], gaps[len(gaps) * 999 // 1000]))


@contextlib.contextmanager
def looked_at(databases):
    """Each by a process of its own; a call gives what they saw, in order."""
    ended = multiprocessing.Event()
    looks = []
    for database in databases:
        told, tells = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.Process(
            target=look, args=(database.name, database.socket, ended, tells))
        process.start()
        tells.close()
        looks.append((process, told))
    try:
        yield lambda: (ended.set(), [told.recv() for _, told in looks])[1]
    finally:
        ended.set()
        for process, _ in looks:
            process.join(150)


# ---- what they hold ----

def held(pid):
    """KB that are its own, and descriptors, also those of a table of a
    thread's own; None: it has ended."""
    with contextlib.suppress(OSError, KeyError):
        tasks = os.listdir(f"/proc/{pid}/task")
        fds = len(os.listdir(f"/proc/{pid}/fd"))
        own = [t for t in tasks if comm(f"{pid}/task/{t}") == "heapwire"]
        fds += sum(len(os.listdir(f"/proc/{pid}/task/{t}/fd")) for t in own)
        return int(status(pid)["RssAnon"].split()[0]), fds
    return None


def in_use_kb(pid):
    """What it holds once glibc has given back what was freed, which heapwired
    asks for above 24 MB alone (loop/trim.h)."""
    subprocess.run(["gdb", "-nx", "-batch", "-p", str(pid), "-ex",
                    "call (int)malloc_trim(0)"], check=True, timeout=120,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return held(pid)[0]
