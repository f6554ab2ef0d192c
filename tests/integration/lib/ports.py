"""Free TCP ports."""
import socket

given = set()


def free_port(address="127.0.0.1"):
    """One that was not given before: the kernel may name it again."""
    while True:
        with socket.create_server((address, 0)) as s:
            port = s.getsockname()[1]
        if port not in given:
            given.add(port)
            return port
