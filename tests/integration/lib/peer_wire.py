"""A node's end of a link, by hand: it can also do what no node should."""
import hashlib
import hmac
import os
import struct

from mysql_wire import Refused, Wire

PLUGIN = b"heapwire_peer"
SECRET, CLUSTER = b"a-secret-for-the-tests-of-nodes", b"blue"
STATUS, PROFILE, CONTROL, CLUSTERED, ADMIN, ALL = 1, 2, 4, 8, 16, 31
SCRIPT, SELECT = 0, 1


def make_key(secret=SECRET, cluster=CLUSTER):
    return hashlib.pbkdf2_hmac("sha256", secret,
                               b"heapwire cluster\0" + cluster, 20000)


KEY = make_key()


def mac(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def prove(key, end, said):
    return mac(key, (b"heapwire peer " + end).ljust(24, b"\0") + said)


class Peer(Wire):
    """Logs in as a node; arguments replace what it sends."""

    def __init__(self, where, key=KEY, own=10002, wanted=10001, **more):
        super().__init__(where, **more)
        self.key, self.own, self.wanted = key, own, wanted
        self.incarnation = os.urandom(16)
        self.sequence_number = 0

    def begin(self, tls=False):
        """To the challenge."""
        self.greeting()
        if tls:
            self.start_tls()
        self.respond(b"", b"", PLUGIN)
        p = self.receive()
        if p[0] == 0xFF:
            raise Refused(p)
        head = b"\xfe" + PLUGIN + b"\0"
        assert p.startswith(head), p
        self.challenge = p[len(head):]
        version, _, self.server_id, self.server_incarnation = struct.unpack(
            "<B32sQ16s", self.challenge)
        assert version == 1
        return self

    def hello(self, version=1):
        body = struct.pack("<B32sQQ16s", version, os.urandom(32), self.own,
                           self.wanted, self.incarnation)
        return body + prove(self.key, b"client", self.challenge + body)

    def finish(self, hello=None):
        """From the hello to the OK."""
        hello = self.hello() if hello is None else hello
        self.send(hello)
        p = self.receive()
        if p[0] == 0xFF:
            raise Refused(p)
        assert p[0] == 1, p
        said, welcome = self.challenge + hello, p[1:]
        assert welcome[-32:] == prove(self.key, b"server",
                                      said + welcome[:-32])
        assert welcome[0] == 1
        at = 2 + 20 * welcome[1]
        self.fingerprint = welcome[2:at]
        assert len(welcome) == at + 1 + welcome[at] + 32
        self.server_version = welcome[at + 1:at + 1 + welcome[at]]
        self.session_key = prove(self.key, b"session", said + welcome)
        return self.ok()

    def enter(self, tls=False):
        self.begin(tls)
        self.finish()
        return self

    # Envelopes

    def envelope(self, text, verb=SCRIPT, privileges=ALL, number=None,
                 milliseconds=10000, user=b"ann", host=b"10.1.2.3",
                 connection=77, key=None):
        if number is None:
            self.sequence_number += 1
            number = self.sequence_number
        text = text.encode() if isinstance(text, str) else text
        body = struct.pack("<BQBI", 1, number, verb, milliseconds)
        body += bytes([len(user)]) + user + bytes([len(host)]) + host
        body += struct.pack("<III", privileges, connection, len(text)) + text
        return body + mac(key or self.session_key, body)

    def forward(self, envelope):
        return self.query(b"ADMIN FORWARD '" + envelope.hex().encode() + b"'")

    def ask(self, text, verb=SCRIPT, **more):
        return self.forward(self.envelope(text, verb, **more))
