"""A MySQL client on a raw socket: it can also do what no client should."""
import hashlib
import socket
import ssl
import struct

PROTOCOL_41, SSL, PLUGIN_AUTH = 0x200, 0x800, 0x80000
CONNECT_WITH_DB, DEPRECATE_EOF = 0x8, 0x1000000
PROGRESS = 0x20000000
DEFAULT = 0x0001 | 0x4 | PROTOCOL_41 | 0x2000 | 0x8000 | PLUGIN_AUTH | 0x200000
NATIVE, SHA2 = b"mysql_native_password", b"caching_sha2_password"


class Refused(Exception):
    """An ERR packet."""

    def __init__(self, payload):
        self.code = struct.unpack_from("<H", payload, 1)[0]
        rest = payload[3:]
        self.state = rest[1:6].decode() if rest[:1] == b"#" else None
        self.text = (rest[6:] if self.state else rest).decode("utf-8", "replace")
        super().__init__(f"{self.code} ({self.state}): {self.text}")


def xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b))


def answer_native(password, nonce):
    if not password:
        return b""
    once = hashlib.sha1(password).digest()
    twice = hashlib.sha1(once).digest()
    return xor(once, hashlib.sha1(nonce + twice).digest())


def answer_sha2(password, nonce):
    if not password:
        return b""
    once = hashlib.sha256(password).digest()
    twice = hashlib.sha256(once).digest()
    return xor(once, hashlib.sha256(twice + nonce).digest())


def lenenc(data, at):
    first = data[at]
    if first < 0xFB:
        return first, at + 1
    if first == 0xFB:
        return None, at + 1
    size = {0xFC: 2, 0xFD: 3, 0xFE: 8}[first]
    return int.from_bytes(data[at + 1:at + 1 + size], "little"), at + 1 + size


def text_at(data, at):
    size, at = lenenc(data, at)
    if size is None:
        return None, at
    return data[at:at + size], at + size


def type_of(definition):
    return definition[-6]


class Prepared:
    """The answer to COM_STMT_PREPARE."""

    def __init__(self, number):
        self.number = number


def text_value(text, kind=0xFD):
    data = text if isinstance(text, bytes) else text.encode()
    size = len(data)
    head = (bytes([size]) if size < 251 else b"\xfc" + struct.pack("<H", size)
            if size < 1 << 16 else b"\xfd" + struct.pack("<I", size)[:3])
    return kind, head + data


def temporal_at(data, at, kind):
    size = data[at]
    raw, at = data[at + 1:at + 1 + size], at + 1 + size
    assert size in ((0, 8, 12) if kind == 0x0B else (0, 4, 7, 11)), size
    if size == 0:
        return "", at
    if kind == 0x0B:
        sign, days, h, m, s = struct.unpack_from("<BIBBB", raw)
        text = f"{'-' if sign else ''}{days * 24 + h:02}:{m:02}:{s:02}"
    else:
        text = "%04d-%02d-%02d" % struct.unpack_from("<HBB", raw)
        if size > 4:
            text += " %02d:%02d:%02d" % struct.unpack_from("<BBB", raw, 4)
    if size in (11, 12):
        text += ".%06d" % struct.unpack("<I", raw[-4:])
    return text, at


def binary_row(p, definitions):
    """By the declared types, as a client reads it."""
    assert p[0] == 0
    bitmap = int.from_bytes(p[1:1 + (len(definitions) + 9) // 8], "little")
    at = 1 + (len(definitions) + 9) // 8
    row = []
    for i, d in enumerate(definitions):
        kind, unsigned = type_of(d), struct.unpack("<H", d[-5:-3])[0] & 0x20
        value = None
        if bitmap >> i + 2 & 1:
            pass
        elif kind in (1, 3, 8, 5):
            form = {1: "<b", 3: "<i", 8: "<q", 5: "<d"}[kind]
            form = form.upper() if unsigned else form
            value = struct.unpack_from(form, p, at)[0]
            at += struct.calcsize(form)
        elif kind in (7, 0x0A, 0x0B, 0x0C):
            value, at = temporal_at(p, at, kind)
        else:
            value, at = text_at(p, at)
        row.append(value)
    assert at == len(p), p
    return row


class Wire:
    def __init__(self, where, timeout=20, rcvbuf=None):
        family = socket.AF_UNIX if isinstance(where, str) else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.sock.settimeout(timeout)
        self.sock.connect(where)
        if family == socket.AF_INET:  # as clients do
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()
        self.sequence = 0
        self.flags = 0
        self.tls = False

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # Framing

    def exactly(self, size):
        while len(self.buffer) < size:
            more = self.sock.recv(1 << 18)
            if not more:
                raise EOFError("the server closed the connection")
            self.buffer += more
        out = bytes(self.buffer[:size])
        del self.buffer[:size]
        return out

    def receive(self):
        payload = b""
        while True:
            header = self.exactly(4)
            size = int.from_bytes(header[:3], "little")
            assert header[3] == self.sequence, (header[3], self.sequence)
            self.sequence = (self.sequence + 1) & 0xFF
            payload += self.exactly(size)
            if size < 0xFFFFFF and payload[:3] != b"\xff\xff\xff":
                return payload
            if size < 0xFFFFFF:
                assert self.progress is not None, "progress was not asked for"
                self.progress.append(payload[3:])
                payload = b""

    def frame(self, payload):
        out = b""
        while True:
            piece, payload = payload[:0xFFFFFF], payload[0xFFFFFF:]
            out += struct.pack("<I", len(piece))[:3] + bytes([self.sequence])
            out += piece
            self.sequence = (self.sequence + 1) & 0xFF
            if len(piece) < 0xFFFFFF:
                return out

    def send(self, payload):
        self.sock.sendall(self.frame(payload))

    def closed(self):
        """True once the server has closed, whatever came before."""
        try:
            while self.sock.recv(65536):
                pass
        except ConnectionResetError:
            pass
        except socket.timeout:
            return False
        return True

    # Login

    def greeting(self):
        g = self.receive()
        if g[0] == 0xFF:
            raise Refused(g)
        end = g.index(0, 1)
        self.protocol, self.version = g[0], g[1:end].decode()
        self.id = struct.unpack_from("<I", g, end + 1)[0]
        at = end + 5
        low, self.charset, self.status, high, size = struct.unpack_from(
            "<HBHHB", g, at + 9)
        self.server_flags = low | high << 16
        self.auth_size = size
        self.nonce = g[at + 8 - 8:at + 8] + g[at + 27:at + 39]
        self.tail = g[at + 17:at + 27], g[at + 39:]
        return self

    def ask_for_tls(self, flags=DEFAULT, short=False):
        """Sends an SSLRequest."""
        request = struct.pack("<IIB23x", flags | SSL, 1 << 24, 45)
        self.send(request[:4] if short else request)

    def start_tls(self, flags=DEFAULT, context=None):
        """After the greeting: all that follows goes through TLS."""
        self.ask_for_tls(flags)
        return self.wrap_tls(context)

    def wrap_tls(self, context=None):
        assert not self.buffer
        if context is None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        self.sock = context.wrap_socket(self.sock,
                                        server_hostname="localhost")
        self.tls = True
        return self

    def respond(self, user, answer=b"", plugin=NATIVE, database=b"",
                flags=DEFAULT, says_tls=True):
        if database:
            flags |= CONNECT_WITH_DB
        if self.tls and says_tls:
            flags |= SSL
        self.flags = flags & self.server_flags
        self.progress = [] if flags & PROGRESS else None
        out = struct.pack("<IIB23x", flags, 1 << 24, 45)
        out += user + b"\0" + bytes([len(answer)]) + answer
        if database:
            out += database + b"\0"
        if flags & PLUGIN_AUTH:
            out += plugin + b"\0"
        self.send(out)

    def switched(self, password):
        """Answers an AuthSwitchRequest, to the final OK."""
        p = self.receive()
        if p[0] == 0xFF:
            raise Refused(p)
        assert p[0] == 0xFE, p
        end = p.index(0, 1)
        assert p[1:end] == SHA2, p
        nonce = p[end + 1:]
        assert len(nonce) == 21 and nonce[20] == 0
        self.switch_nonce = nonce[:20]
        self.send(answer_sha2(password, nonce[:20]))
        if password:
            p = self.receive()
            if p[0] == 0xFF:
                raise Refused(p)
            assert p == b"\x01\x03", p
        return self.ok()

    def login(self, user=b"root", password=b"", plugin=NATIVE, tls=False,
              **more):
        self.greeting()
        if tls:
            self.start_tls(more.get("flags", DEFAULT))
        if plugin == NATIVE:
            self.respond(user, answer_native(password, self.nonce), **more)
            self.ok()
        else:
            self.respond(user, answer_sha2(password, self.nonce), plugin,
                         **more)
            self.switched(password)
        return self

    # Prepared statements

    def prepare(self, text):
        self.command(0x16, text if isinstance(text, bytes) else text.encode())
        return self.prepared()

    def prepared(self):
        p = self.receive()
        if p[0] == 0xFF:
            raise Refused(p)
        head, number, columns, parameters, zero, warnings = struct.unpack(
            "<BIHHBH", p)
        assert (head, zero, warnings) == (0, 0, 0)
        st = Prepared(number)
        st.parameters = self.definitions_of(parameters)
        st.columns = self.definitions_of(columns)
        return st

    def definitions_of(self, count):
        out = [self.receive() for _ in range(count)]
        if count and not self.flags & DEPRECATE_EOF:
            assert self.is_end(self.receive())
        return out

    def send_execute(self, st, values=(), cursor=0, bound=1):
        """Values are (type, bytes), None for NULL, LONG for long data."""
        body = struct.pack("<IBI", st.number, cursor, 1)
        if values:
            bits = sum(1 << i for i, v in enumerate(values) if v is None)
            body += bits.to_bytes((len(values) + 7) // 8, "little")
            body += bytes([bound])
            if bound:
                body += b"".join(struct.pack("<H", 6 if v is None else v[0])
                                 for v in values)
            body += b"".join(v[1] for v in values if v is not None)
        self.command(0x17, body)

    def execute(self, st, values=(), cursor=0, bound=1):
        """The rows; of a cursor none."""
        self.send_execute(st, values, cursor, bound)
        return self.binary_result(cursor)

    def binary_result(self, cursor=0):
        self.names = self.columns()
        if self.names is None:
            return []
        if cursor:
            if self.flags & DEPRECATE_EOF:
                assert self.is_end(self.receive())
            return []
        return self.binary_rows()

    def binary_rows(self, definitions=None):
        rows = []
        while True:
            p = self.receive()
            if p[0] == 0xFF:
                raise Refused(p)
            if self.is_end(p):
                return rows
            rows.append(binary_row(p, definitions or self.definitions))

    def fetch(self, st, count):
        self.command(0x1C, struct.pack("<II", st.number, count))
        return self.binary_rows(st.columns)

    def send_long(self, st, parameter, data):
        self.command(0x18, struct.pack("<IH", st.number, parameter) + data)

    def close_statement(self, st):
        self.command(0x19, struct.pack("<I", st.number))

    def reset_statement(self, st):
        self.command(0x1A, struct.pack("<I", st.number))
        return self.ok()

    # Commands

    def command(self, number, body=b""):
        self.sequence = 0
        self.send(bytes([number]) + body)

    def ok(self):
        p = self.receive()
        if p[0] == 0xFF:
            raise Refused(p)
        assert p[0] == 0, p
        self.affected, at = lenenc(p, 1)
        _, at = lenenc(p, at)
        self.status, self.warnings = struct.unpack_from("<HH", p, at)
        self.info = text_at(p, at + 4)[0] if at + 4 < len(p) else b""
        return self

    def is_end(self, p):
        if p[0] != 0xFE or len(p) >= 9:
            return False
        if self.flags & DEPRECATE_EOF:
            assert p[1:3] == b"\0\0" and len(p) == 7, p
            self.status = struct.unpack_from("<H", p, 3)[0]
        else:
            assert len(p) == 5, p
            self.status = struct.unpack_from("<H", p, 3)[0]
        return True

    def columns(self):
        """The columns' names, or None after an OK."""
        p = self.receive()
        if p[0] == 0xFF:
            raise Refused(p)
        if p[0] == 0:
            return None
        self.definitions = [self.receive() for _ in range(lenenc(p, 0)[0])]
        if not self.flags & DEPRECATE_EOF:
            assert self.is_end(self.receive())
        names = []
        for d in self.definitions:
            at = 0
            for _ in range(5):
                name, at = text_at(d, at)
            names.append(name.decode())
        return names

    def row(self, width):
        """The next row, or None at the end."""
        p = self.receive()
        if p[0] == 0xFF:
            raise Refused(p)
        if self.is_end(p):
            return None
        out, at = [], 0
        for _ in range(width):
            value, at = text_at(p, at)
            out.append(value)
        assert at == len(p)
        return out

    def result(self):
        self.names = self.columns()
        if self.names is None:
            return []
        rows = []
        while True:
            row = self.row(len(self.names))
            if row is None:
                return rows
            rows.append(row)

    def query(self, text):
        self.command(3, text if isinstance(text, bytes) else text.encode())
        return self.result()

    def ping(self):
        self.command(14)
        return self.ok()
