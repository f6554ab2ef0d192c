"""heapwire doctor: of a node that is well, one with faults, one that is gone,
and of programs that do not run yet.

Arguments name single tests.
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile

from machine import no_root
from mysql_wire import Wire
from node_under_test import BUILD, wait_for
from ports import free_port
from redis_node import RedisNode
from runner import in_parallel, named, needs, run_tests

HEAPWIRE = os.path.join(BUILD, "bin", "heapwire")
A, B = 10001, 10002
OK, WARNING, STOPS = 0, 1, 2


def doctor(*words, **more):
    env = {"HOME": "/nonexistent", "PATH": os.environ["PATH"]}
    done = subprocess.run([HEAPWIRE, *map(str, words)], env=env,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120, check=False, **more)
    assert "\x1b" not in done.stdout
    return done.returncode, done.stdout, done.stderr


def findings(*words):
    """By feature; the status is that of the worst."""
    status, out, err = doctor("--json", *words)
    rows = json.loads(out)
    assert err == "" and status == max(
        ("ok", "warning", "stops").index(r["verdict"]) for r in rows), (out, err)
    for row in rows:
        assert row["why"] and (row["do"] is None or row["do"]), row
    return {r["feature"]: r for r in rows}


def state(node):
    return findings("-S", node.socket, "doctor")["the database"]


@contextlib.contextmanager
def a_node(ids=(A,), **more):
    places = {i: free_port() for i in ids}
    with tempfile.TemporaryDirectory(prefix="hw-") as work:
        node = RedisNode(work, A, places, places[A], **more)
        try:
            node.wait()
            wait_for(lambda: state(node)["verdict"] == "ok", 60)
            yield node
        finally:
            node.stop()


def test_a_node():
    with a_node() as node:
        found = findings("-S", node.socket, "doctor")
        assert found["the database"]["verdict"] == "ok", found
        assert found["heap profile"]["verdict"] == "warning", found
        assert "enable_prof" in found["heap profile"]["do"]
        assert found["evidence of a death"]["verdict"] == "warning"  # linger 0
        assert found["jemalloc's statistics"]["verdict"] == "ok"
        assert "this machine" not in found  # it is this one
        assert "huge pages" in found and "kept snapshots" in found
        with Wire(node.socket, 60).login() as root:
            root.query(f"ADMIN EXECUTE ON {A} 'System.print(HeapProf."
                       "getInstance().enable_prof())'")
        status, out, err = doctor("-S", node.socket, "doctor")
        assert status in (WARNING, STOPS) and err == "", err
        for line in out.splitlines():
            assert line.split()[0] in ("ok", "warning", "stops"), line
            assert line.startswith("ok ") or "Do: " in line or \
                "of this" in line or "ends too soon" in line, line
        assert "\nok       heap profile: active" in out, out


@in_parallel
def test_a_database_that_hangs_and_one_that_is_gone():
    with a_node(linger=600) as node:
        database = node.children["redis-server"]
        os.kill(database, signal.SIGSTOP)
        try:
            wait_for(lambda: "does not answer" in state(node)["why"], 60)
            assert state(node)["verdict"] == "stops"
            # Which jemalloc it has is not known now, and no advice follows.
            assert "jemalloc's statistics" not in findings(
                "-S", node.socket, "doctor")
        finally:
            os.kill(database, signal.SIGCONT)
        wait_for(lambda: state(node)["verdict"] == "ok", 60)
        with Wire(node.socket, 60).login() as root:  # it outlives ten seconds
            wait_for(lambda: root.query(
                "SELECT COUNT(*) > 11 FROM heapwire.memory_history")[0][0] == b"1", 60)
        os.kill(database, signal.SIGKILL)
        wait_for(lambda: "gone" in state(node)["why"], 60)
        assert "deaths" in state(node)["do"]
        # What the dead do not have is said once.
        known = findings("-S", node.socket, "doctor")
        assert not {"processor profile", "stacks of threads",
                    "memory limit", "the cluster", "ages, churn"
                    } & set(known), known


def test_a_cluster_with_a_dead_node():
    with a_node((A, B)) as node:
        found = findings("-S", node.socket, "doctor")["the cluster"]
        assert found["verdict"] == "stops" and "1 of 2" in found["why"], found
        assert str(B) in found["why"], found


def test_no_node():
    status, out, err = doctor("-S", "/nonexistent/sock", "doctor")
    assert status == STOPS and err == "", err
    first = out.splitlines()[0]
    assert first.startswith("stops") and "/nonexistent/sock" in first, out
    assert "heapwire doctor -- COMMAND" in first


def test_programs_that_do_not_run_yet():
    found = findings("doctor", "--", "redis-server", "--port", "1")
    assert found["heap profile"]["verdict"] == "ok"
    assert "jemalloc" in found["heap profile"]["why"]
    assert "can profile" in found["jemalloc"]["why"], found
    found = findings("doctor", "--", "/usr/bin/python3")
    assert "recorder" in found["heap profile"]["why"], found
    found = findings("doctor", "--", "/nonexistent/database")
    assert found["heap profile"]["verdict"] == "stops"
    assert "/nonexistent/database" in found["heap profile"]["why"], found
    with tempfile.TemporaryDirectory() as work:
        static = os.path.join(work, "static\x1b[2J")
        source = os.path.join(work, "x.c")
        with open(source, "w", encoding="ascii") as f:
            f.write("int main(void) { return 0; }\n")
        subprocess.run(["cc", "-static", source, "-o", static], check=True)
        found = findings("doctor", "--", static)
        assert found["the agent"]["verdict"] == "stops", found
        assert "static" in found["the agent"]["why"]
        doctor("doctor", "--", static)  # no escape of its name


@needs(no_root)
def test_another_user_cannot_ask():
    with a_node() as node:
        status, out, _ = doctor("-S", node.socket, "doctor", user=65534)
        assert status == STOPS, out  # the state directory is root's


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
