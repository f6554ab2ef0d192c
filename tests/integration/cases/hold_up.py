"""Nothing that a client says holds up the event loop, or a worker for good.

While some clients send what takes seconds or hours, others, by TCP and by the
unix socket, are answered; and each such statement ends when it is killed, when
its time is over and when its client has gone.
"""
import contextlib
import glob
import sys
import threading
import time

from mysql_wire import Refused, Wire, text_value
from node_under_test import REAL, SANITIZED, Node, wait_for
from runner import named, run_tests

ANSWER_MAX = 10 if SANITIZED else 5  # seconds; some took a minute
END_MAX = 10 if SANITIZED else 5  # processing takes 0.1 s; the machine is busy
STORM = 64 if not SANITIZED else 16
USERS = [(f"user{i}", b"secret", "all") for i in range(4)]

RUNAWAY = "[a-w]{0,250}[a-w]{0,250}[a-w]*+x|"
# Work for hours in few bytes.
ENDLESS = [
    f"SELECT REPEAT('a', 260000) REGEXP '{RUNAWAY}q'",
    f"SELECT REGEXP_REPLACE(REPEAT('a', 260000), '{RUNAWAY}a', 'b')",
    f"SELECT REGEXP_INSTR(REPEAT('a', 260000), '{RUNAWAY}q')",
    f"SELECT REGEXP_SUBSTR(REPEAT('a', 260000), '{RUNAWAY}q')",
    f"SELECT REGEXP_LIKE(REPEAT('a', 260000), '{RUNAWAY}q', 'n')",
    f"SET @a = REPEAT('a', 260000) REGEXP '{RUNAWAY}q'",
    f"DO REPEAT('a', 260000) REGEXP '{RUNAWAY}q'",
    f"KILL QUERY (REPEAT('a', 260000) REGEXP '{RUNAWAY}q')",
    f"SHOW DATABASES WHERE REPEAT('a', 260000) REGEXP '{RUNAWAY}q'",
    f"SELECT 1 INTO @a FROM heapwire.nodes WHERE REPEAT('a', 260000) REGEXP '{RUNAWAY}q'",
    "SELECT SLEEP(100000)", "SET @a = SLEEP(100000)",
] + [
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 100000) "
    f"SELECT COUNT({call}) FROM c, (SELECT 1 FROM c) d"
    for call in (
        "n", "REPEAT('a', 200000)", "SHA2(REPEAT(n, 40000), 512)",
        "MD5(REPEAT(n, 40000))", "HEX(REPEAT(n, 10000))",
        "TO_BASE64(REPEAT(n, 10000))", "CONCAT(REPEAT(n, 40000), n)",
        "REPLACE(REPEAT('ab', 100000), 'ba', 'c')", "UPPER(REPEAT('a', 200000))",
        "LOCATE(REPEAT('a', 60000), REPEAT('ab', 100000))",
        "LPAD(n, 200000, 'ab')", "TRIM('a' FROM REPEAT('a', 200000))",
        "SUBSTRING_INDEX(REPEAT('a.', 10000), '.', -3)",
        "CONCAT(REPEAT('a', 100000), REPEAT('b', 100000))",
        "REPEAT('a', 200000) LIKE '%a%a%a%aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'",
        f"REPEAT('a', 4000) REGEXP '{RUNAWAY}q'")
] + [
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 400000) "
    "SELECT a.n FROM c a, c b ORDER BY CONCAT(a.n, b.n) DESC",
    "SELECT COUNT(DISTINCT CONCAT(a.column_name, b.column_name, c.column_name, d.column_name)) "
    "FROM information_schema.columns a, information_schema.columns b, "
    "information_schema.columns c, information_schema.columns d",
    "SELECT GROUP_CONCAT(a.column_name ORDER BY b.column_name) FROM "
    "information_schema.columns a, information_schema.columns b, "
    "information_schema.columns c GROUP BY a.table_name",
]
UNREAD = ("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 100000) "
          "SELECT n FROM c, (SELECT 1 FROM c) d")
COUNT = ("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 100000) "
         "SELECT COUNT(*) FROM c, (SELECT 1 FROM c) d")
# What SQLite compiles to far more than it says.
MONSTERS = [
    "SELECT " + ",".join(f"SUM(1)OVER(ORDER BY {i})" for i in range(165)),
    "WITH RECURSIVE " + ",".join(
        f"c{i}(n) AS (SELECT 1 UNION SELECT n + 1 FROM c{i} WHERE n < 1)"
        for i in range(30)) + " SELECT 1 FROM " + ",".join(f"c{i}" for i in range(30)),
    "WITH c0 AS (SELECT 1 n)" + "".join(
        f", c{i} AS (SELECT a.n FROM c{i - 1} a, c{i - 1} b)" for i in range(1, 25)) +
    " SELECT 1 FROM c24",
    "SELECT 1 IN (" + ",".join(map(str, range(30000))) + ")",
]
STEPS = (f"SET @a = REPEAT('a', 4000) REGEXP '{RUNAWAY}q'",
         f"SELECT REPEAT('a', 4000) REGEXP '{RUNAWAY}q'",
         f"KILL QUERY (REPEAT('a', 4000) REGEXP '{RUNAWAY}q')")


def user(node, i=0, timeout=60):
    return Wire(node.tcp, timeout).login(USERS[i][0].encode(), USERS[i][1])


def local(node):
    return Wire(node.socket, 60).login()


class Bystanders:
    """Others, which want nothing but an answer; and one that logs in anew."""

    def __init__(self, node):
        self.node, self.slowest, self.answers, self.fault = node, 0, 0, None
        self.done = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(connect,))
                        for connect in (lambda: user(node, 3), lambda: local(node))]

    def run(self, connect):
        try:
            with connect() as kept:
                while not self.done.is_set():
                    began = time.monotonic()
                    kept.query("SELECT 1")
                    with connect() as other:
                        other.query("SHOW PROCESSLIST")
                    self.slowest = max(self.slowest, time.monotonic() - began)
                    self.answers += 1
                    self.done.wait(0.02)
        except Exception as e:  # pylint: disable=broad-except
            self.fault = repr(e)

    def have_answers(self, count):
        """So many, from now on."""
        enough = self.answers + count
        wait_for(lambda: self.answers >= enough or self.fault)

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.have_answers(2)
        self.done.set()
        for t in self.threads:
            t.join()
        if kind is None:
            assert self.fault is None, self.fault
            assert self.slowest < ANSWER_MAX, f"{self.slowest:.1f} s without an answer"
        print(f"  slowest of {self.answers} answers: {self.slowest * 1000:.0f} ms")


def is_free(node):
    """No statement runs but the one that asks."""
    with local(node) as w:
        rows = w.query("SELECT COUNT(*) FROM information_schema.processlist "
                       "WHERE command <> 'Sleep'")
    return rows == [(b"1",)] or rows == [[b"1"]]


def runs(w, number):
    rows = w.query("SELECT state FROM information_schema.processlist WHERE "
                   f"command <> 'Sleep' AND id = {number}")
    return bool(rows)


def refused(w):
    try:
        w.result()
    except Refused as e:
        return e.code
    return 0


def end_each(node, end):
    """end(node, victim, killer) ends the statement of victim; the seconds."""
    slowest, which = 0, ""
    for text in ENDLESS:
        with local(node) as killer:
            victim = user(node)
            if text.startswith("KILL"):
                victim.query("SET heapwire_timeout = 100")
            victim.command(3, text.encode())
            try:
                wait_for(lambda: runs(killer, victim.id))
            except AssertionError:
                raise AssertionError((text, victim.result()))
            time.sleep(0.02)  # it works on, hours of it
            assert runs(killer, victim.id), (text, victim.result())
            began = time.monotonic()
            end(victim, killer)
            took = time.monotonic() - began
            if took > slowest:
                slowest, which = took, text
            victim.close()
            assert took < END_MAX, f"{took:.1f} s: {text}"
    print(f"  slowest end: {slowest * 1000:.0f} ms, of {which[:70]}")
    wait_for(lambda: is_free(node))


def test_what_runs_away_is_killed(node):
    def end(victim, killer):
        killer.query(f"KILL QUERY {victim.id}")
        victim.sequence = 1
        assert refused(victim) == 1317

    end_each(node, end)


def test_a_client_that_leaves_frees_its_worker(node):
    def end(victim, killer):
        number = victim.id
        victim.close()
        wait_for(lambda: not runs(killer, number))

    end_each(node, end)


def test_time_ends_what_runs_away(node):
    """max_execution_time a SELECT, heapwire_timeout all."""
    ended = []

    def run(i):
        for text in ENDLESS[i::4]:
            setting = ("max_execution_time = 100"
                       if text.startswith(("SELECT", "WITH")) else "heapwire_timeout = 1")
            with user(node, i) as w:
                w.query(f"SET {setting}")
                w.command(3, text.encode())
                began = time.monotonic()
                ended.append((text, refused(w), time.monotonic() - began))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(ended) == len(ENDLESS), len(ended)
    for text, code, took in ended:
        assert code == 3024, (code, text)
        assert took < 1 + END_MAX, f"{took:.1f} s: {text}"
    wait_for(lambda: is_free(node))


def test_others_are_answered_meanwhile(node):
    """Forty that took a second of the loop each; and four accounts that hold
    all workers."""
    for text in STEPS:
        attackers = [user(node, i % 3) for i in range(40)]
        with Bystanders(node) as others:
            for w in attackers:
                w.command(3, text.encode())
            others.have_answers(10)
            for w in attackers:
                w.close()
        wait_for(lambda: is_free(node))


def test_everyone_gets_an_answer_whatever_others_hold(node):
    """Three users' cursors, which are not read on, hold all that they may."""
    held = []
    with local(node) as root:
        for w in [user(node, i % 3) for i in range(21)]:
            held.append(w)
            for _ in range(8):
                try:
                    w.execute(w.prepare(UNREAD), cursor=1)
                except Refused as e:
                    assert e.code == 1226, e.code
        with user(node, 3) as w:
            w.query("SELECT 1")
        root.query("SELECT 1")
        root.query("SHOW PROCESSLIST")
        for w in held:
            w.close()
    wait_for(lambda: is_free(node))


def test_rows_go_out_while_the_next_one_is_made(node):
    with user(node) as w, local(node) as killer:
        w.command(3, f"SELECT 1 AS n UNION ALL SELECT * FROM ({COUNT}) a"
                  .encode())
        assert w.columns() == ["n"] and w.row(1) == [b"1"]
        killer.query(f"KILL QUERY {w.id}")
        assert refused(w) == 1317
        assert w.query("SELECT 2") == [[b"2"]]


def test_workers_are_free_again(node):
    attackers = [user(node, i) for i in range(4)] + [user(node, i) for i in range(4)]
    for w in attackers:
        w.command(3, ENDLESS[1].encode())
    with Bystanders(node) as others:
        others.have_answers(10)
    for w in attackers:
        w.close()
    with local(node) as w:  # which takes a worker
        began = time.monotonic()
        w.query("SELECT COUNT(*) FROM heapwire.nodes")
        assert time.monotonic() - began < END_MAX


def loop_seconds(node):
    """That the threads have worked of which one leads the event loop."""
    total = 0
    for task in glob.glob(f"/proc/{node.process.pid}/task/*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
                open(task + "/comm", encoding="ascii") as comm, \
                open(task + "/schedstat", encoding="ascii") as schedstat:
            if comm.read() == "hw-loop\n":
                total += int(schedstat.read().split()[0])
    return total / 1e9


# What the loop answers by itself, and fits thousands of times into one read.
SHORT_STATEMENTS = (b"\x03SET @a=1", b"\x03SELECT 1", b"\x03SHOW WARNINGS",
                    b"\x03PREPARE s FROM 'DO 1'", b"\x03SELECT @@version",
                    b"\x02heapwire", b"\x04nodes\0", b"\x09", b"\x0e",
                    b"\x1f", b"\xee")


def test_thousands_of_commands_at_once_take_turns(node):
    """Of forty clients: what others wait for is a few of them, not all."""
    share = 0.1 * (10 if SANITIZED else 1)
    for command in SHORT_STATEMENTS:
        packet = bytes([len(command), 0, 0, 0]) + command
        attackers = [user(node, i % 4) for i in range(40)]
        with local(node) as other:
            for w in attackers:
                w.sock.sendall(packet * (60000 // len(packet)))
            most = 0
            for _ in range(20):
                before = loop_seconds(node)
                other.query("SELECT 1")
                most = max(most, loop_seconds(node) - before)
        for w in attackers:
            w.close()
        print(f"  {command}: {most * 1000:.0f} ms")
        assert most < share, (command, most)
        wait_for(lambda: is_free(node))


def test_no_command_of_those_is_lost(node):
    with user(node) as w:
        for i in range(5000):
            text = b"\x03SET @n=%d" % i if i % 2 else b"\x03SELECT @n"
            w.sock.sendall(bytes([len(text), 0, 0, 0]) + text)
        for i in range(5000):
            w.sequence = 1
            rows = w.result()
            assert i % 2 or i == 0 or rows == [[b"%d" % (i - 1)]], (i, rows)


LONG = 15 << 20  # bytes
LONG_TEXTS = [
    ("/*", " ", "*/ SELECT 1"), ("", ";", "SELECT 1"), ("SELECT '", "x", "'"),
    ("ADMIN EXECUTE ON 10001 '", "x", "'"), ("ADMIN EXECUTE ON 10001 '", "''", "'"),
    ("SELECT 1", "+1", ""), ("SET @a = '", "x", "'"), ("EXECUTE ", "x", ""),
    ("KILL ", "1", ""), ("SELECT ", "(", ""), ("", "x", ""), ("USE `", "x", "`"),
    ("CALL import_snapshot('a', '", "0", "')"), ("SHOW TABLES LIKE '", "%", "'"),
    ("PREPARE a FROM '", "x", "'"), ("SELECT 1 IN (1", ",1", ")"),
    ("DO ", "@a:=", "1"), ("SELECT 1 -- ", "x", ""),
]


def test_long_texts_are_no_matter(node):
    """The watchdog sees whether the loop reads them."""
    seen = len(barks(node))
    with local(node) as w:
        for start, repeated, end in LONG_TEXTS:
            text = start + repeated * (LONG // len(repeated)) + end
            try:
                w.query(text)
            except Refused:
                pass
            if start in ("", "SELECT 1", "SELECT '"):
                try:
                    w.close_statement(w.prepare(text))
                except Refused:
                    pass
            if len(barks(node)) > seen:
                print(f"  it stood still at {start!r}, {repeated!r}")
            seen = len(barks(node))
        st = w.prepare("SELECT LENGTH(?)")
        w.send_long(st, 0, b"x" * LONG)
        for value in "", "x" * LONG:
            try:
                w.execute(st, [text_value(value)])
            except Refused as e:
                assert e.code in (1210, 1835), e.code


def storm(node, each):
    def run(i):
        try:
            with user(node, i % 3) as w:
                each(w)
        except (OSError, EOFError) as e:
            faults.append(repr(e))

    faults = []
    threads = [threading.Thread(target=run, args=(i,)) for i in range(STORM)]
    with Bystanders(node):
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not faults, faults


def test_monsters_are_prepared_by_workers(node):
    def prepare_all(w):
        for text in MONSTERS[:1] * 2 + MONSTERS[1:2]:
            w.command(0x16, text.encode())
        for _ in range(3):
            w.sequence = 1  # each answers its own command
            w.prepared()

    storm(node, prepare_all)


def test_monsters_are_run_by_workers(node):
    def run_all(w):
        w.query(MONSTERS[0])

    storm(node, run_all)


def test_a_monster_is_prepared_in_little_time(node):
    with local(node) as w:
        for text in MONSTERS:
            before = node.cpu_seconds()
            try:
                w.prepare(text)
            except Refused as e:
                assert e.code == 1235, e.code
            took = node.cpu_seconds() - before
            assert took < 0.5 * (10 if SANITIZED else 1), (took, text[:60])


def test_variables_outlive_their_packet(node):
    """The name of INTO's variable was in a packet that another one replaces."""
    with local(node) as w:
        for i in range(1000):
            w.query(f"SET @abc{i % 50} = NULL")
            w.command(3, f"SELECT address INTO @abc{i % 50} FROM heapwire.nodes LIMIT 1"
                      .encode())
            w.command(3, b"SELECT 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'")
            for _ in range(2):
                w.sequence = 1
                w.result()
            rows = w.query(f"SELECT @abc{i % 50} IS NULL")
            assert list(map(list, rows)) == [[b"0"]], (i, rows)


def barks(node):
    """What the watchdog said of the event loop."""
    return [line for line in node.log().splitlines() if "stood still" in line]


def main(names):
    tests = named(globals(), names)
    with Node(REAL, users=USERS, settings="statement_timeout = 120\n") as node:
        for name, test in tests.items():
            # A virtual machine's processor time may have what its host took
            # away: what is a fault of ours comes again.
            for again in (False, True):
                before = barks(node)
                run_tests({name: test}, node)
                if barks(node) == before:
                    break
                print(f"  {name}: {barks(node)[len(before):]}", flush=True)
                assert not again, (name, node.log())


if __name__ == "__main__":
    main(sys.argv[1:])
