"""A node that is none: proves itself with the cluster's secret, and says of
itself the answers that it is given.
"""
import os
import socket
import struct
import threading

from meddler import END, HEAD, error, frame
from peer_wire import PLUGIN, prove

GREETING = (b"\x0a8.0\0" + b"\x01\0\0\0" + b"saltsalt\0" +
            b"\xff\xf7\x21\x02\0\xff\xc1\x15" + b"\0" * 10 +
            b"saltsaltsalt\0caching_sha2_password\0")


def row(text):
    return HEAD + frame(4, bytes([len(text)]) + text) + frame(5, END)


def no_such_statement():
    return error(1064, b"that is not known here")


class StandIn:
    def __init__(self, number, key, version=b"0.1.0", protocol=1,
                 answer=row(b"1")):
        self.id, self.key, self.version = number, key, version
        self.protocol, self.answer, self.asked = protocol, answer, 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.guarded, args=(client,),
                             daemon=True).start()

    def guarded(self, client):
        try:
            with client:
                self.serve(client, client.makefile("rb"))
        except (OSError, EOFError):
            pass

    @staticmethod
    def take(stream):
        head = stream.read(4)
        if len(head) < 4:
            raise EOFError
        return head[3], stream.read(int.from_bytes(head[:3], "little"))

    def serve(self, client, stream):
        client.sendall(frame(0, GREETING))
        number, _ = self.take(stream)
        challenge = struct.pack("<B32sQ16s", self.protocol, os.urandom(32),
                                self.id, os.urandom(16))
        client.sendall(frame(number + 1, b"\xfe" + PLUGIN + b"\0" + challenge))
        number, hello = self.take(stream)
        welcome = bytes([1, 0, len(self.version)]) + self.version
        welcome += prove(self.key, b"server", challenge + hello + welcome)
        client.sendall(frame(number + 1, b"\x01" + welcome) +
                       frame(number + 2, b"\0\0\0\x02\0\0\0"))
        while True:
            _, question = self.take(stream)
            if question[:1] != b"\x03":
                return
            assert question[1:].startswith(b"ADMIN FORWARD '"), question
            self.asked += 1
            client.sendall(self.answer)
