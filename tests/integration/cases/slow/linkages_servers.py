"""Servers as packages have them, by their own scripts, and databases in Python
from PyPI: with us they answer and end as alone, and their heap has names."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import pymysql
from linkage import LINKED, MB, RUN, SECONDS, Node, allocated, fault, faults
from node_under_test import wait_for
from ports import free_port

EMBEDDED = os.path.abspath("tests/integration/programs/linked/embedded.py")


def install():
    subprocess.run(["sh", "docker/install.sh", "servers"], check=True)
    libraries = os.path.join(LINKED, "python")
    if not os.path.isdir(libraries):
        subprocess.run([sys.executable, "-m", "pip", "install", "-q",
                        "--target", libraries, "chdb", "polars"], check=True)


def client(*command, text=None):
    done = subprocess.run(command, input=text, text=True, capture_output=True,
                          timeout=6 * SECONDS)
    return done.stdout + done.stderr


class Server:
    """command; up() whether it answers; load(); say(): an answer that is the
    same in every run; stop(); names: what the heap's functions or modules must
    have."""

    exe = None
    options = ()
    names = ()
    linkage = ""
    states = ("inactive",)
    words = ""  # of state()
    held = None  # by load(), as it knows, in bytes of the heap

    def __init__(self, directory):
        self.directory = directory
        self.port = free_port()
        self.prepare()

    @property
    def name(self):
        return type(self).__name__

    def prepare(self):
        pass

    def load(self):
        pass

    def stop(self, process):
        process.terminate()


class MariaDB(Server):
    linkage = "libjemalloc preloaded"
    names = ("mariadbd",)

    def prepare(self):
        os.chmod(self.directory, 0o755)
        data = os.path.join(self.directory, "data")
        client("mariadb-install-db", "--no-defaults", "--force",
               "--datadir=" + data, "--user=mysql",
               "--auth-root-authentication-method=normal")
        shutil.chown(self.directory, "mysql")
        self.socket = os.path.join(self.directory, "db.sock")
        self.command = [self.program, "--no-defaults", *self.more,
                        "--user=mysql", "--datadir=" + data, "--socket=" +
                        self.socket, "--skip-networking", "--pid-file=" +
                        os.path.join(self.directory, "pid"),
                        "--max-heap-table-size=256M"]

    program, more = "/usr/sbin/mariadbd", ()

    def sql(self, statement):
        return client("mariadb", "--no-defaults", "-S", self.socket, "-u",
                      "root", "-N", "-B", "-e", statement)

    def up(self):
        return self.sql("SELECT 1") == "1\n"

    def load(self):
        before = self.used()
        self.sql("CREATE DATABASE t; USE t; CREATE TABLE x ENGINE=MEMORY SELECT seq,"
                 " REPEAT('x', 200) v FROM seq_1_to_200000")
        return self.used() - before

    def used(self):
        return int(self.sql("SHOW GLOBAL STATUS LIKE 'Memory_used'").split()[1])

    def say(self):
        return self.sql("SELECT COUNT(*), SUM(seq) FROM t.x")

    def stop(self, process):
        self.sql("SHUTDOWN")


class MariaDBByScript(MariaDB):
    program, more = "mysqld_safe", ("--skip-syslog",)
    exe = "/usr/sbin/mariadbd"


class PostgreSQL(Server):
    linkage = "libjemalloc preloaded, forks"
    words = "children of the same executable hold up to"
    exe = glob.glob("/usr/lib/postgresql/*/bin/postgres")[0]

    def prepare(self):
        os.chmod(self.directory, 0o755)
        shutil.chown(self.directory, "postgres")
        self.data = os.path.join(self.directory, "data")
        self.as_postgres = ["setpriv", "--reuid=postgres", "--regid=postgres",
                            "--clear-groups"]
        client(*self.as_postgres, os.path.dirname(self.exe) + "/initdb", "-D",
               self.data, "--auth=trust")
        self.command = [self.exe, "-D", self.data, "-k", self.directory, "-c",
                        "listen_addresses="]
        self.wrapper = self.as_postgres

    def sql(self, statement):
        return client("psql", "-h", self.directory, "-U", "postgres", "-At",
                      "-c", statement)

    def up(self):
        return self.sql("SELECT 1") == "1\n"

    def load(self):
        self.sql("CREATE TABLE x AS SELECT i, repeat('x', 200) FROM "
                 "generate_series(1, 100000) i")

    def say(self):
        return self.sql("SELECT count(*), sum(i) FROM x")

    def stop(self, process):
        process.terminate()


class Varnish(Server):
    linkage = "libjemalloc linked, one worker child"
    words = "children: 1 child of the same executable holds up to"
    exe = "/usr/sbin/varnishd"

    def prepare(self):
        os.chmod(self.directory, 0o755)
        self.command = [self.exe, "-F", "-j", "none", "-n",
                        os.path.join(self.directory, "n"), "-a",
                        f"127.0.0.1:{self.port}", "-f", self.vcl(), "-s",
                        "malloc,64m"]

    def vcl(self):
        path = os.path.join(self.directory, "vcl")
        with open(path, "w", encoding="ascii") as f:
            f.write('vcl 4.1; backend none none; sub vcl_recv { return '
                    '(synth(200, "fine")); }\n')
        return path

    def up(self):
        return "fine" in self.say()

    def load(self):
        for _ in range(50):
            self.say()

    def say(self):
        return re.sub(r"XID: \d+", "", client(
            "curl", "-sS", f"http://127.0.0.1:{self.port}/"))


class VarnishWorker(Varnish):
    linkage = "libjemalloc linked, its worker child"
    words = ""
    options = ("--process", "child")
    names = ("varnishd",)


class Named(Server):
    linkage = "libjemalloc linked"
    exe = "/usr/sbin/named"
    names = ("libisc|libdns",)
    options = ("--profiling", "on")
    states = ("active",)

    def prepare(self):
        path = os.path.join(self.directory, "named.conf")
        zone = os.path.join(self.directory, "zone")
        with open(zone, "w", encoding="ascii") as f:
            f.write("$TTL 60\n@ SOA a. b. 1 60 60 60 60\n@ NS a.\n")
            for i in range(100000):
                f.write(f"h{i} TXT \"{'x' * 100}{i}\"\n")
        with open(path, "w", encoding="ascii") as f:
            f.write(f"""options {{ directory "{self.directory}";
                listen-on port {self.port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};
                pid-file none; session-keyfile none; recursion no;
                managed-keys-directory "{self.directory}"; }};
                controls {{ }};
                zone "example" {{ type primary; file "{zone}"; }};\n""")
        self.command = [self.exe, "-g", "-c", path, "-p", str(self.port)]

    def up(self):
        return "x77" in self.say()

    def say(self):
        return client("/usr/bin/python3", "-c", DIG, str(self.port))


DIG = r"""
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(1)
s.connect(("127.0.0.1", int(sys.argv[1])))
s.send(b"\x12\x34\0\0\0\1\0\0\0\0\0\0\3h77\7example\0\0\x10\0\1")
print(s.recv(4096))
"""


class JVM(Server):
    linkage = "libjemalloc preloaded"
    names = ("libjvm",)
    exe = os.path.realpath("/usr/bin/java")

    def prepare(self):
        path = os.path.join(self.directory, "Holder.java")
        with open(path, "w", encoding="ascii") as f:
            f.write("""import java.nio.ByteBuffer;
                import java.util.*;
                public class Holder {
                    public static void main(String[] a) throws Exception {
                        List<ByteBuffer> held = new ArrayList<>();
                        Scanner in = new Scanner(System.in);
                        System.out.println("ready");
                        while (in.hasNextLine() && !in.nextLine().equals("stop")) {
                            for (int i = 0; i < 4096; i++)
                                held.add(ByteBuffer.allocateDirect(16384));
                            System.out.println(held.size() * 16384L);
                        }
                        System.exit(7);
                    }
                }""")
        client("javac", "-d", self.directory, path)
        self.command = [self.exe, "-Xmx256m", "-cp", self.directory, "Holder"]
        self.said = ""

    def up(self):
        return True

    def load(self):
        self.process.stdin.write("more\n")
        self.process.stdin.flush()
        while "6" not in self.said:
            self.said += self.process.stdout.readline()
        return 4096 * 16384

    def say(self):
        return self.said

    def stop(self, process):
        process.stdin.write("stop\n")
        process.stdin.flush()


class Polars(Server):
    linkage = "PyPI, dlopened: jemalloc of its own, without prof"
    exe = os.path.realpath("/usr/bin/python3")

    def prepare(self):
        os.environ["PYTHONPATH"] = os.path.join(LINKED, "python")
        self.command = [self.exe, EMBEDDED, self.name.lower()]
        self.said = []

    def up(self):
        if not self.said:
            self.said.append(self.process.stdout.readline())
        return self.said == ["ready\n"]

    def load(self):
        self.process.stdin.write("pages 64\n")
        self.process.stdin.flush()
        self.said.append(self.process.stdout.readline())

    def say(self):
        return self.said

    def stop(self, process):
        process.stdin.write("stop\n")
        process.stdin.flush()


class Chdb(Polars):
    linkage = "PyPI, dlopened: jemalloc of its own, prefix je_"
    # By its path, so that no libjemalloc is preloaded: chdb is killed by one.
    options = ("--allocator", *glob.glob(os.path.join(
        os.path.abspath(LINKED), "python", "chdb", "_chdb*.so")))
    # As ClickHouse has compiled in; but of its threads, born with
    # prof_thread_active_init:false, none is sampled.
    states = ("active",)
    words = "threads are not sampled: they were created"


def once(kind, look=None):
    """Its answers and status; look(server, node) between."""
    directory = tempfile.mkdtemp(prefix="hw-server-", dir="/tmp")
    server = kind(directory)
    state = os.path.join(directory, "heapwire")
    command = server.command
    if look:
        if getattr(server, "wrapper", None):
            os.mkdir(state, 0o700)
            shutil.chown(state, "postgres")
        command = [RUN, "--listen", "none", "--linger", "0", "--state-dir",
                   os.path.join(state, "state"), *server.options]
        if server.exe:
            command += ["--exe", server.exe]
        command += ["--", *server.command]
    command = getattr(server, "wrapper", []) + command
    log = open(os.path.join(directory, "log"), "w+", encoding="utf-8")
    process = subprocess.Popen(command, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=log, text=True,
                               cwd=directory)
    server.process = process
    row = []
    try:
        wait_for(lambda: server.up() or process.poll() is not None,
                 3 * SECONDS)
        if look:
            row = look(server, Node(state))
        else:
            server.load()
        answers = server.say()
        server.stop(process)
        process.wait(6 * SECONDS)
        log.seek(0)
        said = log.read()
        ours = [line for line in said.splitlines()
                if line.startswith(("heapwire", "<jemalloc>"))]
        return answers, process.returncode, row, ours
    finally:
        process.terminate()  # heapwire-run ends what it has started
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()
        shutil.rmtree(directory, ignore_errors=True)


def look(server, node):
    state, reason = node.wait(lambda s: s in server.states)
    if state not in server.states:
        fault(server, f"{state}: {reason}")
    if state not in ("inactive", "active"):
        server.load()
        found = node.rows("SELECT found, mallctl, object, version, allocated, "
                          "note FROM heapwire.allocators")
        return [f"{state}: {reason}", *map(str, found)]
    node.prof("enable_prof()")
    before = allocated(node, -1, 0)  # after a second or more
    held = server.load()
    node.prof('snapshot("after")')
    rows = node.rows("SELECT function, module, cum_bytes, cum_error FROM "
                     "heapwire.heap_functions WHERE snapshot = 'after' "
                     "ORDER BY flat_bytes DESC LIMIT 50")
    top = ", ".join(row[0] for row in rows[:3])
    for name in server.names:
        if not any(re.search(name, (row[1] or "") + row[0]) for row in rows):
            fault(server, f"nothing of {name} in {rows[:5]}")
    bytes_, samples = node.rows("SELECT bytes, samples FROM heapwire.snapshots "
                                "WHERE name = 'after'")[0]
    after = allocated(node, before + (held or 0), 4 * MB)
    if held:
        error = bytes_ / max(samples, 1) ** 0.5
        if abs(bytes_ - held) > 4 * error + 4 * MB:
            fault(server, f"holds {held}, the profile {bytes_} ± {error}")
        if abs(after - before - held) > 4 * MB:
            fault(server, f"holds {held}, statistics {before}, {after}")
    found = node.rows("SELECT found, mallctl, object, allocated FROM "
                      "heapwire.allocators ORDER BY chosen DESC")
    node.prof("disable_prof()")
    if node.prof("has_enable()") != "false":
        fault(server, "disabled, and is not")
    all_found = ", ".join(
        f"{how}: {symbol} in {os.path.basename(path)} ({(size or 0) / MB:.1f} MB)"
        for how, symbol, path, size in found)
    wait_for(lambda: server.words in node.prof("state()"), 3 * SECONDS)
    words = [line for line in node.prof("state()").splitlines()
             if "child" in line or "thread" in line]
    return [all_found, *words, top,
            f"{bytes_ / MB:.1f} of {held / MB:.1f}" if held else "",
            f"{before / MB:.1f}, then {after / MB:.1f}"]


def check(kind):
    alone = once(kind)
    try:
        with_us = once(kind, look)
    except (pymysql.err.MySQLError, AssertionError, OSError) as error:
        fault(kind, repr(error))
        return
    if alone[:2] != with_us[:2]:
        fault(kind, f"alone {alone[:2]}, with us {with_us[:2]}")
    print(" | ".join([kind.name, kind.linkage, *with_us[2],
                      *[o for o in with_us[3] if ": socket " not in o]]),
          flush=True)


install()
print("server | linkage | how found | names | profile MB of what it knows | "
      "allocated MB | said on stderr")
for kind in (MariaDB, MariaDBByScript, PostgreSQL, Varnish, VarnishWorker, Named, JVM,
             Polars, Chdb):
    kind.name = kind.__name__
    if not sys.argv[1:] or kind.name in sys.argv[1:]:
        check(kind)
sys.exit(bool(faults))
