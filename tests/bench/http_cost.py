"""What the HTTP interface costs, compared with what MySQL's costs for the same.

    python3 tests/bench/http_cost.py [PART...]
        (memory metrics profile scrapers idle page; about two minutes)

One redis node under heapwire-run with a profile of some thousand stacks.
Wherever two lines are compared, they take turns, ROUNDS (default 5) times:
ratios say more than times, which the machine's other work disturbs.  CPU is
that of heapwired and its keeper, all threads, by the kernel's clock.
"""
import base64
import functools
import os
import re
import socket
import statistics
import subprocess
import sys
import threading
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(TOP, "tests", "integration", "lib"))
from http_under_test import local, node_with, redis, tcp  # noqa: E402
from mysql_wire import Wire  # noqa: E402
from node_under_test import BUILD, PASSWD, REAL, Node  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "5"))
CLIENTS, QUERIES = 8, 100  # of MySQL, and how many a second each
SCRAPERS, AT_ONCE, PHASE_S = 100, 25, 1
TURNS = 5  # of a round
BENCH = os.path.join(BUILD, "bin", "mysql_bench")
BASIC = "Basic " + base64.b64encode(b"boss:b0ss").decode()


# Clients that cost little

class Http:
    """A connection; ask() reads one answer to its end."""

    def __init__(self, port, path, login=BASIC, more=""):
        self.port = port
        self.request = (f"GET {path} HTTP/1.1\r\nHost: localhost\r\n"
                        f"Authorization: {login}\r\n{more}\r\n").encode()
        self.sock = self.head = self.body = None

    def connect(self):
        self.sock = socket.create_connection(("127.0.0.1", self.port), 60)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self

    def send(self):
        self.sock.sendall(self.request)

    def receive(self):
        data = bytearray()
        while (at := data.find(b"\r\n\r\n")) < 0:
            data += self.more()
        self.head, at = bytes(data[:at]), at + 4
        assert self.head.startswith(b"HTTP/1.1 200 "), bytes(data)
        size = re.search(rb"\r\nContent-Length: (\d+)", self.head)
        if size:
            end = at + int(size.group(1))
            while len(data) < end:
                data += self.more()
        else:
            while not data.endswith(b"\r\n0\r\n\r\n"):
                data += self.more()
        self.body = data[at:]

    def more(self):
        more = self.sock.recv(1 << 16)  # a larger one is mapped each time
        assert more, "the server closed the connection"
        return more

    def ask(self):
        self.send()
        self.receive()

    def ask_newly(self):
        self.connect()
        self.ask()
        self.close()

    def close(self):
        self.sock.close()


class Mysql:
    def __init__(self, port, text):
        self.where, self.text, self.wire = ("127.0.0.1", port), text, None

    def connect(self):
        self.wire = Wire(self.where, 60).login(b"boss", b"b0ss")
        return self

    def send(self):
        self.wire.command(3, self.text.encode())

    def receive(self):
        self.wire.result()

    def ask(self):
        self.send()
        self.receive()

    def ask_newly(self):
        self.connect()
        self.ask()
        self.close()

    def close(self):
        self.wire.close()


# Measuring

def cpu_ns(pids):
    return sum(time.clock_gettime_ns((~pid << 3) | 2) for pid in pids)


def keeper_of(heapwired):
    with open(f"/proc/{heapwired}/task/{heapwired}/children",
              encoding="ascii") as f:
        for pid in f.read().split():
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as cmd:
                if "keeper" in cmd.read().split("\0")[0]:
                    return int(pid)
    sys.exit("http_cost.py: there is no keeper")


class Server:
    def __init__(self, node):
        self.node, self.port = node, int(node.sql_port)
        self.heapwired = node.heapwired
        self.pids = self.heapwired, keeper_of(self.heapwired)

    def time(self, what, count):
        """Milliseconds of each, and of CPU on average: both, the keeper's."""
        walls, cpu, keeper = [], cpu_ns(self.pids), cpu_ns(self.pids[1:])
        for _ in range(count):
            start = time.perf_counter_ns()
            what()
            walls.append((time.perf_counter_ns() - start) / 1e6)
        keeper = cpu_ns(self.pids[1:]) - keeper
        cpu = cpu_ns(self.pids) - cpu
        return walls, cpu / count / 1e6, keeper / count / 1e6

    def sql(self, text):
        with Wire(("127.0.0.1", self.port)).login(b"boss", b"b0ss") as wire:
            return wire.query(text)


def side_by_side(server, count, *lines):
    """Each line: a name and what it does.  Ratios are to the last."""
    walls, cpus, keepers = ({name: [] for name, _ in lines} for _ in range(3))
    for what in lines:
        server.time(what[1], 3)
    for turn in range(ROUNDS * TURNS):  # short, and each is first now and then
        at = turn % len(lines)
        for name, what in lines[at:] + lines[:at]:
            wall, cpu, keeper = server.time(what, count // TURNS)
            walls[name] += wall
            cpus[name].append(cpu)
            keepers[name].append(keeper)
    peer = lines[-1][0]
    for name, _ in lines:
        wall = statistics.median(walls[name])
        cpu = statistics.median(cpus[name])
        p99 = sorted(walls[name])[int(len(walls[name]) * 0.99)]
        print(f"  {name:42} {wall:8.3f} ms  p99 {p99:8.3f}  CPU {cpu:7.3f} ms"
              f" (keeper {statistics.median(keepers[name]):.3f})"
              f"  x{wall / statistics.median(walls[peer]):.2f} wall"
              f" x{cpu / statistics.median(cpus[peer]):.2f} CPU")


def bench(server, *arguments):
    out = subprocess.run([BENCH, "-P", str(server.heapwired), "-p",
                          str(server.port), "-u", "boss", "-w", "b0ss",
                          *map(str, arguments)],
                         check=True, capture_output=True, text=True).stdout
    return {k: float(v) for k, v in (word.split("=") for word in out.split())}


# The parts

def metrics(server, http, token):
    print("/metrics, ratios to the last line")
    kept = {name: Http(http, path, login, more).connect() for
            name, path, login, more in (
                ("token, kept connection", "/metrics", token, ""),
                ("Basic, kept connection", "/metrics", BASIC, ""),
                ("token, kept, gzip", "/metrics", token,
                 "Accept-Encoding: gzip\r\n"),
                ("/healthz, kept connection", "/healthz", token, ""))}
    new = Http(http, "/metrics", token)
    dumped = "SELECT samples_at FROM heapwire.profiler"
    select, before = "SELECT * FROM heapwire.profiler", server.sql(dumped)
    side_by_side(server, 40, *((name, c.ask) for name, c in kept.items()),
                 ("token, new connections", new.ask_newly),
                 ("MySQL: " + select, Mysql(server.port, select).connect().ask))
    print(f"  bytes: {len(kept['token, kept connection'].body)}, gzip "
          f"{len(kept['token, kept, gzip'].body)}; heap dumps: " +
          ("none" if before == server.sql(dumped) else "SOME"))


def profile(server, http, _):
    print("/debug/pprof/heap, ratios to the last line")
    kept = Http(http, "/debug/pprof/heap").connect()
    raw = Http(http, "/pprof/heap").connect()
    packed = Http(http, "/pprof/heap", BASIC,
                  "Accept-Encoding: gzip\r\n").connect()
    mysql = Mysql(server.port, "SELECT pprof('now')").connect()
    mysql_raw = Mysql(server.port, "SELECT raw('now')").connect()
    side_by_side(server, 10, ("HTTP, kept connection", kept.ask),
                 ("HTTP, new connections",
                  Http(http, "/debug/pprof/heap").ask_newly),
                 ("MySQL, new connections",
                  Mysql(server.port, mysql.text).ask_newly),
                 ("MySQL, kept: SELECT pprof('now')", mysql.ask))
    print(f"  bytes: {len(kept.body)}")
    print("/pprof/heap, ratios to the last line")
    side_by_side(server, 10, ("HTTP, kept connection", raw.ask),
                 ("HTTP, kept connection, gzip", packed.ask),
                 ("MySQL, kept: SELECT raw('now')", mysql_raw.ask))
    print(f"  bytes: {len(raw.body)}, gzip {len(packed.body)}")


class Scrapers:
    """Each asks once a second: in turn, or some of them in one moment."""

    def __init__(self, make, some):
        self.all = [make().connect() for _ in range(SCRAPERS)]
        self.some, self.count, self.ends = some, 0, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        due, some = time.monotonic(), self.some
        while not self.ends.wait(max(0, due - time.monotonic())):
            at = self.count % SCRAPERS
            for c in self.all[at:at + some]:
                c.send()
            for c in self.all[at:at + some]:
                c.receive()
            self.count += some
            due += some / SCRAPERS

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()
        for c in self.all:
            c.close()


def middle(values):
    """Median, and the quartiles."""
    q = statistics.quantiles(values, n=4, method="inclusive")
    return f"{q[1]:7.2f} ({q[0]:.2f} to {q[2]:.2f})"


def scrapers(server, http, token):
    """Short phases take turns: queries; then, for each way to scrape, scrapes,
    and queries beside scrapes.  A round's phases are compared with each other,
    because the machine's pace changes."""
    print(f"{SCRAPERS} scrapers, each once a second, beside {CLIENTS} MySQL "
          f"clients: SELECT 1\n  {ROUNDS} rounds: median (quartiles) of us of "
          f"heapwired's CPU a query")
    loads = {"closed loop": (), f"{CLIENTS * QUERIES} a second": (
        "-r", QUERIES)}
    http_ask = functools.partial(Http, http, "/metrics", token)
    ways = {"in turn": (http_ask, 1), f"{AT_ONCE} at once": (http_ask, AT_ONCE),
            # The peer: as many clients of MySQL's port do as little.
            "by MySQL in turn": (
                functools.partial(Mysql, server.port, "SELECT 1"), 1)}
    rows = {}

    def ask(load):
        return bench(server, "-c", CLIENTS, "-s", PHASE_S, *loads[load],
                     "query", "SELECT 1")

    for _ in range(ROUNDS):
        alone = {load: ask(load) for load in loads}
        for way, (make, some) in ways.items():
            with Scrapers(make, some):
                start = time.monotonic_ns(), cpu_ns([server.heapwired])
                time.sleep(PHASE_S)
                share = ((cpu_ns([server.heapwired]) - start[1]) /
                         (time.monotonic_ns() - start[0]))
                for load in loads:
                    rows.setdefault((load, way), []).append(
                        (alone[load], ask(load), share))
    for (load, way), found in rows.items():
        less = [(a["cpu_us"], b["cpu_us"] - share / b["rate"] * 1e6)
                for a, b, share in found]
        print(f"  {load}, {way}; the scrapes alone: " + middle(
            [share * 100 for _, _, share in found]) + " % of a CPU")
        for name, values in (
                ("queries alone", [a for a, _ in less]),
                ("with scrapes, all", [b["cpu_us"] for _, b, _ in found]),
                ("less the scrapes'", [b for _, b in less]),
                ("that to alone, x", [b / a for a, b in less])):
            print(f"    {name:20}{middle(values)}")
        for key in ("rate", "p50_us", "p99_us"):
            if key in found[0][0] and (key == "rate") == (not loads[load]):
                print(f"    {key:20}" + " -> ".join(
                    f"{statistics.median(row[i][key] for row in found):.0f}"
                    for i in (0, 1)))


def wakes(pid):
    """All threads' waits that ended."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as f:
            total += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)",
                                   f.read(), re.M).group(1))
    return total


def idle(*_):
    seconds = 10
    print(f"wake-ups of heapwired in {seconds} s, no database")
    with node_with() as http, node_with() as busy, node_with() as mysql, \
            Node(REAL, settings="http = none\n") as closed:
        held = [Http(busy.http_port, "/help").connect() for _ in range(50)]
        peers = [Wire(mysql.tcp).login(b"boss", b"b0ss") for _ in held]
        for c in held:
            c.ask()
        tcp(http, "/")
        nodes = {"no listener": closed, "an open listener": http,
                 "with 50 idle connections": busy,
                 "with 50 of MySQL": mysql}
        time.sleep(1)
        before = {k: (wakes(n.process.pid), cpu_ns([n.process.pid]))
                  for k, n in nodes.items()}
        time.sleep(seconds)
        for k, n in nodes.items():
            pid = n.process.pid
            print(f"  {k:26} {wakes(pid) - before[k][0]:5}"
                  f"  CPU {(cpu_ns([pid]) - before[k][1]) / 1e6:.2f} ms")
        for c in held + [peer.sock for peer in peers]:
            c.close()


def page(server, http, _):
    print("the page")
    total = [0, 0]
    files = []
    for path in ("/", "/page.css", "/page.js"):
        plain = Http(http, path).connect()
        packed = Http(http, path, BASIC, "Accept-Encoding: gzip\r\n").connect()
        plain.ask()
        packed.ask()
        files += [(path, plain.ask), (path + ", gzip", packed.ask)]
        total[0] += len(plain.body)
        total[1] += len(packed.body)
        print(f"  {path:12} {len(plain.body):6} bytes, gzip {len(packed.body)}")
    print(f"  {'together':12} {total[0]:6} bytes, gzip {total[1]}")
    healthz = Http(http, "/healthz").connect()
    side_by_side(server, 40, *files, ("/healthz", healthz.ask))


def memory(server, http, token):
    print("memory of idle connections")

    def rss():
        with open(f"/proc/{server.heapwired}/status", encoding="ascii") as f:
            return int(re.search(r"^VmRSS:\s+(\d+)", f.read(), re.M).group(1))

    for path in ("/healthz", "/metrics"):
        for _ in range(SCRAPERS):  # what the server keeps anyway
            Http(http, path, token).ask_newly()
        time.sleep(1.5)
        before, held = rss(), []
        for _ in range(SCRAPERS):
            held.append(Http(http, path, token).connect())
            held[-1].ask()
        time.sleep(1.5)
        print(f"  {SCRAPERS} after {path:9} RSS {before} -> {rss()} KB: "
              f"{(rss() - before) / SCRAPERS:.1f} KB each")
        for c in held:
            c.close()


# Memory first, while nothing is kept from earlier.
PARTS = {"memory": memory, "metrics": metrics, "profile": profile,
         "scrapers": scrapers, "idle": idle, "page": page}


# Each way down is another stack, of each command; all of them keep something.
NESTED = """
local function nest(way, left, act)
    local function down() nest(math.floor(way / 2), left - 1, act) end
    if left == 0 then act()
    elseif way % 2 == 0 then pcall(down)
    else string.gsub('x', 'x', down) end
end
for way = 0, 255 do
    for i, c in ipairs({{'SET'}, {'LPUSH'}, {'SADD'}, {'HSET', 'field'},
                        {'ZADD', '1'}, {'XADD', '*', 'field'}, {'PFADD'}}) do
        nest(way, 8, function()
            redis.call(c[1], c[1] .. way, c[2] or 'value', c[3] or 'value',
                       c[3] and 'value')
        end)
    end
end
return 1
"""


def fill(node):
    """Some thousand stacks, all sampled."""
    local(node, "/profiling/enable?seconds=3600", "-X", "POST")
    with open(f"/proc/{node.children['redis-server']}/cmdline", "rb") as f:
        port = re.search(rb":(\d+)", f.read()).group(1).decode()
    subprocess.run(["redis-cli", "-p", port, "--eval", "/dev/stdin"],
                   input=NESTED, text=True, check=True,
                   stdout=subprocess.DEVNULL)


def main():
    parts = sys.argv[1:] or list(PARTS)
    os.environ["MALLOC_CONF"] = "lg_prof_sample:0"
    with redis("max_connections = 1000\n") as node:
        token = subprocess.run(
            [PASSWD, node.config, "scraper", "--token", "--privileges",
             "status"], check=True, capture_output=True, text=True
        ).stdout.strip()
        before = node.log().count("read the configuration again")
        os.kill(node.heapwired, 1)
        while node.log().count("read the configuration again") == before:
            time.sleep(0.02)
        node.sql_port = node.directory.rpartition("-")[2]
        fill(node)
        server = Server(node)
        print(f"load {os.getloadavg()[0]:.1f}")
        for part in parts:
            PARTS[part](server, node.http_port, "Bearer " + token)


if __name__ == "__main__":
    main()
