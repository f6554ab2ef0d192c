"""Stacks by unwind tables are those of the library's unwinder: in programs of
ours, of C and C++, and in Redis; and heapwired gives them by itself."""
import glob
import os
import signal
import subprocess
import sys
import tempfile

from node_under_test import BUILD, wait_for
from runner import named, run_tests

GIVE = f"{BUILD}/lib/libgive_tables.so"
RECORDER = f"{BUILD}/lib/libheapwire-recorder.so"
PROGRAMS = "tests/integration/programs/recorder"
JEMALLOC = "libjemalloc.so.2"


def check(directory, least):
    """What the programs have said; each compared all stacks."""
    compared = 0
    for name in glob.glob(directory + "/*"):
        with open(name, encoding="utf-8") as file:
            words = file.read().split()
        if words:
            assert words[1] == "0", (name, words)
            compared += int(words[0])
    assert compared >= least, compared


def test_recorded():
    """All that recorder.py does to programs, with tables."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(
            [sys.executable, "tests/integration/cases/recorder.py", "operators",
             "forks", "signals", "stacks", "threads", "guard", "hard",
             "plugins", "modules", "redis"], check=True,
            env={**os.environ, "EXTRA_PRELOAD": GIVE, "GIVE_TABLES": directory})
        check(directory, 100000)


def thrower(directory):
    program = os.path.join(directory, "thrower")
    subprocess.run(["c++", "-std=c++17", "-O2", "-pthread", "-o", program,
                    f"{PROGRAMS}/thrower.cc"], check=True)
    return program


def test_exceptions():
    """C++, each allocation sampled: by the recorder, and by jemalloc."""
    with tempfile.TemporaryDirectory() as directory:
        program = thrower(directory)
        given = os.path.join(directory, "given")
        os.mkdir(given)
        out, theirs = os.pipe()
        subprocess.run([f"{BUILD}/bin/recorder_driver", f"{RECORDER}:{GIVE}",
                        "1", "0", "65536", str(theirs), program], check=True,
                       input="wait\n", text=True, stdout=subprocess.DEVNULL,
                       pass_fds=[theirs],
                       env={**os.environ, "GIVE_TABLES": given})
        os.close(out)
        os.close(theirs)
        check(given, 20000)
        subprocess.run([program], check=True, env={
            **os.environ, "LD_PRELOAD": f"{JEMALLOC}:{GIVE}",
            "MALLOC_CONF": "prof:true,lg_prof_sample:0",
            "GIVE_TABLES": given})
        check(given, 40000)


def tables_of(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return sum("heapwire-table" in line for line in maps)


def node(directory, source):
    """A Redis with heapwired beside it: the wrapper, and Redis' pid."""
    state, sock = f"{directory}/{source}", f"{directory}/{source}.sock"
    os.mkdir(state, 0o700)
    # pylint: disable=consider-using-with
    wrapper = subprocess.Popen(
        [f"{BUILD}/bin/heapwire-run", "--state-dir", state, "--linger", "0",
         "--profiling", "on", "--profiling-source", source, "--",
         "redis-server", "--port", "0", "--unixsocket", sock, "--save", "",
         "--dir", directory, "--enable-debug-command", "yes"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(*words):
        run = subprocess.run(["redis-cli", "-s", sock, *words],
                             capture_output=True, text=True, check=False)
        return run.stdout
    wait_for(lambda: "PONG" in ask("ping"))
    info = dict(line.split(":", 1) for line in ask("info", "server").split()
                if ":" in line)
    return wrapper, int(info["process_id"]), ask, state


def test_handed_over():
    """While profiling is on, the process gets tables, and goes on well; its
    profile names the functions, and no table differs."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        for source in "jemalloc", "interposed":
            wrapper, pid, ask, state = node(directory, source)
            try:
                wait_for(lambda pid=pid: tables_of(pid) >= 3)
                for i in range(4):
                    assert "OK" in ask("debug", "populate", "50000", f"k{i}",
                                       "2000")
                folded = subprocess.run(
                    [f"{BUILD}/bin/heapwire", "-S", f"{state}/mysql.sock",
                     "get", "collapsed"],
                    capture_output=True, text=True, check=True).stdout
                # Nearly all of the heap, from main to what allocates.
                whole = [line for line in folded.splitlines()
                         if "main;" in line and ";call;" in line]
                assert whole and "differ" not in folded, folded[:2000]
            finally:
                wrapper.send_signal(signal.SIGTERM)
                wrapper.wait(60)


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
