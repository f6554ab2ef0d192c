"""The MySQL protocol as heapwired speaks it, down to the bytes.

All tests run on the heapwired that is linked with
tests/unit/lib/fakes/fake_sql.c, whose statements wait, block, fail and grow as
they say; those marked @both run on the real one, too.  Arguments name single
tests.
"""
import os
import pwd
import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib

from mysql_wire import (DEFAULT, DEPRECATE_EOF, NATIVE, SHA2, SSL, Refused,
                        Wire, answer_native)
from node_under_test import FAKE, REAL, SANITIZED, Node, wait_for
from runner import in_parallel, named, of_each, run_tests

try:
    import pymysql
    import pymysql.cursors
except ImportError:
    sys.exit("needs python3-pymysql (apt-get install python3-pymysql)")

USERS = (("ann", b"secret", "status, profile"), ("boss", b"b0ss", "all"))
FLAGS = (0x1 | 0x2 | 0x4 | 0x8 | 0x100 | 0x200 | 0x400 | 0x800 | 0x2000 | 0x4000 |
         0x8000 | 0x10000 | 0x20000 | 0x40000 | 0x80000 | 0x100000 | 0x200000 |
         0x400000 | 0x1000000)  # as offered


class FakeSpeech:
    """What is said to the fake sql/."""
    program = FAKE
    database, no_database = "SELECT database", b""
    table, columns = b"numbers", (b"\1n\1n", b"\4text\4text")
    endless = ("SELECT hang", "SELECT block", "SELECT wait 60000",
               "SELECT slow 100000000")

    @staticmethod
    def rows(count):
        return f"SELECT rows {count}"


class RealSpeech:
    """The same, to the real one."""
    program = REAL
    database, no_database = "SELECT DATABASE()", None
    table, columns = b"nodes", (b"\2id\2id",)
    endless = ("WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c"
               " LIMIT 100000) SELECT MAX(n) FROM c, (SELECT 1 FROM c) d",)

    @staticmethod
    def rows(count):
        return ("WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c"
                f" LIMIT {count}) SELECT n, CONCAT('row number ', n) AS text"
                " FROM c")


BOTH = set()


def both(test):
    BOTH.add(test.__name__[5:])
    return test


def refused(code, state, call, *args, **more):
    try:
        call(*args, **more)
    except Refused as err:
        assert (err.code, err.state) == (code, state), err
        return err.text
    raise AssertionError(f"error {code} was expected")


def local(node, **more):
    return Wire(node.socket).login(**more)


@both
def test_greeting(node):
    with Wire(node.tcp) as a, Wire(node.socket) as b:
        # Which of the two sockets the loop reads first is its affair.
        for w in (a.greeting(), b.greeting()):
            assert w.protocol == 10
            assert w.version.startswith("8.0.36-heapwire-"), w.version
            assert w.charset == 45 and w.status == 2 and w.auth_size == 21
            assert w.server_flags == FLAGS, hex(w.server_flags)
            assert len(w.nonce) == 20 and all(1 <= c <= 127 for c in w.nonce)
            assert w.tail == (bytes(10), b"\0" + NATIVE + b"\0"), w.tail
        assert a.nonce != b.nonce and abs(b.id - a.id) == 1
        assert min(a.id, b.id) >= 1


@both
def test_socket_needs_no_password(node):
    for user in (b"root", pwd.getpwuid(os.getuid()).pw_name.encode()):
        with local(node, user=user) as w:
            assert w.status == 2 and w.warnings == 0
            assert w.query("SELECT 1") == [[b"1"]]
    with Wire(node.socket) as w:  # whatever is sent beside the name
        w.greeting().respond(b"root", b"x" * 20)
        w.ok()
    with Wire(node.socket) as w:
        w.greeting().respond(b"root", b"", SHA2)
        w.ok()
    with Wire(node.socket).login(b"ann", b"secret") as w:
        w.ping()
    text = refused(1045, "28000", Wire(node.socket).login, b"ann")
    assert text == ("Access denied for user 'ann'@'localhost' "
                    "(using password: NO)"), text
    refused(1045, "28000", Wire(node.socket).login, b"ann", b"wrong")


@both
def test_tcp_needs_a_password(node):
    with Wire(node.tcp).login(b"ann", b"secret") as w:
        assert w.query("SELECT 1") == [[b"1"]]
    for user in (b"ann", b"nobody", b"root"):
        text = refused(1045, "28000", Wire(node.tcp).login, user, b"wrong")
        assert text == (f"Access denied for user '{user.decode()}'@'127.0.0.1'"
                        " (using password: YES)"), text
        text = refused(1045, "28000", Wire(node.tcp).login, user)
        assert text.endswith("(using password: NO)")
    with Wire(node.tcp) as w:
        refused(1045, "28000", w.login, b"ann", b"wrong")
        assert w.closed()


@both
def test_sha2_clients_are_switched_once(node):
    with Wire(node.tcp).login(b"ann", b"secret", SHA2) as w:
        assert w.switch_nonce == w.nonce
        assert w.query("SELECT 1") == [[b"1"]]
    with Wire(node.tcp) as w:  # libmysqlclient 9: another plugin, no data
        w.greeting().respond(b"ann", b"", SHA2)
        w.switched(b"secret")
    with Wire(node.tcp) as w:
        w.greeting().respond(b"ann", b"x" * 64, b"client_ed25519")
        w.switched(b"secret")
    for user in (b"ann", b"nobody"):
        text = refused(1045, "28000", Wire(node.tcp).login, user, b"no", SHA2)
        assert text.endswith("'127.0.0.1' (using password: YES)")
    for empty in (b"", b"\0"):
        with Wire(node.tcp) as w:
            w.greeting().respond(b"ann", b"", SHA2)
            assert w.receive()[0] == 0xFE
            w.send(empty)
            text = refused(1045, "28000", w.ok)
            assert text.endswith("(using password: NO)")


@both
def test_sha2_only_users_do_not_stand_out(shared):
    with Node(shared.program, users=USERS) as node:
        with open(node.config, encoding="ascii") as f:
            lines = f.read().splitlines()
        at = lines.index("[user boss]") + 1
        lines[at] = "auth = sha2 " + lines[at].split()[-1]
        with open(node.config, "w", encoding="ascii") as f:
            f.write("\n".join(lines) + "\n")
        node.signal(1)
        wait_for(lambda: "read the configuration again: users: 2" in node.log())
        with Wire(node.tcp).login(b"ann", b"secret") as w:
            w.ping()
        with Wire(node.tcp) as w:
            w.greeting().respond(b"boss", answer_native(b"b0ss", w.nonce))
            w.switched(b"b0ss")
        for user in (b"ann", b"boss", b"nobody"):
            with Wire(node.tcp) as w:
                w.greeting().respond(user, answer_native(b"wrong", w.nonce))
                refused(1045, "28000", w.switched, b"wrong")


@both
def test_database_at_login(node):
    with local(node, database=b"heapwire") as w:
        assert w.query(node.speech.database) == [[b"heapwire"]]
    with Wire(node.socket) as w:
        refused(1049, "42000", w.login, database=b"nowhere")
        assert w.closed()


@both
def test_no_handshake_no_service(node):
    with Wire(node.tcp) as w:
        w.greeting()
        w.send(struct.pack("<IIB23x", DEFAULT | SSL, 1 << 24, 45) + b"ann\0\0")
        refused(1043, "08S01", w.ok)
        assert w.closed()
    with Wire(node.tcp) as w:
        w.greeting()
        w.send(b"\x03SELECT 1")
        refused(1043, "08S01", w.ok)
        assert w.closed()
    for junk in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b"\0\0\0\0",
                 b"\x01\x10\x00\x01" + b"x" * 4097, b"\xff\xff\xff\x01x"):
        with Wire(node.tcp) as w:
            w.greeting()
            w.sock.sendall(junk)
            assert w.closed(), junk


@both
def test_commands(node):
    with local(node) as w:
        w.ping()
        w.command(2, b"heapwire")
        w.ok()
        w.command(2, b"nowhere")
        refused(1049, "42000", w.ok)
        assert w.query(node.speech.database) == [[b"heapwire"]]
        w.command(9)
        text = w.receive().decode()
        parts = text.split("  ")
        assert [p.split(":")[0] for p in parts] == [
            "Uptime", "Threads", "Questions", "Slow queries", "Opens",
            "Flush tables", "Open tables", "Queries per second avg"], text
        float(parts[7].split(": ")[1])
        assert int(parts[1].split(": ")[1]) >= 1
        for command, code, state in ((7, 1227, "42000"), (8, 1227, "42000"),
                                     (0x17, 1243, "HY000"),
                                     (0x1A, 1243, "HY000"),
                                     (0x1C, 1243, "HY000"),
                                     (0, 1047, "08S01"), (5, 1047, "08S01"),
                                     (0x20, 1047, "08S01"),
                                     (0xFA, 1047, "08S01")):
            w.command(command, b"SELECT 1")
            refused(code, state, w.ok)
        w.sequence = 0
        w.send(b"")
        refused(1047, "08S01", w.ok)
        w.command(13)
        assert w.is_end(w.receive())
        w.command(0x1B, b"\0\0")
        assert w.is_end(w.receive())
        w.command(0x1B, b"\7\0")
        refused(1835, "HY000", w.ok)
        w.command(0x1B)
        refused(1835, "HY000", w.ok)
        w.command(0x19, b"\1\0\0\0")  # no reply
        w.command(0x18, b"\1\0\0\0\0\0data")  # nor here
        w.ping()
        w.command(0x0A)
        assert len(w.result()) >= 1
        w.command(1)
        assert w.closed()


@both
def test_field_list(node):
    for flags in (DEFAULT, DEFAULT | DEPRECATE_EOF):
        with local(node, flags=flags) as w:
            w.command(2, b"heapwire")
            w.ok()
            w.command(4, node.speech.table + b"\0%")
            for name in node.speech.columns:
                p = w.receive()
                assert name in p and p.endswith(b"\0\0\xfb"), p
            while not w.is_end(p):
                p = w.receive()
            w.command(4, b"nothing\0")
            refused(1146, "42S02", w.ok)
            w.ping()


def test_status_flags(node):
    with local(node) as w:
        assert w.query("SET autocommit = 0") == []
        assert w.names is None
        w.ping()
        assert w.status == 0
        w.query("BEGIN")
        assert w.ping().status == 1
        w.query("SELECT 1")
        assert w.status == 1
        w.command(0x1F)
        assert w.ok().status == 2
        w.command(3, b"SET autocommit = 1")
        w.ok()
        assert (w.status, w.info, w.warnings) == (2, b"set", 0)


def test_results_in_both_dialects(node):
    for flags in (DEFAULT, DEFAULT | DEPRECATE_EOF):
        with local(node, flags=flags) as w:
            rows = w.query("SELECT rows 1000")
            assert w.names == ["n", "text"]
            assert len(rows) == 1000
            assert rows[999] == [b"999", b"row number 999"]
            assert len(w.query("SELECT slow 1000")) == 1000
            assert w.query("SELECT empty") == []
            assert w.query("SELECT types") == [
                [b"-9223372036854775808", b"0.1", b"\0\1\xff", None]]
            assert [d[-6] for d in w.definitions] == [8, 5, 0xFC, 0xFD]
            refused(1064, "42000", w.query, "nonsense")
            assert w.query("SELECT wait 30") == [[b"waited"]]


def test_an_error_may_end_the_rows(node):
    with local(node) as w:
        w.command(3, b"SELECT late 150")
        assert w.columns() == ["n", "text"]
        for i in range(150):
            assert w.row(2)[0] == str(i).encode()
        assert refused(1105, "HY000", w.row, 2) == "this came late"
        w.command(3, b"SELECT late 0")
        refused(1105, "HY000", w.columns)  # before any row: alone
        w.ping()


def test_pipelining(node):
    with local(node) as w:
        out = b""
        for i in range(500):
            for body in (b"\x0e", b"\x03SELECT slow 3", b"\x03SELECT 1"):
                w.sequence = 0
                out += w.frame(body)
        sender = threading.Thread(target=w.sock.sendall, args=(out,))
        sender.start()
        for i in range(500):
            w.sequence = 1
            w.ok()
            w.sequence = 1
            assert len(w.result()) == 3
            w.sequence = 1
            assert w.result() == [[b"1"]]
        sender.join()


@both
def test_pipelining_has_a_ceiling(node):
    """A client that never reads is not served without end."""
    with Wire(node.socket, timeout=2) as w:
        w.login()
        w.sequence = 0
        flood = w.frame(b"\x09") * 10000
        before = node.rss_kb()
        try:
            for _ in range(400):
                w.sock.sendall(flood)
            raise AssertionError("the server swallowed 20 MB of commands")
        except socket.timeout:
            pass
        assert SANITIZED or node.rss_kb() - before < 2000


def test_large_statements(node):
    with local(node) as w:
        for size in (0xFFFFFD, 0xFFFFFE, 0xFFFFFF, 16 << 20):
            text = b"SELECT length ".ljust(size, b"x")
            assert w.query(text) == [[str(size).encode()]]
        w.ping()
    for size in ((16 << 20) + 1024, 40 << 20):
        with local(node) as w:
            try:
                w.command(3, b"x" * size)
            except (BrokenPipeError, ConnectionResetError):
                pass
            w.sequence = 2
            text = refused(1153, "08S01", w.ok)
            assert "max_allowed_packet" in text
            assert w.closed()


def test_large_cells(node):
    with local(node) as w:
        for size in (0, 250, 251, 65535, 65536, 0xFFFFFA, 0xFFFFFB, 0xFFFFFC,
                     0x1FFFFF5, 0x1FFFFF6, 40 << 20):
            [[cell]] = w.query(f"SELECT big {size}")
            assert len(cell) == size
        text = refused(1037, "HY001", w.query, f"SELECT big {65 << 20}")
        assert "larger than" in text
        w.ping()


def test_replies_that_nobody_reads(node):
    """Together they have a ceiling; small ones fit nevertheless."""
    size, held = 60 << 20, []

    def fits():
        with local(node) as w:
            try:
                return len(w.query(f"SELECT big {size}")[0][0]) == size
            except Refused:
                return False

    before = node.rss_kb()
    for _ in range(8):
        w = local(node)
        held.append(w)
        w.command(3, f"SELECT big {size}".encode())
        w.exactly(1)
    assert node.rss_kb() - before < 600 << 10, node.rss_kb()
    with local(node) as w:
        text = refused(1037, "HY001", w.query, f"SELECT big {size}")
        assert "have not read yet" in text, text
        assert len(w.query("SELECT big 200000")[0][0]) == 200000
    for w in held:
        w.close()
    wait_for(fits)


@both
def test_packets_out_of_order(node):
    with local(node) as w:
        w.sequence = 3
        w.send(b"\x0e")
        w.sequence = 1
        refused(1156, "08S01", w.ok)
        assert w.closed()


@both
def test_slow_reader(node):
    rows = 1000000 if node.program == FAKE else 300000
    with Wire(node.tcp, rcvbuf=65536).login(b"ann", b"secret") as w:
        before = node.rss_kb()
        w.command(3, node.speech.rows(rows).encode())
        node.comes_to_rest()
        grown = node.rss_kb() - before
        assert SANITIZED or grown < 4096, grown  # ASan keeps what is freed
        with local(node) as other:  # no other session waits for it
            assert other.query("SELECT 1") == [[b"1"]]
        assert w.columns() == ["n", "text"]
        seen = 0
        while w.row(2) is not None:
            seen += 1
        assert seen == rows
        assert SANITIZED or node.rss_kb() - before < 4096


def queries(watcher):
    return [r for r in watcher.query("SHOW PROCESSLIST")
            if b"Query" in r and b"SHOW PROCESSLIST" not in r]


def sessions(node):
    with local(node) as w:
        return len(w.query("SHOW PROCESSLIST"))


@both
def test_a_client_that_leaves_takes_everything_along(node):
    wait_for(lambda: sessions(node) == 1)
    before = node.descriptors()
    for text in node.speech.endless + (node.speech.rows(100000000),):
        w = local(node)
        w.command(3, text.encode())
        with local(node) as watcher:
            wait_for(lambda: len(queries(watcher)) == 1)
            w.close()
            wait_for(lambda: not queries(watcher))
    wait_for(lambda: node.descriptors() <= before)


@both
def test_kill_query(node):
    for text in node.speech.endless:
        with local(node) as w, local(node) as killer:
            w.command(3, text.encode())
            wait_for(lambda: len(queries(killer)) == 1)
            assert killer.query(f"KILL QUERY {w.id}") == []
            try:
                w.result()
                raise AssertionError("not interrupted")
            except Refused as err:
                assert (err.code, err.state) == (1317, "70100"), err
            assert w.query("SELECT 1") == [[b"1"]]
            killer.query(f"KILL QUERY {w.id}")  # asleep: hits nothing
            assert len(w.query(node.speech.rows(1000))) == 1000


@both
def test_kill_query_of_a_client_that_does_not_read(node):
    with Wire(node.tcp, rcvbuf=65536).login(b"ann", b"secret") as w, \
            local(node) as killer:
        w.command(3, node.speech.rows(1000000).encode())
        wait_for(lambda: len(queries(killer)) == 1)
        node.comes_to_rest()
        assert len(queries(killer)) == 1
        killer.query(f"KILL QUERY {w.id}")
        wait_for(lambda: not queries(killer))  # it is over, unread
        refused(1317, "70100", w.result)
        assert w.query("SELECT 1") == [[b"1"]]


@both
def test_kill_connection(node):
    with local(node) as killer:
        for text in (None,) + node.speech.endless:
            with local(node) as w:
                if text:
                    w.command(3, text.encode())
                    wait_for(lambda: len(queries(killer)) == 1)
                killer.command(0x0C, struct.pack("<I", w.id))
                killer.ok()
                assert w.closed()
        wait_for(lambda: not queries(killer))
        refused(1094, "HY000", killer.query, "KILL 999999")
        killer.command(0x0C, struct.pack("<I", 999999))
        refused(1094, "HY000", killer.ok)
        killer.command(0x0C, b"\1")
        refused(1835, "HY000", killer.ok)
        with Wire(node.tcp).login(b"ann", b"secret") as ann:
            refused(1095, "HY000", ann.query, f"KILL {killer.id}")
            with Wire(node.tcp).login(b"ann", b"secret") as other:
                ann.query(f"KILL {other.id}")
                assert other.closed()
            with Wire(node.tcp).login(b"boss", b"b0ss") as boss:
                boss.query(f"KILL {ann.id}")
            assert ann.closed()
        with local(node) as w:
            w.query(f"KILL {w.id}")  # oneself
            assert w.closed()
        killer.ping()


@both
@in_parallel
def test_statement_timeout(shared):
    with Node(shared.program, settings="statement_timeout = 1\n") as node, \
            local(node) as w:
        for text in shared.speech.endless[:2]:
            began = time.monotonic()
            text = refused(3024, "HY000", w.query, text)
            assert "maximum statement execution time" in text
            assert time.monotonic() - began > 0.9
        # What the client makes us wait does not count: few rows, which even a
        # busy machine makes in time, at one of several tries, but more than the
        # kernel holds for it.
        def is_left_alone():
            w.command(3, shared.speech.rows(20000).encode())
            time.sleep(2)  # twice statement_timeout
            try:
                with local(node) as watcher:
                    waits = len(queries(watcher)) == 1
                return len(w.result()) == 20000 and waits
            except Refused as err:
                assert err.code == 3024, err
                return False

        assert any(is_left_alone() for _ in range(20))


def test_a_long_text_is_opened_by_a_worker(node):
    """Which its user's other statements may all have."""
    def waits(w):
        return any(int(r[0]) == w.id and r[2] in (b"Query", b"Prepare")
                   for r in watcher.query("SHOW PROCESSLIST"))

    padding = " " * 200000
    with local(node) as watcher, local(node) as w:
        busy = [local(node) for _ in range(4)]
        for b in busy:
            b.command(3, b"SELECT block")
        wait_for(lambda: len(queries(watcher)) == 4)
        for what in (b"\x03SELECT rows 3", b"\x16SELECT ?"):
            w.command(what[0], what[1:] + padding.encode())
            wait_for(lambda: waits(w))
            watcher.query(f"KILL QUERY {w.id}")
            refused(1317, "70100", w.ok)
        leaving = local(node)
        leaving.command(3, b"SELECT rows 3" + padding.encode())
        wait_for(lambda: waits(leaving))
        watcher.query(f"KILL {leaving.id}")
        assert leaving.closed()
        assert watcher.query("SELECT 1") == [[b"1"]]
        w.command(3, b"SELECT rows 3" + padding.encode())
        w.sequence = 0
        w.send(b"\x03SELECT 1")  # sent ahead
        wait_for(lambda: waits(w))
        for b in busy:
            watcher.query(f"KILL {b.id}")
        assert len(w.result()) == 3
        w.sequence = 1
        assert w.result() == [[b"1"]]
        assert len(w.query("SELECT rows 3" + padding)) == 3
        st = w.prepare("SELECT ?, ?" + padding)
        assert w.execute(st, ((3, struct.pack("<i", 7)),
                              (0xFD, b"\4text"))) == [[7, b"text"]]


@both
def test_what_mysql_takes_is_taken(node):
    with local(node) as w:
        for text in (b"SELECT 1", b"SELECT 1\0", b"SELECT 1\0\0"):
            w.command(3, text)
            assert w.result() == [[b"1"]], text
            w.execute(w.prepare(text), ())
        w.ping()
    with Wire(node.tcp).greeting() as w:  # a short request for TLS
        w.ask_for_tls(short=True)
        w.wrap_tls()
        w.respond(b"ann", answer_native(b"secret", w.nonce))
        w.ok()
        w.ping()


@both
def test_who_compresses_unasked_is_told(node):
    query = b"\3SELECT '" + b"x" * 100 + b"'"
    inner = struct.pack("<I", len(query)) + query
    ping = struct.pack("<I", 1) + b"\x0e"
    for flag in (0x20, 0x4000000):
        for size, body in ((0, ping), (len(inner), zlib.compress(inner)),
                           (len(inner), b"\x28\xb5\x2f\xfd" + bytes(60))):
            with local(node, flags=DEFAULT | flag) as w:
                w.ping()  # one that says so but does not is served
                w.sock.sendall(struct.pack("<I", len(body)) +
                               struct.pack("<I", size)[:3] + body)
                w.sequence = 1
                refused(1157, "08S01", w.ok)
                assert w.closed()
    assert "offers no compression; connect without it" in node.log()


@both
def test_change_user(node):
    def change(w, user, database=b"", answer=b"", plugin=SHA2):
        w.command(0x11, user + b"\0" + bytes([len(answer)]) + answer +
                  database + b"\0\x2d\0" + plugin + b"\0")

    with Wire(node.tcp).login(b"ann", b"secret") as w:
        w.query("BEGIN")
        change(w, b"boss", b"heapwire", b"x" * 32)
        assert w.switched(b"b0ss").status == 2
        assert w.switch_nonce == w.nonce  # which some clients keep
        assert w.query(node.speech.database) == [[b"heapwire"]]
        assert b"boss" in [r[1] for r in w.query("SHOW PROCESSLIST")]
        for name, password in ((b"ann", b"secret"), (b"boss", b"b0ss")):
            change(w, name, b"", answer_native(password, w.nonce), NATIVE)
            w.ok()
            assert name in [r[1] for r in w.query("SHOW PROCESSLIST")]
        change(w, b"ann", b"", answer_native(b"secret", w.nonce), NATIVE)
        w.ok()
        change(w, b"boss", plugin=NATIVE)  # asks to be asked
        w.switched(b"b0ss")
        change(w, b"ann")
        w.switched(b"secret")
        assert w.query(node.speech.database) == [[node.speech.no_database]]
        change(w, b"ann")
        refused(1045, "28000", w.switched, b"wrong")
        assert w.closed()
    with Wire(node.tcp).login(b"ann", b"secret") as w:
        change(w, b"boss", b"", answer_native(b"wrong", w.nonce), NATIVE)
        refused(1045, "28000", w.ok)
        assert w.closed()
    with Wire(node.tcp).login(b"ann", b"secret") as w:
        change(w, b"root")  # no trust over TCP
        refused(1045, "28000", w.switched, b"")
    with local(node) as w:
        change(w, b"ann")
        w.switched(b"secret")
        change(w, b"root")
        w.ok()
        w.command(0x11, b"ro")
        refused(1043, "08S01", w.ok)


@both
def test_real_clients(node):
    for where in ({"unix_socket": node.socket, "user": "root"},
                  {"host": "127.0.0.1", "port": node.port, "user": "ann",
                   "password": "secret"}):
        db = Quiet(**where)
        with db.cursor() as cursor:
            assert cursor.execute(node.speech.rows(100)) == 100
            assert cursor.fetchall()[99] == (99, "row number 99")
        with db.cursor(pymysql.cursors.SSCursor) as cursor:
            cursor.execute(node.speech.rows(100000))
            assert sum(1 for _ in cursor) == 100000
        db.ping(reconnect=False)
        db.select_db("heapwire")
        try:
            db.query("nonsense")
            raise AssertionError("no error")
        except pymysql.err.ProgrammingError as err:
            assert err.args[0] == 1064
        db.close()
    try:
        Quiet(host="127.0.0.1", port=node.port, user="ann", password="x")
        raise AssertionError("logged in")
    except pymysql.err.OperationalError as err:
        assert err.args[0] == 1045
    environment = dict(os.environ, MYSQL_PWD="secret")
    for arguments in (["-S", node.socket, "-u", "root"],
                      ["-h", "127.0.0.1", "-P", str(node.port), "-u", "ann"],
                      ["-h", "127.0.0.1", "-P", str(node.port), "-u", "ann",
                       "--default-auth=caching_sha2_password"]):
        out = subprocess.run(["mariadb", "--no-defaults", "-N", "-B"] +
                             arguments + ["-e", node.speech.rows(3)], check=True,
                             env=environment, capture_output=True).stdout
        assert out == b"0\trow number 0\n1\trow number 1\n2\trow number 2\n"


class Quiet(pymysql.connections.Connection):
    """PyMySQL without the statements it sends on its own."""

    def set_character_set(self, charset, collation=None):
        pass

    def _send_autocommit_mode(self):
        pass


@both
def test_ctrl_c_of_the_cli(node):
    with local(node) as watcher:
        cli = subprocess.Popen(
            ["mariadb", "--no-defaults", "-S", node.socket, "-u", "root", "-e",
             node.speech.endless[0]], stderr=subprocess.PIPE)
        wait_for(lambda: len(queries(watcher)) == 1)
        cli.send_signal(2)
        text = cli.communicate(timeout=20)[1].decode()
        assert "1317" in text or "interrupted" in text.lower(), text
        wait_for(lambda: not queries(watcher))


def gone(w):
    w.sock.setblocking(False)
    try:
        return w.sock.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True
    finally:
        w.sock.settimeout(20)


@in_parallel
def test_half_open_floods(_):
    with Node(FAKE, users=USERS) as fake, Node(REAL, users=USERS) as real:
        of_each(keeps_the_newest, fake, real)


def keeps_the_newest(node):
    flood, began = [], []
    for _ in range(600):
        began.append(time.monotonic())
        w = Wire(node.tcp)
        w.greeting()  # the first that came makes room
        flood.append(w)
    with local(node) as w:  # its places are its own
        w.ping()
    with Wire(node.tcp).login(b"ann", b"secret") as w:
        w.ping()
    kept = [w for w in flood if not gone(w)]
    now = time.monotonic()  # a slow flood's first have come to their deadline
    young = sum(now - at < 9 for at in began)
    assert kept == flood[-len(kept):] and \
        min(254, young) <= len(kept) <= 256, (len(kept), young)
    drip = flood[-1]

    def is_dead():
        try:
            drip.sock.sendall(b"\x50" if not drip.buffer else b"")
            return drip.sock.recv(1, socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except (BrokenPipeError, ConnectionResetError):
            return True
    wait_for(is_dead, 30, 0.5,
             lambda: "a byte now and then put the deadline off")
    with Wire(node.tcp).login(b"ann", b"secret") as w:
        w.ping()
    for w in flood:
        w.close()


@both
def test_garbage(node):
    rng = random.Random(20261121)
    local(node).close()  # the first makes libuv open one of its own
    wait_for(lambda: sessions(node) == 1)
    before = node.descriptors()

    def junk(size):
        return bytes(rng.getrandbits(8) for _ in range(size))

    for i in range(600):  # before the login
        with Wire(node.socket) as w:
            w.greeting()
            data = junk(rng.randrange(0, 300))
            if i % 2:  # well framed nonsense
                data = struct.pack("<I", len(data))[:3] + b"\1" + data
            w.sock.sendall(data)
    w = local(node)
    for i in range(1400):  # after it
        if rng.random() < 0.1:
            w.close()
            w = local(node)
        body = bytes([rng.randrange(256)]) + junk(rng.randrange(0, 100))
        w.sequence = 0 if rng.random() < 0.9 else rng.randrange(256)
        try:
            w.sock.sendall(w.frame(body))
            w.sock.setblocking(False)
            try:
                if w.sock.recv(65536) == b"":
                    raise ConnectionResetError
            except BlockingIOError:
                pass
            w.sock.setblocking(True)
        except (BrokenPipeError, ConnectionResetError):
            w.close()
            w = local(node)
    w.close()
    assert node.process.poll() is None
    with local(node) as w:
        assert w.query("SELECT 1") == [[b"1"]]
    wait_for(lambda: node.descriptors() <= before)


@both
def test_idle_connections_are_cheap(node):
    count, rounds = 900, []
    for _ in range(2):
        before = node.rss_kb()
        held = [local(node) for _ in range(count)]
        for w in held:
            w.ping()
        rounds.append((node.rss_kb() - before) / count)
        with local(node) as w:
            assert len(w.query("SHOW PROCESSLIST")) == count + 1
        for w in held:
            w.close()
        with local(node) as w:
            wait_for(lambda: len(w.query("SHOW PROCESSLIST")) == 1)
    assert SANITIZED or rounds[0] < 4, rounds


@both
def test_the_total_is_capped(node):
    held = [local(node) for _ in range(1024)]
    refused(1040, "08004", Wire(node.socket).login)
    refused(1040, "08004", Wire(node.tcp).login, b"ann", b"secret")
    held.pop().close()
    wait_for(lambda: comes_in(node))
    for w in held:
        w.close()
    wait_for(lambda: tcp_comes_in(node))


def comes_in(node):
    try:
        local(node).close()
        return True
    except Refused:
        return False


def tcp_comes_in(node):
    try:
        Wire(node.tcp).login(b"ann", b"secret").close()
        return True
    except Refused:
        return False


@both
def test_admin_execute_is_logged(node):
    with Wire(node.tcp).login(b"ann", b"secret") as w:
        w.command(3, b"ADMIN /* \n */ EXECUTE ON 77 'x\n\x1b[31m'")
        try:
            w.result()
        except Refused:
            pass  # the real one has no node 77
        refused(1064, "42000", w.query, "/*!40000 ADMIN EXECUTE oops")
    wait_for(lambda: "oops" in node.log())
    lines = [l for l in node.log().splitlines() if "ADMIN EXECUTE" in l]
    assert re.search(r"'ann'@'127.0.0.1' \(connection \d+\): (ok|error \d+), "
                     r"rows [01], ms \d+, bytes \d+: "
                     r"ADMIN EXECUTE ON 77 'x;\?\[31m'$",
                     lines[-2]), lines[-2]
    assert "error 1064" in lines[-1], lines[-1]
    assert "secret" not in node.log()


def main(tests):
    for speech in (FakeSpeech, RealSpeech):
        with Node(speech.program, users=USERS,
                  settings="login_failures = 0\n") as node:
            node.speech = speech
            run_tests({name: test for name, test in tests.items()
                       if speech is FakeSpeech or name in BOTH}, node,
                      label=os.path.basename(node.program) + " ")


main(named(globals(), sys.argv[1:]))
