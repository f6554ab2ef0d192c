"""heapwire-run in a terminal: who has it, and whom its keys reach.

terminal.py HEAPWIRE-RUN OPTION...: exit status 0 when all is as it should be.
"""
import os
import pty
import sys
import time

START_S = 10


def until(what, check):
    end = time.monotonic() + START_S
    while not check():
        if time.monotonic() > end:
            sys.exit(f"terminal: {what}")
        time.sleep(0.02)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def cat_of(pid):
    for child in children(pid):
        if os.readlink(f"/proc/{child}/exe").endswith("/cat"):
            return child
    return 0


runner, terminal = pty.fork()
if runner == 0:
    # A job control shell gives each job a group of its own.
    os.execv(sys.argv[1], [*sys.argv[1:], "--", "cat"])
until("no cat", lambda: cat_of(runner))
cat = cat_of(runner)
until("cat has not the terminal", lambda: os.tcgetpgrp(terminal) == cat)
os.write(terminal, b"echoed\n")
seen = b""
while seen.count(b"echoed") < 2:
    seen += os.read(terminal, 100)

# Stopped: both are, and continue together.
os.write(terminal, b"\x1a")
until("cat does not stop", lambda: state(cat) == "T")
until("heapwire-run does not stop", lambda: state(runner) == "T")
os.kill(runner, 18)
until("cat does not continue", lambda: state(cat) == "S")
until("cat has lost the terminal", lambda: os.tcgetpgrp(terminal) == cat)

os.write(terminal, b"\x03")
_, status = os.waitpid(runner, 0)
if os.waitstatus_to_exitcode(status) != 128 + 2:
    sys.exit(f"terminal: status {status:#x} after Ctrl-C")
