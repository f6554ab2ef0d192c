"""A client of TLS that says what no program says, by OpenSSL itself: Python's
ssl asks for no new keys."""
import ctypes
import ctypes.util
import socket

TLS12, TLS13 = 0x0303, 0x0304
SET_MIN, SET_MAX = 123, 124
MORE_KEYS = 1  # and asks for the server's

pointer = ctypes.c_void_p
library = ctypes.CDLL(ctypes.util.find_library("ssl"))
for name in ("TLS_client_method", "BIO_s_mem"):
    getattr(library, name).restype = pointer
for name in ("SSL_CTX_new", "SSL_new", "BIO_new"):
    getattr(library, name).restype = pointer
    getattr(library, name).argtypes = [pointer]
for name in ("SSL_do_handshake", "SSL_renegotiate", "SSL_free", "SSL_CTX_free",
             "SSL_set_connect_state"):
    getattr(library, name).argtypes = [pointer]
library.SSL_CTX_ctrl.argtypes = [pointer, ctypes.c_int, ctypes.c_long, pointer]
library.SSL_set_bio.argtypes = [pointer, pointer, pointer]
library.SSL_key_update.argtypes = [pointer, ctypes.c_int]
for name in ("SSL_read", "SSL_write", "BIO_read", "BIO_write"):
    getattr(library, name).argtypes = [pointer, ctypes.c_char_p, ctypes.c_int]


class Tls:
    """After the handshake; whatever is written waits in memory for send()."""

    def __init__(self, where, version):
        self.sock = socket.create_connection(where, 20)
        self.context = library.SSL_CTX_new(library.TLS_client_method())
        for limit in (SET_MIN, SET_MAX):
            library.SSL_CTX_ctrl(self.context, limit, version, None)
        self.ssl = library.SSL_new(self.context)
        self.incoming, self.outgoing = (library.BIO_new(library.BIO_s_mem())
                                        for _ in range(2))
        library.SSL_set_bio(self.ssl, self.incoming, self.outgoing)
        library.SSL_set_connect_state(self.ssl)
        while not self.shakes_hands():
            self.send()
            self.receive()
        self.send()

    def send(self):
        room = ctypes.create_string_buffer(1 << 20)
        while (size := library.BIO_read(self.outgoing, room, len(room))) > 0:
            self.sock.sendall(room.raw[:size])

    def receive(self):
        data = self.sock.recv(65536)
        if not data:
            raise ConnectionResetError("closed")
        library.BIO_write(self.incoming, data, len(data))

    def read(self):
        """What has come in clear, b"" for what is of TLS alone."""
        self.receive()
        room, all_ = ctypes.create_string_buffer(65536), b""
        while (size := library.SSL_read(self.ssl, room, len(room))) > 0:
            all_ += room.raw[:size]
        return all_

    def write(self, data):
        assert library.SSL_write(self.ssl, data, len(data)) == len(data)

    def ask_for_keys(self):
        assert library.SSL_key_update(self.ssl, MORE_KEYS) == 1
        assert self.shakes_hands()

    def ask_for_a_handshake(self):
        assert library.SSL_renegotiate(self.ssl) == 1
        assert not self.shakes_hands()  # it has been asked for

    def shakes_hands(self):
        return library.SSL_do_handshake(self.ssl) == 1

    def close(self):
        self.sock.close()
        library.SSL_free(self.ssl)  # with what it reads and writes
        library.SSL_CTX_free(self.context)
