"""Hosts that are network namespaces, on a bridge that can be cut.

All of it lives in a network namespace of this process (own_network) and ends
with it.
"""
import ctypes
import errno
import os
import socket
import subprocess
import sys

from node_under_test import wait_for

NET = "10.77.0."
HERE = NET + "254"


CLONE_NEWNET = 0x40000000


def own_network():
    """Before there are threads.  Ends the program where it cannot be had."""
    try:
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        ip("link", "add", "hosts", "type", "bridge")
        ip("link", "add", "host", "type", "veth", "peer", "name", "lan")
        ip("link", "del", "host")
        ip("link", "del", "hosts")
    except (OSError, subprocess.CalledProcessError) as error:
        print("skipped: no network namespaces can be made here:", error)
        sys.exit(0)


def ip(*words, host=None):
    within = ["nsenter", f"--net=/proc/{host}/ns/net"] if host else []
    subprocess.run(within + ["ip", *words], check=True)


class Hosts:
    def __init__(self, count):
        self.holders = {}
        ip("link", "set", "lo", "up")
        ip("link", "add", "bridge", "type", "bridge")
        ip("address", "add", HERE + "/24", "dev", "bridge")
        ip("link", "set", "bridge", "up")
        for number in range(1, count + 1):
            self.add(number)

    def add(self, number):
        holder = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "-n", "sleep",
             "infinity"])
        self.holders[number], pid = holder, holder.pid
        wait_for(lambda: os.readlink(f"/proc/{pid}/ns/net") !=
                 os.readlink("/proc/self/ns/net"))
        ip("link", "add", f"port{number}", "type", "veth", "peer", "name",
           "lan", "netns", str(pid))
        ip("link", "set", f"port{number}", "master", "bridge", "up")
        ip("link", "set", "lo", "up", host=pid)
        ip("address", "add", self.address(number) + "/24", "dev", "lan",
           host=pid)
        ip("link", "set", "lan", "up", host=pid)

    @staticmethod
    def address(number):
        return f"{NET}{number}"

    def wrapper(self, number):
        """In front of a command that is to run there."""
        return ["nsenter", f"--net=/proc/{self.holders[number].pid}/ns/net",
                "--"]

    def cut(self, number):
        """Whatever goes there, or comes from it, is lost without a word."""
        ip("link", "set", f"port{number}", "down")

    def heal(self, number):
        """Until it is healed: a host that asked for it in vain, by ARP,
        would ask again a second later."""
        ip("link", "set", f"port{number}", "up")
        wait_for(lambda: self.answers(number))
        for holder in self.holders.values():
            ip("neighbour", "flush", "dev", "lan", host=holder.pid)

    def answers(self, number):
        ip("neighbour", "flush", "dev", "bridge")
        with socket.socket() as s:
            s.settimeout(0.2)
            try:
                return s.connect_ex((self.address(number), 1)) == \
                    errno.ECONNREFUSED
            except OSError:
                return False

    def route(self, number, kind, to):
        """unreachable: the sender gets an error; blackhole: it gets none."""
        ip("route", "add", kind, to + "/32", host=self.holders[number].pid)

    def unroute(self, number, to):
        ip("route", "del", to + "/32", host=self.holders[number].pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for holder in self.holders.values():
            holder.kill()
            holder.wait()
