"""The program heapwire, as people use it: two Redis nodes and one that is
dead, sockets, TCP, files of options, terminals; and a node that lies.

Arguments name single tests.
"""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

from http_under_test import OWN, local, node_with
from machine import no_localhost, no_namespaces, no_terminal
from meddler import END, frame
from mysql_wire import Wire
from node_under_test import BUILD, REAL, Node, wait_for
from ports import free_port
from redis_node import RedisNode
from runner import named, needs, run_tests

HEAPWIRE = os.path.join(BUILD, "bin", "heapwire")
A, B, DEAD = 10001, 10002, 10003
DONE, FAILED, NO_NODE, USAGE, NO_INPUT = 0, 1, 2, 64, 66
ALL = "status, profile, control, cluster, admin"


def heapwire(*words, home="/nonexistent", wrapper=(), **more):
    """Its status, and what it printed: to where it should."""
    env = {"HOME": home, "PATH": os.environ["PATH"]}
    more = {"timeout": 60} | more
    if "input" not in more:
        more = {"stdin": subprocess.DEVNULL} | more
    done = subprocess.run([*wrapper, HEAPWIRE, *map(str, words)], env=env,
                          capture_output=True, check=False, **more)
    return done.returncode, done.stdout, done.stderr.decode()


@contextlib.contextmanager
def on_terminal(*words, home="/nonexistent", stdout=None, width=0):
    """Its process, and the terminal that it has."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("4H", 24, width, 0, 0))

    def take_terminal():
        os.close(os.open(os.ttyname(its), os.O_RDWR))
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's & ignores it
    process = subprocess.Popen(
        [HEAPWIRE, *map(str, words)], stdin=its, stderr=its,
        stdout=stdout or its, start_new_session=True,
        preexec_fn=take_terminal,
        env={"HOME": home, "PATH": os.environ["PATH"]})
    os.close(its)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def read_all(terminal):
    """Until the other end is closed."""
    said = b""
    with contextlib.suppress(OSError):
        while select.select([terminal], [], [], 20)[0]:
            said += os.read(terminal, 65536)
    return said


# Real nodes


@contextlib.contextmanager
def nobody():
    """A port where none listens, and that no other test gets."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        yield s.getsockname()[1]


@contextlib.contextmanager
def two_nodes_and_a_dead_one():
    with nobody() as dead, tempfile.TemporaryDirectory(prefix="hw-") as work:
        places = {A: free_port(), B: free_port(), DEAD: dead}
        nodes = [RedisNode(work, i, places, places[i]) for i in (A, B)]
        try:
            for node in nodes:
                node.wait()
            wait_for(lambda: heapwire(
                "-S", nodes[0].socket, "on", f"{A},{B}",
                "HeapProf.getInstance().has_enable()")[0] == DONE)
            yield nodes, work
        finally:
            for node in nodes:
                node.stop()


def test_a_cluster_with_a_dead_node():
    with two_nodes_and_a_dead_one() as (nodes, work):
        s = ("--socket", nodes[0].socket)
        assert heapwire(*s, "on", f"{A},{B}", "System.print(7)") == (
            DONE, b"10001: 7\n10002: 7\n", "")
        assert heapwire(*s, "on", B, "System.print(7)\nSystem.print(8)") == (
            DONE, b"10002: 7\n10002: 8\n", "")
        assert heapwire(*s, "on", A, "") == (DONE, b"10001: \n", "")
        status, out, err = heapwire(*s, "on", "ALL", "System.print(7)")
        assert (status, err) == (FAILED, "")
        lines = out.decode().splitlines()
        assert lines[:2] == ["10001: 7", "10002: 7"] and len(lines) == 3
        assert re.fullmatch("10003: ERROR: submit failed for .*: "
                            "Connection refused", lines[2]), lines
        status, out, err = heapwire(*s, "--json", "on", "ALL",
                                    "System.print(\"a\\n\\\"b\\\"\")")
        rows = json.loads(out)
        assert status == FAILED and [r["status"] for r in rows] == [
            "OK", "OK", "ERROR"], rows
        assert rows[0] == {"node_id": 10001, "status": "OK",
                           "result": 'a\n"b"'}, rows
        print_bytes(s)
        status, out, err = heapwire(*s, "--tsv", "on", f"{B}, {DEAD}",
                                    "System.print(\"a\\tb\")")
        lines = [x.split("\t") for x in out.decode().splitlines()]
        assert status == FAILED and lines[:2] == [
            ["node_id", "status", "result"], ["10002", "OK", "a\\tb"]], lines
        assert [len(x) for x in lines] == [3, 3, 3] and lines[2][0] == "10003"
        views_of(s, work)
        a_node_is_missing(s)


def print_bytes(s):
    """Which are no UTF-8, in the script's own text."""
    words = "on", f"{A},{B}", 'System.print("\udcff\udcfe é\u00e9")\n' \
        'System.print("é")'
    for words, says in (
            (words, "10001: \\xff\\xfe \\xc3\\xa9\\xc3\\xa9\n10001: é\n"),
            (("on", A, words[2]),
             "10001: \\xff\\xfe \\xc3\\xa9\\xc3\\xa9\n10001: é\n")):
        status, out, err = heapwire(*s, *words)
        assert (status, err) == (DONE, ""), err
        assert out.decode().startswith(says), out
        status, out, err = heapwire(*s, "--json", *words)
        assert (status, err) == (DONE, ""), err
        assert json.loads(out)[0]["result"] == says[7:].replace(
            "\n10001: ", "\n").rstrip("\n"), out


def a_node_is_missing(s):
    """Rows of the others, and which node has none."""
    for words, says in (
            (("sql", "SELECT DISTINCT node_id FROM cluster_profiler"),
             b"node_id\n10001\n10002\n"),
            (("get", "pprof", "cluster"), b"\x1f\x8b")):
        status, out, err = heapwire(*s, *words)
        assert status == FAILED and says in out, (words, status, out, err)
        assert err.startswith("heapwire: node 10003: "), err
        assert len(err.splitlines()) == 1, err


def views_of(s, work):
    status, out, err = heapwire(
        *s, "on", f"{A},{B}",
        "System.print(HeapProf.getInstance().enable_prof())")
    assert status == DONE and out.count(b"instance of HeapProf") == 2, (out,
                                                                        err)
    status, out, err = heapwire(*s, "on", A, "System.print(HeapProf"
                                ".getInstance().snapshot(\"first\"))")
    assert (status, out) == (DONE, b"10001: first\n"), (out, err)
    for form, begins in (("top", b"profile "), ("dot", b"digraph"),
                         ("pprof", b"\x1f\x8b"), ("svg", b"<?xml"),
                         ("pdf", b"%PDF-")):
        path = os.path.join(work, form)
        status, out, err = heapwire(*s, "get", form, "first")
        assert status == DONE and out.startswith(begins), (form, out[:80], err)
        assert heapwire(*s, "get", form, "first", "-o", path) == (DONE, b"",
                                                                  "")
        with open(path, "rb") as f:
            assert f.read() == out, form
        assert form in ("pprof", "pdf") or (out[-1:] == b"\n" and
                                            out[-2:] != b"\n\n"), out[-80:]
    for words in (), ("cpu:1",):  # also where nothing runs
        status, out, err = heapwire(*s, "get", "text", *words)
        assert status == DONE and out.startswith(b"profile " if not words else
                                                 b"by "), (out, err)
        assert out.endswith(b"\n") and not out.endswith(b"\n\n"), out
    status, out, err = heapwire(*s, "get", "text", "no_such")
    assert status == FAILED and out == b"" and "no_such" in err, err
    status, _, err = heapwire(*s, "get", "text", "first", "-o", "/proc/no/x")
    assert (status, err) == (
        FAILED, "heapwire: /proc/no/x: No such file or directory\n")


def test_tcp_and_a_file_of_options():
    with Node(REAL, users=[("ann", b"it's #1", ALL)]) as node, \
            tempfile.TemporaryDirectory() as home:
        def write(text):
            with open(f"{home}/.my.cnf", "w", encoding="ascii") as f:
                os.fchmod(f.fileno(), 0o600)
                f.write(text)

        def who(*options):
            return heapwire(*options, "--tsv", "sql", "SELECT user()",
                            home=home)
        ann = (DONE, b"user()\nann@127.0.0.1\n", "")
        write(f"[client]\nhost=127.0.0.1\nport={node.port}\nuser=ann\n"
              "password=\"it's #1\"\n")
        assert who() == ann, who()
        write("[client]\nhost=127.0.0.9\nport=1\nuser=eve\n[heapwire]\n"
              f"host=127.0.0.1\nport={node.port}\nuser=ann\n"
              "password=\"it's #1\"\n[mysqld]\nport=2\n")
        assert who() == ann, who()
        write("[client]\npassword=\"it's #1\"\nsocket=/nonexistent\n")
        host = "127.0.0.1" if no_localhost() else "localhost"
        if no_localhost():
            print("skipped: --host localhost:", no_localhost())
        place = ("--host", host, "-P", node.port, "-u", "ann")
        assert who(*place) == ann, who(*place)
        place += ("--ssl-ca", os.path.join(node.state, "server-cert.pem"))
        status, out, err = heapwire(
            *place, "--tsv", "sql", "SHOW STATUS LIKE 'Ssl_cipher'", home=home)
        assert status == DONE and b"TLS" in out, (out, err)
        for home_of_eve in (home, "/nonexistent"):
            status, out, err = heapwire("-h", "127.0.0.1", "-P", node.port,
                                        "-u", "eve", "sql", "x",
                                        home=home_of_eve)
            assert (status, out) == (NO_NODE, b""), out
            assert re.fullmatch("heapwire: Access denied for user 'eve'.*: "
                                "--user NAME --password\n", err), err
        # The file names the node, and the hint is not to name one.
        write(f"[client]\nhost=127.0.0.1\nport={node.port}\nuser=eve\n")
        assert "name a node" not in who()[2] and "Access denied" in who()[2]


def test_what_an_options_file_has_for_databases():
    with Node(REAL) as node, tempfile.TemporaryDirectory() as home:
        for line in ("init-command=SET nonsense = 1",
                     "init_command = 'INSERT INTO t VALUES (1)'",
                     " init-command", "local-infile", "local_infile = 1",
                     "max_allowed_packet = 1G", "max-allowed-packet=16M",
                     "!include /nonexistent", "!includedir /etc/mysql",
                     "no-such-key = 1", "[heapwire]\ninit-command = x"):
            with open(f"{home}/.my.cnf", "w", encoding="ascii") as f:
                f.write(f"[client]\n{line}\nsocket={node.socket}\n")
            got = heapwire("--tsv", "sql", "SELECT 1", home=home)
            assert got == (DONE, b"1\n1\n", ""), (line, got)


@needs(no_terminal)
def test_a_password_is_asked_for():
    with Node(REAL, users=[("ann", b"secret", ALL)]) as node, \
            on_terminal("-h", "127.0.0.1", "-P", node.port, "-u", "ann", "-p",
                        "sql", "SELECT user()") as (process, terminal):
        assert os.read(terminal, 100).startswith(b"Password:")
        os.write(terminal, b"secret\n")
        said = read_all(terminal)
        assert process.wait(10) == DONE and b"ann@127.0.0.1" in said, said
        assert b"secret" not in said, said


def test_where_tls_is_required_it_says_how():
    with Node(REAL, settings="require_tls = yes\n",
              users=[("ann", b"secret", ALL)]) as node:
        status, _, err = heapwire("-h", "127.0.0.1", "-P", node.port, "-u",
                                  "ann", "sql", "SELECT 1")
        assert status == NO_NODE and "--ssl-ca FILE" in err, err


def test_rows():
    statement = ("SELECT 1 AS one, NULL AS nothing, 1.50 AS part, "
                 "char(9, 10, 27, 92 USING utf8mb4) AS marks, 'é' AS wide, "
                 "x'00ff' AS bytes, 9223372036854775807 AS most")
    with Node(REAL) as node:
        s = ("-S", node.socket)
        assert heapwire(*s, "--tsv", "sql", statement) == (
            DONE, b"one\tnothing\tpart\tmarks\twide\tbytes\tmost\n"
            b"1\tNULL\t1.50\t\\t\\n\\x1b\\\\\t\xc3\xa9\t\\x00\\xff\t"
            b"9223372036854775807\n", "")
        status, out, _ = heapwire(*s, "--json", "sql", statement)
        assert (status, json.loads(out)) == (DONE, [{
            "one": 1, "nothing": None, "part": 1.5, "marks": "\t\n\x1b\\",
            "wide": "é", "bytes": "\0\ufffd", "most": "9223372036854775807"}])
        assert b"\x1b" not in out
        status, out, _ = heapwire(*s, "--json", "sql",
                                  "SELECT 1 AS x WHERE false")
        assert (status, json.loads(out)) == (DONE, [])
        # An object has no key twice.
        for names, keys in (("a a a", "a a_2 a_3"), ("a a a_2", "a a_3 a_2"),
                            ("a_2 a a", "a_2 a a_3"), ("a A", "a A")):
            status, out, _ = heapwire(*s, "--json", "sql", "SELECT " + ", ".join(
                f"{i} AS {name}" for i, name in enumerate(names.split())))
            assert (status, json.loads(out, object_pairs_hook=list)) == (DONE, [
                [(key, i) for i, key in enumerate(keys.split())]]), (names, out)
        status, out, _ = heapwire(*s, "sql", "SELECT 'long one' AS a, 2 AS b "
                                  "UNION ALL SELECT 's', 33")
        assert out == b"a         b\nlong one  2\ns         33\n", out
        for options, says in ((), b""), (("--tsv",), b""), (("--json",), b"[]\n"):
            assert heapwire(*s, *options, "sql", "SET @a = 1") == (
                DONE, says, ""), options


def test_numbers_are_those_of_http():
    """Where JavaScript would read another one there is a string."""
    statement = ("SELECT 9007199254740991 AS a, -9007199254740991 AS b, "
                 "9007199254740992 AS c, -9223372036854775807 AS d, "
                 "0.1e0 AS e, 1e300 AS f, 12.50 AS g, 1e17 AS h, "
                 "CAST(pow(2, 60) AS signed) AS i, NULL AS j, '7' AS k, "
                 "SUM(2) AS l, AVG(3) AS m, 1 = 1 AS n")
    says = {"a": 9007199254740991, "b": -9007199254740991,
            "c": "9007199254740992", "d": "-9223372036854775807", "e": .1,
            "f": 1e300, "g": 12.5, "h": 1e17, "i": "1152921504606846976",
            "j": None, "k": "7", "l": 2, "m": 3, "n": 1}
    with node_with() as node:
        status, out, err = heapwire("-S", node.socket, "--json", "sql",
                                    statement)
        assert (status, json.loads(out)) == (DONE, [says]), (out, err)
        got = json.loads(local(node, "/sql", *OWN, "-d", statement).body)
        assert dict(zip(got["columns"], got["rows"][0])) == says, got


# What has no word of its own


def test_versions():
    with open("CMakeLists.txt", encoding="utf-8") as f:
        version = re.search(r"VERSION (\d+\.\d+\.\d+) LANGUAGES", f.read())[1]
    for name in ("heapwire", "heapwired", "heapwire-run", "heapwire-prof",
                 "heapwire-passwd", "heapwire-symbolizer",
                 "heapwire-debuginfod"):
        done = subprocess.run([os.path.join(BUILD, "bin", name), "--version"],
                              capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (
            0, f"{name} {version}\n", ""), done


def test_a_statement_from_elsewhere():
    with Node(REAL) as node:
        s = ("-S", node.socket)
        one = (DONE, b"1\n1\n", "")
        assert heapwire(*s, "-e", "SELECT 1") == one
        assert heapwire(*s, "--execute", "SELECT 1;") == one
        for words in ((), ("sql",)):
            assert heapwire(*s, *words, input=b"SELECT\n1;\n") == one, words
        assert heapwire(*s, "on", "10001", input=b"System.print(7)\n") == (
            DONE, b"10001: 7\n", ""), heapwire(*s, "on", "10001",
                                               input=b"System.print(7)\n")
        assert heapwire(*s, "--json", input=b"SELECT 'a' AS b")[1] == \
            b'[\n{"b": "a"}\n]\n'
        for text in b"SELECT 1\0", b"x" * (17 << 20):
            status, out, err = heapwire(*s, "sql", input=text)
            assert (status, out) == (USAGE, b"") and "16 MB" in err, err


def test_a_file_of_options_that_is_named():
    with Node(REAL, users=[("ann", b"it's #1", ALL)]) as node, \
            tempfile.TemporaryDirectory() as home:
        path = f"{home}/options"

        def ask(text, *words):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            return heapwire("--defaults-file", path, *words, "--tsv", "-e",
                            "SELECT user()", home=home)
        good = (f"# mine\n\n[mysqld]\nwhatever\n[client]\nhost = 127.0.0.1\n"
                f"  port={node.port}\n; and\n[heapwire]\nuser = \"ann\"\n"
                "password='it\\'s #1'\nconnect_timeout=5\n"
                "local-infile\nmax_allowed_packet = 1M\n")
        with open(f"{home}/.my.cnf", "w", encoding="utf-8") as f:
            f.write("[client]\nhost=127.0.0.9\nuser=eve\n")
        ann = (DONE, b"user()\nann@127.0.0.1\n", "")
        assert ask(good) == ann, ask(good)
        done = subprocess.run(  # a pipe is read once, and two connections made
            ["bash", "-c", f"{HEAPWIRE} --defaults-file <(cat {path}) "
             "diagnose"], env={"HOME": home},
            capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (DONE, ""), done
        # A comment begins behind a value, too, but not within quotes.
        for plain, said in (("[client]\n", "[client] # of all\n"),
                            ("[client]\n", "\ufeff[client]\n"),
                            ("port}", "port} # of ann"),
                            ("port=port}", "port = 'port}' # of ann"),
                            ('"ann"', "ann# x = y"),
                            ('"ann"', "'ann' # it's"),
                            ("'it\\'s #1'", "'it\\'s #1' # 'x'"),
                            ("=5", "=5#")):
            text = good.replace("# mine\n\n[mysqld]\nwhatever\n", "").replace(
                plain.replace("port}", str(node.port)),
                said.replace("port}", str(node.port)))
            assert text != good and ask(text) == ann, (said, ask(text))
        # The command line counts more.
        status, out, err = ask(good, "-S", node.socket)
        assert status == DONE and b"ann@localhost" in out, (out, err)
        for line, says in (("frobnicate = 1", "there is no key frobnicate"),
                           ("host 127.0.0.1", "a line is KEY = VALUE"),
                           ("= x", "a line is KEY = VALUE"),
                           ("port = 3306x", "a port is a number up to 65535"),
                           ("port", "a port is a number up to 65535"),
                           ("port = \"1'", "a port is a number up to 65535"),
                           ("port = ''", "a port is a number up to 65535"),
                           ("[client", "a group is [NAME]"),
                           ("[client] x", "a group is [NAME]"),
                           ("frobnicate # = 1", "there is no key frobnicate"),
                           ("!include /etc/my.cnf", "no other file"),
                           ("user=" + "x" * 5000, "at most 4094 bytes")):
            got = ask(f"[client]\nport=1\n{line}\n")
            assert got == (USAGE, b"", f"heapwire: {path}:3: {says}\n") or (
                says in got[2] and f"{path}:3: " in got[2] and
                got[0] == USAGE), got
        got = ask("port=1\n")
        assert got[0] == USAGE and f"{path}:1: it stands before" in got[2], got
        for path_of_none in home, "/nonexistent/x":
            status, out, err = heapwire("--defaults-file", path_of_none, "-e",
                                        "1")
            assert (status, out) == (NO_INPUT, b"") and path_of_none in err


@contextlib.contextmanager
def in_a_run_of_its_own(nodes):
    """Where /run has a MariaDB's socket and these nodes: what goes before a
    command there, and the listener of that socket."""
    with tempfile.TemporaryDirectory(prefix="hw-") as work, \
            socket.socket(socket.AF_UNIX) as database:
        for name in ("heapwire", "mysqld"):
            os.makedirs(f"{work}/run/{name}")
        database.bind(f"{work}/run/mysqld/mysqld.sock")
        database.listen()
        database.setblocking(False)
        for i, where in nodes.items():
            os.makedirs(f"{work}/run/heapwire/{i}")
            os.symlink(where, f"{work}/run/heapwire/{i}/mysql.sock")
        yield ("unshare", "--mount", "sh", "-c",
               f'mount --bind {work}/run /run && exec "$@"', "sh"), database


@needs(no_namespaces)
def test_it_never_asks_what_is_no_node():
    with Node(REAL) as node:
        for nodes, says in (
                ({}, "there is no /run/heapwire/*/mysql.sock; a node elsewhere "
                 "is named with --socket FILE"),
                ({10001: "/nonexistent", 10002: "/nonexistent"},
                 "2 nodes: 10001, 10002; name one with --socket "
                 "/run/heapwire/10001/mysql.sock"),
                ({i: "/nonexistent" for i in range(10001, 10031)},
                 "30 nodes: 10001, ")):
            with in_a_run_of_its_own(nodes) as (wrapper, database):
                for words in (("-e", "SELECT 1"), ("get", "top"),
                              ("diagnose",), ("-P", "3306", "-e", "1")):
                    status, out, err = heapwire(*words, wrapper=wrapper)
                    assert (status, out) == (NO_NODE, b"") and says in err, err
                    assert len(err.splitlines()) == 1, err
                out = heapwire("top", "--batch", "--count", "1",
                               wrapper=wrapper)[1].decode()
                assert says[:20] in out, out
                with contextlib.suppress(BlockingIOError):
                    raise AssertionError(database.accept())
        with in_a_run_of_its_own({10001: node.socket}) as (wrapper, _):
            assert heapwire("-e", "SELECT 1", wrapper=wrapper) == (
                DONE, b"1\n1\n", "")


def test_a_database_by_mistake():
    """As MariaDB answers who logs in."""
    refuses = b"\xff\x19\x04#42000Unknown database 'heapwire'"
    with Liar(b"", version=b"10.11.6-MariaDB", login=refuses) as liar:
        status, out, err = liar.ask("-e", "SELECT 1")
        assert (status, out) == (NO_NODE, b""), out
        assert "'heapwire': that is a MySQL or MariaDB server, and no " \
            "heapwire node; name a node: --socket" in err, err


@needs(no_terminal)
def test_what_would_fill_a_terminal():
    with two_nodes_and_a_dead_one() as (nodes, work):
        s = ("-S", nodes[0].socket)
        assert heapwire(*s, "on", A, "HeapProf.getInstance().enable_prof()")[0] \
            == DONE
        for form in ("svg", "flamegraph", "pdf", "pprof", "calls", "export"):
            with on_terminal(*s, "get", form) as (process, terminal):
                said = read_all(terminal)
                assert process.wait(20) == USAGE and b"-o FILE" in said, said
        with on_terminal(*s, "get", "top") as (process, terminal):
            said = read_all(terminal)
            assert process.wait(20) == DONE and b"profile " in said, said
        path = os.path.join(work, "a.svg")
        with on_terminal(*s, "get", "svg", "-o", path) as (process, terminal):
            assert process.wait(20) == DONE, read_all(terminal)
        with open(path, "rb") as f:
            assert f.read(5) == b"<?xml"


@needs(no_terminal)
def test_wide_rows_stand_upright():
    statement = "SELECT 1 AS a, repeat('x', 30) AS longer UNION SELECT 2, NULL"
    flat = b"a  longer\n1  " + b"x" * 30 + b"\n2  NULL\n"
    tall = (b"-- row 1 --\na       1\nlonger  " + b"x" * 30 +
            b"\n-- row 2 --\na       2\nlonger  NULL\n")
    with Node(REAL) as node:
        s = ("-S", node.socket, "-e", statement)
        for width, says in (0, flat), (33, flat), (32, tall):
            with on_terminal(*s, width=width) as (process, terminal):
                said = read_all(terminal).replace(b"\r\x1b[K", b"")
                assert process.wait(20) == DONE
            assert said.replace(b"\r\n", b"\n") == says, (width, said)
        for form in "--tsv", "--json":
            with on_terminal(form, *s, width=10) as (process, terminal):
                assert b"row 1" not in read_all(terminal)
        assert heapwire(*s)[1] == flat


@needs(no_namespaces)
def test_a_file_is_there_wholly_or_not_at_all():
    with Node(REAL) as node, tempfile.TemporaryDirectory() as work:
        full = ("unshare", "--mount", "sh", "-c",
                f'mount -t tmpfs -o size=16k full {work} && cp {work}.old '
                f'{work}/old && "$@"; s=$?; cat {work}/old; ls -A {work}; '
                'exit $s', "sh")
        with open(work + ".old", "w", encoding="ascii") as f:
            f.write("old\n")
        try:
            with Liar(b"") as liar:
                for name in "old", "new":
                    answer = (b"\x01", b"\x03def\0\0\0\x01a\x01a\x0c\x2d\0"
                              b"\xff\xff\0\0\xfd\0\0\0\0\0", END,
                              b"\xfd\0\0\x01" + b"x" * 65536, END)
                    liar.answer = b"".join(frame(1 + i, p)
                                           for i, p in enumerate(answer))
                    status, out, err = liar.ask("get", "svg", "-o",
                                                f"{work}/{name}", wrapper=full)
                    assert (status, out) == (FAILED, b"old\nold\n"), (out, err)
                    assert err == f"heapwire: {work}/{name}: No space left " \
                        "on device\n", err
                # An error of the node's leaves what was there, too.
                liar.answer = frame(1, b"\xff\x51\x04#HY000no")
                assert liar.ask("get", "svg", "-o", f"{work}.old")[0] == FAILED
                with open(work + ".old", encoding="ascii") as f:
                    assert f.read() == "old\n"
                liar.answer = rows([b"a"], [b"b"])
                os.symlink(work + ".old", f"{work}/link")
                for name in f"{work}/link", "/dev/stdout":
                    got = liar.ask("get", "svg", "-o", name)
                    assert got == (
                        DONE, b"b\n" * (name == "/dev/stdout"), ""), got
                assert os.path.islink(f"{work}/link")
                with open(work + ".old", encoding="ascii") as f:
                    assert f.read() == "b\n"
                # A link to what is not there yet: one's own alone.
                os.symlink("made", f"{work}/dangling")
                liar.answer = frame(1, b"\xff\x51\x04#HY000no")
                assert liar.ask("get", "svg", "-o",
                                f"{work}/dangling")[0] == FAILED
                assert not os.path.exists(f"{work}/made")
                liar.answer = rows([b"a"], [b"b"])
                assert liar.ask("get", "svg", "-o", f"{work}/dangling") == (
                    DONE, b"", "")
                assert os.path.islink(f"{work}/dangling")
                with open(f"{work}/made", encoding="ascii") as f:
                    assert f.read() == "b\n"
                assert sorted(os.listdir(work)) == ["dangling", "link", "made"]
                if os.geteuid() == 0:
                    os.remove(f"{work}/made")
                    os.chown(f"{work}/dangling", 65534, 65534,
                             follow_symlinks=False)
                    status, _, err = liar.ask("get", "svg", "-o",
                                              f"{work}/dangling")
                    assert status == FAILED and "Permission denied" in err, err
                    assert sorted(os.listdir(work)) == ["dangling", "link"]
        finally:
            os.remove(work + ".old")


# Faults


def test_statuses_and_what_to_do():
    with Node(REAL) as node:
        s = ("-S", node.socket)
        for words, says in ((("sql", "SELECT nothing"), "Unknown column"),
                            (("on", "ALL", "nonsense("), "unknown name"),
                            (("get", "top"), "no database")):
            status, out, err = heapwire(*s, *words)
            assert (status, out) == (FAILED, b""), (words, out)
            assert err.startswith("heapwire: ") and says in err, err
        for words, says in (((), "name a command: diagnose, on, sql"),
                            (("tell",), "bundle, top or doctor"),
                            (("sql",), "standard input has no statement"),
                            (("on", "10001"), "standard input has no script"),
                            (("get", "top", "a", "b"), "too many"),
                            (("get", "-o", "/dev/null"), "name a form"),
                            (("get", "tops"), "no form tops; the node has "
                             "dot text top"),
                            (("--json", "get", "top"), "calls is JSON"),
                            (("--tsv", "get", "calls"), "calls is JSON"),
                            (("--json", "--tsv", "sql", "1"), "give only one"),
                            (("-o", "/dev/null", "sql", "1"), "--output goes with"),
                            (("-e", "1", "sql"), "stands alone"),
                            (("get", "text top"), "no form text top"),
                            (("on", "10001;", "1"), "ids with commas"),
                            (("on", "", "1"), "ids with commas"),
                            (("on", "10001,", "1"), "ids with commas"),
                            (("on", ",10001", "1"), "ids with commas"),
                            (("on", "1,,2", "1"), "ids with commas"),
                            (("-P", "0", "sql", "1"), "1 to 65535"),
                            (("-P", "9036x", "sql", "1"), "1 to 65535"),
                            (("--nonsense",), "unrecognized option"),
                            (("--socket",), "requires an argument")):
            status, out, err = heapwire(*s, *words)
            assert (status, out) == (USAGE, b""), (words, status, out)
            assert says in err, (words, err)
    status, _, err = heapwire(*s, "sql", "SELECT 1")
    assert status == NO_NODE and node.socket in err, err
    # The usual port may be in use.
    with nobody() as port, tempfile.TemporaryDirectory() as home:
        with open(f"{home}/.my.cnf", "w", encoding="ascii") as f:
            f.write(f"[heapwire]\nhost=127.0.0.1\nport={port}\n")
        status, out, err = heapwire("sql", "SELECT 1", home=home)
        assert status == NO_NODE and "name a node: --socket" in err, (out, err)
        status, _, err = heapwire("-h", "127.0.0.1", "-P", port, "sql", "1")
        assert status == NO_NODE and "127.0.0.1" in err, err
        assert "refused" in err and "(115)" not in err, err
    status, _, err = heapwire("-S", "/nonexistent", "-e", "1")
    assert status == NO_NODE and err.endswith(
        "'/nonexistent' (No such file or directory)\n"), err


@needs(no_terminal)
def test_ctrl_c_ends_the_statement_on_the_node():
    with Node(REAL) as node, Wire(node.socket).login() as root:
        def running():
            return [r for r in root.query("SHOW FULL PROCESSLIST")
                    if r[7] == b"SELECT sleep(50)"]
        with on_terminal("-S", node.socket, "sql", "SELECT sleep(50)") as (
                process, terminal):
            wait_for(running)
            os.write(terminal, b"\x03")
            assert process.wait(30) == -signal.SIGINT
            began = time.monotonic()
            wait_for(lambda: not running())
            assert time.monotonic() - began < 15  # by itself it is after 50 s


def test_output_that_cannot_be_written_is_a_failure():
    with Node(REAL) as node:
        s = f"{HEAPWIRE} -S {node.socket}"
        for command, says in (
                (f"{s} sql 'SELECT 1' >&-", "standard output: "),
                (f"{s} sql 'SELECT 1' >/dev/full", "No space left on device"),
                (f"{s} --help >/dev/full", "No space left on device")):
            done = subprocess.run(["sh", "-c", command], capture_output=True,
                                  text=True, check=False)
            assert done.returncode == FAILED and says in done.stderr, done
            assert done.stderr.startswith("heapwire: "), done
        # Nothing of it goes to the node instead.
        assert "error" not in node.log()
        for command in (f"{s} sql 'SELECT 1' <&- 2>&-",
                        f"{s} sql 'SELECT 1' </dev/null"):
            done = subprocess.run(["sh", "-c", command], capture_output=True,
                                  check=False)
            assert (done.returncode, done.stdout) == (DONE, b"1\n1\n"), done


def test_a_reader_that_has_enough_is_no_fault():
    """Unless its parent ignores the signal, as for cat and its like."""
    with Node(REAL) as node:
        for words in (("sql", "SELECT repeat('x', 200000)"),
                      ("on", A, "System.print(1)"), ("--help",)):
            for default, status, says in ((True, -signal.SIGPIPE, b""),
                                          (False, FAILED, b"Broken pipe")):
                reader, writer = os.pipe()
                os.close(reader)  # before it can write
                process = subprocess.Popen(
                    [HEAPWIRE, "-S", node.socket, *map(str, words)],
                    stdout=writer, stderr=subprocess.PIPE,
                    restore_signals=default)
                os.close(writer)
                said = process.stderr.read()
                assert process.wait(20) == status, (words, said)
                assert says in said and bool(said) == bool(says), (words, said)


# What is no node, or lies


class Liar:
    """Lets everybody in and says to each statement what it is given, but for
    the question for its forms."""

    def __init__(self, answer, version=b"8.0.36-heapwire", closes=False,
                 login=b"\0\0\0\x02\0\0\0"):
        self.answer, self.closes, self.flags = answer, closes, 0
        self.login = login
        self.heard = b""
        self.greeting = (b"\x0a" + version + b"\0" + b"\x01\0\0\0" +
                         b"saltsalt\0" + b"\xff\xf7\x21\x02\0\xff\xc0\x15" +
                         b"\0" * 10 + b"saltsaltsalt\0mysql_native_password\0")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client, contextlib.suppress(OSError):
                client.sendall(frame(0, self.greeting))
                self.flags = struct.unpack("<I", client.recv(4096)[4:8])[0]
                client.sendall(frame(2, self.login))
                heard = client.recv(4096)
                self.heard += heard
                client.sendall(rows([b"n"], [b"svg"], [b"top"])
                               if b"SELECT ROUTINE_NAME" in heard else
                               self.answer)
                if self.closes:
                    client.shutdown(socket.SHUT_WR)
                while more := client.recv(4096):
                    self.heard += more

    def ask(self, *words, **more):
        return heapwire("-h", "127.0.0.1", "-P", self.port, "-u", "ann",
                        *words, **more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def text(s):
    return bytes([len(s)]) + s


def rows(names, *lines, kind=0xfd, first=1):
    """An answer, in the classic form; a line's None is NULL."""
    parts = [bytes([len(names)])]
    parts += [b"\x03def\0\0\0" + text(n) + text(n) + b"\x0c\x2d\0" +
              b"\xff\xff\0\0" + bytes([kind]) + b"\0\0\0\0\0" for n in names]
    parts += [END] + [b"".join(b"\xfb" if c is None else text(c) for c in x)
                      for x in lines] + [END]
    return b"".join(frame(first + i, p) for i, p in enumerate(parts))


HOSTILE = b"\x1b[31m\x07\x08\r\x7f\xc2\x9b2J"
SHOWN = b"\\x1b[31m\\x07\\x08\\x0d\\x7f\\x9b2J"


@needs(no_terminal)
def test_no_control_character_reaches_a_terminal():
    answer = rows([b"a" + HOSTILE, b"b", b"c"],
                  [HOSTILE, b"\xff\xfe\x1b", b"\t\n"])
    with Liar(answer) as liar:
        assert liar.ask("--tsv", "sql", "x")[1] == (
            b"a" + SHOWN + b"\tb\tc\n" +
            SHOWN + b"\t\\xff\\xfe\\x1b\t\\t\\n\n")
        for words in (("sql", "x"), ("--tsv", "sql", "x"),
                      ("--json", "sql", "x"), ("on", "1", "x"),
                      ("--json", "on", "1", "x"), ("get", "top")):
            with on_terminal("-h", "127.0.0.1", "-P", liar.port, "-u", "ann",
                             *words) as (process, terminal):
                said = read_all(terminal).replace(b"\r\x1b[K", b"")
                process.wait(10)
            assert b"a" in said or words[0] != "sql", (words, said)
            said = said.replace(b"\r\n", b"\n").replace(b"\n", b"")
            assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]",
                                 said), (words, said)
        parsed = json.loads(liar.ask("--json", "sql", "x")[1])
        assert parsed == [{"a" + HOSTILE.decode(): HOSTILE.decode(),
                           "b": "\ufffd\ufffd\x1b", "c": "\t\n"}], parsed
    with Liar(frame(1, b"\xff\x51\x04#HY000no " + HOSTILE)) as liar:
        status, out, err = liar.ask("sql", "x")
        assert (status, out) == (FAILED, b"") and "\x1b" not in err, err


def test_rows_that_are_no_nodes():
    names = [b"node_id", b"status", b"result"]
    with Liar(rows(names, [b"7", b"OK", b"x"], [None, None, None],
                   [b"\x1b9", b"\x1bOK", b"\x1b\ny"])) as liar:
        status, out, _ = liar.ask("on", "ALL", "x")
        assert (status, out) == (FAILED, b"7: x\n0: ERROR: \n"
                                 b"0: ERROR: \\x1b\n0: ERROR: y\n"), out
    no_view = (FAILED, b"", "heapwire: the node did not answer that\n")
    with Liar(rows(names[:2], [None, b"OK"])) as liar:
        assert liar.ask("on", "ALL", "x") == no_view
        assert liar.ask("get", "top") == no_view
    with Liar(frame(1, b"\0\0\0\x02\0\0\0")) as liar:
        assert liar.ask("on", "ALL", "x") == no_view
        assert liar.ask("get", "top") == no_view
    with Liar(rows([b"n"], [b"1e,\"x"], [b"--"], [b"12"], kind=3)) as liar:
        status, out, _ = liar.ask("--json", "sql", "x")
        assert b'"1e,\\"x"' in out and b": 12}" in out, out


def test_what_hangs_up_or_asks_for_a_file():
    whole = rows([b"a"], [b"b"])
    with tempfile.TemporaryDirectory() as home, \
            Liar(frame(1, b"\xfb/etc/passwd"), closes=True) as liar:
        with open(f"{home}/more.cnf", "w", encoding="ascii") as f:
            f.write("[client]\nlocal-infile=1\ninit-command=mine\n")
        with open(f"{home}/.my.cnf", "w", encoding="ascii") as f:
            f.write("[client]\nlocal-infile=1\ninit-command=mine\n"
                    f"!include {home}/more.cnf\n")
        assert liar.ask("sql", "x", home=home)[0] == NO_NODE
        assert b"root:" not in liar.heard and b"mine" not in liar.heard
    for answer, status in ((b"", NO_NODE), (frame(1, b"\x01"), NO_NODE),
                           (whole[:-3], NO_NODE), (whole, DONE),
                           (frame(1, b"\xfb/etc/passwd"), NO_NODE)):
        with Liar(answer, closes=True) as liar:
            got, out, err = liar.ask("sql", "x")
            assert got == status, (answer, got, out, err)
            assert out == (b"a\nb\n" if status == DONE else b""), out
            assert (err == "") == (status == DONE), err
            assert b"root:" not in liar.heard


def test_a_database_is_not_asked():
    with Liar(rows([b"a"], [b"b"]), b"5.5.5-10.11.6-MariaDB") as liar:
        status, out, err = liar.ask("sql", "DROP TABLE accounts")
        assert (status, out) == (NO_NODE, b""), out
        assert "that is no heapwire node" in err, err


@needs(no_terminal)
def test_progress_is_for_a_terminal():
    stages = b"".join(
        frame(1 + i, b"\xff\xff\xff\x01\x02\x05" +
              struct.pack("<I", 1000 * percent)[:3] + text(b"names\x1b"))
        for i, percent in enumerate((10, 60)))
    answer = stages + rows([b"a"], [b"b"], first=3)
    with Liar(answer) as liar:
        with on_terminal("-h", "127.0.0.1", "-P", liar.port, "-u", "ann",
                         "sql", "x", stdout=subprocess.PIPE) as (
                             process, terminal):
            out = process.stdout.read()
            said = read_all(terminal)
            assert process.wait(10) == DONE and out == b"a\nb\n", out
        assert b"names?, stage 2 of 5, 60 %" in said, said
        assert said.endswith(b"\r\x1b[K") and b"\n" not in said, said
        assert liar.flags >> 29 & 1
        liar.answer = rows([b"a"], [b"b"])
        assert liar.ask("sql", "x") == (DONE, b"a\nb\n", "")
        assert not liar.flags >> 29 & 1


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
