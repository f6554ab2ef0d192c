"""notify.py - systemd's end of NOTIFY_SOCKET, and a database's.

notify.py manager ADDRESS COMMAND...: runs COMMAND as systemd runs a service of
Type=notify with NotifyAccess=main; prints what its main process says, a line
each, and nothing of what others say.
notify.py database: says what a database may, and more.
notify.py stranger ADDRESS: says STATUS=stranger there.
"""
import array
import os
import signal
import socket
import struct
import subprocess
import sys


def address_of(text):
    return "\0" + text[1:] if text.startswith("@") else text


def manager(text, command):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    s.bind(address_of(text))
    environ = dict(os.environ, NOTIFY_SOCKET=text)
    main = subprocess.Popen(
        ["/bin/sh", "-c", 'export WATCHDOG_PID=$$ WATCHDOG_USEC=9000000; '
         'exec "$@"', "sh"] + command, env=environ)
    signal.signal(signal.SIGTERM, lambda *_: main.terminate())
    s.settimeout(0.1)
    over = False
    while not over:
        over = main.poll() is not None  # what it has said is there by then
        try:
            while True:
                message, control, _, _ = s.recvmsg(8192, 4096)
                pid = 0
                for level, kind, data in control:
                    if kind == socket.SCM_CREDENTIALS:
                        pid = struct.unpack("3i", data[:12])[0]
                    if kind == socket.SCM_RIGHTS:
                        print("a descriptor", flush=True)
                if pid == main.pid:
                    print(message.decode().replace("\n", "|"), flush=True)
        except socket.timeout:
            pass
    print("status", main.returncode, flush=True)


def barrier(s):
    """Over when no process has the descriptor any more."""
    reader, writer = os.pipe()
    s.sendmsg([b"BARRIER=1"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                array.array("i", [writer]))])
    os.close(writer)
    os.read(reader, 1)


def database():
    where = os.environ["NOTIFY_SOCKET"]
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.connect(address_of(where))
    fds = array.array("i", os.pipe())
    send = s.send
    send(b"MAINPID=%d\nSTATUS=one\n" % os.getpid())
    s.sendmsg([b"FDSTORE=1\nFDNAME=x"],
              [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
    send(b"STATUS=" + b"x" * 5000)
    send(b"")
    send(b"MAINPID=1")
    subprocess.run([sys.executable, __file__, "stranger", where],
                   preexec_fn=os.setsid, check=True)  # a child's is ours
    watched = os.environ.get("WATCHDOG_PID") == str(os.getpid())
    send(b"READY=1\nSTATUS=watched %d" % watched)
    barrier(s)
    send(b"STOPPING=1")


def stranger(where):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.connect(address_of(where))
    s.send(b"STATUS=stranger")
    barrier(s)  # whose child it is cannot be seen once it has ended


if sys.argv[1] == "manager":
    manager(sys.argv[2], sys.argv[3:])
elif sys.argv[1] == "database":
    database()
else:
    stranger(sys.argv[2])
