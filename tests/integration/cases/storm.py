"""Many clients at once: ADMIN EXECUTE, KILL, leaving in the middle, reloads.

The database goes away and comes back meanwhile, and the last clients are still
at it when heapwired is to end.  Under a sanitizer (BUILD=build/tsan) this
is the test of lifetimes and races; in any build nothing may be left behind.
"""
import os
import random
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

from http_under_test import read_answer
from mysql_wire import SHA2, Refused, Wire, text_value
from node_under_test import BUILD, REAL, Node, wait_for
from ports import free_port

ANY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
ANY.check_hostname, ANY.verify_mode = False, ssl.CERT_NONE
CLIENTS, TURNS = 32, int(os.environ.get("TURNS", "60"))
AGENT = os.path.join(BUILD, "lib", "libheapwire.so")
# What a statement in the storm may say; anything else is a fault.
EXPECTED = {1032, 1053, 1094, 1095, 1105, 1210, 1227, 1290, 1317, 3024}
os.environ.setdefault("TSAN_OPTIONS", "suppressions=" +
                      os.path.abspath("tests/tsan.supp"))
HEAP = "HeapProf.getInstance()"
ENDLESS = ("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c "
           "LIMIT 100000) SELECT n FROM c, (SELECT 1 FROM c) d")


def script(text):
    return f"ADMIN EXECUTE ON 10001 '{text}'"


OWN_LINKS = 4  # that a node keeps to itself, each with two ends

STATEMENTS = [
    "SELECT 1", "SHOW PROCESSLIST", "SELECT @@port, NOW()",
    "SELECT * FROM heapwire.profiler", "SHOW BACKENDS",
    "SELECT count(*) FROM information_schema.columns a, heapwire.sessions b",
    script(f"System.print({HEAP}.has_enable())"),
    script(f"{HEAP}.enable_prof()"), script(f"{HEAP}.disable_prof()"),
    script(f"System.print({HEAP}.dump_dot_snapshot())"),
    script(f"var h = {HEAP}\nSystem.print(h.to_dot_format(h.snapshot()))"),
    "SELECT function, flat_bytes FROM heapwire.heap_functions ORDER BY 2 DESC",
    "SELECT s.stack, f.function FROM heapwire.heap_stacks s "
    "JOIN heapwire.heap_frames f USING (snapshot, stack)",
    "SELECT s.name, sum(h.bytes) "
    "FROM (SELECT name FROM heapwire.snapshots LIMIT 3) s "
    "JOIN heapwire.heap_stacks h ON h.snapshot = s.name GROUP BY 1",
    "ADMIN EXECUTE ON ALL 'System.print(1)'", "SET @a = 1", "KILL 4294967295",
    "SELECT dot('now')", "SELECT name, top(name, NULL, 5), length(export(name)) "
    "FROM heapwire.snapshots LIMIT 3",
    "SELECT @a, (SELECT count(*) FROM heapwire.sessions), 1 IN (2, 3.5, 'x')",
    script(f"var h = {HEAP}\nSystem.print(Profile.of(h.snapshot()).raw())"),
]
# A worker opens what is so long.
STATEMENTS += [f"/* {'long ' * 1000} */ {text}" for text in STATEMENTS]


# Requests to the HTTP interface: what ends one in the storm is no fault.
ANSWERS = {200, 304, 400, 404, 405, 503, 504}
PATHS = ["/", "/page.js", "/healthz", "/readyz", "/metrics", "/nothing",
         "/pprof/heap", "/debug/pprof/heap", "/debug/pprof/heap?seconds=1",
         "/debug/pprof/heap?node=all", "/pprof/symbol", "/sql"]

PREPARED = [
    "SELECT 1", "SELECT ?, ?", ENDLESS + " LIMIT 3000", "ADMIN EXECUTE ON 10001 ?",
    script(f"System.print({HEAP}.dump_dot_snapshot())"),
    "SELECT * FROM heapwire.profiler WHERE state <> ?",
]
PREPARED += [f"/* {'long ' * 1000} */ {text}" for text in PREPARED]


class Redis:
    def __init__(self, state):
        self.state = state
        self.process = None

    def start(self):
        exe = os.path.realpath(shutil.which("redis-server"))
        port = free_port()  # no client's
        env = dict(os.environ, LD_PRELOAD=AGENT, HEAPWIRE_EXE=exe,
                   HEAPWIRE_STATE_DIR=self.state,
                   MALLOC_CONF="prof:true,prof_active:false,lg_prof_sample:12")
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
             "--dir", self.state], executable=exe, env=env,
            stdout=subprocess.DEVNULL)
        wait_for(lambda: self.fill(port))

    def fill(self, port):
        """Something to be seen in a profile."""
        try:
            with socket.create_connection(("127.0.0.1", port)) as s:
                s.sendall(b"".join(b"SET k%d %s\r\nLPUSH l%d x\r\n" %
                                   (i, b"v" * 500, i) for i in range(5000)))
                return s.recv(3) == b"+OK"
        except OSError:
            return False

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None


class Client(threading.Thread):
    def __init__(self, node, number, stopping):
        super().__init__()
        self.node, self.stopping = node, stopping
        self.random = random.Random(number)
        self.fault = None
        self.answers = 0

    def connect(self):
        kind = self.random.randrange(3)
        if kind == 0:
            return Wire(self.node.socket, 60).login()
        if kind == 1:
            return Wire(self.node.tcp, 60).login(b"ann", b"secret")
        return Wire(self.node.tcp, 60).login(b"ann", b"secret", SHA2)

    def leave_early(self, w):
        w.command(3, self.random.choice(STATEMENTS + [ENDLESS]).encode())
        time.sleep(self.random.random() / 100)  # at any moment
        w.close()

    def read_a_little(self, w):
        w.command(3, ENDLESS.encode())
        w.columns()
        for _ in range(self.random.randrange(2000)):
            w.row(1)
        w.close()

    def pipeline(self, w):
        """All at once; sometimes without waiting for the answers."""
        texts = [self.random.choice(STATEMENTS)
                 for _ in range(self.random.randrange(1, 6))]
        for text in texts:
            w.command(3, text.encode())
        if self.random.randrange(2):
            time.sleep(self.random.random() / 100)  # at any moment
            return
        for _ in texts:
            w.sequence = 1  # each answers its own command
            try:
                w.result()
            except Refused as e:
                if e.code not in EXPECTED:
                    raise
            self.answers += 1

    def prepare_some(self, w):
        """Statements, cursors and long data, left behind as they are."""
        held = []
        for _ in range(self.random.randrange(1, 6)):
            st = w.prepare(self.random.choice(PREPARED))
            held.append(st)
            values = [text_value(f"System.print({i})")
                      for i, _ in enumerate(st.parameters)]
            cursor = self.random.randrange(2)
            w.execute(st, values, cursor=cursor)
            self.answers += 1
            for _ in range(self.random.randrange(3) if cursor else 0):
                if w.status & 0x80 == 0:
                    w.fetch(st, self.random.randrange(200))
            if st.parameters and self.random.randrange(2):
                w.send_long(st, 0, b"x" * self.random.randrange(100000))
            if self.random.randrange(3) == 0:
                w.close_statement(held.pop())
        if held and self.random.randrange(3) == 0:
            w.reset_statement(held[0])
            w.execute(held[0], [text_value("0") for _ in held[0].parameters])
        if self.random.randrange(3) == 0:
            st = w.prepare(ENDLESS)
            w.execute(st, cursor=1)
            w.command(0x1C, struct.pack("<II", st.number, 1 << 20))
            w.close()

    def request(self):
        """Its bytes."""
        path, body = self.random.choice(PATHS), b""
        method = self.random.choice(["GET", "GET", "HEAD"])
        if path in ("/sql", "/pprof/symbol"):
            method, body = "POST", self.random.choice(
                STATEMENTS + [ENDLESS + " LIMIT 20000"]).encode()
        if path == "/pprof/symbol" and self.random.randrange(2):
            body = b"0x1234+" * 20000
        more = self.random.choice(["", "Accept-Encoding: gzip\r\n"])
        return (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{more}"
                f"X-Heapwire: 1\r\nContent-Length: {len(body)}\r\n"
                "Authorization: Basic YW5uOnNlY3JldA==\r\n\r\n").encode() + body

    def web(self):
        """Some requests, at once or one by one; sometimes without waiting for
        the answers."""
        with socket.create_connection(("127.0.0.1", self.node.http_port),
                                      60) as plain:
            s = plain
            if self.random.randrange(3) == 0:
                s = ANY.wrap_socket(plain)
            answers = s.makefile("rb")
            requests = [self.request()
                        for _ in range(self.random.randrange(1, 6))]
            if self.random.randrange(4) == 0:  # leaves early
                data = b"".join(requests)
                s.sendall(data[:self.random.randrange(1, len(data))])
                time.sleep(self.random.random() / 50)  # at any moment
                return
            for request in requests:
                s.sendall(request)
            for request in requests:
                status, body = read_answer(answers, request[:4] == b"HEAD")
                if status not in ANSWERS:
                    raise AssertionError((status, request, body))
                self.answers += 1

    def kill_somebody(self, w):
        victim = max(1, w.id - self.random.randrange(20))
        verb = self.random.choice(["KILL", "KILL QUERY"])
        w.query(f"{verb} {victim}")

    def turn(self):
        if self.random.randrange(4) == 0:
            self.web()
            return
        with self.connect() as w:
            kind = self.random.randrange(12)
            if kind == 0:
                self.leave_early(w)
            elif kind == 1:
                self.read_a_little(w)
            elif kind == 2:
                self.kill_somebody(w)
            elif kind in (10, 11):
                self.pipeline(w)
            elif kind in (4, 5):
                self.prepare_some(w)
            elif kind == 3:
                w.frame(b"")  # a login that is not finished
                with Wire(self.node.tcp) as half:
                    half.greeting()
            else:
                for _ in range(self.random.randrange(1, 5)):
                    w.query(self.random.choice(STATEMENTS))
                    self.answers += 1

    def is_over(self):
        return self.stopping is not None and self.stopping.is_set()

    def run(self):
        turns = 0
        while turns < TURNS or self.stopping is not None:
            turns += 1
            try:
                self.turn()
            except Refused as e:
                if e.code not in EXPECTED:
                    self.fault = e
                    return
            except (OSError, EOFError):  # killed, or the node has ended
                if self.is_over():
                    return
            except Exception as e:  # pylint: disable=broad-except
                # The farewell may meet a command on its way: sequence ids.
                if not self.is_over():
                    self.fault = e
                return


def storm(node, stopping=None):
    clients = [Client(node, n, stopping) for n in range(CLIENTS)]
    for c in clients:
        c.start()
    return clients


def answers(clients):
    return sum(c.answers for c in clients)


def end(clients):
    for c in clients:
        c.join(300)
        assert not c.is_alive(), "a client hangs"
        assert c.fault is None, repr(c.fault)
    assert answers(clients) > CLIENTS, "hardly any answers"


def quiet(node):
    """The links by which a node asks itself stay for a minute."""
    with Wire(node.socket).login() as w:
        return len([row for row in w.query("SHOW PROCESSLIST")
                    if not row[1].startswith(b"node ")]) == 1


def descriptors(node):
    """But for those of a symbol index that is being made, which takes for ever
    on a busy machine: its file, its object, and its helper's."""
    folder = f"/proc/{node.process.pid}/fd"
    files = []
    for name in os.listdir(folder):
        try:
            files.append(os.readlink(os.path.join(folder, name)))
        except FileNotFoundError:  # closed meanwhile
            pass
    return len(files) - 3 * any(file.endswith(".tmp") for file in files)


def main():
    users = [("ann", b"secret", "all")]
    redis = None
    directory = tempfile.mkdtemp(prefix="hw-", dir="/tmp")
    node = Node(REAL, users=users, settings="statement_timeout = 20\nhttp = 127.0.0.1:0\n",
                directory=directory)
    try:
        redis = Redis(node.state)
        redis.start()
        with Wire(node.socket).login() as w:
            wait_for(lambda: w.query("SELECT state FROM heapwire.profiler") ==
                     [[b"connected"]])
            w.query(script(f"{HEAP}.enable_prof()"))
        before = descriptors(node)

        clients = storm(node)
        while any(c.is_alive() for c in clients):
            time.sleep(1)  # all is there for this long
            node.signal(signal.SIGHUP)
            redis.stop()
            time.sleep(0.3)  # it is missed for this long
            redis.start()
        end(clients)
        wait_for(lambda: quiet(node), 60)
        assert node.process.poll() is None
        wait_for(lambda: descriptors(node) <= before + 2 + 2 * OWN_LINKS)
        print("ok a storm leaves nothing behind")

        stopping = threading.Event()
        clients = storm(node, stopping)
        wait_for(lambda: answers(clients) > 3 * CLIENTS)
        stopping.set()
        node.signal(signal.SIGTERM)
        assert node.process.wait(60) == 0, node.stderr()[-6000:]
        end(clients)
        assert node.stderr() == "", node.stderr()[-6000:]
        print("ok ended by a signal in a storm, it ends")
    except BaseException:
        print(node.log()[-3000:], node.stderr()[-8000:])
        raise
    finally:
        if redis:
            redis.stop()
        if node.process.poll() is None:
            node.process.kill()
            node.process.wait()
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
