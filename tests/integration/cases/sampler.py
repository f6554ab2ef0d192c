"""Where which way of sampling is allowed, and what is said where it is not.

The table of plugin/observe/README.md.  What the samples are worth:
tests/unit/plugin/observe.
"""
import contextlib
import os
import platform
import signal
import subprocess
import sys
import tempfile

from machine import no_root
from mysql_wire import Refused, Wire
from node_under_test import wait_for
from ports import free_port
from redis_node import RedisNode
from runner import named, needs, run_tests

BIN = os.path.join(os.environ["BUILD"], "bin")
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
DAEMON = ["setpriv", "--reuid=1", "--regid=1", "--clear-groups"]
# As root in a container without --cap-add.
CONTAINER = ["setpriv", "--bounding-set=-sys_ptrace,-sys_admin,-perfmon",
             "--inh-caps=-all"]
PTRACE, PERF = {"x86_64": ("101", "298"),
                "aarch64": ("117", "241")}[platform.machine()]
PARANOID = "/proc/sys/kernel/perf_event_paranoid"


def paranoid():
    try:
        with open(PARANOID) as text:
            return int(text.read())
    except OSError:
        return 4


def allows_perf():
    """To the user whose process it is, by mainline's rules or Debian's."""
    return paranoid() <= 2


class Busy:
    def __init__(self, *arguments, user=()):
        self.process = subprocess.Popen(
            [*user, f"{BIN}/busy_threads", "2", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.turns()

    def turns(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        before = self.turns()
        while self.turns() == before:  # whatever was done to it, it goes on
            pass
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def sample_once(busy, way, kind, refused, user):
    done = subprocess.run(
        [*user, f"{BIN}/sampler_driver", str(busy.process.pid), "300", "0",
         way, kind, *refused],
        stdout=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode in (0, 1), done
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    print("   ", lines.get("error") or
          f"{lines['way']}, kernel {lines['kernel']}: "
          f"{lines['why_not_better']}", flush=True)
    return lines


def sample(busy, way="any", kind="cpu", refused=(), user=()):
    """On a machine with much else to do, again until the process ran: of two
    threads on each processor, a tick of perf's may be missing."""
    missing_ms = 2 * os.cpu_count() * 10 + 10
    while True:
        lines = sample_once(busy, way, kind, refused, user)
        if "error" in lines or int(lines["samples"]) > 0:
            return lines
        assert int(lines["processor_ms"]) <= missing_ms, lines


def same_or(wanted, busy, user):
    """perf where it is allowed, else ptrace with the reason."""
    got = sample(busy, user=user)
    if allows_perf():
        assert got["way"] == "perf", got
        assert got["kernel"] == ("1" if paranoid() < 2 else "0"), got
    else:
        assert got["way"] == "ptrace", got
        assert "perf_event_paranoid" in got["why_not_better"], got
    assert wanted in got["why_not_better"], got


@needs(no_root)
def test_root():
    with Busy() as busy:
        got = sample(busy)
        assert (got["way"], got["kernel"]) == ("perf", "1"), got
        assert not got["why_not_better"] or \
            "ms on a processor were sampled" in got["why_not_better"], got
        assert sample(busy, kind="wall")["way"] == "ptrace"
        assert sample(busy, kind="kernel")["kernel"] == "1"


@needs(no_root)
def test_its_own_user():
    with Busy(user=NOBODY) as busy:
        same_or("perf_event_paranoid", busy, NOBODY)
        assert sample(busy, "ptrace", user=NOBODY)["way"] == "ptrace"
        got = sample(busy, kind="kernel", user=NOBODY)
        if paranoid() < 2:
            assert got["kernel"] == "1", got
        else:
            assert "sampled with the kernel's functions: " in got["error"], got
            assert f"perf_event_paranoid is {paranoid()}: " in got["error"], got


@needs(no_root)
def test_another_user():
    with Busy(user=NOBODY) as busy:
        got = sample(busy, user=DAEMON)
        assert "user 65534's, and heapwired is user 1" in got["error"], got
        assert "CAP_SYS_PTRACE" in got["error"], got
    with Busy() as busy:
        got = sample(busy, user=NOBODY)
        assert "user 0's" in got["error"], got


@needs(no_root)
def test_not_dumpable():
    with Busy("dumpable", "0", user=NOBODY) as busy:
        got = sample(busy, user=NOBODY)
        assert "not dumpable" in got["error"], got
        assert sample(busy)["way"] == "perf"  # root may


@needs(no_root)
def test_as_in_a_container():
    """Docker's filter refuses perf_event_open, and lets ptrace pass."""
    with Busy() as busy:
        got = sample(busy, refused=[PERF])
        assert got["way"] == "ptrace", got
        assert "seccomp filter forbids perf_event_open" in \
            got["why_not_better"], got
        got = sample(busy, refused=[PERF, PTRACE])
        assert "seccomp filter forbids ptrace" in got["error"], got
    with Busy(user=CONTAINER) as busy:
        got = sample(busy, refused=[PERF], user=CONTAINER)
        assert got["way"] == "ptrace", got
    with Busy(user=[*CONTAINER, *NOBODY[1:]]) as busy:  # gosu, su-exec
        got = sample(busy, refused=[PERF], user=CONTAINER)
        assert "root without CAP_SYS_PTRACE" in got["error"], got
        got = sample(busy, refused=[PERF], user=[*CONTAINER, *NOBODY[1:]])
        assert got["way"] == "ptrace", got


def killing(*calls):
    """As systemd's SystemCallFilter= does without SystemCallErrorNumber=."""
    return [f"{BIN}/confined", "--kill", ",".join(calls)]


@needs(no_root)
def test_filters_that_kill():
    with Busy() as busy:
        got = sample(busy, user=killing("perf_event_open"))
        assert got["way"] == "ptrace", got
        assert "filter kills who calls perf_event_open" in \
            got["why_not_better"], got
        got = sample(busy, user=killing("perf_event_open",
                                        "sched_setscheduler"))
        assert got["way"] == "ptrace", got
        assert sample(busy, user=killing("ptrace"))["way"] == "perf"
        for call in "ptrace", "process_vm_readv":
            user = killing("perf_event_open", call)
            got = sample(busy, user=user)
            assert "kills who calls perf_event_open: allow it" in \
                got["error"], got
            assert "SystemCallFilter=ptrace process_vm_readv" in \
                got["error"], got
            got = sample(busy, kind="wall", user=user)
            assert "kills who calls ptrace" in got["error"], got


@contextlib.contextmanager
def redis_under(*calls):
    """Its heapwired is the same to the end."""
    with tempfile.TemporaryDirectory(prefix="hw-sampler-") as work:
        port = free_port()
        node = RedisNode(work, 1, {1: port}, port, wrapper=killing(*calls))
        try:
            heapwired = node.wait().heapwired
            with Wire(node.socket, timeout=120).login() as w:
                wait_for(lambda: said(
                    w, "SELECT state FROM heapwire.profiler") == "connected")
                yield w
            assert node.find_children() and node.heapwired == heapwired
        finally:
            node.stop()


def said(w, text):
    try:
        (cell,), = w.query(text)
        return cell.decode()
    except Refused as err:
        return str(err)


@needs(no_root)
def test_heapwired_lives_under_filters_that_kill():
    main = "FROM heapwire.threads ORDER BY tid LIMIT 1"
    with redis_under("perf_event_open", "sched_setscheduler") as w:
        for name in "cpu:1", "wall:1":
            assert "by ptrace" in said(w, f"SELECT top('{name}')"), name
        assert ";main;" in said(w, "SELECT folded " + main)
    with redis_under("perf_event_open", "ptrace", "process_vm_readv",
                     "sched_setscheduler") as w:
        for name, call in (("cpu:1", "perf_event_open"), ("cpu:1", "ptrace"),
                           ("wall:1", "ptrace")):
            top = said(w, f"SELECT top('{name}')")
            assert f"kills who calls {call}" in top, top
        assert "kills who calls ptrace" in said(w, "SELECT why " + main)


@needs(no_root)
def test_less_capable_than_the_process():
    with Busy() as busy:
        got = sample(busy, "ptrace", user=CONTAINER)
        assert "capabilities" in got["error"], got


@needs(no_root)
def test_traced_already():
    with Busy() as busy:
        with subprocess.Popen(
                ["strace", "-f", "-e", "trace=none", "-p",
                 str(busy.process.pid)], stderr=subprocess.PIPE) as strace:
            strace.stderr.readline()  # attached
            assert sample(busy)["way"] == "perf"
            got = sample(busy, "ptrace")
            assert f"strace (process {strace.pid}) traces it" in \
                got["error"], got
            strace.send_signal(signal.SIGINT)
        assert sample(busy, "ptrace")["way"] == "ptrace"


@needs(no_root)
def test_another_pid_namespace():
    with Busy() as busy:
        got = sample(busy, user=["unshare", "--pid", "--fork", "--mount-proc"])
        assert "there is no process" in got["error"], got
    with Busy(user=["unshare", "--pid", "--fork"]) as busy:
        with open(f"/proc/{busy.process.pid}/task/{busy.process.pid}/children"
                  ) as text:
            child = int(text.read())
        unshare, busy.process.pid = busy.process.pid, child
        assert sample(busy)["way"] == "perf"
        assert sample(busy, "ptrace")["way"] == "ptrace"
        os.kill(child, signal.SIGCONT)
        busy.process.pid = unshare


@needs(no_root)
def test_connections_keep_their_descriptors():
    """Most of what heapwired may have is given to connections."""
    few = 4 * 3 * os.sysconf("SC_NPROCESSORS_CONF") - 1
    with Busy() as busy:
        got = sample(busy, user=["prlimit", f"--nofile={few}:20000"])
        assert got["way"] == "ptrace", got
        assert (f"RLIMIT_NOFILE, which is {few}: {few + 1} would do" in
                got["why_not_better"]), got
        assert sample(busy, user=["prlimit", f"--nofile={few + 1}"]
                      )["way"] == "perf"


@needs(no_root)
def test_the_kernels_functions_are_never_left_out_silently():
    with Busy() as busy:
        got = sample(busy, kind="kernel", refused=[PERF])
        assert "with the kernel's functions: a seccomp filter forbids " \
            "perf_event_open" in got["error"], got


def test_nobody_waits_for_perf():
    with Busy() as busy:
        got = sample(busy, "perf", "wall")
        assert "does not sample threads that wait" in got["error"], got


run_tests(named(globals(), sys.argv[1:]))
