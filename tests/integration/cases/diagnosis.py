"""diagnose(): programs that have one illness each, and healthy ones, Redis and
MariaDB under load among them.

What is found must have been there for half a minute, so each takes longer; they
run beside each other.  RUNS=20 in the environment: so many of each (1 here).
"""
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from cgroup import cgroup
from machine import no_cgroup
from node_under_test import BUILD, frozen, wait_for
from recorded_node import Ran, heap, redis_command, script, value
from redis_node import grow_old
from runner import in_parallel, named, needs, run_tests

PATIENT = os.path.join(BUILD, "bin", "patient")
GROWER = os.path.join(BUILD, "bin", "grower")
CLIENT = os.path.join(BUILD, "bin", "heapwire")
SETTINGS = "start_timeout = 0\n[snapshots]\nring = 1\nat_percent = none\n"
RUNS = int(os.environ.get("RUNS", "1"))
ROWS = "SELECT verdict, certainty, subject, bytes, why, steps " \
    "FROM heapwire.diagnosis ORDER BY place"
# What may stand beside each verdict: that more will be known later.
LATER = {"not known yet", "nothing unusual"}
MB = 1 << 20
UNITS = {"bytes": 1, "KB": 1 << 10, "MB": MB, "GB": 1 << 30}


def text(cell):
    return None if cell is None else cell.decode()


def findings(w):
    """By verdict; of several, the first."""
    found = {}
    for row in w.query(ROWS):
        found.setdefault(text(row[0]), [text(cell) for cell in row[1:]])
    return found


def patient(illness):
    return Ran(PATIENT, illness, settings=SETTINGS)


@contextlib.contextmanager
def within(name, limit, program, word):
    """The program alone is in such a cgroup; None: none can be made here."""
    with cgroup(name, limit) as procs:
        if not procs:
            print("skipped: no memory cgroup can be made here")
            yield None
            return
        with script(f"echo $$ >{procs}\nexec {program} \"$@\"\n") as join, \
                Ran(join, word, settings=f"exe = {program}\n" + SETTINGS) as n:
            yield n


def is_ready(node):
    wait_for(lambda: "ready" in node.said())


def awaited(w, verdict, is_told=lambda finding: True):
    """The first of that verdict, once there is one, and as it is to be."""
    last = {}

    def look():
        last.update(found=findings(w).get(verdict))
        return last["found"] and is_told(last["found"])
    wait_for(look, 180, 0.5, lambda: findings(w))
    return last["found"]


def alone(w, verdict, least):
    """Nothing else is found before, either, but that it grew: a busy machine
    fills its memory for seconds."""
    last = {}

    def look():
        found = last["found"] = findings(w)
        others = set(found) - LATER - {verdict}
        assert others <= {"growth", "full soon", "cache that fills"}, found
        return int(found.get(verdict, [0] * 3)[2]) > least * MB and not others
    wait_for(look, 180, 0.5, lambda: last["found"])
    return last["found"][verdict]


def page(w):
    """Its parts are all of RSS: each may be rounded."""
    shown = "\n".join(heap(w, "diagnose()"))
    whole = re.search(r"\(RSS, ([0-9.]+) (\w+)\):", shown)
    parts = re.findall(r"^ +(-?[0-9.]+) (\w+) +-?[0-9]+ %  ", shown, re.M)
    assert parts, shown
    rss = float(whole[1]) * UNITS[whole[2]]
    told = sum(float(number) * UNITS[unit] for number, unit in parts)
    assert abs(told - rss) <= (len(parts) + 1) * UNITS[whole[2]] / 10, shown
    return shown


def paste(w, steps):
    """Each SELECT of the steps, as it stands there."""
    for statement in re.findall(r": (SELECT .*?;)", steps):
        w.query(statement)


@in_parallel
def test_fragmentation(_):
    for _ in range(RUNS):
        with patient("fragments") as node, node.asks() as w:
            is_ready(node)
            certainty, subject, size, why, steps = alone(
                w, "fragmentation", 80)
            assert certainty == "certain" and subject == "keep_few", subject
            assert int(size) < 100 * MB, size
            assert "160 bytes that keep_few allocated" in why, why
            paste(w, steps)
            assert page(w).startswith("fragmentation in keep_few (certain): ")


@in_parallel
def test_free_pages(_):
    for _ in range(RUNS):
        with patient("free_pages") as node, node.asks() as w:
            is_ready(node)
            certainty, subject, size, why, steps = alone(
                w, "free pages kept", 60)
            assert certainty == "certain" and subject is None, subject
            assert int(size) < 140 * MB, size
            assert re.search(r"MB of them in arena [0-9]+ \(1 thread\).*"
                             "background_thread is 0", why), why
            note = value(w, "SELECT note FROM heapwire.memory")
            assert why.partition("; of")[0] in note, (why, note)
            # The levers that it names are those that help.
            pasted = re.findall(r"ADMIN EXECUTE .*?';", steps)
            assert len(pasted) == 3, steps
            w.query(pasted[0])
            assert "free pages kept" in findings(w)
            w.query(pasted[1])
            wait_for(lambda: "free pages kept" not in findings(w))


@in_parallel
def test_muzzy_pages(_):
    """The kernel has them in RSS, jemalloc does not count them as resident."""
    with script('export MALLOC_CONF="${MALLOC_CONF:+$MALLOC_CONF,}dirty_decay_ms:100,'
                f'muzzy_decay_ms:-1"\nexec {PATIENT} "$@"\n') as program:
        for _ in range(RUNS):
            with Ran(program, "muzzy", settings=f"exe = {PATIENT}\n" +
                     SETTINGS) as node, node.asks() as w:
                is_ready(node)
                _, _, size, why, steps = alone(w, "free pages kept", 60)
                assert int(size) < 160 * MB, size  # with a page for each block
                assert "muzzy_decay_ms is -1" in why, why
                assert "=muzzy_decay_ms:0 " in steps, steps
                page(w)


@in_parallel
def test_outside(_):
    for _ in range(RUNS):
        with patient("outside") as node, node.asks() as w:
            is_ready(node)
            _, subject, size, why, steps = alone(
                w, "outside the allocator", 125)
            assert subject == "anonymous memory", subject
            assert int(size) < 150 * MB, size
            assert re.search(r": 12[78]\.\d MB are anonymous memory \(a mapping "
                             r"of 128\.0 MB, seen since 20[0-9-]+ [0-9:]+ UTC\)",
                             why), why
            paste(w, steps)
            assert "  anonymous memory (a mapping of 128.0 MB" in page(w)


def growing(w, verdict, function):
    """Until it is sure, it says that this function grows, or less; of others by
    chance alone, as in quiet.  As many samples as are of a larger heap: one each
    32 KB."""
    heap(w, "reset(15, true)")
    looks, chance = [0], []

    def look():
        found = findings(w)
        assert set(found) - LATER <= {verdict, "growth", "full soon"}, found
        looks[0] += 1
        if found.get("growth", [0] * 2)[1] not in (0, None, function):
            chance.append(found)
        return verdict in found
    wait_for(look, 300, 0.5)
    assert len(chance) <= looks[0] / 2, (looks, len(chance), chance[-1])
    found = findings(w)
    assert verdict not in found or found[verdict][1] == function, found


@in_parallel
def test_leak(_):
    for _ in range(RUNS):
        with Ran(GROWER, "leak", settings=SETTINGS) as node, \
                node.asks() as w:
            growing(w, "leak", "lose_entry")
            paste(w, "".join(text(row[5]) for row in w.query(ROWS)))
            shown = page(w)
            # 7 GB an hour, or less where the machine is busy.
            assert re.search(r"What grows, in an hour .*:\n +[0-9.]+ [MG]B .* "
                             "lose_entry", shown), shown


@in_parallel
def test_cache(_):
    for _ in range(RUNS):
        with patient("fills") as node, node.asks() as w:
            growing(w, "cache that fills", "fill_cache")


@in_parallel
@needs(no_cgroup)
def test_limit(_):
    for _ in range(RUNS):
        with within("tight", 446 * MB, PATIENT, "tight") as node:
            if not node:
                return
            with node.asks() as w:
                is_ready(node)
                _, subject, size, why, steps = alone(w, "limit too low", 300)
                assert subject is None and int(size) == 446 * MB, size
                assert "of the cgroup's limit of 446.0 MB" in why, why
                paste(w, steps)
                page(w)


@in_parallel
@needs(no_cgroup)
def test_full_soon(_):
    for _ in range(RUNS):
        with within("full", 900 * MB, GROWER, "leak") as node:
            if not node:
                return
            with node.asks() as w:
                why = awaited(w, "full soon")[3]
                assert re.search("the cgroup's limit is reached in [0-9]+ "
                                 r"(seconds|minutes), at 900\.0 MB", why), why
                wait_for(lambda: page(w).startswith("full soon (possible): "),
                         tell=lambda: page(w))


# ---- who is healthy ----

def quiet(w, seconds, fills=()):
    """No alarm, but that a cache is not full yet; once what it needs anyway is
    there.  That a function grows is said of two in a hundred by chance, which a
    few more snapshots take back: not half of the time."""
    wait_for(lambda: not set(findings(w)) - LATER - {"cache that fills"}, 180,
             0.5)
    end, looks, chance = time.monotonic() + seconds, 0, []
    while time.monotonic() < end:
        found = findings(w)
        filling = found.pop("cache that fills", [None] * 2)[1]
        assert set(found) - {"growth"} <= LATER, (found, page(w))
        looks += 1
        if "growth" in found or filling not in (None, *fills):
            chance.append((found, filling))
        time.sleep(0.5)  # the pace of the looks
    assert len(chance) <= looks / 2, (looks, len(chance), chance[-1], page(w))
    page(w)


@in_parallel
def test_healthy(_):
    for _ in range(RUNS):
        with Ran(GROWER, "healthy", settings=SETTINGS) as node, \
                node.asks() as w:
            is_ready(node)
            quiet(w, 60, ["serve_cache"])


@in_parallel
def test_large_blocks(_):
    """A page more for each is no fragmentation, though 80 MB of 480."""
    for _ in range(RUNS):
        with patient("padded") as node, node.asks() as w:
            is_ready(node)
            quiet(w, 60)
            assert re.search(r"[78]\d\.\d MB .* a page beside each large",
                             page(w)), page(w)


@contextlib.contextmanager
def loaded(*command):
    with subprocess.Popen(command, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as load:
        try:
            yield
            assert load.poll() is None, "the load has ended"
        finally:
            load.kill()


@in_parallel
def test_healthy_redis(_):
    for _ in range(RUNS):
        with redis_command() as (port, command), \
                Ran(*command, settings=SETTINGS) as node, node.asks() as w:
            wait_for(lambda: "Ready to accept" in node.said())
            bench = ["redis-benchmark", "-p", str(port), "-r", "200000", "-d",
                     "200", "-P", "16", "-q"]
            subprocess.run([*bench, "-n", "1500000", "-t", "set"], check=True,
                           stdout=subprocess.DEVNULL)
            with loaded(*bench, "-l", "-t", "set,get"):
                quiet(w, 60, ["_sdsnewlen"])


@in_parallel
def test_healthy_mariadb(_):
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory(prefix="hw-i-") as work:
            subprocess.run(["mariadb-install-db", "--no-defaults",
                            f"--datadir={work}/data", "--user=root",
                            "--auth-root-authentication-method=normal"],
                           check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            command = ["/usr/sbin/mariadbd", "--no-defaults", "--user=root",
                       f"--datadir={work}/data", f"--socket={work}/sock",
                       f"--pid-file={work}/pid", "--skip-networking",
                       "--innodb-buffer-pool-size=64M"]
            with Ran(*command, settings=SETTINGS) as node, node.asks() as w:
                wait_for(lambda: subprocess.run(
                    ["mariadb-admin", "--no-defaults", f"--socket={work}/sock",
                     "--user=root", "ping"], capture_output=True,
                    check=False).returncode == 0, 180, 0.2)
                load = ["mysqlslap", "--no-defaults", f"--socket={work}/sock",
                        "--user=root", "--auto-generate-sql",
                        "--auto-generate-sql-load-type=mixed",
                        "--concurrency=4", "--iterations=100000",
                        "--number-of-queries=2000"]
                with loaded(*load):
                    quiet(w, 60)


@in_parallel
def test_hung_and_dead(_):
    with Ran(GROWER, "healthy", settings=SETTINGS) as node, node.asks() as w:
        is_ready(node)
        pid = node.pid()
        w.query("ADMIN EXECUTE ON 10001 "
                "'HeapProf.getInstance().snapshot(\"kept\")'")
        with frozen(pid):
            steps = awaited(w, "does not answer")[4]
            assert "has not answered since" in page(w)
            paste(w, steps)
        wait_for(lambda: "does not answer" not in findings(w))
        grow_old(pid)
        os.kill(pid, signal.SIGKILL)
        found = awaited(w, "died", lambda one: "SIGKILL" in one[3])
        assert "snapshot = '" in found[4], found
        paste(w, found[4])
        shown = "\n".join(heap(w, "diagnose()"))
        assert shown.startswith("died (certain): "), shown


def ask(node, *words):
    return subprocess.run([CLIENT, "--socket", node.socket, *words], text=True,
                          capture_output=True, timeout=60)


@in_parallel
def test_on_the_command_line(_):
    # Without a ring of snapshots: no cache can seem to fill meanwhile.
    with Ran(GROWER, "healthy") as node, node.asks() as w:
        is_ready(node)
        wait_for(lambda: "nothing unusual" in findings(w), 180, 0.5)
        alone_ = ask(node, "diagnose")
        assert alone_.returncode == 0, alone_
        assert alone_.stdout.startswith("nothing unusual (likely): "), alone_
        assert "\nWhere its memory is (RSS, " in alone_.stdout, alone_
        for nodes in "10001", "ALL":
            done = ask(node, "diagnose", nodes)
            assert done.returncode == 0 and done.stdout.startswith(
                "10001: nothing unusual (likely): "), done
            rows = ask(node, "diagnose", nodes, "--json").stdout
            assert '"verdict": "nothing unusual"' in rows, rows
        assert '"place": 1' in ask(node, "diagnose", "--json").stdout
        assert ask(node, "diagnose", "first").returncode == 64
        assert ask(node, "diagnose", "1", "2").returncode == 64
        gone = ask(node, "diagnose", "10002")
        assert gone.returncode == 1 and "node not found" in \
            gone.stdout + gone.stderr, gone
        none = subprocess.run([CLIENT, "--socket", "/nowhere", "diagnose"],
                              capture_output=True, timeout=60)
        assert none.returncode == 2 and not none.stdout, none


def main():
    run_tests(named(globals(), sys.argv[1:]), None)


if __name__ == "__main__":
    main()
