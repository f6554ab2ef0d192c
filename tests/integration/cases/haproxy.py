"""haproxy in front of a node: it asks /readyz with a login, and sends MySQL's
clients where that answers 200; or it looks at the greeting alone."""
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile

import pymysql

from http_under_test import kill_redis, redis, same
from node_under_test import PASSWD, wait_for
from ports import free_port
from runner import named, run_tests

CONFIGURATION = """\
global
    stats socket {directory}/stats level admin
defaults
    mode tcp
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout check 20s
listen ready
    bind 127.0.0.1:{ready}
    option httpchk
    http-check send meth GET uri /readyz hdr Host localhost hdr Authorization "Bearer {token}"
    http-check expect status 200
    server node 127.0.0.1:{mysql} check port {http} inter 200ms fall 1 rise 1
listen basic
    bind 127.0.0.1:{basic}
    option httpchk
    http-check send meth GET uri /readyz hdr Host localhost hdr Authorization "Basic Ym9zczpiMHNz"
    http-check expect status 200
    server node 127.0.0.1:{mysql} check port {http} inter 200ms fall 1 rise 1
listen stranger
    bind 127.0.0.1:{stranger}
    option httpchk
    http-check send meth GET uri /readyz hdr Host localhost
    http-check expect status 200
    server node 127.0.0.1:{mysql} check port {http} inter 200ms fall 1 rise 1
listen greeting
    bind 127.0.0.1:{greeting}
    option mysql-check
    server node 127.0.0.1:{mysql} check inter 200ms fall 1 rise 1
"""


@contextlib.contextmanager
def haproxy(node, token):
    with tempfile.TemporaryDirectory() as directory:
        ports = {name: free_port()
                 for name in ("ready", "basic", "stranger", "greeting")}
        path = os.path.join(directory, "haproxy.cfg")
        with open(path, "w", encoding="ascii") as f:
            f.write(CONFIGURATION.format(
                directory=directory, token=token, mysql=node.mysql_port,
                http=node.http_port, **ports))
        running = subprocess.Popen(["haproxy", "-db", "-q", "-f", path],
                                   stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: os.path.exists(directory + "/stats"))
            yield directory + "/stats", ports
        finally:
            running.terminate()
            running.wait(30)


def states(stats):
    """Of each listen, the server's status and its last check's."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(stats)
        s.sendall(b"show stat\n")
        with s.makefile() as f:
            lines = [line.split(",") for line in f.read().splitlines()]
    head = lines[0]
    return {line[0]: (line[head.index("status")].split()[0],
                      line[head.index("check_code")])
            for line in lines[1:] if line[1:2] == ["node"]}


def asks(port):
    with contextlib.closing(pymysql.connect(
            host="127.0.0.1", port=port, user="boss", password="b0ss",
            database="heapwire")) as link, link.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM nodes")
        return cursor.fetchone()[0]


def test_a_server_is_up_while_its_database_is():
    with redis(linger=300) as node:
        token = subprocess.run(
            [PASSWD, node.config, "health", "--token", "--privileges",
             "status"], check=True, stdout=subprocess.PIPE).stdout
        os.kill(node.heapwired, signal.SIGHUP)
        wait_for(lambda: "read the configuration again" in node.log())
        with haproxy(node, token.decode().strip()) as (stats, ports):
            up = {"ready": ("UP", "200"), "basic": ("UP", "200"),
                  "stranger": ("DOWN", "401"), "greeting": ("UP", "0")}
            wait_for(lambda: states(stats) == up)
            for name in ("ready", "basic", "greeting"):
                same(name, 1, asks(ports[name]))
            kill_redis(node)
            wait_for(lambda: states(stats) ==
                     {**up, "ready": ("DOWN", "503"), "basic": ("DOWN", "503")})
            same("it can be asked why", 1, asks(ports["greeting"]))


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
    print("haproxy.py: ok")
