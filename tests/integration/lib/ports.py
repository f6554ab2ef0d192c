"""Free TCP ports, below those that the kernel gives to connections: of these
anybody's may come before the server does.  A file each tells the tests that run
beside that it is given, for an hour."""
import contextlib
import os
import random
import socket
import time

FIRST, END = 10000, 32768  # of net.ipv4.ip_local_port_range
GIVEN = "/tmp/heapwire-test-ports"
choice = random.SystemRandom()  # tests seed the other


def is_given(port):
    path = os.path.join(GIVEN, str(port))
    with contextlib.suppress(FileNotFoundError):
        if time.time() - os.stat(path).st_mtime > 3600:
            os.unlink(path)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return True
    return False


def free_port(address="127.0.0.1"):
    """One that no test was given before."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(GIVEN)
        os.chmod(GIVEN, 0o777)  # tests may have other users
    while True:
        port = choice.randrange(FIRST, END)
        with contextlib.suppress(OSError):
            if not is_given(port):
                socket.create_server((address, port)).close()
                return port


if __name__ == "__main__":
    print(free_port())
