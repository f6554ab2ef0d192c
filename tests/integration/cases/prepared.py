"""Prepared statements, cursors and progress, down to the bytes.

Runs on the heapwired that is linked with tests/unit/lib/fakes/fake_sql.c, and
real clients on the real one.  Arguments name single tests.
"""
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import threading
import time

from machine import no_terminal
from mysql_wire import (DEFAULT, DEPRECATE_EOF, PROGRESS, Refused, Wire,
                        text_value, type_of)
from node_under_test import (BUILD, FAKE, POOR, REAL, SANITIZED, Node,
                             wait_for)
from runner import beside, named, needs, run_tests

DIALECTS = DEFAULT, DEFAULT | DEPRECATE_EOF
CURSOR_EXISTS, LAST_ROW_SENT, AUTOCOMMIT = 0x40, 0x80, 0x02
STATEMENTS_MAX, CURSORS_MAX, BYTES_MAX = 256, 8, (16 << 20) + (64 << 10)


def local(node, **more):
    return Wire(node.socket).login(**more)


def refused(code, state, call, *args, **more):
    try:
        call(*args, **more)
    except Refused as err:
        assert (err.code, err.state) == (code, state), err
        return err.text
    raise AssertionError(f"error {code} was expected")


def number(form, value):
    return {"b": 1, "h": 2, "i": 3, "q": 8, "f": 4, "d": 5}[
        form.lower()] | (0x8000 if form in "BHIQ" else 0), struct.pack(
            "<" + form, value)


def moment(kind, form, *parts):
    data = struct.pack("<" + form, *parts)
    return kind, bytes([len(data)]) + data


def test_rows_have_their_columns_types(node):
    for flags in DIALECTS:
        with local(node, flags=flags) as w:
            st = w.prepare("SELECT typed")
            at_prepare = st.columns
            assert st.parameters == []
            assert w.execute(st) == [[
                None, b"42", b"long", b"\xff\xfe", -7, (1 << 64) - 1, 0.5,
                b"1234567890.123456789", "2026-11-21", "-99:30:15.500000",
                "2026-11-21 13:14:15.123000", ""]]
            assert w.definitions == at_prepare
            assert [type_of(d) for d in at_prepare] == [
                6, 0xFD, 0xFC, 0xFC, 3, 8, 5, 0xF6, 0x0A, 0x0B, 0x0C, 7]
            assert w.query("SELECT typed")[0][4:6] == [
                b"-7", b"18446744073709551615"]
            st = w.prepare("SELECT rows 1000")
            rows = w.execute(st)
            assert len(rows) == 1000 and rows[7] == [7, b"row number 7"]
            assert w.execute(w.prepare("SELECT empty")) == []
            w.send_execute(w.prepare("SET autocommit = 0"))
            w.ok()
            assert w.info == b"set" and w.status == 0
            refused(1064, "42000", w.prepare, "SELECT nonsense")
            refused(1105, "HY000", w.execute, w.prepare("SELECT late 100"))
            refused(1064, "42000", w.query, "SELECT ?")
            [[cell]] = w.execute(w.prepare(f"SELECT big {20 << 20}"))
            assert len(cell) == 20 << 20


VALUES = (
    (number("b", -128), -128), (number("B", 255), 255),
    (number("h", -32768), -32768), (number("H", 65535), 65535),
    (number("i", -1 << 31), -1 << 31), (number("I", (1 << 32) - 1),
                                        (1 << 32) - 1),
    ((9, struct.pack("<i", -5)), -5), ((13, struct.pack("<h", 2026)), 2026),
    (number("q", -1 << 63), -1 << 63), (number("Q", 1), 1),
    (number("Q", (1 << 64) - 1), b"18446744073709551615"),
    (number("f", 0.25), 0.25), (number("d", 1 / 3), 1 / 3),
    ((6, b""), None), (None, None),
    (text_value("héllo"), "héllo".encode()), (text_value("", 0xFE), b""),
    (text_value("x" * 70000, 0x0F), b"x" * 70000),
    (text_value("1234567890.5", 0xF6), b"1234567890.5"),
    (text_value("1.5", 0), b"1.5"), (text_value("{}", 0xF5), b"{}"),
    (text_value(b"\0\xff", 0xFC), b"\0\xff"),
    (moment(10, "HBB", 2026, 11, 21), b"2026-11-21"),
    (moment(10, ""), b"0000-00-00"), (moment(12, ""), b"0000-00-00 00:00:00"),
    (moment(12, "HBB", 2026, 1, 2), b"2026-01-02 00:00:00"),
    (moment(7, "HBBBBB", 2026, 1, 2, 3, 4, 5), b"2026-01-02 03:04:05"),
    (moment(12, "HBBBBBI", 2026, 1, 2, 3, 4, 5, 6000),
     b"2026-01-02 03:04:05.006"),
    (moment(12, "HBBBBBI", 2026, 1, 2, 3, 4, 5, 7),
     b"2026-01-02 03:04:05.000007"),
    (moment(11, ""), b"00:00:00"),
    (moment(11, "BIBBB", 1, 34, 22, 59, 59), b"-838:59:59"),
    (moment(11, "BIBBBI", 0, 0, 1, 2, 3, 500000), b"01:02:03.500"),
)


def test_parameters_of_every_type(node):
    for flags in DIALECTS:
        with local(node, flags=flags) as w:
            one = w.prepare("SELECT ?")
            assert len(one.parameters) == len(one.columns) == 1
            p = one.parameters[0]
            assert type_of(p) == 0xFD and b"\1?\1?\x0c\x3f\0" in p
            for value, expected in VALUES:
                assert w.execute(one, [value]) == [[expected]], value
            for at in range(0, len(VALUES) - 8):  # bits of the bitmaps
                part = VALUES[at:at + 9]
                st = w.prepare("SELECT " + ", ".join("?" * len(part)))
                assert w.execute(st, [v for v, _ in part]) == [
                    [e for _, e in part]]
                w.close_statement(st)


def test_types_are_remembered(node):
    with local(node) as w:
        st = w.prepare("SELECT ?, ?")
        values = [number("i", 7), text_value("seven")]
        text = refused(1210, "HY000", w.execute, st, values, bound=0)
        assert "types" in text
        assert w.execute(st, values) == [[7, b"seven"]]
        values = [number("i", -8), text_value("eight")]
        assert w.execute(st, values, bound=0) == [[-8, b"eight"]]
        assert w.execute(st, [None, values[1]], bound=0) == [[None, b"eight"]]


def test_bad_parameters(node):
    with local(node) as w:
        st = w.prepare("SELECT ?, ?")
        good = [number("q", 7), text_value("seven")]
        w.send_execute(st, good)
        assert w.binary_result() == [[7, b"seven"]]
        body = (struct.pack("<IBI", st.number, 0, 1) + b"\0\1\x08\0\xfd\0" +
                good[0][1] + good[1][1])
        for size in range(4, len(body)):
            w.command(0x17, body[:size])
            refused(1835, "HY000", w.ok)
        w.command(0x17, body[:2])
        refused(1835, "HY000", w.ok)
        w.command(0x17, body + b"\0")
        refused(1835, "HY000", w.ok)
        for kind in (0x10, 0xFF, 0x0E, 0x11, 0xF4, 0x80):
            text = refused(1210, "HY000", w.execute, st, [(kind, b"\1x"), None])
            assert f"0x{kind:02x}" in text
        for bad in (moment(12, "HBB", 2026, 13, 1), moment(10, "HBB", 9, 1, 99),
                    moment(12, "HBBBBB", 2026, 1, 1, 24, 0, 0),
                    moment(12, "HBBBBBI", 2026, 1, 1, 2, 0, 0, 1000000),
                    moment(11, "BIBBB", 0, 35, 0, 0, 0),
                    moment(11, "BIBBB", 0, 4000000000, 0, 0, 0)):
            refused(1210, "HY000", w.execute, st, [bad, None])
        for size in (1, 3, 5, 8, 10, 12, 255):
            refused(1835, "HY000", w.execute, st,
                    [(12, bytes([size]) + bytes(size)), None])
        assert w.execute(st, good) == [[7, b"seven"]]
        refused(1243, "HY000", w.execute, type("", (), {"number": 77}))
        refused(1243, "HY000", w.execute, type("", (), {"number": 0xFFFFFFFF}))
        many = w.prepare("SELECT count " + ", ".join("?" * 65535))
        assert len(many.parameters) == 65535
        assert w.execute(many, [number("b", 1)] * 65535) == [[b"65535"]]


def test_long_data(node):
    for text in ("SELECT ?, ?", "SELECT ?, ?" + " " * 5000):
        long_data_of(node, text)


def long_data_of(node, text):
    with local(node) as w:
        st = w.prepare(text)
        after = b"\1" + struct.pack("<HH", 0xFC, 0xFD)

        def run(bits=0, data=text_value("end")[1]):
            w.command(0x17, struct.pack("<IBIB", st.number, 0, 1, bits) +
                      after + data)
            return w.binary_result()

        w.send_long(st, 0, b"one ")
        w.send_long(st, 0, b"two")
        assert run() == [[b"one two", b"end"]]
        refused(1835, "HY000", run)  # it was for one EXECUTE
        w.send_long(st, 0, b"x" * 1000000)
        w.send_long(st, 1, b"\xff\xfe")
        assert run(3, b"") == [[b"x" * 1000000, b"\xff\xfe"]]
        w.send_long(st, 0, b"")
        assert run(1) == [[b"", b"end"]]
        w.send_long(st, 0, b"forgotten")
        w.reset_statement(st)
        assert run(1) == [[None, b"end"]]
        w.send_long(st, 2, b"whose?")
        assert w.query("SELECT 1") == [[b"1"]]  # nothing was replied
        assert "SEND_LONG_DATA" in refused(1210, "HY000", run, 1)
        assert run(1) == [[None, b"end"]]
        for _ in range(2):
            for _ in range(17):
                w.send_long(st, 0, b"x" * (1 << 20))
            refused(1153, "08S01", run)
        for _ in range(15):
            w.send_long(st, 0, b"x" * (1 << 20))
        assert [len(v) for v in run()[0]] == [15 << 20, 3]
        w.command(0x18, b"\1")  # too short to be about anything
        w.send_long(type("", (), {"number": 4711}), 0, b"nobody's")
        w.ping()


def test_ceilings(node):
    with local(node) as w:
        held = [w.prepare("SELECT ?") for _ in range(STATEMENTS_MAX)]
        ids = {st.number for st in held}
        assert len(ids) == STATEMENTS_MAX and not ids & {0, 0xFFFFFFFF}
        refused(1461, "42000", w.prepare, "SELECT 1")
        w.close_statement(held[9])
        last = w.prepare("SELECT 1")
        assert last.number not in ids  # not reused soon
        refused(1243, "HY000", w.execute, held[9])
        assert w.execute(last) == [[b"1"]]
        for st in held:
            w.close_statement(st)
        long = w.prepare("SELECT length ".ljust(9 << 20))
        refused(1461, "42000", w.prepare, "SELECT length ".ljust(9 << 20))
        w.close_statement(long)
        w.prepare("SELECT length ".ljust(9 << 20))
        w.command(0x1F)
        w.ok()
        open_ones = []
        for _ in range(CURSORS_MAX):
            st = w.prepare("SELECT rows 5")
            w.execute(st, cursor=1)
            open_ones.append(st)
        st = w.prepare("SELECT rows 5")
        assert "cursors" in refused(1461, "42000", w.execute, st, cursor=1)
        assert len(w.execute(st)) == 5
        assert len(w.fetch(open_ones[3], 9)) == 5
        w.execute(st, cursor=1)
        assert len(w.fetch(st, 9)) == 5
        w.close_statement(open_ones[5])
        w.execute(st, cursor=1)


def test_all_is_dropped_with_the_session_state(node):
    with Wire(node.tcp).login(b"ann", b"secret") as w:
        for forget in ("reset", "change"):
            st = w.prepare("SELECT rows 100")
            w.execute(st, cursor=1)
            if forget == "reset":
                w.command(0x1F)
                assert w.ok().status == AUTOCOMMIT
            else:
                w.command(0x11, b"ann\0\x14" + b"x" * 20 + b"\0\x2d\0x\0")
                w.switched(b"secret")
            refused(1243, "HY000", w.fetch, st, 1)
            refused(1243, "HY000", w.execute, st)
            refused(1243, "HY000", w.reset_statement, st)


def test_cursors(node):
    for flags in DIALECTS:
        with local(node, flags=flags) as w:
            for text in ("SELECT rows 1000", "SELECT slow 1000"):
                st = w.prepare(text)
                assert w.execute(st, cursor=1) == []
                assert w.names == ["n", "text"]
                assert w.status == AUTOCOMMIT | CURSOR_EXISTS
                assert w.ping().status == AUTOCOMMIT  # others may come
                assert w.query("SELECT 1") == [[b"1"]]
                rows, sizes = [], [0, 1, 63, 1, 64, 65, 500]
                while w.status & LAST_ROW_SENT == 0:
                    size = sizes.pop(0) if sizes else 200
                    got = w.fetch(st, size)
                    assert len(got) == size or w.status & LAST_ROW_SENT
                    assert (w.status & CURSOR_EXISTS == 0) == (
                        w.status & LAST_ROW_SENT != 0)
                    rows += got
                assert rows == [[n, b"row number %d" % n] for n in range(1000)]
                refused(1421, "HY000", w.fetch, st, 1)
            st = w.prepare("SELECT empty")
            w.execute(st, cursor=1)
            assert w.status & CURSOR_EXISTS
            assert w.fetch(st, 10) == [] and w.status & LAST_ROW_SENT
            assert w.ping().status == AUTOCOMMIT
            # No columns: there is no cursor.
            for text, status in (("BEGIN", 3), ("COMMIT", AUTOCOMMIT)):
                w.send_execute(w.prepare(text), cursor=1)
                assert w.ok().status == status
            # Other kinds of cursors are not ours: the whole result.
            assert len(w.execute(w.prepare("SELECT rows 9"))) == 9
            st = w.prepare("SELECT rows 9")
            w.send_execute(st, cursor=4)
            assert len(w.binary_result()) == 9


def test_cursors_end(node):
    with local(node) as w:
        st = w.prepare("SELECT rows 1000")
        for end in (w.reset_statement, w.execute,
                    lambda st: w.fetch(st, 5000)):
            w.execute(st, cursor=1)
            assert len(w.fetch(st, 10)) == 10
            end(st)
            refused(1421, "HY000", w.fetch, st, 1)
        w.execute(st, cursor=1)
        w.fetch(st, 10)
        w.execute(st, cursor=1)  # from the start again
        assert w.fetch(st, 1)[0][0] == 0
        w.close_statement(st)
        refused(1243, "HY000", w.fetch, st, 1)
        st = w.prepare("SELECT late 100")
        w.execute(st, cursor=1)
        assert len(w.fetch(st, 64)) == 64
        refused(1105, "HY000", w.fetch, st, 100)
        refused(1421, "HY000", w.fetch, st, 1)
        refused(1105, "HY000", w.execute, w.prepare("SELECT late 0"), cursor=1)
        w.command(0x1C, struct.pack("<I", st.number))
        refused(1835, "HY000", w.ok)
        w.command(0x1C)
        refused(1835, "HY000", w.ok)
        w.ping()


def test_a_large_fetch_waits_for_its_reader(node):
    with Wire(node.tcp, rcvbuf=65536).login(b"ann", b"secret") as w:
        st = w.prepare("SELECT rows 1000000")
        w.execute(st, cursor=1)
        before = node.rss_kb()
        w.command(0x1C, struct.pack("<II", st.number, 999999))
        node.comes_to_rest()
        assert SANITIZED or node.rss_kb() - before < 4096
        assert len(w.binary_rows()) == 999999
        assert w.status & CURSOR_EXISTS
        assert w.fetch(st, 10) == [[999999, b"row number 999999"]]


def commands(watcher):
    return {r[0]: (r[2], r[3]) for r in watcher.query("SHOW PROCESSLIST")}


def test_kill_query(node):
    with local(node) as killer, local(node) as w:
        me = str(w.id).encode()
        for text in ("SELECT hang", "SELECT block", "SELECT wait 60000"):
            for cursor in (0, 1):
                st = w.prepare(text)
                w.send_execute(st, cursor=cursor)
                wait_for(lambda: commands(killer)[me] ==
                         (b"Execute", text.encode()))
                killer.query(f"KILL QUERY {w.id}")
                refused(1317, "70100", w.binary_result, cursor)
                refused(1421, "HY000", w.fetch, st, 1)
        st = w.prepare("SELECT slow 100000000")
        w.execute(st, cursor=1)
        assert commands(killer)[me] == (b"Sleep", None)
        killer.query(f"KILL QUERY {w.id}")  # asleep: hits nothing
        assert len(w.fetch(st, 100)) == 100
        w.command(0x1C, struct.pack("<II", st.number, 99999999))
        wait_for(lambda: commands(killer)[me] ==
                 (b"Fetch", b"SELECT slow 100000000"))
        killer.query(f"KILL QUERY {w.id}")
        refused(1317, "70100", w.binary_rows)
        refused(1421, "HY000", w.fetch, st, 1)
        assert w.query("SELECT 1") == [[b"1"]]


def test_kill_query_hits_the_fetch_under_way(node):
    with local(node) as killer, local(node) as w:
        st = w.prepare("SELECT stubborn")
        w.execute(st, cursor=1)
        w.command(0x1C, struct.pack("<II", st.number, 2))
        wait_for(lambda: commands(killer)[str(w.id).encode()][0] == b"Fetch")
        killer.query(f"KILL QUERY {w.id}")
        refused(1317, "70100", w.binary_rows)  # its row came nevertheless
        refused(1421, "HY000", w.fetch, st, 1)


def test_clients_that_leave(node):
    with local(node) as watcher:
        before = node.descriptors()
        for text in ("SELECT hang", "SELECT block", "SELECT slow 100000000",
                     "SELECT rows 100000000"):
            w = local(node)
            st = w.prepare(text)
            w.send_execute(st)
            wait_for(lambda: len(commands(watcher)) == 2)
            w.close()
            wait_for(lambda: len(commands(watcher)) == 1)
        for _ in range(50):  # with cursors open, mid-fetch, with long data
            w = local(node)
            st = w.prepare("SELECT slow 100000000")
            w.execute(st, cursor=1)
            other = w.prepare("SELECT ?")
            w.send_long(other, 0, b"x" * 100000)
            w.fetch(st, 70)
            w.command(0x1C, struct.pack("<II", st.number, 99999999))
            w.close()
        wait_for(lambda: len(commands(watcher)) == 1)
        wait_for(lambda: node.descriptors() <= before)


@beside
def test_a_cursor_is_not_timed_while_it_waits(_):
    with Node(FAKE, settings="statement_timeout = 5\n") as node, \
            local(node) as w:
        st = w.prepare("SELECT rows 1000")
        w.execute(st, cursor=1)
        for _ in range(2):
            time.sleep(5.2)  # more than what one fetch has
            assert len(w.fetch(st, 100)) == 100
        refused(3024, "HY000", w.execute, w.prepare("SELECT hang"), cursor=1)


@beside
def test_a_cursor_left_open_is_no_reason_to_wait_at_the_end(_):
    def seconds():
        with Node(FAKE) as node, local(node) as w:
            w.execute(w.prepare("SELECT rows 1000"), cursor=1)
            began = time.monotonic()
            assert node.stop() == 0
            return time.monotonic() - began

    # It waits for sessions' last bytes for 3 s; a busy machine is late, too.
    took = []
    while not took or took[-1] >= 2:
        assert len(took) < 5, took
        took.append(seconds())


def test_pipelining(node):
    """The ids are known beforehand: a client may send it all at once."""
    with local(node) as w:
        first = w.prepare("SELECT 1").number
        out = b""
        for i in range(100):
            number_of = (first >> 8) + i + 1 << 8 | 1
            for body in (b"\x16SELECT ?, ?",
                         b"\x18" + struct.pack("<IH", number_of, 0) + b"long",
                         b"\x17" + struct.pack("<IBI", number_of, 0, 1) +
                         b"\0\1\xfc\0\x03\0" + struct.pack("<i", i),
                         b"\x19" + struct.pack("<I", number_of), b"\x0e"):
                w.sequence = 0
                out += w.frame(body)
        sender = threading.Thread(target=w.sock.sendall, args=(out,))
        sender.start()
        for i in range(100):
            w.sequence = 1
            p = w.receive()
            assert struct.unpack_from("<I", p, 1)[0] == (
                first >> 8) + i + 1 << 8 | 1
            w.definitions_of(2)
            w.definitions_of(2)
            w.sequence = 1
            assert w.binary_result() == [[b"long", i]]
            w.sequence = 1
            w.ok()
        sender.join()


def test_admin_execute_hides_nothing(node):
    with local(node) as w:
        st = w.prepare("ADMIN EXECUTE ON ? ?")
        w.execute(st, [number("i", 77), text_value("evil('a')\n\0")])
        w.send_long(st, 1, b"in pieces")
        w.send_execute(st, [None, (0xFC, b"")], cursor=1)
        w.binary_result(1)
        w.fetch(st, 10)
        w.execute(st, [number("i", 5), text_value("never fetched")], cursor=1)
        w.reset_statement(st)
        w.query("ADMIN EXECUTE ON 1 'last'")
    lines = [l for l in node.log().splitlines() if "ADMIN EXECUTE" in l]
    assert lines[0].endswith(
        r"ADMIN EXECUTE ON 77 'evil(''a'')??'"), lines[0]
    assert "rows 1, " in lines[1] and (
        "ADMIN EXECUTE ON NULL 'in pieces'" in lines[1]), lines[1]
    assert "rows 0" in lines[2] and "'never fetched'" in lines[2], lines[2]
    assert len(lines) == 4


def test_idle_sessions_pay_nothing(node):
    count = 500
    held = [local(node) for _ in range(count)]
    for w in held:
        w.ping()
    before = node.rss_kb()
    for w in held:
        w.close_statement(w.prepare("SELECT ?"))
    for w in held:
        w.command(0x1F)
        w.ok()
    assert SANITIZED or (node.rss_kb() - before) / count < 1
    for w in held:
        w.close()


@beside
def test_progress(_):
    with Node(FAKE) as node:
        progress_of(node)


def progress_of(node):
    payload = (b"\1\2\3" + struct.pack("<I", 42000)[:3] +
               b"\x13waiting for nothing")
    for flags in DIALECTS:
        with local(node, flags=flags | PROGRESS) as w, local(node) as other:
            began = time.monotonic()
            assert w.query("SELECT wait 2500") == [[b"waited"]]
            took = time.monotonic() - began  # four a second, at most
            assert 2 <= len(w.progress) <= 4 * took, (w.progress, took)
            assert set(w.progress) == {payload}, w.progress
            w.progress.clear()
            assert w.execute(w.prepare("SELECT wait 1000")) == [[b"waited"]]
            assert w.progress
            w.progress.clear()
            st = w.prepare("SELECT wait 1000")
            w.send_execute(st, cursor=1)
            assert w.binary_result(1) == [] and w.progress
            assert w.fetch(st, 1) == [[b"waited"]]
            w.progress.clear()
            began = time.monotonic()
            assert w.query("SELECT wait 300") == [[b"waited"]]
            # Half a second without a word: a busy machine's may last longer.
            assert not w.progress or time.monotonic() - began > 0.5
            w.progress.clear()
            w.command(3, b"SELECT hang")  # says nothing of how far it is
            wait_for(lambda: b"SELECT hang" in
                     [i for _, i in commands(other).values()])
            time.sleep(1)
            other.query(f"KILL QUERY {w.id}")
            refused(1317, "70100", w.result)
            assert w.progress == []
            assert other.query("SELECT wait 1000") == [[b"waited"]]
            assert other.execute(other.prepare("SELECT wait 1000")) == [
                [b"waited"]]  # without a word, as it did not ask


@beside
def test_progress_does_not_pile_up(_):
    """A client that does not read gets one packet, not many."""
    with Node(FAKE, users=[("ann", b"secret", "all")]) as node, \
            Wire(node.tcp, rcvbuf=4096).login(b"ann", b"secret",
                                           flags=DEFAULT | PROGRESS) as w:
        began = time.monotonic()
        w.command(3, b"SELECT wait 2000")
        time.sleep(2.5)
        assert w.result() == [[b"waited"]]
        took = time.monotonic() - began
        assert len(w.progress) <= 4 * took, (w.progress, took)


@needs(no_terminal)
def test_the_cli_shows_progress(node):
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "dumb"
        os.execvp("mariadb", ["mariadb", "--no-defaults", "--progress-reports",
                              "-S", node.socket, "-u", "root", "-A"])
    seen = b""

    def until(text):
        nonlocal seen
        end = time.monotonic() + 60
        while not re.search(text, seen):
            assert time.monotonic() < end, seen
            seen += os.read(fd, 65536)
        found, seen = seen, b""
        return found

    until(rb"\]> ")
    os.write(fd, b"SELECT wait 2500;\n")
    text = until(rb"row in set")
    assert b"Stage: 2 of 3 'waiting for nothing'" in text, text
    assert re.search(rb"42(\.0+)?% of stage done", text), text
    os.write(fd, b"exit\n")
    os.waitpid(pid, 0)
    os.close(fd)


def test_memory_may_run_out(_):
    """Whatever fails, the client learns of it, and later all is well."""
    def turn(w):
        st = w.prepare("SELECT ?, ?")
        values = [text_value("a"), number("i", 7)]
        assert w.execute(st, values) == [[b"a", 7]]
        w.send_long(st, 0, b"x" * 5000)
        w.send_execute(st, [(0xFC, b""), values[1]])
        assert w.binary_result() == [[b"x" * 5000, 7]]
        st = w.prepare("SELECT rows 200")
        w.execute(st, cursor=1)
        assert len(w.fetch(st, 150)) == 150
        assert w.execute(w.prepare("ADMIN EXECUTE ON 1 ?"), values[:1])
        w.execute(w.prepare("SELECT typed"))

    for every in (2, 5, 13, 29, 97):
        done = failed = 0
        with Node(POOR, wrapper=["env", f"HW_FAIL_EVERY={every}"]) as node:
            node.signal(signal.SIGUSR1)
            for _ in range(100):
                try:
                    with Wire(node.socket, timeout=60).login() as w:
                        for _ in range(5):
                            turn(w)
                            done += 1
                except Refused as err:
                    assert err.code in (1037, 1064, 1835), err
                    failed += 1
                except (EOFError, ConnectionError):
                    failed += 1
                assert node.process.poll() is None, (
                    every, node.process.poll(), node.stderr()[-500:])
            node.signal(signal.SIGUSR2)
            wait_for(lambda: comes_in(node))
            with local(node) as w:
                turn(w)
        assert failed > 0 and (done > 0 or every < 97), (every, done)


def comes_in(node):
    try:
        local(node).close()
        return True
    except (OSError, EOFError, Refused):
        return False


NUMBERS = ("WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c"
           " LIMIT 5000) SELECT n, CONCAT('row ', n) AS text FROM c WHERE n < ?")

PHP = r"""
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$db = new mysqli(null, "root", "", null, null, $argv[1]);
$st = $db->prepare("SELECT ?, ?, ?");
$i = 5; $s = "x'y"; $d = 1.5;
$st->bind_param("isd", $i, $s, $d);
$st->execute();
echo json_encode($st->get_result()->fetch_all()), "\n";
$st = $db->prepare($argv[2]);
$st->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY);
$st->bind_param("i", $many);
$many = 1000;
$st->execute();
$st->bind_result($n, $text);
for ($rows = 0; $st->fetch(); $rows++);
echo "$rows rows, last $n $text\n";
$st->close();
$st = $db->prepare("ADMIN EXECUTE ON ? ?");
$id = 10001; $script = 'System.print("it\'s " + "here")';
$st->bind_param("is", $id, $script);
$st->execute();
echo json_encode($st->get_result()->fetch_all()), "\n";
$script = "nonsense(";
try { $st->execute(); } catch (Exception $e) { echo $e->getCode(), "\n"; }
"""


def test_real_clients(_):
    def output(*command):
        done = subprocess.run(command, capture_output=True, timeout=300,
                              check=False)
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout.decode().splitlines()

    with Node(REAL) as node:
        rows = "1 parameters, 2 columns, 1000 rows, last 999 row 999"
        assert output(os.path.join(BUILD, "bin", "prepared_client"),
                      node.socket, NUMBERS) == [rows] * 3 + [
                          "2026-11-21 12:00:00.001, in pieces, NULL"]
        lines = output("php", "-r", PHP, node.socket, NUMBERS)
        assert lines[0] == """[[5,"x'y",1.5]]""", lines
        assert lines[1] == "1000 rows, last 999 row 999", lines
        assert lines[2:] == ["""[["it's here"]]""", "1064"], lines
        assert "System.print(\"it''s \" + \"here\")" in node.log()


with Node(FAKE, users=[("ann", b"secret", "all")]) as the_node:
    run_tests(named(globals(), sys.argv[1:]), the_node)
