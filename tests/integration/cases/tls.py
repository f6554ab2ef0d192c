"""TLS as heapwired speaks it: on the wire, in its files, to real clients.

Arguments name single tests.
"""
import hashlib
import os
import pwd
import random
import re
import select
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time

from mysql_wire import (DEFAULT, NATIVE, SHA2, SSL, Refused, Wire,
                        answer_native)
from node_under_test import FAKE, REAL, SANITIZED, Node, wait_for
from runner import in_parallel, named, of_each, run_tests

try:
    import pymysql
except ImportError:
    sys.exit("needs python3-pymysql (apt-get install python3-pymysql)")

USERS = (("ann", b"secret", "status, profile"),)
ANN = (b"ann", b"secret")


def refused(code, state, call, *args, **more):
    try:
        call(*args, **more)
    except Refused as err:
        assert (err.code, err.state) == (code, state), err
        return err.text
    raise AssertionError(f"error {code} was expected")


def secure(node, where=None, **more):
    return Wire(where or node.tcp).login(*ANN, tls=True, **more)


def sessions(node):
    with Wire(node.socket).login() as w:
        return len(w.query("SHOW PROCESSLIST"))


def alone(node):
    wait_for(lambda: sessions(node) == 1)


class ByHand:
    """A client's TLS, whose every byte passes through our hands."""

    def __init__(self, where, more=b""):
        self.wire = Wire(where).greeting()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing)
        self.try_handshake()
        self.request = self.wire.frame(struct.pack(
            "<IIB23x", DEFAULT | SSL, 1 << 24, 45)) + more

    def try_handshake(self):
        try:
            self.tls.do_handshake()
            return True
        except ssl.SSLWantReadError:
            return False

    def response(self):
        """A whole login, in clear text."""
        user, answer = b"ann", answer_native(b"secret", self.wire.nonce)
        return self.wire.frame(
            struct.pack("<IIB23x", DEFAULT | SSL, 1 << 24, 45) + user +
            b"\0" + bytes([len(answer)]) + answer + NATIVE + b"\0")

    def read(self):
        while True:
            try:
                return self.tls.read(65536)
            except ssl.SSLWantReadError:
                more = self.wire.sock.recv(65536)
                if not more:
                    raise EOFError("closed") from None
                self.incoming.write(more)

    def finish(self, send):
        """The rest of the handshake, the login and a ping in one breath."""
        while not self.try_handshake():
            self.incoming.write(self.wire.sock.recv(65536))
        self.tls.write(self.response() + b"\1\0\0\0\x0e")
        send(self.outgoing.read())
        data = b""
        while len(data) < 11 + 69 + 11 - 3:
            data += self.read()
        assert data[3:5] == b"\3\0" and data.endswith(
            b"\7\0\0\1\0\0\0\2\0\0\0"), data


def test_logins(node):
    for where in (node.tcp, node.socket):
        for plugin in (NATIVE, SHA2):
            with secure(node, where, plugin=plugin) as w:
                assert w.query("SELECT 1") == [[b"1"]]
                assert w.sock.version() == "TLSv1.3"
        text = refused(1045, "28000", Wire(where).login, b"ann", b"wrong",
                       tls=True)
        assert text.endswith("(using password: YES)")
    with Wire(node.socket).login(tls=True) as w:  # trusted without a password
        w.ping()
    with secure(node) as w:
        w.command(0x11, b"ann\0\0\0\x2d\0" + NATIVE + b"\0")
        w.switched(b"secret")
        assert w.info == b""


def test_fingerprint(node):
    twice = hashlib.sha1(hashlib.sha1(b"secret").digest()).digest()
    with secure(node) as w:
        shown = hashlib.sha256(w.sock.getpeercert(True)).digest()
        expected = hashlib.sha256(twice + w.nonce + shown).hexdigest().upper()
        assert w.info == b"\1" + expected.encode(), w.info
        w.ping()
        assert w.info == b""
    with secure(node, plugin=SHA2) as w:
        assert w.info == b""
    with Wire(node.tcp).login(*ANN) as w:
        assert w.info == b""
    with Wire(node.socket).login(tls=True) as w:
        assert w.info == b""


def test_versions(node):
    for version, name in ((ssl.TLSVersion.TLSv1_2, "TLSv1.2"),
                          (ssl.TLSVersion.TLSv1_3, "TLSv1.3")):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(node.state + "/server-cert.pem")
        context.minimum_version = context.maximum_version = version
        with Wire(node.tcp).greeting().start_tls(context=context) as w:
            w.respond(b"ann", answer_native(b"secret", w.nonce))
            w.ok()
            assert w.sock.version() == name
            assert "GCM" in w.sock.cipher()[0]
            if node.program == REAL:
                assert w.query("SHOW STATUS LIKE 'Ssl%'") == [
                    [b"Ssl_cipher", w.sock.cipher()[0].encode()],
                    [b"Ssl_version", name.encode()]]
    old = subprocess.run(
        ["openssl", "s_client", "-starttls", "mysql", "-tls1_1", "-cipher",
         "ALL:@SECLEVEL=0", "-connect", f"127.0.0.1:{node.port}"], input=b"",
        capture_output=True, check=False)
    assert b"protocol version" in old.stderr, old.stderr


def test_variables(node):
    if node.program == FAKE:
        return
    with Wire(node.tcp).login(*ANN) as w:
        assert w.query("SELECT @@have_ssl, @@require_secure_transport, "
                       "@@tls_version") == [[b"YES", b"0", b"TLSv1.2,TLSv1.3"]]
        assert w.query("SHOW STATUS LIKE 'Ssl_cipher'") == [[b"Ssl_cipher",
                                                             b""]]


def test_what_is_no_client_hello_ends_it(node):
    rng = random.Random(20261121)
    before = node.log().count("TLS with 127.0.0.1 failed")
    whole = ByHand(node.tcp)
    for i, junk in enumerate((
            whole.response(), b"\0\0\0\2\x0e", b"GET / HTTP/1.1\r\n\r\n",
            b"\x16\x03\x01\xff\xff" + bytes(70000), b"\x16\x03\1\0\0" * 64,
            bytes(rng.getrandbits(8) for _ in range(20000)))):
        if i == 3:
            time.sleep(1.1)  # the log takes ten such lines a second
        for apart in (False, True):
            hand = ByHand(node.tcp, b"" if apart else junk)
            hand.wire.sock.sendall(hand.request)
            if apart:
                time.sleep(0.02)  # they are read apart
                try:
                    hand.wire.sock.sendall(junk)
                except OSError:
                    pass
            try:
                said = hand.wire.sock.recv(65536)
            except ConnectionResetError:
                said = b""
            assert said == b"" or said[0] == 0x15, said  # an alert, or nothing
            assert hand.wire.closed(), junk
            hand.wire.close()
    whole.wire.close()
    assert node.log().count("TLS with 127.0.0.1 failed") - before >= 11
    with secure(node) as w:
        w.ping()


def test_bytes_that_came_along_are_the_client_hello(node):
    hand = ByHand(node.tcp)
    hand.wire.sock.sendall(hand.request + hand.outgoing.read())
    hand.finish(hand.wire.sock.sendall)
    hand.wire.close()


def test_a_byte_at_a_time(node):
    hand = ByHand(node.tcp)

    def trickle(data):
        hand.wire.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(len(data)):
            hand.wire.sock.sendall(data[i:i + 1])
            if i % 64 == 0:
                time.sleep(0.001)  # it is read in many parts

    trickle(hand.request + hand.outgoing.read())
    hand.finish(trickle)
    hand.wire.close()


def test_cut_anywhere(node):
    rng = random.Random(7)
    alone(node)
    before = node.descriptors()
    for _ in range(150):
        hand = ByHand(node.tcp)
        first = hand.request + hand.outgoing.read()
        cut = rng.randrange(2 * len(first))
        hand.wire.sock.sendall(first[:cut])
        if cut >= len(first):
            while not hand.try_handshake():
                hand.incoming.write(hand.wire.sock.recv(65536))
            hand.tls.write(hand.response())
            second = hand.outgoing.read()
            hand.wire.sock.sendall(second[:rng.randrange(len(second) + 1)])
        hand.wire.close()
    alone(node)
    wait_for(lambda: node.descriptors() <= before)


@in_parallel
def test_the_deadline_is_for_all_of_the_login(_):
    with Node(FAKE, users=USERS) as fake, Node(REAL, users=USERS) as real:
        of_each(has_ten_seconds, fake, real)


def has_ten_seconds(node):
    began = time.monotonic()
    silent = Wire(node.tcp).greeting()
    silent.ask_for_tls()
    idle = Wire(node.tcp).greeting().start_tls()
    slow = ByHand(node.tcp)
    data = slow.request + slow.outgoing.read()
    bytes_ = (data[i:i + 1] for i in range(len(data)))

    def is_dead():
        try:
            slow.wire.sock.sendall(next(bytes_))
            return slow.wire.sock.recv(1, socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True
    wait_for(is_dead, 25, 0.25)  # ten seconds, of a busy machine
    assert time.monotonic() - began > 9
    assert silent.closed()
    try:
        assert idle.sock.recv(1) == b""
    except OSError:
        pass
    assert time.monotonic() - began < 30  # with the first, not after it
    for w in (silent, idle, slow.wire):
        w.close()


def test_a_second_request_is_no_response(node):
    with Wire(node.tcp).greeting().start_tls() as w:
        w.ask_for_tls()
        refused(1043, "08S01", w.ok)
    # what the request said counts for nothing: MariaDB Connector/J 2.7
    with Wire(node.tcp).greeting().start_tls(DEFAULT | 0x1000000) as w:
        w.respond(b"ann", answer_native(b"secret", w.nonce), says_tls=False)
        w.ok()
    with Wire(node.tcp).greeting() as w:  # says that it is secure, and is not
        w.respond(b"ann", answer_native(b"secret", w.nonce),
                  flags=DEFAULT | SSL)
        text = refused(1043, "08S01", w.ok)
        assert "not begun" in text
    with Wire(node.tcp).greeting().start_tls() as w:
        w.send(b"\x03SELECT 1")
        refused(1043, "08S01", w.ok)
    with Wire(node.tcp).greeting().start_tls() as w:  # 4 KiB, here, too
        w.sock.sendall(b"\x01\x10\x00\x02" + b"x" * 4097)
        assert gone(w)


def gone(w):
    try:
        return w.sock.recv(1) == b""
    except (ConnectionResetError, ssl.SSLError):
        return True


def test_results_of_all_sizes(node):
    if node.program != FAKE:
        return
    with secure(node) as w:
        for size in (0, 1, 16383, 16384, 16385, 131071, 131072, 131073,
                     0xFFFFFB, 40 << 20):
            [[cell]] = w.query(f"SELECT big {size}")
            assert len(cell) == size and not cell.strip(cell[:1] or b"x")
        w.command(3, b"SELECT late 150")
        assert w.columns() == ["n", "text"]
        for i in range(150):
            assert w.row(2)[0] == str(i).encode()
        refused(1105, "HY000", w.row, 2)
        text = b"SELECT length ".ljust(16 << 20, b"x")
        assert w.query(text) == [[str(16 << 20).encode()]]
        w.sequence = 0  # commands ahead of their turn
        w.sock.sendall(b"\1\0\0\0\x0e" * 20000)
        for _ in range(20000):
            w.sequence = 1
            w.ok()


def test_a_reply_behind_the_last_bytes_of_another_is_sent(node):
    if node.program != FAKE:
        return
    large = (16 << 20) + 5000  # not a whole number of TLS_CHUNK
    with Wire(node.tcp, rcvbuf=65536).login(*ANN, tls=True) as w:
        w.command(3, f"SELECT big {large}".encode())
        node.comes_to_rest()  # the socket is full, and more is sealed later
        w.sock.sendall(b"\1\0\0\0\x0e")
        node.comes_to_rest()
        [[cell]] = w.result()
        assert len(cell) == large
        w.sequence = 1
        w.ok()


def test_a_slow_reader_costs_no_memory(node):
    if node.program != FAKE:
        return
    with Wire(node.tcp, rcvbuf=65536).login(*ANN, tls=True) as w:
        before = node.rss_kb()
        w.command(3, b"SELECT rows 1000000")
        node.comes_to_rest()
        grown = node.rss_kb() - before
        assert SANITIZED or grown < 4096, grown
        with secure(node) as other:
            assert other.query("SELECT 1") == [[b"1"]]
        assert w.columns() == ["n", "text"]
        seen, last = 0, None
        while True:
            row = w.row(2)
            if row is None:
                break
            seen, last = seen + 1, row
        assert seen == 1000000 and last == [b"999999", b"row number 999999"]
        assert SANITIZED or node.rss_kb() - before < 4096


def test_closing(node):
    alone(node)
    w = secure(node)  # close_notify alone ends a session
    w.sock.settimeout(5)
    try:
        w.sock.unwrap().close()
    except (ssl.SSLError, OSError):
        pass
    alone(node)
    w = secure(node)
    if node.program == FAKE:
        w.command(3, b"SELECT hang")
        wait_for(lambda: sessions(node) == 2)
        try:
            w.sock.settimeout(0.2)
            w.sock.unwrap()
        except (ssl.SSLError, OSError):
            pass
        alone(node)
    w.close()
    w = secure(node)
    with Wire(node.socket).login() as killer:
        killer.query(f"KILL {w.id}")
    assert gone(w)
    w.close()
    hand = ByHand(node.tcp)  # an alert
    hand.wire.sock.sendall(hand.request + hand.outgoing.read())
    hand.finish(hand.wire.sock.sendall)
    hand.wire.sock.sendall(b"\x17\x03\x03\x00\x20" + bytes(32))
    assert hand.wire.closed()
    alone(node)


def test_farewell(_):
    with Node(users=USERS) as node:
        w = secure(node)
        node.signal(signal.SIGTERM)
        assert w.sock.recv(1) == b""  # SSLEOFError without close_notify
        w.close()
        assert node.process.wait(60) == 0


def test_garbage_after_the_login(node):
    rng = random.Random(8)
    alone(node)
    for _ in range(100):
        hand = ByHand(node.tcp)
        hand.wire.sock.sendall(hand.request + hand.outgoing.read())
        hand.finish(hand.wire.sock.sendall)
        hand.tls.write(b"\x09\0\0\0\x03SELECT 1")
        data = bytearray(hand.outgoing.read())
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        hand.wire.sock.sendall(data)
        hand.wire.sock.shutdown(socket.SHUT_WR)
        assert hand.wire.closed()
        hand.wire.close()
    alone(node)


def test_a_fault_after_the_login_has_an_alert(node):
    hand = ByHand(node.tcp)
    hand.wire.sock.sendall(hand.request + hand.outgoing.read())
    hand.finish(hand.wire.sock.sendall)
    hand.tls.write(b"\1\0\0\0\x0e")
    data = bytearray(hand.outgoing.read())
    data[-1] ^= 1
    hand.wire.sock.sendall(data)
    try:
        raise AssertionError(hand.read())
    except ssl.SSLError as err:
        assert "bad record mac" in str(err).lower(), err
    hand.wire.close()
    alone(node)


def s_client(node, *more):
    return subprocess.Popen(
        ["openssl", "s_client", "-starttls", "mysql", "-connect",
         f"127.0.0.1:{node.port}", *more], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def test_floods_of_key_updates_and_renegotiation(node):
    time.sleep(1.1)  # the log's allowance of lines is complete again
    client = s_client(node, "-tls1_3")
    wait_for(lambda: sessions(node) == 2)
    for i in range(40):
        try:
            client.stdin.write(b"K\n")
            client.stdin.flush()
        except OSError:
            break
        # One order at a time: of two that it reads together it obeys one.
        while (line := client.stdout.readline()) and b"KEYUPDATE" not in line:
            pass
        if not line:
            break
    client.communicate(timeout=60)
    assert "too many messages without data" in node.log(), i
    client = s_client(node, "-tls1_2")
    client.stdin.write(b"R\n")
    client.stdin.flush()
    out = client.stdout.read()  # until it ends, which it does at the answer
    client.communicate(timeout=60)
    assert b"no renegotiation" in out, out
    alone(node)


def test_idle_connections_are_cheap(node):
    count, rounds = 900, []
    for _ in range(2):
        before = node.rss_kb()
        held = [secure(node) for _ in range(count)]
        for w in held:
            w.ping()
        rounds.append((node.rss_kb() - before) / count)
        for w in held:
            w.close()
        alone(node)
    print(f"    {rounds[0]:.1f} and {rounds[1]:.1f} KB each")
    assert SANITIZED or rounds[0] < 40, rounds


def test_require_tls(_):
    with Node(users=USERS, settings="require_tls = yes\n") as node:
        for password in (b"secret", b"wrong", b""):
            text = refused(3159, "HY000", Wire(node.tcp).login, b"ann",
                           password)
            assert "insecure transport" in text
        with Wire(node.tcp).greeting() as w:
            w.respond(b"ann", answer_native(b"secret", w.nonce),
                      flags=DEFAULT | SSL)
            refused(1043, "08S01", w.ok)
        with secure(node) as w:
            w.ping()
        with Wire(node.socket).login(*ANN) as w:
            w.ping()
        node.settings = node.settings.replace("yes", "no")
        node.write(USERS)
        node.signal(signal.SIGHUP)
        wait_for(lambda: "TLS: offered" in node.log())
        with Wire(node.tcp).login(*ANN) as open_before:
            node.settings = node.settings.replace("= no", "= yes")
            node.write(USERS)
            node.signal(signal.SIGHUP)
            wait_for(lambda: "TLS: required" in node.log())
            refused(3159, "HY000", Wire(node.tcp).login, *ANN)
            open_before.ping()
            open_before.command(0x11, b"ann\0\0\0")
            refused(3159, "HY000", open_before.ok)


def own_address():
    """One of ours that is not loopback, or None."""
    words = subprocess.run(["hostname", "-I"], capture_output=True, text=True,
                           check=False).stdout.split()
    v4 = [w for w in words if ":" not in w]
    return v4[0] if v4 else None


def test_addresses_that_others_reach(_):
    address = own_address()
    if not address:
        print("    no address but loopback here")
    for listen in ("0.0.0.0:0",) + ((f"{address}:0",) if address else ()):
        with Node(REAL, listen=listen) as node:
            assert "no TCP" in node.log() and "listening on 0" not in node.log()
            node.passwd("ann", b"secret", "status")
            node.signal(signal.SIGHUP)
            pattern = re.escape(listen[:-1]) + r"(\d+)"
            wait_for(lambda: re.search("listening on " + pattern, node.log()))
            port = int(re.search(pattern, node.log()).group(1))
            for host in (("127.0.0.1", "127.0.0.2") if listen[0] == "0" else
                         ()) + ((address,) if address else ()):
                refused(3159, "HY000", Wire((host, port)).login, *ANN)
                with secure(node, (host, port)) as w:
                    assert w.query("SELECT @@require_secure_transport") == [
                        [b"1"]]
            node.settings += "require_tls = no\n"
            node.write(USERS)
            node.signal(signal.SIGHUP)
            wait_for(lambda: node.log().count("TLS: required") == 2)
            with Wire(node.socket).login() as w:
                w.ping()
    with Node(listen="127.0.0.2:0", users=USERS) as node:
        port = re.search(r"listening on 127.0.0.2:(\d+)", node.log()).group(1)
        with Wire(("127.0.0.2", int(port))).login(*ANN) as w:
            w.ping()


def shown_by(node):
    with secure(node) as w:
        return w.sock.getpeercert(True)


def restart(node):
    """With a new log, for what start() waits for."""
    assert node.stop() == 0
    os.remove(node.log_path)
    node.start()


def test_files(_):
    with Node(users=USERS) as node:
        key, cert = node.state + "/server-key.pem", node.state + "/server-cert.pem"
        assert "made a self-signed certificate" in node.log()
        assert os.stat(key).st_mode & 0o7777 == 0o600
        assert os.stat(cert).st_mode & 0o7777 == 0o644
        first = shown_by(node)
        restart(node)
        assert shown_by(node) == first
        for path, how in ((cert, "holds no certificate"),
                          (key, "holds no private key")):
            with open(path, "w", encoding="ascii") as f:
                f.write("junk\n")
            restart(node)
            assert how in node.log(), node.log()
            second = shown_by(node)
            assert second != first
            first = second
        os.chmod(key, 0o644)
        restart(node)
        assert "was open to others" in node.log()
        assert os.stat(key).st_mode & 0o7777 == 0o600
        os.remove(key)
        os.symlink("/etc/passwd", key)
        restart(node)
        assert not os.path.islink(key)
        with open("/etc/passwd", encoding="utf-8") as f:
            assert "PRIVATE KEY" not in f.read()
        shown_by(node)


def test_the_key_goes_to_the_user_that_heapwired_becomes(_):
    if os.getuid() != 0:
        return
    uid = pwd.getpwnam("nobody").pw_uid
    with Node(users=USERS, arguments=["--user", "nobody"]) as node:
        os.chmod(node.directory, 0o755)
        key = node.state + "/server-key.pem"
        wait_for(lambda: "became uid" in node.log())
        assert os.stat(key).st_uid == uid
        assert os.stat(key).st_mode & 0o7777 == 0o600
        first = shown_by(node)
        os.chmod(node.directory, 0o700)
        restart(node)  # as root again, and then as its own user
        assert shown_by(node) == first
        wait_for(lambda: "became uid" in node.log())
        assert os.stat(key).st_uid == uid
        os.chmod(node.directory, 0o755)
        os.chown(node.config, uid, -1)
        node.signal(signal.SIGHUP)
        wait_for(lambda: "configuration again" in node.log())
        assert "stays as it was" not in node.log()
        assert shown_by(node) == first


def make_pair(directory, name):
    cert, key = f"{directory}/{name}.pem", f"{directory}/{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
         "90", "-subj", f"/CN={name}", "-keyout", key, "-out", cert],
        check=True, capture_output=True)
    os.chmod(key, 0o600)
    return cert, key


def test_own_certificate(_):
    with Node(start=False) as node:
        one, two = make_pair(node.directory, "one"), make_pair(node.directory,
                                                               "two")
        live = node.directory + "/live.pem", node.directory + "/live.key"
        for source, target in zip(one, live):
            shutil.copy(source, target)
        node.settings += f"tls_cert = {live[0]}\ntls_key = {live[1]}\n"
        node.write(USERS)
        node.start()
        with open(one[0], encoding="ascii") as f:
            first = ssl.PEM_cert_to_DER_cert(f.read())
        assert shown_by(node) == first
        assert not os.path.exists(node.state + "/server-key.pem")
        held = secure(node)
        shutil.copy(two[0], live[0])  # the wrong key
        node.signal(signal.SIGHUP)
        wait_for(lambda: "certificate stays as it was" in node.log())
        assert "the key is not the certificate's" in node.log()
        assert shown_by(node) == first
        shutil.copy(two[1], live[1])
        node.signal(signal.SIGHUP)
        wait_for(lambda: node.log().count("read the configuration again") == 2)
        with open(two[0], encoding="ascii") as f:
            assert shown_by(node) == ssl.PEM_cert_to_DER_cert(f.read())
        held.ping()
        held.close()


def test_settings_name_the_certificate_in_force(_):
    ask = "SELECT value FROM heapwire.settings WHERE name = 'tls_cert'"
    with Node(REAL, start=False) as node:
        one, two = make_pair(node.directory, "one"), make_pair(node.directory,
                                                               "two")
        plain = node.settings
        node.settings = f"{plain}tls_cert = {one[0]}\ntls_key = {one[1]}\n"
        node.write(USERS)
        node.start()
        with secure(node) as w:
            said = "configuration again"
            for cert, key, shown in ((two[0], one[1], one[0]),
                                     (two[0], two[1], two[0])):
                node.settings = f"{plain}tls_cert = {cert}\ntls_key = {key}\n"
                node.write(USERS)
                before = node.log().count(said)
                node.signal(signal.SIGHUP)
                wait_for(lambda: node.log().count(said) > before)
                assert w.query(ask) == [[shown.encode()]], cert
        assert node.log().count("certificate stays as it was") == 1


def test_wrong_certificates_are_faults_of_the_configuration(_):
    with Node(start=False) as node:
        cert, key = make_pair(node.directory, "good")
        other = make_pair(node.directory, "other")
        open_key = node.directory + "/open.key"
        shutil.copy(key, open_key)
        os.chmod(open_key, 0o644)
        for arguments, fault in (
                (["--tls-cert", cert], "tls_cert: tls_key must be given"),
                (["--tls-key", key], "tls_key: tls_cert must be given"),
                (["--tls-cert", cert, "--tls-key", other[1]],
                 "the key is not the certificate's"),
                (["--tls-cert", cert, "--tls-key", open_key], "chmod 600"),
                (["--tls-cert", key, "--tls-key", key], "holds no certificate"),
                (["--tls-cert", "/no/file", "--tls-key", key],
                 "tls_cert = /no/file: cannot be opened"),
                (["--require-tls", "maybe"], "must be yes or no")):
            node.arguments = arguments
            for check in ([], ["--check"]):
                done = subprocess.run(node.command() + check, text=True,
                                      capture_output=True, timeout=20,
                                      check=False)
                assert done.returncode == 78, (arguments, done)
                assert fault in done.stderr, (arguments, done)
                assert done.stderr.count("\n") == 1, done
        done = subprocess.run(
            [os.path.join(os.path.dirname(REAL), "heapwire-run"),
             "--state-dir", node.state, "--tls-cert", cert, "--tls-key",
             other[1], "--", "/bin/true"], text=True, capture_output=True,
            timeout=20, check=False)
        assert "the key is not the certificate's" in done.stderr, done
        node.arguments = []
        node.start()


PHP = """<?php
mysqli_report(MYSQLI_REPORT_OFF);
$m = mysqli_init();
$m->ssl_set(NULL, NULL, "%s", NULL, NULL);
if (!$m->real_connect("%s", "ann", "secret", NULL, %d, NULL, MYSQLI_CLIENT_SSL))
    die($m->connect_error);
print($m->query("SHOW STATUS LIKE 'Ssl_version'")->fetch_row()[1]);
"""


def test_real_clients(node):
    if node.program == FAKE:
        return
    ca = node.state + "/server-cert.pem"
    environment = dict(os.environ, MYSQL_PWD="secret")
    base = ["mariadb", "--no-defaults", "-N", "-B"]
    tcp = ["-h", "127.0.0.1", "-P", str(node.port), "-u", "ann"]
    for arguments in (tcp + ["--ssl"],
                      tcp + ["--ssl", "--ssl-ca", ca,
                             "--ssl-verify-server-cert"],
                      tcp + ["--ssl", "--tls-version=TLSv1.2"],
                      tcp + ["--ssl", "--default-auth=caching_sha2_password"],
                      ["-S", node.socket, "-u", "ann", "--ssl"]):
        out = subprocess.run(
            base + arguments + ["-e", "SHOW STATUS LIKE 'Ssl_version'"],
            env=environment, capture_output=True, text=True, check=True).stdout
        assert re.match(r"Ssl_version\tTLSv1\.[23]$", out), (arguments, out)
    out = subprocess.run(["mariadb", "--no-defaults"] + tcp +
                         ["--ssl", "-e", "\\s"], env=environment, text=True,
                         capture_output=True, check=True).stdout
    assert "Cipher in use is TLS_AES_256_GCM_SHA384" in out, out
    for tls in ({"ca": ca}, {"check_hostname": False, "verify_mode": False}):
        db = pymysql.connect(host="127.0.0.1", port=node.port, user="ann",
                             password="secret", ssl=tls)
        with db.cursor() as cursor:
            cursor.execute("SHOW STATUS LIKE 'Ssl_version'")
            assert cursor.fetchall() == (("Ssl_version", "TLSv1.3"),)
        db.close()
    out = subprocess.run(
        ["openssl", "s_client", "-starttls", "mysql", "-connect",
         f"127.0.0.1:{node.port}", "-CAfile", ca, "-verify_hostname",
         "localhost", "-verify_return_error", "-brief"], input="", text=True,
        capture_output=True, check=True).stderr
    assert "Verification: OK" in out, out
    if not shutil.which("php"):
        print("    no php here")
        return
    for host in ("127.0.0.1", "localhost.localdomain"):
        done = subprocess.run(["php"], input=PHP % (ca, host, node.port),
                              text=True, capture_output=True, check=True)
        assert done.stdout.startswith("TLSv1.") == (host == "127.0.0.1"), done


def test_handshakes_take_turns(_):
    """Each takes milliseconds with such a key.  A client that is in waits for a
    few, whatever comes at once."""
    with Node(REAL, users=USERS, start=False) as node:
        cert, key = node.directory + "/rsa.pem", node.directory + "/rsa.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:4096",
                        "-nodes", "-days", "9", "-subj", "/CN=rsa", "-keyout",
                        key, "-out", cert], check=True, capture_output=True)
        os.chmod(key, 0o600)
        node.settings += f"tls_cert = {cert}\ntls_key = {key}\n"
        node.write(USERS)
        node.start()

        def ahead(inside):
            """How many strangers get on before one that is in is answered, and
            the answer seen: on a busy machine, that takes a while."""
            strangers = [ByHand(node.tcp) for _ in range(40)]
            for s in strangers:
                s.wire.sock.sendall(s.request + s.outgoing.read())
            inside.query("SELECT 1")
            socks = [s.wire.sock for s in strangers]
            ready = select.select(socks, [], [], 0)[0]
            for sock in socks:  # but all of them get on
                assert sock.recv(2) == b"\x16\x03"
                sock.close()
            return len(ready)

        seen = []
        with Wire(node.socket).login() as inside:
            while not seen or seen[-1] >= 20 and len(seen) < 9:
                seen.append(ahead(inside))
        assert seen[-1] < 20, seen


def main(tests):
    for program in (FAKE, REAL):
        with Node(program, users=USERS) as node:
            run_tests({name: test for name, test in tests.items()
                       if program is FAKE or  # else: has nodes of its own
                       test.__code__.co_varnames[0] != "_"}, node,
                      label=os.path.basename(program) + " ")


main(named(globals(), sys.argv[1:]))
