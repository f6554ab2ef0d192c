"""A heapwired with its HTTP interface, and what asks it: curl, or raw bytes."""
import contextlib
import gzip
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from node_under_test import PASSWD, REAL, Node, wait_for
from ports import free_port
from redis_node import RUN, RedisNode, grow_old

USERS = (("ann", b"secret", "status, profile"), ("boss", b"b0ss", "all"))
OWN = ("-H", "X-Heapwire: 1")


def node_with(settings="", users=USERS, start=True):
    return Node(REAL, users=users, settings="http = 127.0.0.1:0\n" + settings,
                start=start)


def curl(*arguments, data=None):
    """The body of the only answer."""
    return subprocess.run(["curl", "-sS", "-m", "60", *arguments], input=data,
                          check=True, capture_output=True).stdout


class Answer:
    def __init__(self, *arguments, data=None):
        out = curl("-i", *arguments, data=data)
        head, _, self.body = out.partition(b"\r\n\r\n")
        lines = head.decode("ascii").split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(": ")
            self.headers.setdefault(name.lower(), []).append(value)

    @property
    def text(self):
        return self.body.decode("utf-8")

    def header(self, name):
        values = self.headers.get(name, [None])
        assert len(values) == 1, values
        return values[0]


def local(node, path, *arguments, data=None):
    socket_of = getattr(node, "http_socket", None) or os.path.join(
        os.path.dirname(node.socket), "http.sock")
    return Answer("--unix-socket", socket_of, *arguments,
                  "http://localhost" + path, data=data)


def tcp(node, path, *arguments, user="boss:b0ss", scheme="http", data=None):
    login = ("-u", user) if user else ()
    return Answer(*login, *arguments,
                  f"{scheme}://127.0.0.1:{node.http_port}{path}", data=data)


def same(what, wanted, got):
    assert wanted == got, f"{what}: {wanted!r} was expected, and not {got!r}"


def reload(node):
    before = node.log().count("read the configuration again")
    node.signal(signal.SIGHUP)
    wait_for(lambda: node.log().count("read the configuration again") > before)


def talk(node, data, seconds=20, port=None):
    """All that the server says to these bytes until it closes."""
    with socket.create_connection(("127.0.0.1", port or node.http_port),
                                  seconds) as s, \
            ThreadPoolExecutor(1) as pool:
        sent = pool.submit(s.sendall, data)  # and reads meanwhile
        said = b""
        with contextlib.suppress(ConnectionResetError):
            while part := s.recv(65536):
                said += part
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            sent.result()
        return said


def exactly(stream, size):
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("the answer stops in the middle")
    return data


def read_answer(stream, head=False):
    """Status and whole body of the next one on a connection; head: no body
    follows.  EOFError: it is cut."""
    lines = []
    while not lines or lines[-1] != b"\r\n":
        lines.append(stream.readline())
        if not lines[-1].endswith(b"\r\n"):
            raise EOFError("there is no answer, or half a head")
    headers = {name.lower(): value for name, _, value in
               (line.strip().partition(b": ") for line in lines[1:])}
    status, body, size = int(lines[0].split()[1]), b"", 1
    if head or status == 304:
        return status, body
    if b"content-length" in headers:
        body, size = exactly(stream, int(headers[b"content-length"])), 0
    while size > 0:
        line = stream.readline()
        if not line.endswith(b"\r\n"):
            raise EOFError("the answer stops in the middle")
        size = int(line, 16)
        body += exactly(stream, size)
        assert exactly(stream, 2) == b"\r\n"
    if headers.get(b"content-encoding") == b"gzip":
        body = gzip.decompress(body)
    return status, body


HOST = b"Host: localhost\r\n"
OK = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"


@contextlib.contextmanager
def redis(settings="", program=None, run=RUN, linger=0):
    """program: a command in the place of Redis; run: heapwire-run."""
    work = tempfile.mkdtemp(prefix="hw-http-", dir="/tmp")
    http = free_port()

    class Served(RedisNode):
        def write(self, places):
            super().write(places)
            with open(self.config, "a", encoding="ascii") as f:
                f.write(f"[node]\nhttp = 127.0.0.1:{http}\n{settings}")
            subprocess.run([PASSWD, self.config, "boss", "--stdin",
                            "--privileges", "all"], input=b"b0ss\n", check=True)

    port = free_port()
    node = Served(work, 10001, {10001: port}, port, program=program, run=run,
                  linger=linger)
    node.http_port, node.mysql_port = http, port
    try:
        node.wait()
        wait_for(lambda: local(node, "/readyz").status == 200, 60)
        wait_for(node.find_children)  # the database was perhaps not there yet
        yield node
    finally:
        node.stop()
        shutil.rmtree(work)


def kill_redis(node):
    """Late enough for heapwired to outlive it."""
    grow_old(node.children["redis-server"])
    os.kill(node.children["redis-server"], signal.SIGKILL)
    wait_for(lambda: local(node, "/readyz").status == 503)


# Eight times the bytes between two samples: of 3,000 such values, one is not
# sampled, so that no figure depends on chance.
MB = 4
FILLED = 40
WITHOUT_SOME = FILLED - 3 * MB


def fill(node):
    """Profiling is on, and there are so many MB in use."""
    same("enabled", "instance of HeapProf\n",
         local(node, "/profiling/enable?seconds=600", "-X", "POST").text)
    with redis_client(node) as write:
        for i in range(FILLED // MB):
            write(b"k%05d" % i)


@contextlib.contextmanager
def redis_client(node):
    """Gives what writes a value of so many MB under a key."""
    value = b"v" * ((MB << 20) - 4096)  # with its head, a size of jemalloc
    with socket.create_connection(("127.0.0.1", node.redis_port), 60) as s:
        def write(key):
            s.sendall(b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" %
                      (len(key), key, len(value), value))
            assert s.recv(64) == b"+OK\r\n"
        yield write
