"""No secret is in heapwired's memory; all are in its keeper's.

The planted reader sees whatever an SQL function could that reads any byte: all
readable memory of heapwired, after every kind of login and a reload.  That it
finds each secret in the keeper shows that it can.  Arguments name single
tests.
"""
import base64
import contextlib
import hashlib
import os
import pwd
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import time

from mysql_wire import SHA2, Refused, Wire
from node_under_test import PASSWD, REAL, SANITIZED, Node, freeze, wait_for
from peer_wire import SECRET, Peer, make_key
from redis_node import has_ended
from runner import named, run_tests

USERS = (("ann", b"secret of ann", "status, profile, control, cluster, admin"),
         ("bob", b"secret of bob", "status"))
ANN = b"ann", USERS[0][1]
CLUSTER = "[cluster]\nname = blue\n"
PIECE = 16 << 20


# The reader

def memory_of(pid):
    """All that is readable, in pieces that overlap."""
    with open(f"/proc/{pid}/maps", encoding="ascii") as f:
        maps = [line.split() for line in f]
    with open(f"/proc/{pid}/mem", "rb", 0) as mem:
        for where, rights, *_ in maps:
            start, end = (int(x, 16) for x in where.split("-"))
            if "r" not in rights or start >= 1 << 63:
                continue
            if SANITIZED and end - start > 1 << 30:
                continue  # a sanitizer's own, of terabytes
            for at in range(start, end, PIECE):
                try:
                    mem.seek(at)
                    yield mem.read(min(PIECE + 4096, end - at))
                except OSError:
                    pass  # the kernel's own, or a file that ends before


def found_in(pid, needles):
    """The names of those that are there."""
    found = set()
    for piece in memory_of(pid):
        found.update(name for name, needle in needles.items()
                     if needle in piece)
    return found


def leave(node, needles, *what):
    """Heapwired has none of them: soon, for it may be at its answer still."""
    found = set()

    def are_gone():
        nonlocal found
        found = found_in(node.process.pid, needles)
        return not found

    with contextlib.suppress(AssertionError):
        wait_for(are_gone, 30, 0.2)
    assert not found, (sorted(found), *what)


def in_forms(name, secret):
    return {f"{name}, bytes": secret, f"{name}, hex": secret.hex().encode(),
            f"{name}, HEX": secret.hex().upper().encode()}


def numbers_of(key):
    """The private numbers of a key, as OpenSSL prints them."""
    text = subprocess.run(["openssl", "pkey", "-in", key, "-noout", "-text"],
                          check=True, capture_output=True).stdout.decode()
    for name, digits in re.findall(
            r"^(priv|privateExponent|prime1|prime2|exponent1|exponent2|"
            r"coefficient):\n((?: +[0-9a-f:]+\n)+)", text, re.M):
        number = bytes.fromhex(re.sub(r"[\s:]", "", digits)).lstrip(b"\0")
        assert len(number) > 28, (name, digits)
        yield name, number


def of_key(name, path):
    """As a number, in either order of its bytes, and as its file has it."""
    out = {}
    for part, number in numbers_of(path):
        out[f"{name}, {part}"] = number
        out[f"{name}, {part} in limbs"] = number[::-1]
    with open(path, "rb") as f:
        lines = f.read().splitlines()[1:-1]
    out[f"{name}, PEM"] = lines[(len(lines) - 1) // 2][:60]  # all private
    return out


def of_users():
    out = {}
    for name, password, _ in USERS:
        sha1 = hashlib.sha1(hashlib.sha1(password).digest()).digest()
        sha256 = hashlib.sha256(hashlib.sha256(password).digest()).digest()
        out |= in_forms(f"{name}'s SHA-1", sha1)
        out |= in_forms(f"{name}'s SHA-256", sha256)
    return out


def of_cluster(secret):
    return {"cluster's secret": secret,
            **in_forms("cluster's key", make_key(secret))}


# The node

def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(x) for x in f.read().split()]


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as f:
        return f.read().strip()


def keeper_of(node):
    return next((pid for pid in children(node.process.pid)
                 if name_of(pid) == "heapwire-keeper"), 0)


def make_key_file(node, name, *kind):
    cert, key = f"{node.directory}/{name}.pem", f"{node.directory}/{name}.key"
    subprocess.run(["openssl", "req", "-x509", *kind, "-nodes", "-days", "90",
                    "-subj", f"/CN={name}", "-keyout", key, "-out", cert],
                   check=True, capture_output=True)
    os.chmod(key, 0o600)
    return cert, key


RSA = ("-newkey", "rsa:2048")
P384 = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384")
ED25519 = ("-newkey", "ed25519")


def only_sha2(node, user):
    with open(node.config, "r+", encoding="ascii") as f:
        text = re.sub(rf"(\[user {user}\]\nauth = )native\+sha2 [0-9a-f]+ ",
                      r"\1sha2 ", f.read())
        f.seek(0)
        f.truncate()
        f.write(text)


def write(node, settings, cluster):
    node.settings = ("[node]\nlisten = 127.0.0.1:0\nlogin_failures = 0\n"
                     f"{settings}{CLUSTER}{cluster}")
    node.write(USERS)
    only_sha2(node, "bob")


def reload(node):
    before = node.log().count("read the configuration again")
    node.signal(signal.SIGHUP)
    wait_for(lambda: node.log().count("read the configuration again") > before)


def refused(call, *args, **more):
    try:
        call(*args, **more)
    except Refused as err:
        return err.code
    raise AssertionError("an error was expected")


def use_all(node, secret, tls=True):
    """Every kind of login, right and wrong, and links both ways."""
    for secure in {False, tls}:
        for plugin in b"mysql_native_password", SHA2:
            with Wire(node.tcp).login(b"ann", USERS[0][1], plugin,
                                      tls=secure) as w:
                w.query("SELECT * FROM heapwire.users")
                w.query("SELECT name, value FROM heapwire.settings")
        with Wire(node.tcp).login(b"bob", USERS[1][1], SHA2, tls=secure) as w:
            w.ping()
        for user in b"ann", b"nobody":
            assert refused(Wire(node.tcp).login, user, b"wrong", SHA2,
                           tls=secure) == 1045
        with Peer(node.tcp, key=make_key(secret)).enter(secure) as p:
            p.ask("System.print(1)")
        assert refused(Peer(node.tcp, key=make_key(b"another-secret!!")).enter,
                       secure) == 1045
    with Wire(node.socket).login() as w:
        w.query("ADMIN EXECUTE ON 10001 'System.print(1)'")


def check_memory(node, needles, expected):
    """expected: the beginnings of what the keeper must have."""
    found = found_in(node.process.pid, needles)
    assert not found, f"heapwired has {sorted(found)}"
    if os.geteuid() != 0:
        return
    kept = found_in(keeper_of(node), needles)
    for name in expected:
        assert any(k.startswith(name) for k in kept), (name, sorted(kept))


KEPT = ("ann's SHA-1", "ann's SHA-256", "bob's SHA-256", "cluster's secret",
        "cluster's key")


# Tests

def test_own_certificate():
    with Node(REAL, start=False) as node:
        write(node, "", f"secret = {SECRET.decode()}\n")
        node.start()
        needles = of_users() | of_cluster(SECRET) | of_key(
            "own key", node.state + "/server-key.pem")
        use_all(node, SECRET)
        reload(node)
        use_all(node, SECRET)
        check_memory(node, needles, KEPT + ("own key",))


def test_files_and_other_secrets_by_a_reload():
    other = b"another-secret-of-the-same-cluster"
    with Node(REAL, start=False) as node:
        rsa, curve = make_key_file(node, "rsa", *RSA), make_key_file(
            node, "curve", *P384)
        path = node.directory + "/secret"
        with open(path, "wb") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write(SECRET + b"\n")
        settings = "tls_cert = {}\ntls_key = {}\n"
        write(node, settings.format(*rsa), f"secret_file = {path}\n")
        node.start()
        use_all(node, SECRET)
        needles = of_users() | of_cluster(SECRET) | of_key("RSA", rsa[1])
        check_memory(node, needles, KEPT + ("RSA",))
        with open(path, "wb") as f:
            f.write(other + b"\n")
        write(node, settings.format(*curve), f"secret_file = {path}\n")
        reload(node)
        use_all(node, other)
        needles |= of_cluster(other) | of_key("P-384", curve[1])
        check_memory(node, needles, KEPT + ("P-384",))


def say_in_clear(node, password, how, tls, user=b"ann"):
    """As clients do that are told to, or that a stranger fooled: in place of a
    proof comes the password."""
    w = Wire(node.tcp).greeting()
    if tls:
        w.start_tls()
    try:
        if how == "at once":
            w.respond(user, password + b"\0", b"mysql_clear_password")
        elif how == "sha2 at once":
            w.respond(user, password + b"\0", SHA2)
        else:
            w.respond(user, b"", SHA2)
            w.receive()
            if how == "key":
                w.send(b"\x02")
            elif how == "long":
                w.send(password * 100)
            elif how == "half":
                w.sock.sendall(w.frame(password + bytes(40))[:-40])
            else:
                w.send(password + b"\0")
        if how != "half":
            assert w.receive()[0] in (0xFE, 0xFF)
        if how == "at once":  # and once more
            w.send(password + b"\0")
    except (EOFError, OSError):
        pass
    w.close()


def change_user_in_clear(node, password):
    """Within a session, and in its statements' place."""
    with Wire(node.tcp).login(b"ann", ANN[1], SHA2, tls=True) as w:
        w.command(0x11, b"ann\0" + bytes([len(password) + 1]) + password +
                  b"\0\0\x2d\0mysql_clear_password\0")
        assert w.receive()[0] in (0xFE, 0xFF)
        w.send(password + b"\0")


def test_passwords_in_clear():
    """Nobody asks for them, and yet they come."""
    with Node(REAL, users=USERS, settings="login_failures = 0\n") as node:
        for how in ("at once", "sha2 at once", "switched", "key", "long",
                    "half", "change"):
            for tls in False, True:
                for password in base64.b32encode(os.urandom(20)), ANN[1]:
                    if how == "change":
                        change_user_in_clear(node, password)
                    else:
                        say_in_clear(node, password, how, tls)
                    leave(node, {"password": password[4:]}, how, tls)


def ask(node, authorization, tls=False, body=b"", more=0, piece=1 << 20):
    """The status that HTTP answers; more: bytes of the body that never come."""
    with socket.create_connection(("127.0.0.1", node.http_port), 20) as plain:
        s = plain
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            s = context.wrap_socket(plain)
        data = (b"POST /sql HTTP/1.1\r\nHost: localhost\r\nX-Heapwire: 1\r\n"
                b"Authorization: %s\r\nContent-Length: %d\r\n\r\n%s" %
                (authorization, len(body) + more, body))
        for at in range(0, len(data), piece):
            s.sendall(data[at:at + piece])
        return int(s.recv(65536).split()[1])


def test_http():
    """What its clients send is the secret itself."""
    with Node(REAL, users=USERS, settings="http = 127.0.0.1:0\n"
              "login_failures = 0\n") as node:
        token = subprocess.run([PASSWD, node.config, "tool", "--token"],
                               check=True, capture_output=True).stdout.strip()
        reload(node)
        text = base64.b64encode(b"ann:" + ANN[1])
        wrong = b"what nobody has for a password"
        needles = {"password": ANN[1], "Basic": text[4:], "wrong": wrong[1:],
                   "token": token.rpartition(b".")[2]}
        for proof, more, status in (
                (b"Basic " + text, {"body": b"SELECT 1"}, 200),
                (b"Bearer " + token, {"body": b"SELECT 1"}, 200),
                (b"Basic " + text, {"body": b" " * 100000}, 400),
                (b"Bearer x." + wrong, {}, 401),
                (b"Bearer x." + wrong, {"more": 100000}, 401),
                (b"Bearer \1" + wrong, {}, 400)):
            for tls in False, True:
                for piece in 1 << 20, 50:
                    said = ask(node, proof, tls=tls, piece=piece, **more)
                    assert said == status, (said, status)
                    leave(node, needles, proof, len(str(more)), tls, piece)


def handshake(node, *how):
    """The kind of signature that it was made with."""
    done = subprocess.run(
        ["openssl", "s_client", "-starttls", "mysql", "-connect",
         "%s:%d" % node.tcp, *how], stdin=subprocess.DEVNULL,
        capture_output=True, check=False)
    kind = re.search(rb"^Peer signature type: (\S+)", done.stdout, re.M)
    return kind.group(1).decode() if kind else done.stderr.decode()


def test_every_signature_of_tls():
    with Node(start=False) as node:
        for kind, how in (
                (RSA, (("RSA-PSS", "-tls1_3"),
                       ("RSA-PSS", "-tls1_2", "-sigalgs", "RSA-PSS+SHA512"),
                       ("RSA", "-tls1_2", "-sigalgs", "RSA+SHA256"),
                       ("RSA", "-tls1_2", "-sigalgs", "RSA+SHA512"))),
                (P384, (("ECDSA", "-tls1_3"), ("ECDSA", "-tls1_2")))):
            pair = make_key_file(node, "pair", *kind)
            write(node, "tls_cert = {}\ntls_key = {}\n".format(*pair), "")
            if node.process:
                reload(node)
            else:
                node.start()
            for signature, *options in how:
                assert handshake(node, *options) == signature, options


def test_a_key_of_another_kind_is_refused():
    with Node(start=False) as node:
        pair = make_key_file(node, "pair", *ED25519)
        write(node, "tls_cert = {}\ntls_key = {}\n".format(*pair), "")
        for more in [], ["--check"]:
            done = subprocess.run(node.command() + more, capture_output=True,
                                  check=False)
            assert done.returncode == 78, done
            assert b"must be of RSA" in done.stderr, done


def test_the_keeper_is_closed_to_others():
    with Node(REAL, users=USERS) as node:
        keeper = keeper_of(node)
        assert len(os.listdir(f"/proc/{keeper}/fd")) == 4
        with open(f"/proc/{keeper}/limits", encoding="ascii") as f:
            assert re.search(r"^Max core file size +0 +0 ", f.read(), re.M)
        with open(f"/proc/{keeper}/status", encoding="ascii") as f:
            print("    its own memory:", re.search(r"^RssAnon:\s+(.*)", f.read(),
                                                   re.M).group(1))
        for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
            os.kill(keeper, number)
        with Wire(node.tcp).login(*ANN) as w:
            w.ping()
        assert keeper_of(node) == keeper
        node.process.kill()
        node.process.wait()
        wait_for(lambda: has_ended(keeper))
        node.start()
        wait_for(lambda: node.log().count("serves node") == 2)


def test_the_keeper_leaves_root_as_well():
    if os.geteuid() != 0:
        print("skipped: needs root")
        return
    nobody = pwd.getpwnam("nobody")
    with Node(REAL, users=USERS, start=False,
              settings="user = nobody\n") as node:
        os.chmod(node.directory, 0o755)
        node.start()
        os.chown(node.config, nobody.pw_uid, -1)
        keeper = keeper_of(node)
        with open(f"/proc/{keeper}/status", encoding="ascii") as f:
            status = f.read()
        uid = nobody.pw_uid
        assert re.search(rf"^Uid:\t{uid}\t{uid}\t{uid}\t{uid}$", status, re.M)
        assert re.search(r"^Groups:\s*$", status, re.M), status
        # What cannot be dumped is root's: else any process of its user could
        # read it.
        assert os.stat(f"/proc/{keeper}/mem").st_uid == 0
        with Wire(node.tcp).login(*ANN) as w:
            w.ping()
        reload(node)
        assert "stays as it was" not in node.log()


def test_a_file_serves_before_and_after_root_is_left():
    """Of root, with the group of the user that heapwired becomes; also once
    heapwire-passwd has changed it."""
    if os.geteuid() != 0:
        print("skipped: needs root")
        return
    group = pwd.getpwnam("nobody").pw_gid
    with Node(REAL, users=USERS, start=False,
              settings="user = nobody\n") as node:
        os.chmod(node.directory, 0o755)
        os.chown(node.config, 0, group)
        os.chmod(node.config, 0o640)
        node.start()
        assert "cannot be read any more" not in node.log()
        node.passwd("late", b"come", "status")
        st = os.stat(node.config)
        assert (st.st_uid, st.st_gid, st.st_mode & 0o7777) == (0, group, 0o640)
        reload(node)
        with Wire(node.tcp).login(b"late", b"come") as w:
            w.ping()
        os.kill(keeper_of(node), signal.SIGKILL)
        wait_for(lambda: node.log().count("read the configuration again") == 2)
        with Wire(node.tcp).login(*ANN) as w:
            w.ping()
        # And the log says at once what the reload would meet.
        assert node.stop() == 0
        os.chown(node.config, 0, 0)
        os.chmod(node.config, 0o600)
        node.start()
        wait_for(lambda: node.log().count("serves node") == 2)
        assert ("cannot be read any more: Permission denied: SIGHUP changes "
                "nothing") in node.log()
        assert f"(chown root:{group}, chmod 640" in node.log()
        node.signal(signal.SIGHUP)
        wait_for(lambda: "stays as it was" in node.log())
        assert f"must be able to read it: chown root:{group}" in node.log()


def test_another_keeper_takes_the_place_of_one_that_ends():
    with Node(REAL, start=False) as node:
        write(node, "", f"secret = {SECRET.decode()}\n")
        node.start()
        with Wire(node.tcp).login(*ANN) as held:
            use_all(node, SECRET)
            before = node.descriptors()
            for times in 1, 2:
                first = keeper_of(node)
                os.kill(first, signal.SIGKILL)
                wait_for(lambda: node.log().count(
                    "read the configuration again") == times)
                assert keeper_of(node) not in (0, first)
                use_all(node, SECRET)
                held.ping()
        needles = of_users() | of_cluster(SECRET) | of_key(
            "own key", node.state + "/server-key.pem")
        check_memory(node, needles, KEPT + ("own key",))
        wait_for(lambda: node.descriptors() <= before)


def test_a_keeper_that_does_not_answer_is_replaced():
    with Node(REAL, users=USERS) as node:
        first = keeper_of(node)
        freeze(first)
        began = time.monotonic()
        assert refused(Wire(node.tcp).login, *ANN) == 1105
        assert time.monotonic() - began < 15  # it never will
        wait_for(lambda: "read the configuration again" in node.log())
        assert not os.path.exists(f"/proc/{first}")
        with Wire(node.tcp).login(*ANN) as w:
            w.ping()


def test_without_a_configuration_a_new_keeper_lets_nobody_in():
    with Node(REAL, users=USERS) as node:
        os.rename(node.config, node.config + ".away")
        os.kill(keeper_of(node), signal.SIGKILL)
        wait_for(lambda: "configuration stays as it was" in node.log())
        assert refused(Wire(node.tcp).login, *ANN) == 1105
        with Wire(node.socket).login() as w:  # but root may come by its own
            w.ping()
        keeper = keeper_of(node)
        os.rename(node.config + ".away", node.config)
        wait_for(lambda: "read the configuration again" in node.log())
        assert keeper_of(node) == keeper  # it tries by itself
        with Wire(node.tcp).login(*ANN, tls=True) as w:
            w.ping()


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    run_tests(named(globals(), sys.argv[1:]))
