"""Starts a heapwired in a private directory, looks at it, ends it."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress

BUILD = os.path.abspath(os.environ.get("BUILD", "build/release"))
FAKE = os.path.join(BUILD, "bin", "heapwired-fake")
POOR = os.path.join(BUILD, "bin", "heapwired-poor")
REAL = os.path.join(BUILD, "bin", "heapwired")
PASSWD = os.path.join(BUILD, "bin", "heapwire-passwd")
SANITIZED = "asan" in BUILD or "tsan" in BUILD


def wait_for(what, seconds=60, step=0.02, tell=lambda: ""):
    """tell: what was seen in its place."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"waited in vain: {tell()}"
        time.sleep(step)  # the one pause of all polls


def is_stopped(pid):
    return set(states(pid)) <= {"T"}


def states(pid):
    """Of its threads, by letters; without those that end meanwhile."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with suppress(FileNotFoundError, ProcessLookupError), \
                open(f"/proc/{pid}/task/{task}/stat", encoding="utf-8",
                     errors="replace") as f:
            found.append(f.read().rpartition(") ")[2][0])
    return found


def freeze(pid):
    """Stops all of its threads: a busy machine does so one after another."""
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: is_stopped(pid))


@contextmanager
def frozen(pid):
    freeze(pid)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def check_loop(log):
    """The watchdog's word on the event loop.  A virtual machine's processor
    time has what its host took away: a fault counts once it comes again, a
    short one at the third time (hold_up.py, which looks for such, forgives
    none)."""
    still = [int(ms) for ms in re.findall("stood still for ([0-9]+) ms", log)]
    assert len(still) < 3 and sum(ms >= 100 for ms in still) < 2, still


class Node:
    def __init__(self, program=FAKE, listen="127.0.0.1:0", users=(),
                 settings="", arguments=(), start=True, wrapper=(),
                 directory=None):
        self.program, self.wrapper = program, list(wrapper)
        self.directory = directory or tempfile.mkdtemp(prefix="hw-", dir="/tmp")
        self.state = os.path.join(self.directory, "state")
        self.config = os.path.join(self.directory, "heapwire.ini")
        self.log_path = os.path.join(self.directory, "log")
        self.arguments = list(arguments)
        # HTTP's default would be the same port for all of them.
        http = "" if listen.endswith(":0") or "http =" in settings else \
            "http = none\n"
        self.settings = f"[node]\nlisten = {listen}\n{http}{settings}"
        self.write(users)
        self.process = None
        if start:
            self.start()

    def write(self, users):
        with open(self.config, "w", encoding="ascii") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write(self.settings)
        for name, password, privileges in users:
            self.passwd(name, password, privileges)

    def passwd(self, name, password, privileges):
        subprocess.run([PASSWD, self.config, name, "--stdin", "--privileges",
                        privileges], input=password + b"\n", check=True)

    def command(self):
        return (self.wrapper + [self.program, "--config", self.config,
                                "--state-dir", self.state, "--log",
                                self.log_path] + self.arguments)

    def start(self):
        self.errors = open(os.path.join(self.directory, "stderr"), "ab+")
        self.process = subprocess.Popen(self.command(), stderr=self.errors)
        wait_for(lambda: "serves node" in self.log() or
                 self.process.poll() is not None)
        assert self.process.poll() is None, self.stderr()
        return self

    def stderr(self):
        with open(os.path.join(self.directory, "stderr"), "rb") as f:
            return f.read().decode("utf-8", "replace")

    def log(self):
        try:
            with open(self.log_path, encoding="ascii") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    @property
    def socket(self):
        return os.path.join(self.state, "mysql.sock")

    @property
    def port(self):
        return self.listens("")

    @property
    def http_port(self):
        return self.listens("HTTP: ")

    def listens(self, what):
        """The port that it listens on, by its log."""
        line = rf"\]: {what}listening on 127.0.0.1:(\d+)"
        wait_for(lambda: re.search(line, self.log()))
        return int(re.findall(line, self.log())[-1])

    @property
    def http_socket(self):
        return os.path.join(self.state, "http.sock")

    @property
    def tcp(self):
        return "127.0.0.1", self.port

    def status(self, key):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return re.search(rf"^{key}:\s+(\S+)", f.read(), re.M).group(1)

    def rss_kb(self):
        return int(self.status("VmRSS"))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def comes_to_rest(self):
        """Waits until it works no more: its processor time stands still, and
        that is not for want of a processor."""
        def rests():
            before = self.cpu_seconds()
            time.sleep(0.3)  # looked at for this long
            return self.cpu_seconds() == before and \
                not set(states(self.process.pid)) & {"R", "D"}
        wait_for(rests)

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def signal(self, number):
        if number == signal.SIGSTOP:
            freeze(self.process.pid)
        else:
            self.process.send_signal(number)

    def stop(self):
        """The exit status."""
        if self.process and self.process.poll() is None:
            self.signal(signal.SIGTERM)
        try:
            return self.process.wait(60) if self.process else 0
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            status = self.stop()
            if kind is None:
                assert status == 0, (status, self.stderr())
                if self.program == REAL:  # the fake works on the loop
                    check_loop(self.log())
            else:
                print(self.log()[-3000:], self.stderr()[-6000:])
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)
