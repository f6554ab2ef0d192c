"""heapwire-run in a terminal: which process has it, and which its keys reach.

terminal.py HEAPWIRE-RUN OPTION...: exit status 0 when all is as it should be.
"""
import os
import pty
import signal
import sys
import time

START_S = 60


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
        try:
            if os.readlink(f"/proc/{child}/exe").endswith("/cat"):
                return child
        except FileNotFoundError:  # it ended meanwhile
            pass
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


def shell(command):
    """A shell whose user types Ctrl-Z and bg: it keeps the terminal."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    runner = os.fork()
    if runner == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpgrp())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(command[0], command)
    _, status = os.waitpid(runner, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        sys.exit(f"terminal: status {status:#x} instead of a stop")
    os.tcsetpgrp(0, os.getpgrp())
    sleep = children(runner)[-1]
    os.kill(-runner, signal.SIGCONT)
    until("sleep does not continue", lambda: state(sleep) == "S")
    if os.tcgetpgrp(0) != os.getpgrp():
        sys.exit("terminal: taken from the shell after bg")
    os.kill(runner, signal.SIGTERM)
    os.waitpid(runner, 0)
    os._exit(0)


leader, terminal = pty.fork()
if leader == 0:
    shell([*sys.argv[1:], "--", "sleep", "60"])
until("no sleep", lambda: os.tcgetpgrp(terminal) not in (0, leader) and
      os.readlink(f"/proc/{os.tcgetpgrp(terminal)}/exe").endswith("/sleep"))
os.write(terminal, b"\x1a")
_, status = os.waitpid(leader, 0)
if status != 0:
    sys.exit(os.read(terminal, 1000).decode())
