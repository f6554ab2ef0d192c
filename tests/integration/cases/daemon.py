"""heapwired as a process: start, refusals, signals, users, descriptors, end."""
import contextlib
import os
import pwd
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time

from mysql_wire import Refused, Wire
from node_under_test import FAKE, PASSWD, POOR, REAL, Node, wait_for
from ports import free_port
from runner import named, run_tests

OTHER_UID = 64321  # that of no other process
USERS = (("ann", b"secret", "status"),)


def run(*arguments, program=FAKE, **more):
    return subprocess.run([program, *arguments], capture_output=True,
                          text=True, timeout=30, check=False, **more)


def logs_in(where, *who):
    try:
        Wire(where).login(*who).close()
        return True
    except (OSError, EOFError, Refused):
        return False


def test_check(directory):
    state = directory + "/state"
    done = run("--check", "--node-id", "7", "--state-dir", state, "--listen",
               "[::1]:99", "--exe", "/bin/sh", "--user",
               pwd.getpwuid(os.getuid()).pw_name)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout.startswith(
        f"id=7\nlisten=[::1]:99\nhttp=127.0.0.1:9037\n"
        f"http_get_changes=no\nstate_dir={state}\n"
        f"socket={state}/mysql.sock\nuser={pwd.getpwuid(os.getuid()).pw_name}\n"
        f"log={state}/heapwired.log\ntls_cert=\ntls_key=\nrequire_tls=no\n"
        "exe=/bin/sh\njemalloc=auto\nprofiling=prepared\n"
        "profiling_source=auto\nallocator=auto\n"
        "mallctl=\nprocess=parent\ndumpable=yes\nstart_timeout=20\n")
    for line in ("statement_timeout=60", "max_connections=1024",
                 "idle_timeout=28800", "login_failures=10",
                 "linger=900", "heartbeat=30", "profiler.budget_percent=1",
                 "profiler.guard_timeout=60", "snapshots.at_percent=80, 90, 95",
                 "snapshots.growth=0", "snapshots.every=0",
                 "snapshots.ring=3600", "snapshots.hours_left=6",
                 "snapshots.min_interval=60", "budgets.every=60", "symbols.index=on",
                 "symbols.keep_bytes=1073741824", "symbols.memory=268435456",
                 "symbols.debuginfod_urls=", "symbols.debuginfod_timeout=120"):
        assert f"\n{line}\n" in done.stdout, done.stdout
    assert not os.path.exists(state), "--check made something"
    done = run("--check", "--state-dir", "x", cwd=directory)
    assert f"state_dir={directory}/x\n" in done.stdout


def test_check_finds_every_fault(directory):
    config = directory + "/c"
    with open(config, "w", encoding="ascii") as f:
        f.write("[node]\nid = none\nlisten = 0.0.0.0\n")
    os.chmod(config, 0o600)
    os.mkdir(directory + "/open", 0o755)
    os.symlink(directory, directory + "/link")
    for arguments, faults in (
            (["--config", config], ["c:2: id = none: must be",
                                    "c:3: listen = 0.0.0.0: must be ADDR"]),
            (["--config", directory + "/none"], ["cannot be opened"]),
            (["--config", directory], ["is not a regular file"]),
            (["--user", "no-such-user"], ["no user 'no-such-user'"]),
            (["--exe", "/no/such/file"], ["exe = /no/such/file"]),
            (["--jemalloc", "/no/lib.so"], ["jemalloc = /no/lib.so"]),
            (["--state-dir", directory + "/open"], ["chmod 700"]),
            (["--state-dir", directory + "/link"], ["is not a directory"]),
            (["--state-dir", config], ["is not a directory"]),
            (["--node-id", "0", "--log", "x"], ["--node-id: must",
                                                "--log: must"])):
        done = run("--check", *arguments)
        assert done.returncode == 78 and done.stdout == "", done
        lines = done.stderr.splitlines()
        assert len(lines) == len(faults), lines
        for line, fault in zip(lines, faults):
            assert line.startswith("heapwired: ") and fault in line, line
    for arguments in (["--nonsense"], ["more"], ["--node-id"]):
        assert run("--check", *arguments).returncode == 78
    if os.getuid() == 0:  # a parent that strangers can write to
        os.mkdir(directory + "/shared")
        os.chmod(directory + "/shared", 0o777)
        done = run("--check", "--state-dir", directory + "/shared/s")
        assert "others can write" in done.stderr, done


def test_state_directory_has_one_heapwired():
    with Node() as node:
        mode = os.stat(node.state).st_mode
        assert stat.S_IMODE(mode) == 0o700
        assert stat.S_IMODE(os.stat(node.socket).st_mode) == 0o600
        done = run(*node.command()[1:])
        assert done.returncode == 75, done
        assert done.stderr == (
            f"heapwired: another heapwired serves {node.state}; one node more "
            "needs an id (--node-id) or a state directory of its own\n"), done
        assert logs_in(node.socket)


def test_a_stale_socket_is_replaced_but_nothing_else():
    with Node() as node:
        node.signal(signal.SIGKILL)
        node.process.wait()
        assert os.path.exists(node.socket)
        os.remove(node.log_path)
        node.start()
        assert logs_in(node.socket)
        node.stop()
        assert not os.path.exists(node.socket)
        with open(node.socket, "w", encoding="ascii"):
            pass
        done = run(*node.command()[1:])
        assert done.returncode == 71 and "is not a socket" in done.stderr, done
        os.remove(node.socket)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(node.socket)
            other.listen()
            done = run(*node.command()[1:])
            assert "another server listens" in done.stderr, done


def test_no_users_no_tcp():
    with Node() as node:
        assert "no TCP" in node.log()
        node.passwd("ann", b"secret", "status")
        node.signal(signal.SIGHUP)
        assert logs_in(node.tcp, b"ann", b"secret")
        node.write(())
        where = node.tcp
        node.signal(signal.SIGHUP)
        wait_for(lambda: "again: users: 0," in node.log())
        assert not logs_in(where, b"ann", b"secret")
        assert logs_in(node.socket)


def test_a_bad_reload_changes_nothing():
    with Node(users=USERS) as node:
        with open(node.config, "a", encoding="ascii") as f:
            f.write("oops\n")
        node.signal(signal.SIGHUP)
        wait_for(lambda: "stays as it was" in node.log())
        line = [l for l in node.log().splitlines() if "stays" in l][0]
        assert "neither '[section]' nor 'key = value'" in line
        assert logs_in(node.tcp, b"ann", b"secret")
        node.write((("bob", b"x", "status"),))
        node.signal(signal.SIGHUP)
        wait_for(lambda: "again: users: 1," in node.log())
        assert logs_in(node.tcp, b"bob", b"x")
        assert not logs_in(node.tcp, b"ann", b"secret")


def test_the_log_can_be_rotated():
    with Node(users=USERS) as node:
        os.rename(node.log_path, node.log_path + ".1")
        node.signal(signal.SIGHUP)
        wait_for(lambda: "read the configuration again" in node.log())
        assert stat.S_IMODE(os.stat(node.log_path).st_mode) == 0o600


def test_a_log_that_nobody_reads_holds_up_nobody():
    read, write = os.pipe()
    node = Node(start=False)
    server = subprocess.Popen(
        [FAKE, "--config", node.config, "--state-dir", node.state,
         "--listen", "none", "--log", "stderr"], stderr=write)
    try:
        wait_for(lambda: logs_in(node.socket))
        with Wire(node.socket).login() as w:
            for _ in range(65536 // 40):  # more than a pipe holds
                try:
                    w.query("ADMIN EXECUTE")
                except Refused:
                    pass
            w.ping()
        server.terminate()
        assert server.wait(20) == 0
    finally:
        server.kill()
        server.wait()
        os.close(read)
        os.close(write)
        shutil.rmtree(node.directory, ignore_errors=True)


def test_a_port_in_use_heals():
    with socket.socket() as holder:
        port = free_port()  # nobody takes it in between
        holder.bind(("127.0.0.1", port))
        holder.listen()
        with Node(listen=f"127.0.0.1:{port}", users=USERS) as node:
            for text in (node.log(), node.stderr()):
                lines = [l for l in text.splitlines() if "cannot listen" in l]
                assert len(lines) == 1 and "in use" in lines[0], text
            assert logs_in(node.socket)
            holder.close()
            wait_for(lambda: logs_in(("127.0.0.1", port), b"ann", b"secret"))
            assert node.port == port


def test_the_second_node_of_a_host_has_no_http():
    """Until the first one ends: its log says so once, and what to do."""
    port = free_port()  # nobody takes it in between
    with Node(users=USERS, settings=f"http = 127.0.0.1:{port}\n") as first:
        assert first.http_port == port
        with Node(users=USERS, settings=f"http = 127.0.0.1:{port}\n") as second:
            assert logs_in(("127.0.0.1", second.port), b"ann", b"secret")
            first.stop()
            assert second.http_port == port
            said = [l for l in second.log().splitlines() if "cannot" in l]
            assert len(said) == 1 and "HTTP: " in said[0] and \
                "set http to another, or to none" in said[0], said


def end_in_order():
    """How long it took."""
    with Node() as node:
        idle = Wire(node.socket).login()
        busy = Wire(node.socket).login()
        hangs = Wire(node.socket).login()
        blank = Wire(node.socket).greeting()
        busy.command(3, b"SELECT block")
        hangs.command(3, b"SELECT hang")
        wait_for(lambda: sum(b"Query" in row for row in
                             idle.query("SHOW PROCESSLIST")) == 3)
        began = time.monotonic()
        assert node.stop() == 0
        took = time.monotonic() - began
        assert idle.sock.recv(1) == b""  # as by MySQL: nothing it asked for
        for w in (busy, hangs):
            w.sequence = 1
            try:
                w.ok()
                raise AssertionError("no farewell")
            except Refused as err:
                assert (err.code, err.state) == (1053, "08S01"), err
            assert w.closed()
        assert blank.closed()
        assert not os.path.exists(node.socket)
        return took


def test_the_end_is_orderly():
    """By force each takes 3 s, and more; a machine that stands still, once."""
    took = []
    while not took or took[-1] >= 3:
        assert len(took) < 3, took
        took.append(end_in_order())


def test_nothing_inherited_is_kept():
    held = [os.open("/etc/passwd", os.O_RDONLY) for _ in range(20)]
    for fd in held:
        os.set_inheritable(fd, True)
    node = Node(start=False)
    with node:
        node.errors = open(node.directory + "/stderr", "ab+")
        node.process = subprocess.Popen(node.command(), stderr=node.errors,
                                        close_fds=False)
        wait_for(lambda: "serves node" in node.log())
        base = f"/proc/{node.process.pid}/fd/"
        # It leaves them once it has said so.
        wait_for(lambda: {os.readlink(base + fd) for fd in "012"} ==
                 {"/dev/null"})
        links = []
        for fd in os.listdir(base):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                links.append(os.readlink(base + fd))
        assert "/etc/passwd" not in links, links
        limits = open(f"/proc/{node.process.pid}/limits", encoding="ascii")
        soft, hard = [l.split()[3:5] for l in limits
                      if l.startswith("Max open files")][0]
        limits.close()
        assert soft == hard
    for fd in held:
        os.close(fd)


def test_few_descriptors_are_not_all_for_sessions():
    with Node(users=USERS, wrapper=["prlimit", "--nofile=100:100"]) as node:
        crowd = [Wire(node.socket) for _ in range(25)]
        for w in crowd:
            w.login()
        assert not logs_in(node.socket)
        for w in crowd:
            w.close()
        wait_for(lambda: logs_in(node.socket))


def test_the_limit_of_descriptors_is_raised():
    """To the hard one; where that is small, all kinds of sessions share it, and
    a quarter is for links to other nodes."""
    for limits, wanted, says in (
            ("1024:20000", b"1024", None), ("2028:2028", b"1024", None),
            ("1024:1024", b"432", "limit of 1024 descriptors (ulimit -Hn, or "
             "LimitNOFILE= of systemd) allows 432 connections of "
             "max_connections = 1024, 128 of HTTP (else 160), 128 of other "
             "nodes (else 256), and 256 to them; 2028 would allow all")):
        with Node(REAL, users=USERS,
                  wrapper=["prlimit", f"--nofile={limits}"]) as node, \
                Wire(node.socket).login() as wire:
            rows = wire.query("SELECT @@max_connections")
            assert wanted in str(rows).encode(), (limits, rows)
            assert says in node.log() if says else (
                "(ulimit -Hn" not in node.log()), node.log()


def test_running_out_of_descriptors_is_said():
    """Whoever comes then is told, and nobody waits for a greeting."""
    with Node(users=USERS) as node:
        where = node.tcp
        few = node.descriptors() + 10
        began = time.monotonic()
        resource.prlimit(node.process.pid, resource.RLIMIT_NOFILE, (few, few))
        crowd = [socket.create_connection(where) for _ in range(60)]
        node.comes_to_rest()
        before = node.cpu_seconds()
        time.sleep(2)  # the time that is measured
        assert node.cpu_seconds() - before < 0.3
        first = []
        for s in crowd:
            s.settimeout(10)
            first.append(s.recv(4096)[4:7])
        told = first.count(b"\xff" + struct.pack("<H", 1040))
        assert 40 < told < 60, first
        assert {f[:1] for f in first} == {b"\x0a", b"\xff"}, first  # greeted
        for s in crowd:
            s.close()
        wait_for(lambda: logs_in(node.tcp, b"ann", b"secret"))
        assert logs_in(node.socket)
        lines = [l for l in node.log().splitlines() if "refused a connection" in l]
        took = time.monotonic() - began
        assert 1 <= len(lines) <= 10 * took + 10, (took, lines)


def test_want_of_memory_is_answered_and_survived():
    """Every n-th allocation fails, under all that clients do."""
    texts = [b"SELECT 1", b"SELECT rows 500", b"SELECT slow 500",
             b"SELECT big 70000", b"SELECT wait 1", b"SHOW PROCESSLIST",
             b"nonsense", b"ADMIN EXECUTE ON 1 'x'", b"BEGIN"]
    for every in (2, 5, 13, 29, 97):
        answered = failed = 0
        with Node(POOR, users=USERS, wrapper=["env", f"HW_FAIL_EVERY={every}"]
                  ) as node:
            where = node.tcp
            node.signal(signal.SIGUSR1)
            for i in range(100):
                try:
                    with Wire(node.socket if i % 2 else where, timeout=5) as w:
                        w.login(*(() if i % 2 else (b"ann", b"secret")),
                                tls=i % 4 > 1)
                        for text in texts[i % 9:] + texts[:i % 9]:
                            try:
                                w.query(text)
                                answered += 1
                            except Refused:
                                failed += 1
                except (Refused, EOFError, OSError):
                    failed += 1
                assert node.process.poll() is None, every
            node.signal(signal.SIGUSR2)
            wait_for(lambda: logs_in(node.socket))
            assert logs_in(where, b"ann", b"secret")
        assert failed > 0 and (answered > 0 or every < 10), (every, answered)


def test_root_becomes_the_given_user():
    if os.getuid() != 0:
        return
    uid = pwd.getpwnam("nobody").pw_uid
    with Node(arguments=["--user", "nobody"]) as node:
        os.chmod(node.directory, 0o755)
        with open(f"/proc/{node.process.pid}/status", encoding="ascii") as f:
            lines = dict(l.split(":", 1) for l in f)
        assert lines["Uid"].split() == [str(uid)] * 4, lines["Uid"]
        assert lines["Groups"].split() == []
        assert int(lines["CapEff"], 16) == 0
        assert os.stat(node.state).st_uid == uid
        assert os.stat(node.socket).st_uid == uid
        assert os.stat(node.log_path).st_uid == uid
        assert logs_in(node.socket)  # root still may
        whoami = subprocess.run(
            ["mariadb", "--no-defaults", "-S", node.socket, "-u", "nobody",
             "-N", "-e", "SELECT 1"], user=uid, capture_output=True,
            check=True).stdout
        assert whoami == b"1\n"
        stranger = subprocess.run(
            ["mariadb", "--no-defaults", "-S", node.socket, "-u", "root", "-e",
             "SELECT 1"], user=uid + 1 - 65000, capture_output=True,
            check=False)
        assert stranger.returncode != 0
        assert node.stop() == 0
        assert not os.path.exists(node.socket)
        os.remove(node.log_path)
        node.arguments = []
        os.chmod(node.directory, 0o700)
        os.chown(node.directory, 0, 0)
        node.start()  # root takes the directory back
        assert os.stat(node.state).st_uid == 0


def test_passwords(directory):
    config = directory + "/c"
    made = run(config, "ann", program=PASSWD)
    assert made.returncode == 0 and made.stderr == "", made
    password = made.stdout.strip()
    assert made.stdout == password + "\n" and len(password) == 24
    assert stat.S_IMODE(os.stat(config).st_mode) == 0o600
    again = run(config, "ann", program=PASSWD)
    assert again.returncode == 1 and again.stdout == "", again
    assert "--replace" in again.stderr
    with open(config, encoding="ascii") as f:
        assert password not in f.read()
    for arguments, text in (
            ([config, "a b"], "a user's name"),
            ([config, "root"], "the name 'root' is reserved"), ([config], "usage"),
            ([config], "one FILE and one NAME"),
            ([config, "typo", "--replace"], "no user 'typo' to replace"),
            ([config, "bob", "--token", "--stdin"], "only one of"),
            ([config, "bob", "--privileges", "god"], "god"),
            ([config, "bob", "--stdin"], "no password on stdin"),
            ([directory, "bob"], "not a regular file")):
        done = run(*arguments, program=PASSWD, stdin=subprocess.DEVNULL)
        assert done.returncode != 0 and text in done.stderr, done
        assert done.stdout == "", done
    done = run(config, "bob", "--stdin", "--privileges", "admin",
               program=PASSWD, input="b0b\n")
    assert (done.returncode, done.stdout) == (0, ""), done
    assert run(config, "bob", "--stdin", program=PASSWD,
               input="x" * 300).returncode == 1
    node = Node(start=False)
    with node:
        shutil.copy(config, node.config)
        with open(node.config, "a", encoding="ascii") as f:
            f.write("[node]\nlisten = 127.0.0.1:0\n")
        node.start()
        assert logs_in(node.tcp, b"ann", password.encode())
        assert logs_in(node.tcp, b"bob", b"b0b")
        replaced = run(node.config, "ann", "--replace", program=PASSWD)
        node.signal(signal.SIGHUP)
        wait_for(lambda: "configuration again" in node.log())
        assert not logs_in(node.tcp, b"ann", password.encode())
        assert logs_in(node.tcp, b"ann", replaced.stdout.strip().encode())
    os.remove(config)
    os.symlink("/etc/passwd", config)
    assert "symbolic link" in run(config, "eve", program=PASSWD).stderr


def test_without_more_threads_the_rest_is_served(directory):
    """An account of its own may have as few as the limit says."""
    as_other = []
    node = Node(REAL, users=USERS, directory=directory, start=False)
    if os.geteuid() == 0:
        as_other = ["setpriv", f"--reuid={OTHER_UID}", "--clear-groups"]
        os.chmod(directory, 0o755)
        os.chown(directory, OTHER_UID, -1)
        os.chown(node.config, OTHER_UID, -1)
    node.wrapper = as_other
    with node.start(), Wire(node.tcp, 60).login(b"ann", b"secret") as a, \
            Wire(node.tcp, 60).login(b"ann", b"secret") as b:
        subprocess.run(as_other + ["prlimit", "--nproc=1", "--pid",
                                   str(node.process.pid)], check=True)
        a.command(3, b"SELECT SLEEP(60)")
        wait_for(lambda: any(row[6] == b"User sleep"
                             for row in b.query("SHOW PROCESSLIST")))
        for text in ("SELECT SLEEP(1)", "SELECT 'a' REGEXP 'b'",
                     "SET @a = SLEEP(1)", "SELECT 1 UNION SELECT 2"):
            try:
                b.query(text)
                assert False, text
            except Refused as e:
                assert e.code == 1135 and "ulimit -u" in e.text, (text, e)
        assert b.query("SELECT 1") == [[b"1"]]
        b.query(f"KILL {a.id}")
        wait_for(lambda: len(b.query("SHOW PROCESSLIST")) == 1)
        assert b.query("SELECT SLEEP(0.01)") == [[b"0"]]


def in_a_directory(test):
    def tested():
        with tempfile.TemporaryDirectory(prefix="hw-", dir="/tmp") as directory:
            test(*[directory] * test.__code__.co_argcount)
    return tested


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
run_tests({name: in_a_directory(test)
           for name, test in named(globals(), sys.argv[1:]).items()})
