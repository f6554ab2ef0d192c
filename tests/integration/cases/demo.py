"""docker/demo.sh shows what it promises.  Without a terminal its node ends with
it; in one, the node that its last lines name answers until Ctrl-C."""
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from machine import no_terminal
from node_under_test import wait_for

DEMO = os.path.abspath("docker/demo.sh")
SECONDS = 300  # builds, where nothing else has


def environment(home):
    """Its own directory of temporary files shows what it leaves."""
    temporary = os.path.join(home, "tmp")
    os.makedirs(temporary, exist_ok=True)
    return dict(os.environ, KEYS="100000", TMPDIR=temporary)


def left_behind(home):
    """Files, and processes that name them."""
    found = os.listdir(os.path.join(home, "tmp"))
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                line = f.read()
        except OSError:
            continue
        if home.encode() in line:
            found.append(line)
    return found


def leaves_nothing(home):
    """Helpers end behind heapwired, when their pipes are closed."""
    try:
        wait_for(lambda: not left_behind(home))
    except AssertionError:
        raise AssertionError(left_behind(home)) from None


def contains(text, *parts):
    for part in parts:
        assert part in text, f"no {part!r} in:\n{text}"


def check_shown(out):
    contains(re.sub(" +", " ", out), "| instance of HeapProf |",
             'digraph "/usr/bin/redis-', "| after |", "% _sdsnewlen",
             "─ processCommand", "| function | grown | flat_error | significant |",
             "| allocated | active | resident | rss | cgroup_limit |",
             "heap.html", "| false |")


def check_files(home):
    def read(name):
        with open(os.path.join(home, name), encoding="utf-8") as f:
            return f.read()

    contains(read("heap.html"), "<!doctype html>", "<svg ", "hsetCommand",
             "<script>")
    assert "<?xml" not in read("heap.html")
    contains(read("heap.dot"), "digraph", "hsetCommand")
    contains(read("heap.svg"), "</svg>")


def without_terminal(home):
    out = subprocess.run(["sh", DEMO], cwd=home, env=environment(home),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=SECONDS)
    assert out.returncode == 0, out.stdout
    check_shown(out.stdout)
    check_files(home)
    assert "mysql --socket" not in out.stdout, "names a node that is gone"
    assert out.stdout.endswith("The node is gone.\n"), out.stdout[-300:]
    leaves_nothing(home)


class Terminal:
    def __init__(self, home):
        self.out = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(home)
            os.execvpe("sh", ["sh", DEMO], environment(home))

    def read_until(self, part):
        signal.alarm(SECONDS)
        while part not in self.out:
            try:
                piece = os.read(self.fd, 65536)
            except OSError:  # its other end is closed
                piece = b""
            assert piece, f"ended before {part!r}:\n{self.out}"
            self.out += piece.decode("utf-8", "replace").replace("\r\n", "\n")
        signal.alarm(0)


def in_terminal(home):
    terminal = Terminal(home)
    terminal.read_until("heap.html opens in a browser")
    check_shown(terminal.out)
    lines = re.findall("^mysql --.*", terminal.out, re.M)
    assert len(lines) == 2, terminal.out
    for line in lines:
        answer = subprocess.run(
            ["sh", "-c", line + " -N -e 'SELECT id FROM nodes'"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30)
        assert answer.stdout == "10001\n", line + "\n" + answer.stdout
    os.write(terminal.fd, b"\x03")
    terminal.read_until("The node is gone.\n")
    assert os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]) == 130
    os.close(terminal.fd)
    leaves_nothing(home)


for test in without_terminal, in_terminal:
    if test is in_terminal and no_terminal():
        print("skipped: in a terminal:", no_terminal())
        continue
    began = time.monotonic()
    directory = tempfile.mkdtemp(prefix="hw-demo-")
    try:
        test(directory)
    finally:
        shutil.rmtree(directory)
    print(f"ok {test.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
sys.exit(0)
