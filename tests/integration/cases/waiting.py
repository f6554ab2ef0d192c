"""Statements that wait for a Redis that hangs.

96 of them keep no other statement from its answer.  A kill, the deadline, the
client's end and heapwired's stop each end such a wait at once, and those that
come later fail at once.  No user keeps another one out, and the threads that
statements waited on end.
"""
import functools
import os
import select
import shutil
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager

from mysql_wire import Refused, Wire
from node_under_test import (PASSWD, SANITIZED, check_loop, frozen,
                             wait_for)
from ports import free_port
from redis_node import RedisNode, has_ended
from runner import named, run_tests

SLOWER = 10 if SANITIZED else 1
WAITERS = 96
GREEDY = 120
END_S = 0.3 * SLOWER  # from a kill to the end of the wait: the median
ANSWER_S = 0.3 * SLOWER  # what does not wait: the median
WORST_S = 10 if SANITIZED else 3  # of any: the machine is busy
THREADS = 192  # THREAD_SLOTS
HANGS_S = 4  # until a database that is stopped counts as hung
USERS = ("ann", "bob", "cy", "dba")
SCRIPT = ("ADMIN EXECUTE ON 1 'System.print("
          "HeapProf.getInstance().dump_dot_snapshot())'")
CHANGE = "ADMIN EXECUTE ON 1 'HeapProf.getInstance().enable_prof()'"
SELECT = "SELECT COUNT(*) FROM heapwire.heap_functions"
SLOW = ("SELECT COUNT(*) FROM information_schema.columns "
        "WHERE REPEAT(column_name, 50) REGEXP 'a.*e'")  # a worker's


class Waited(RedisNode):
    def write(self, places):
        super().write(places)
        for user in USERS:
            subprocess.run([PASSWD, self.config, user, "--stdin",
                            "--privileges", "all"], input=b"secret\n",
                           check=True)

    @property
    def redis(self):
        return next(pid for name, pid in self.children.items()
                    if name != "heapwired")  # it may not be executed yet

    def threads(self):
        return len(os.listdir(f"/proc/{self.heapwired}/task"))

    def user(self, name):
        return Wire(("127.0.0.1", self.port), 60).login(name.encode(),
                                                        b"secret")

    def waiting(self, asker):
        """The statements that wait, and have a thread."""
        return [int(row[0]) for row in asker.query(
            "SELECT id FROM information_schema.processlist WHERE command = "
            "'Query' AND id <> CONNECTION_ID() AND state NOT IN "
            "('executing', 'waiting for a worker')")]


def is_connected(w):
    return w.query("SELECT state FROM heapwire.profiler")[0][0] == b"connected"


@contextmanager
def hung(node):
    """The database is stopped, and heapwired does not know yet."""
    with node.user("cy") as w:
        wait_for(lambda: is_connected(w))
        # A change: no answer of before it is shared.
        w.query(CHANGE)
        with frozen(node.redis):
            yield w
        wait_for(lambda: is_connected(w))


class TooLate(Exception):
    """The database counts as hung, or may, before all is as it is to be."""


def before_it_counts(what, seconds):
    try:
        wait_for(what, seconds)
    except AssertionError as err:
        raise TooLate from err


@contextmanager
def while_they_wait(seconds=HANGS_S - 0.5):
    """What fails later than that fails as nothing waits any more."""
    began = time.monotonic()
    try:
        yield
    except AssertionError as err:
        if time.monotonic() - began < seconds:
            raise
        raise TooLate from err


def again_if_too_late(test):
    """A busy machine may not start all that is to wait in HANGS_S, and may stand
    still for seconds."""
    @functools.wraps(test)
    def run(node):
        def rests():
            """Threads without work end after five seconds; a test counts."""
            before = node.threads()
            time.sleep(6)  # longer than the five seconds
            return node.threads() == before

        for _ in range(9):
            try:
                return test(node)
            except TooLate as late:
                print("  once more: it was too late", *late.args, flush=True)
            wait_for(rests)
        return test(node)
    return run


class Latencies:
    """How long one user's statement takes, again and again."""

    def __init__(self, node, user, text):
        self.node, self.user, self.text, self.took = node, user, text, []
        self.done, self.fault = threading.Event(), None
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            with self.node.user(self.user) as w:
                while not self.done.is_set():
                    began = time.monotonic()
                    w.query(self.text)
                    self.took.append(time.monotonic() - began)
                    self.done.wait(0.01)
        except Exception as e:  # pylint: disable=broad-except
            self.fault = repr(e)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            wait_for(lambda: self.fault or len(self.took) > 2)
        self.done.set()
        self.thread.join()
        if kind is None:
            assert self.fault is None, self.fault
            check(f"{self.user}: {self.text[:24]}", self.took, ANSWER_S)


def check(what, took, limit):
    assert len(took) > 2, (what, took)
    middle, worst = statistics.median(took), max(took)
    print(f"  {what}: {len(took)} times, median {middle * 1000:.0f} ms, "
          f"worst {worst * 1000:.0f} ms")
    if middle >= limit or worst >= WORST_S:  # by itself, or by the machine
        raise TooLate(what, middle, worst)


def ended(w):
    """The error's code; 0: it was closed."""
    try:
        w.result()
    except Refused as e:
        return e.code
    except (OSError, EOFError, AssertionError):
        return 0
    return None


@again_if_too_late
def test_96_waiters_leave_others_alone(node):
    with node.user("cy") as w:
        before = node.threads()
        w.query(SLOW)
    with ExitStack() as stack:
        waiters = [stack.enter_context(node.user(USERS[i % 2]))
                   for i in range(WAITERS)]
        with hung(node) as asker:
            began = time.monotonic()
            for i, w in enumerate(waiters):
                w.command(3, (SELECT, SCRIPT)[i // 2 % 2].encode())
            before_it_counts(lambda: len(node.waiting(asker)) == WAITERS,
                             HANGS_S - 2)
            threads = node.threads()
            with Latencies(node, "cy", "SELECT 1"), \
                    Latencies(node, "ann", "SELECT 1"), \
                    Latencies(node, "cy", SLOW):
                time.sleep(1)  # they are asked for this long
                waiting = len(node.waiting(asker))
                if time.monotonic() - began >= HANGS_S:
                    raise TooLate
                assert waiting == WAITERS, waiting
            for w in waiters:  # all are answered once it counts as hung
                assert ended(w) == 1105
            took = time.monotonic() - began
            print(f"  {threads} threads, {before} before; all failed after "
                  f"{took:.1f} s")
            assert WAITERS - 1 <= threads - before <= THREADS, (threads, before)
            assert took < 2 * HANGS_S + 20  # not one after the other
            later = []
            for text in (SELECT, SCRIPT) * 3:
                began = time.monotonic()
                w = waiters[len(later)]
                w.command(3, text.encode())
                assert ended(w) == 1105
                later.append(time.monotonic() - began)
            check("later comers", later, ANSWER_S)
    wait_for(lambda: node.threads() <= before + 1, 60 * SLOWER)


def waits_of(node, statement, end, count=5):
    """How long after end() such a wait lasts."""
    took = []
    with ExitStack() as stack:
        waiters = [stack.enter_context(node.user("ann")) for _ in range(count)]
        ids = [int(w.query("SELECT CONNECTION_ID()")[0][0]) for w in waiters]
        with hung(node) as asker, while_they_wait():
            for w in waiters:
                w.command(3, statement.encode())
            before_it_counts(lambda: len(node.waiting(asker)) == count,
                             HANGS_S - 1)
            for w, number in zip(waiters, ids):
                began = time.monotonic()
                end(asker, w, number)
                took.append(time.monotonic() - began)
    return took


def kill_query(asker, w, number):
    asker.query(f"KILL QUERY {number}")
    assert ended(w) == 1317


def kill(asker, w, number):
    asker.query(f"KILL {number}")
    assert ended(w) == 0


def close(asker, w, number):
    w.close()
    wait_for(lambda: not asker.query(
        f"SELECT id FROM information_schema.processlist WHERE id = {number}"))


@again_if_too_late
def test_kills_and_a_closed_client_end_a_wait(node):
    for end in (kill_query, kill, close):
        for statement in (SELECT, SCRIPT):
            check(f"{end.__name__}: {statement[:13]}",
                  waits_of(node, statement, end), END_S)


@again_if_too_late
def test_a_deadline_ends_a_wait(node):
    late = []
    with node.user("ann") as w:
        for before, statement, wanted in (
                ("SET max_execution_time = 300", SELECT, 0.3),
                ("SET max_execution_time = 450", SELECT, 0.45),
                ("SET heapwire_timeout = 1", SCRIPT, 1)):
            w.query(before)
            with hung(node), while_they_wait():
                began = time.monotonic()
                w.command(3, statement.encode())
                assert ended(w) == 3024
                late.append(time.monotonic() - began - wanted)
            assert late[-1] > -0.01, (before, late)
            w.query("SET max_execution_time = 0")
    check("a deadline, late by", late, END_S)


@again_if_too_late
def test_no_user_keeps_another_out(node):
    with ExitStack() as stack:
        greedy = [stack.enter_context(node.user("ann")) for _ in range(GREEDY)]
        with hung(node) as asker, node.user("bob") as other:
            for w in greedy:
                w.command(3, SCRIPT.encode())
            before_it_counts(
                lambda: len(node.waiting(asker)) == THREADS // 2 and
                queued(asker) == GREEDY - THREADS // 2, HANGS_S - 1)
            other.command(3, SCRIPT.encode())
            before_it_counts(
                lambda: len(node.waiting(asker)) == THREADS // 2 + 1, 1)
            with Latencies(node, "bob", SLOW):
                time.sleep(0.5)  # it is asked for this long
            assert ended(other) == 1105
            for w in greedy:
                assert ended(w) == 1105


def queued(asker):
    return len(asker.query("SELECT id FROM information_schema.processlist "
                           "WHERE state = 'waiting for a worker'"))


@contextmanager
def without_thread_slots(node):
    """For a short time all that ann may have are taken: a session of cy's, and
    those that have them."""
    with ExitStack() as stack:
        greedy = [stack.enter_context(node.user("ann"))
                  for _ in range(THREADS // 2)]
        with hung(node) as asker, while_they_wait():
            for other in greedy:
                other.command(3, SCRIPT.encode())
            before_it_counts(lambda: len(node.waiting(asker)) == len(greedy),
                             HANGS_S - 1)
            yield asker, greedy


@again_if_too_late
def test_what_ends_at_once_needs_no_slot(node):
    with ExitStack() as stack:
        w, *others = [stack.enter_context(node.user("ann")) for _ in range(4)]
        with without_thread_slots(node) as (asker, greedy):
            number = int(w.query("SELECT CONNECTION_ID()")[0][0])
            for other, text in zip(others, (SLOW, "SELECT 'a' REGEXP 'b'",
                                            "SELECT SLEEP(0)")):
                other.command(3, text.encode())
            wait_for(lambda: queued(asker) == len(others))
            for text in ("SELECT 1", "SELECT @@version, USER()", "SET @a = 1",
                         "SET autocommit = 1", "USE heapwire", "BEGIN",
                         "COMMIT", "SHOW WARNINGS", "DO RELEASE_LOCK('none')"):
                w.query(text)
            assert w.execute(w.prepare("SELECT ?"),
                             [(3, b"\7\0\0\0")]) == [[7]]
            waiting = [row[0].decode() for row in w.query("SHOW PROCESSLIST")
                       if row[6] == b"waiting for a worker"]
            assert len(waiting) == len(others) and str(number) not in waiting
            for one in waiting:
                w.query(f"KILL QUERY {one}")
            for other in others:
                assert ended(other) == 1317
            assert len(node.waiting(asker)) == len(greedy)


@again_if_too_late
def test_what_waits_for_a_slot_runs_once(node):
    """And keeps its values; a kill and its deadline end it."""
    texts = SLOW, "SELECT REPEAT('x', 200000)", SCRIPT
    with ExitStack() as stack:
        w = stack.enter_context(node.user("ann"))
        others = [stack.enter_context(node.user("ann")) for _ in texts]
        ids = [int(other.query("SELECT CONNECTION_ID()")[0][0])
               for other in others]
        for other in others:
            other.query("SET heapwire_timeout = 1")
        st = w.prepare("SELECT LENGTH(?), @n := @n + 1, LENGTH(@n := 5)")
        w.query("SET @n = 1")
        with without_thread_slots(node) as (asker, greedy):
            w.send_long(st, 0, b"x" * 100000)
            w.send_long(st, 0, b"y" * 11)
            w.send_execute(st, [(0xFC, b"")])
            with while_they_wait(0.9):  # their own deadline
                for other, text in zip(others, texts):
                    other.command(3, text.encode())
                wait_for(lambda: queued(asker) == 1 + len(others), 0.9)
                for other, number in zip(others, ids):
                    kill_query(asker, other, number)
                    assert other.query("SELECT 2") == [[b"2"]]
            began = time.monotonic()
            for other, text in zip(others, texts):
                other.command(3, text.encode())
            for other in others:
                assert ended(other) == 3024
            assert time.monotonic() - began > 0.9
            assert queued(asker) == 1
            for other in greedy:
                other.close()
            rows = w.binary_result()
            assert rows == [[100011, 2, 1]], rows
            assert w.query("SELECT 1") == [[b"1"]]


def send_all(node, asker, waiters, text):
    """Until each waits, or is refused: the errors."""
    before, refused = len(node.waiting(asker)), {}

    def settled():
        left = [w.sock for w in waiters if w not in refused]
        for sock in select.select(left, [], [], 0.01)[0]:
            w = next(w for w in waiters if w.sock is sock)
            try:
                refused[w] = w.result()
            except Refused as e:
                refused[w] = e
        return len(node.waiting(asker)) == before + len(waiters) - len(refused)

    for w in waiters:
        w.command(3, text.encode())
    wait_for(settled)
    return list(refused.values())


@again_if_too_late
def test_greedy_users_leave_slots_to_others(node):
    """Two take all that they may; a third one and the admin still get in."""
    for text, places, what in (
            (SELECT, 96, "SELECTs that wait"),
            (CHANGE, 64, "requests that wait for the node"),
            ("SELECT SLEEP(60)", 128, "open SELECTs")):
        said = "has exceeded the '%s' resource (current value: " % what
        with ExitStack() as stack:
            users = {user: [stack.enter_context(node.user(user))
                            for _ in range(count)]
                     for user, count in (("ann", places // 2 + 6),
                                         ("bob", places // 4 + 6),
                                         ("cy", 2), ("dba", 2))}
            with hung(node) as asker, while_they_wait():
                for user, waiters in users.items():
                    errors = send_all(node, asker, waiters, text)
                    if user in ("cy", "dba"):
                        assert not errors, (user, text, errors)
                        continue
                    # One may run, and another's may wait besides.
                    assert 4 <= len(errors) <= 7, (user, text, errors)
                    for e in errors:
                        assert (e.code, e.state) == (1226, "42000"), e
                        assert f"User '{user}' {said}" in e.text, e
                for user in ("cy", "dba"):
                    with node.user(user) as w:
                        assert w.query("SELECT 1") == [[b"1"]]
                        assert w.query(SLOW)
                print(f"  {what}: {len(node.waiting(asker))} wait")
                for waiters in users.values():
                    for w in waiters:
                        w.close()
                wait_for(lambda: not node.waiting(asker))


@again_if_too_late
def test_those_that_wait_for_each_other_do_not_compute(node):
    """Nor those that sleep, also while a statement is opened."""
    asks = {"User sleep": ("SELECT SLEEP(60)", "SET @a = SLEEP(60)",
                           "DO SLEEP(60)", "SELECT SLEEP(60) INTO @a"),
            "User lock": ("SELECT GET_LOCK('held', 60)",
                          "SET @a = GET_LOCK('held', 60)",
                          "SELECT GET_LOCK('held', 60), COUNT(*) FROM "
                          "heapwire.nodes")}
    with ExitStack() as stack:
        asker = stack.enter_context(node.user("cy"))
        wait_for(lambda: asker.query(  # an earlier try's session may have it
            "SELECT GET_LOCK('held', 0)") == [[b"1"]])
        waiters, locks = [], []
        for i, user in enumerate(("ann", "bob", "cy") * 2):
            for state, texts in asks.items():
                for text in texts:
                    w = stack.enter_context(node.user(user))
                    number = int(w.query("SELECT CONNECTION_ID()")[0][0])
                    w.command(3, text.encode())
                    if state == "User lock" and i >= 3:
                        locks.append(w)
                    else:
                        waiters.append((w, number))
        count = len(waiters) + len(locks)
        wait_for(lambda: len(node.waiting(asker)) == count)
        assert {row[0].decode() for row in asker.query(
            "SELECT state FROM information_schema.processlist "
            "WHERE state LIKE 'User %'")} == set(asks)
        with Latencies(node, "ann", SLOW), Latencies(node, "cy", SLOW):
            time.sleep(0.5)  # they are asked for this long
        assert len(node.waiting(asker)) == count
        took = []
        for w, number in waiters:
            began = time.monotonic()
            kill_query(asker, w, number)
            took.append(time.monotonic() - began)
        check("KILL QUERY of a sleeper", took, END_S)
        took = []
        held = asker
        while locks:  # each gets the lock as the one before releases it
            began = time.monotonic()
            assert held.query("SELECT RELEASE_LOCK('held')") == [[b"1"]]
            ready = select.select([w.sock for w in locks], [], [], 10)[0]
            took.append(time.monotonic() - began)
            assert len(ready) == 1, ready
            held = next(w for w in locks if w.sock is ready[0])
            held.result()
            locks.remove(held)
        check("a released lock's next owner", took, END_S)


@again_if_too_late
def test_a_stop_does_not_wait_for_it(node):
    """The last one: heapwired is gone then.  Nor for those without a place."""
    with ExitStack() as stack:
        waiters = [stack.enter_context(node.user("ann"))
                   for _ in range(THREADS // 2 + 4)]
        asker = stack.enter_context(node.user("cy"))
        wait_for(lambda: is_connected(asker))
        asker.query("SELECT SLEEP(1.1)")
        asker.query(CHANGE)  # no answer of before it is shared
        with frozen(node.redis):
            for i, w in enumerate(waiters):
                w.command(3, (SCRIPT if i % 4 else SELECT).encode())
            before_it_counts(
                lambda: len(node.waiting(asker)) == THREADS // 2 and
                queued(asker) == 4, HANGS_S - 1)
            began = time.monotonic()
            os.kill(node.heapwired, signal.SIGTERM)
            codes = {ended(w) for w in waiters}
            wait_for(lambda: has_ended(node.heapwired))
            took = time.monotonic() - began
    print(f"  it ended after {took * 1000:.0f} ms")
    assert codes == {1053}, codes
    assert took < WORST_S, took  # of any


def main():
    work = tempfile.mkdtemp(prefix="hw-", dir="/tmp")
    port = free_port()
    node = Waited(work, 1, {1: port}, port)
    node.port = port
    try:
        node.wait()
        with node.user("cy") as w:
            wait_for(lambda: is_connected(w))
            w.query(CHANGE)
            w.query(SCRIPT)
        run_tests(named(globals()), node)
    except BaseException:
        print(node.log()[-3000:])
        raise
    finally:
        node.stop()
        if not SANITIZED:
            check_loop(node.log())
        shutil.rmtree(work, ignore_errors=True)
    print("waiting.py: all as expected")


if __name__ == "__main__":
    main()
