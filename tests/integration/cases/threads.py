"""The threads of Redis, of MariaDB, and of a program that is stuck: the table,
ExecEnv, and HTTP."""
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from http_under_test import local, redis
from machine import no_root
from mysql_wire import Refused, Wire
from node_under_test import BUILD, frozen, wait_for
from runner import named, needs, run_tests

STUCK = os.path.join(BUILD, "bin", "stuck_threads")
IDLE, READERS, BLOCKED = 100, 60, 40


def rows(w, text):
    return [tuple(None if c is None else c.decode() for c in row)
            for row in w.query(text)]


def script(w, call):
    """The text that it prints."""
    return "\n".join(line or "" for line, in rows(
        w, f"ADMIN EXECUTE ON 10001 'System.print({call})'"))


def output_of(node):
    """By what heapwire-run has started, and by itself."""
    with open(os.path.join(node.directory, "out"), encoding="utf-8") as f:
        return f.read()


@contextlib.contextmanager
def stuck():
    """The node, a session, and the program's pid."""
    program = [STUCK, str(IDLE), str(READERS), str(BLOCKED), "stay"]
    with redis(program=program) as node, \
            Wire(node.socket, 60).login() as w:
        wait_for(lambda: "ready" in output_of(node))
        yield node, w, node.children["stuck_threads"]


def until(what, seen):
    """As wait_for; what was seen last is in the fault."""
    try:
        wait_for(what)
    except AssertionError as err:
        raise AssertionError(seen) from err


def count_threads(pid):
    """Its own, and the agent's."""
    return len(os.listdir(f"/proc/{pid}/task"))


def one(w, name, columns):
    found, = rows(w, f"SELECT {columns} FROM heapwire.threads "
                  f"WHERE name = '{name}'")
    return found


def test_a_deadlock_is_seen():
    with stuck() as (_, w, pid):
        left, right = one(w, "left", "tid")[0], one(w, "right", "tid")[0]
        assert one(w, "left", "owner, deadlock") == (right, "1")
        assert one(w, "right", "owner, deadlock") == (left, "1")
        assert one(w, "timed", "owner, deadlock") == (left, None)
        assert rows(w, "SELECT DISTINCT owner FROM heapwire.threads WHERE "
                    "name = 'blocked'") == [(str(pid),)]
        said = script(w, "ExecEnv.get_stack_trace_for_all_threads()")
        first, second = said.splitlines()[:2]
        assert re.fullmatch(
            rf"deadlock 1: {left} \(left\) waits for the mutex 0x[0-9a-f]+ of "
            rf"{right} \(right\)", first) or first.startswith(
                f"deadlock 1: {right} (right)"), first
        assert second.startswith("deadlock 1: "), second


def test_what_threads_wait_for_is_told():
    with stuck() as (_, w, pid):
        assert one(w, "robust", "owner, deadlock") == (str(pid), None)
        owner, address = one(w, "orphan", "owner, waits_for")
        assert rows(w, "SELECT tid FROM heapwire.threads WHERE "
                    f"tid = {owner}") == []
        said = script(w, "ExecEnv.get_stack_trace_for_all_threads()")
        assert (f"\nwaits: for the mutex {address} of {owner}, which has "
                "ended: nobody will unlock it\n") in said, said
        address = one(w, "idle", "MIN(waits_for)")[0]
        assert re.search(rf"^waits: (\d+ )?for the futex {address}", said,
                         re.M), said


def test_equal_stacks_are_one_group():
    with stuck() as (node, w, pid):
        for what, name, function in ((IDLE, "idle", "wait_idle"),
                                     (READERS, "reader", "wait_reader"),
                                     (BLOCKED, "blocked", "wait_blocked")):
            assert rows(w, f"""SELECT COUNT(*), COUNT(DISTINCT stack),
                MIN(same), MIN(why), SUM(folded LIKE '%;{function};%')
                FROM heapwire.threads WHERE name = '{name}'""") == \
                [(str(what), "1", str(what), "", str(what))], name
        said = script(w, "ExecEnv.getInstance()."
                      "get_stack_trace_for_all_threads()")
        blocks = [b for b in said.split("\n\n") if " tids: " in b]
        assert [b.split()[0] for b in blocks[:3]] == \
            [str(IDLE), str(READERS), str(BLOCKED)], blocks
        n = count_threads(pid)
        # Those that wait are not, where that suffices.
        stopped = re.search(rf"^{n} threads, \d+ different stacks(, (\d+) w\w+ "
                            "stopped)?", said, re.M)
        assert stopped and int(stopped[2] or 0) < n / 4, said[-300:]
        assert re.search(r"^#\d+ +0x[0-9a-f]{16} wait_idle\b.*stuck_threads",
                         blocks[0], re.M), blocks[0]
        assert local(node, "/debug/pprof/threads?debug=1").text.count(
            "\n#0 ") == said.count("\n#0 ")


def test_a_stack_reaches_its_start():
    with stuck() as (_, w, _):
        for name, last in (("idle", "clone"), ("stuck_threads", "_start")):
            folded, = rows(w, "SELECT folded FROM heapwire.threads "
                           f"WHERE name = '{name}' LIMIT 1")[0]
            assert last in folded.split(";")[0], folded


def test_one_thread_and_one_function():
    with stuck() as (_, w, _):
        tid, = one(w, "left", "tid")
        said = script(w, f"ExecEnv.get_stack_trace_for_thread({tid}, 3000)")
        assert said.startswith(f"tid: {tid}:left\n") and "wait_left" in said
        assert "wait_right" not in said
        said = script(w, 'ExecEnv.get_stack_trace_for_function("wait_rea")')
        assert f"{READERS} tids: " in said and "wait_idle" not in said
        assert "deadlock" not in said and re.search(
            rf"^{READERS} of \d+ threads, 1 stack, ", said, re.M), said
        with contextlib.suppress(Refused):
            script(w, "ExecEnv.get_stack_trace_for_thread(1)")
            raise AssertionError("thread 1 is none of it")


def test_without_stacks_nothing_is_stopped():
    """Whoever traces it already does not matter then."""
    with stuck() as (_, w, pid):
        left, = one(w, "left", "tid")
        gdb = subprocess.Popen(
            ["gdb", "-q", "-nx", "-p", str(pid), "-batch", "-ex",
             "shell cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        try:
            def traced():  # gdb takes its threads one after another
                with open(f"/proc/{pid}/task/{left}/status",
                          encoding="utf-8") as f:
                    return f"TracerPid:\t{gdb.pid}" in f.read()
            wait_for(traced)
            assert len(rows(w, "SELECT tid, name, state, owner FROM "
                            "heapwire.threads")) == count_threads(pid)
            why = rows(w, "SELECT why, same, stack FROM heapwire.threads "
                       "WHERE name = 'left'")[0]
            assert "gdb" in why[0] and why[2] is None, why
        finally:
            gdb.communicate(b"")
        assert one(w, "left", "why") == ("",)


@needs(no_root)
def test_the_kernels_calls():
    with stuck() as (_, w, pid):
        wchan, kernel = one(w, "left", "wchan, kernel_stack")
        assert wchan in kernel.split(";"), (wchan, kernel)
        assert re.match(r"\w+;do_syscall_64;\w+;", kernel) or \
            os.uname().machine != "x86_64", kernel


def test_a_stopped_process_has_stacks():
    with stuck() as (_, w, pid), frozen(pid):
        n = str(count_threads(pid))
        assert rows(w, "SELECT COUNT(*), COUNT(stack) FROM heapwire.threads "
                    "WHERE state = 'T'") == [(n, n)]


def test_a_cluster_twin_has_them():
    with stuck() as (_, w, pid):
        assert rows(w, "SELECT node_id, COUNT(*) FROM "
                    "heapwire.cluster_threads GROUP BY node_id") == \
            [("10001", str(count_threads(pid)))]


def test_a_process_that_ends_is_an_error_or_rows():
    with stuck() as (node, w, pid):
        ended = threading.Timer(0.05, os.kill, (pid, signal.SIGKILL))
        ended.start()

        def refused():
            try:
                rows(w, "SELECT tid, stack FROM heapwire.threads")
            except Refused as e:
                assert e.text, e
                return True
            except (ConnectionError, EOFError):
                # heapwire-run has ended it before the next statement.
                said = output_of(node)
                assert "heapwired was killed" not in said, said
                return True
            return False
        wait_for(refused, step=0)
        ended.join()


def test_redis():
    with redis() as node, Wire(node.socket, 60).login() as w:
        pid = node.children["redis-server"]
        seen = []

        def waits():  # ten times a second it does something else
            seen[:] = rows(w, "SELECT name, folded, why FROM heapwire.threads "
                           f"WHERE tid = {pid}")[0]
            return seen[1] and seen[1].endswith("epoll_wait")
        until(waits, seen)
        assert seen[0] == "redis-server" and seen[2] == "", seen
        assert ";main;aeMain;" in seen[1], seen
        assert [n for n, in rows(
            w, "SELECT name FROM heapwire.threads WHERE name LIKE 'bio_%' "
            "AND folded LIKE '%bioProcessBackgroundJobs%'")], "bio threads"
        for _ in range(50):
            rows(w, "SELECT tid, stack FROM heapwire.threads")
        assert "crash" not in output_of(node)


def mariadb_command(directory):
    data = os.path.join(directory, "data")
    subprocess.run(["mariadb-install-db", "--no-defaults", "--force",
                    f"--datadir={data}", "--user=root",
                    "--auth-root-authentication-method=normal"],
                   check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return ["mariadbd", "--no-defaults", "--user=root", f"--datadir={data}",
            f"--socket={directory}/sock", "--skip-networking",
            f"--pid-file={directory}/pid", "--innodb-buffer-pool-size=16M"]


def listens(path):
    """A socket's file is there before it does."""
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex(path) == 0


def test_mariadb():
    """Two of its sessions wait for one table's lock."""
    directory = tempfile.mkdtemp(prefix="hw-threads-", dir="/tmp")
    try:
        with redis(program=mariadb_command(directory)) as node, \
                Wire(node.socket, 60).login() as w:
            sock = os.path.join(directory, "sock")
            wait_for(lambda: listens(sock))
            with Wire(sock, 60).login() as holder, \
                    Wire(sock, 60).login() as waiter:
                holder.query("CREATE TABLE test.t (a INT)")
                holder.query("LOCK TABLES test.t WRITE")
                waits = threading.Thread(target=waiter.query, args=(
                    "SELECT * FROM test.t",))
                waits.start()
                found = []

                def seen():
                    found[:] = rows(w, """SELECT tid, folded, why
                        FROM heapwire.threads
                        WHERE folded LIKE '%MDL_wait%timed_wait%'""")
                    return found
                wait_for(seen)
                assert "do_handle_one_connection" in found[0][1], found
                holder.query("UNLOCK TABLES")
                waits.join()

            def all_have_stacks():  # but those that end while they are listed
                found[:] = rows(w, "SELECT name, why, stack FROM "
                                "heapwire.threads WHERE stack IS NULL OR "
                                "why <> ''")
                return not found
            until(all_have_stacks, found)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
