"""A relay in front of a node: passes on the login, and then meddles."""
import select
import socket
import ssl
import struct
import threading
import time

from node_under_test import wait_for


def frame(number, payload):
    return struct.pack("<I", len(payload))[:3] + bytes([number]) + payload


def frames(payload, count, number):
    """So many packets, a multiple of 256 so that more of them may follow."""
    return b"".join(frame((number + i) % 256, payload) for i in range(count))


def column(name=b"\x01r\x01r"):
    return b"\x03def\0\0\0" + name + b"\x0c\x2d\0\xff\xff\xff\xff\xfd\0\0\0\0\0"


END = b"\xfe\0\0\x02\0"
HEAD = (frame(1, b"\x01") + frame(2, column()) + frame(3, END))
TWO = (frame(1, b"\x02") + frame(2, column()) + frame(3, column()) +
       frame(4, END) + frame(5, b"\x01a\x01b") + frame(6, END))


def error(number, text):
    return frame(1, b"\xff" + struct.pack("<H", number) + b"#HY000" + text)


# What is sent in place of an answer, and whether the line is closed then.
ANSWERS = {
    "garbage": (b"\xde\xad\xbe\xef" * 64, True),
    "hangup": (b"", True),
    "half": (HEAD + frame(4, b"\x05hello") + b"\x10\0\0\x05abc", True),
    "two": (TWO, False),
    "ok": (frame(1, b"\0\0\0\x02\0\0\0"), False),
    "infile": (frame(1, b"\xfb/etc/passwd"), False),
    "more": (HEAD + frame(4, b"\x05hello") + frame(5, b"\xfe\0\0\x0a\0"), False),
    "lost": (error(2013, b"Lost connection, says the node"), False),
    "control": (error(1105, b"a\x1b[31mb"), False),
    "long": (error(1105, b"x" * 60000), False),
    "liar": (HEAD + frame(4, b"\xfd\xff\xff\xffhello"), False),
    "huge": (HEAD + b"\xff\xff\xff\x04" + b"y" * 1000, False),
    "jumbo": (frame(1, b"\xfe" + b"\xff" * 8), True),
    "null": (HEAD + frame(4, b"\xfb") + frame(5, b"\0") +
             frame(6, b"\x03end") + frame(7, END), False),
}


class Meddler:
    def __init__(self, port=0, address="127.0.0.1"):
        self.mode, self.target = "relay", None
        self.certificate = None  # to show: its file, its key's
        self.heard = b""         # by it, from the asking node
        self.connections, self.clients = 0, []
        self.stripped = 0  # logins that went through
        self.drips = 0  # statements whose answers it gives by the byte
        self.listener = socket.create_server((address, port), backlog=64)
        # Little, so that a sender to a deaf one has to wait soon
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            self.connections += 1
            self.clients.append(client)
            threading.Thread(target=self.guarded, args=(client,),
                             daemon=True).start()

    def cut(self):
        for client in self.clients:
            try:
                client.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def guarded(self, client):
        try:
            with client:
                self.serve(client)
        except OSError:
            pass

    def serve(self, client):
        early = getattr(self, "early_" + self.mode, None)
        if early:
            early(client)
            return
        with socket.create_connection(self.target) as node:
            self.relay(client, node)

    def relay(self, client, node):
        """Until a statement comes, and the mode has something to say to it."""
        asked = 0
        while True:
            for s in select.select([client, node], [], [])[0]:
                wait_for(lambda: self.mode != "deaf", 600)
                data = s.recv(1 << 16)
                if not data:
                    return
                if s is node:
                    self.pass_on(client, data)
                    continue
                if b"ADMIN FORWARD" not in data:
                    node.sendall(data)
                    continue
                asked += 1
                if self.mode == "drip":
                    self.drips += 1
                    node.sendall(data)
                    self.drip(client, node)
                elif self.mode == "once" and asked > 1:
                    return
                elif self.mode in ANSWERS:
                    answer, closes = ANSWERS[self.mode]
                    client.sendall(answer)
                    if closes:
                        return
                elif hasattr(self, "late_" + self.mode):
                    getattr(self, "late_" + self.mode)(client)
                else:
                    node.sendall(data)

    def pass_on(self, client, data):
        """As it comes, or in bits, which end in the middle of records."""
        size = 500 if self.mode == "bits" else len(data)
        for at in range(0, len(data), size):
            client.sendall(data[at:at + size])
            time.sleep(0.02 if size < len(data) else 0)  # each is read alone

    def drip(self, client, node):
        while True:
            data = node.recv(1 << 16)
            if not data:
                return
            for i in range(len(data)):
                client.sendall(data[i:i + 1])
                time.sleep(1)  # no deadline is put off by that

    def packet(self, s):
        """Its payload and its number."""
        def exactly(size):
            data = b""
            while len(data) < size:
                more = s.recv(size - len(data))
                if not more:
                    raise OSError("it hung up")
                data += more
            return data
        head = exactly(4)
        return head[3], exactly(int.from_bytes(head[:3], "little"))

    # Before the login
    def early_silent(self, client):
        client.recv(1)

    def early_slow(self, client):
        with socket.create_connection(self.target) as node:
            for byte in node.recv(1 << 16):
                client.sendall(bytes([byte]))
                time.sleep(1)  # as in drip

    def early_handshake(self, client):
        """Greets, and then is silent, in the middle of TLS's handshake."""
        with socket.create_connection(self.target) as node:
            client.sendall(node.recv(1 << 16))
            client.recv(1)
            time.sleep(5)  # longer than the login may take

    def early_between(self, client):
        """Ends TLS here, with a certificate of its own, and lets all pass."""
        here = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        here.load_cert_chain(*self.certificate)
        there = ssl.create_default_context()
        there.check_hostname = False
        there.verify_mode = ssl.CERT_NONE
        with socket.create_connection(self.target) as node:
            client.sendall(node.recv(1 << 16))
            node.sendall(client.recv(36))  # TLS is wanted
            with here.wrap_socket(client, server_side=True) as client, \
                    there.wrap_socket(node) as node:
                threading.Thread(target=self.carry, args=(node, client),
                                 daemon=True).start()
                self.carry(client, node, True)

    def carry(self, source, target, is_heard=False):
        try:
            while data := source.recv(1 << 16):
                if is_heard:
                    self.heard += data
                target.sendall(data)
        except OSError:
            pass

    def early_noise(self, client):
        client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        client.recv(1)

    def early_giant(self, client):
        client.sendall(b"\xff\xff\xff\0" + b"\x0a" * (1 << 20))
        client.recv(1)

    def early_open(self, client):
        """Accepts every login, and proves nothing."""
        client.sendall(frame(0, b"\x0a8.0\0" + b"\x01\0\0\0" + b"saltsalt\0" +
                             b"\xff\xf7\x21\x02\0\xff\xc1\x15" + b"\0" * 10 +
                             b"saltsaltsalt\0heapwire_peer\0"))
        client.recv(1 << 16)
        client.sendall(frame(2, b"\0\0\0\x02\0\0\0"))
        time.sleep(0.2)  # what it says next is read in one
        client.recv(1 << 16)

    def early_strip(self, client):
        """Speaks TLS with the node, and plain text with its own clients."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(self.target) as bare:
            _, greeting = self.packet(bare)
            client.sendall(frame(0, greeting))
            _, response = self.packet(client)
            flags = struct.unpack("<I", response[:4])[0] | 0x800  # SSL
            start = struct.pack("<I", flags) + response[4:32]
            bare.sendall(frame(1, start))
            with context.wrap_socket(bare) as node:
                node.sendall(frame(2, start + response[32:]))
                for _ in range(2):  # challenge and hello, welcome and OK
                    number, payload = self.packet(node)
                    client.sendall(frame(number - 1, payload))
                    if payload[0] == 1:
                        number, payload = self.packet(node)
                        client.sendall(frame(number - 1, payload))
                        break
                    number, payload = self.packet(client)
                    node.sendall(frame(number + 1, payload))
                self.stripped += 1
                self.relay(client, node)

    def start_tls(self, client, version=ssl.TLSVersion.TLSv1_3):
        """As the node, whose certificate it has."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.maximum_version = version
        context.load_cert_chain(*self.certificate)
        with socket.create_connection(self.target) as node:
            client.sendall(node.recv(1 << 16))
        _, request = self.packet(client)
        assert len(request) == 32  # for TLS
        return context.wrap_socket(client, server_side=True)

    def early_old(self, client):
        """Knows no newer TLS, whose keys a stranger could choose."""
        with self.start_tls(client, ssl.TLSVersion.TLSv1_2) as c:
            c.recv(1)
            time.sleep(5)  # longer than the login may take

    def early_flood(self, client):
        """Says by TLS how far it is with the login, without end."""
        said = b"\xff\xff\xff\x01\x01\x01\0\0\0\x01x"
        with self.start_tls(client) as c:
            self.packet(c)
            number = 3
            many = frames(said, 256 * 64, number)
            while True:
                c.sendall(many)

    # Instead of an answer
    def late_mute(self, client):
        client.recv(1)

    def late_endless(self, client):
        rows = frames(b"\xfc\xe8\x03" + b"z" * 1000, 256, 4)
        client.sendall(HEAD)
        while True:
            client.sendall(rows)

    def late_wide(self, client):
        """A row of 15 MB, the last byte of which takes its time."""
        size = 15 << 20
        row = frame(4, b"\xfd" + struct.pack("<I", size - 4)[:3] +
                    b"w" * (size - 4))
        client.sendall(HEAD + row[:-1])
        time.sleep(2)
        client.sendall(row[-1:] + frame(5, END))

    def late_void(self, client):
        """Rows without end, of nothing."""
        client.sendall(HEAD)
        rows = frames(b"\xfb", 256 * 40, 4)
        while True:
            client.sendall(rows)

    def late_lively(self, client):
        """Signs of life without end, and no answer."""
        signs = frames(b"\xff\xff\xff\x01\x01\x01\0\0\0\x09executing",
                       256 * 40, 1)
        while True:
            client.sendall(signs)

    def late_columns(self, client):
        client.sendall(frame(1, b"\x01"))
        many = frames(column(), 1024, 2)
        while True:
            client.sendall(many)
