"""A node's HTTP socket as a port of 127.0.0.1, which a browser can open."""
import contextlib
import os
import socket
import threading


def pump(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


class PageProxy:
    def __init__(self, node):
        self.path = os.path.join(os.path.dirname(node.socket), "http.sock")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"
        self.accepted = 0
        self.broken = False  # as if no node were there
        self.clients = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                self.accepted += 1
                self.clients.append(client)
                self.connect(client)

    def connect(self, client):
        node = socket.socket(socket.AF_UNIX)
        try:
            if self.broken:
                raise ConnectionRefusedError
            node.connect(self.path)
        except OSError:
            client.close()
            return
        for pair in ((client, node), (node, client)):
            threading.Thread(target=pump, args=pair, daemon=True).start()

    def cut(self):
        self.broken = True
        for client in self.clients:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.close()
