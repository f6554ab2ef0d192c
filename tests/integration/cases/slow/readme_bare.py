"""README.md's commands on a Debian 12 that has nothing else: each program is
there after the commands before it, or is named where it is used.

debootstrap makes the system; packages come by apt.  From the build on it has no
network but its own loopback.  An argument: the directory of such a system that
is there already.
"""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

from node_under_test import wait_for
from readme_blocks import BLOCKS, DEATH, LINGERS_FROM, PORT, README, differs

SUITE, MIRROR = "bookworm", "http://deb.debian.org/debian"
SOURCES = "/root/heapwire"
# What a command needs besides, by the sentence or the row that has it.
NAMED = re.findall(r"Debian's `([\w-]+)`", README)
CLIENT = "mysql -S /run/heapwire/10001/mysql.sock --table heapwire"


class Bare:
    """A system in a directory, with mounts, processes and a network of its
    own, which all end with one process."""

    def __init__(self, root, network):
        self.root = root
        apart = ["--net"] if not network else []
        self.first = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", *apart,
             "sh", "-c", 'mount --make-rprivate / && mount -t proc proc "$0/proc" '
             '&& { [ -z "$1" ] || ip link set lo up; } && echo there '
             "&& exec sleep infinity", root, "" if network else "1"],
            stdout=subprocess.PIPE, text=True)
        assert self.first.stdout.readline() == "there\n"
        with open(f"/proc/{self.first.pid}/task/{self.first.pid}/children",
                  encoding="ascii") as f:
            self.inside = f.read().split()[0]
        self.spaces = ["--mount", "--pid"] + apart

    def command(self, text):
        return ["nsenter", "--target", self.inside, *self.spaces, "env", "-i",
                "HOME=/root", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
                "/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive",
                "chroot", self.root, "sh", "-ec", f"cd {SOURCES}\n{text}"]

    def run(self, text, given=None):
        """(whether it succeeded, what it printed)"""
        done = subprocess.run(self.command(text), input=given, text=True,
                              timeout=3000, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        return done.returncode == 0, done.stdout

    def must(self, text):
        good, said = self.run(text)
        assert good, f"{text}\n{said[-3000:]}"
        return said

    def end(self):
        self.first.kill()
        self.first.wait()


def make(root):
    subprocess.run(["debootstrap", "--variant=minbase", SUITE, root, MIRROR],
                   check=True, stdout=subprocess.DEVNULL)


def copy_sources(root):
    target = root + SOURCES
    shutil.rmtree(root + "/run/heapwire", ignore_errors=True)  # of the last time
    for name in "heapwire.ini", "admin.password":
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(target, name))
    os.makedirs(target, exist_ok=True)
    names = subprocess.run(["git", "ls-files", "-z"], check=True,
                           stdout=subprocess.PIPE).stdout
    packed = subprocess.Popen(["tar", "-c", "--null", "--files-from=-"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    unpacked = subprocess.Popen(["tar", "-x", "-C", target],
                                stdin=packed.stdout)
    packed.stdin.write(names)
    packed.stdin.close()
    assert packed.wait() == 0 and unpacked.wait() == 0


class Reader:
    def __init__(self, bare):
        self.bare, self.node, self.checks = bare, None, 0

    def sh(self, block):
        lines = block.splitlines()
        starts = [line for line in lines if line.startswith("heapwire-run ")]
        good, said = self.bare.run("\n".join(
            line for line in lines if line not in starts))
        for line in starts:
            self.node = subprocess.Popen(self.bare.command("exec " + line),
                                         stdout=subprocess.DEVNULL)
            wait_for(lambda: self.bare.run(f"redis-cli -p {PORT} ping")[0] and
                     self.sql("ADMIN EXECUTE ON 10001 "
                              "'HeapProf.getInstance().has_enable()'")[0])
        return good, said

    def sql(self, block):
        return self.bare.run(CLIENT, block)

    def read(self, blocks):
        said = None
        for language, block in blocks:
            self.checks += 1
            if language == "text":
                why = differs(block, said)
                assert not why, f"{why}\n{block}{said}"
                continue
            good, said = getattr(self, language)(block)
            assert good, f"README.md says:\n{block}{said}"

    def redis(self, key):
        said = self.bare.must(f"redis-cli -p {PORT} info server")
        return int(re.search(rf"{key}:(\d+)", said)[1])

    def kill_redis(self):
        wait_for(lambda: self.redis("uptime_in_seconds") > LINGERS_FROM)
        self.bare.must(f"kill -9 {self.redis('process_id')}")
        wait_for(lambda: "SIGKILL" in self.sql("SELECT how FROM deaths")[1])

    def commands_of_the_prose(self):
        """What runs at once, of those that stand in a sentence or a row."""
        said = self.bare.run("heapwire doctor")[1]  # its status is its finding
        assert re.search("^ok +the database: .* is connected", said, re.M), said
        for command in ("kill -HUP $(cat /run/heapwire/10001/heapwired.lock)",
                        "man heapwire",
                        "man heapwire-passwd", "heapwire get top",
                        "heapwire bundle --output node.html"):
            assert f"`{command}`" in README or \
                f"`{command.split(' $')[0]}" in README, command
            self.checks += 1
            said = self.bare.must(command)
            assert said or "kill" in command or "bundle" in command, command
        curl = re.search(r"`curl (-u admin) (http://\S+/help)`", README)
        said = self.bare.must(f'curl -s -u "admin:$(cat admin.password)" {curl[2]}')
        assert "/pprof/heap" in said
        jeprof = re.search(r"`(jeprof --text http://admin:)…(@\S+)`", README)
        said = self.bare.must(f"{jeprof[1]}$(cat admin.password){jeprof[2]}")
        assert "aeMain" in said, said
        said = self.bare.must(
            jeprof[1] + "$(cat admin.password)" + jeprof[2].replace(
                "/pprof/heap", "/snapshot/before/pprof/heap"))
        assert "aeMain" in said, said


def main():
    if os.getuid() != 0 or not shutil.which("debootstrap"):
        print("skipped: it takes root and debootstrap")
        return
    work = tempfile.mkdtemp(prefix="hw-bare-")
    root = sys.argv[1] if len(sys.argv) > 1 else work
    at = [text for _, text in BLOCKS].index(DEATH)
    builds = next(i for i, (_, text) in enumerate(BLOCKS) if "heapwire-run" in
                  text)
    try:
        if root == work:
            make(root)
        copy_sources(root)
        bare = Bare(root, network=True)
        try:
            Reader(bare).read(BLOCKS[:builds])
            bare.must("apt-get install -y -qq --no-install-recommends " +
                      " ".join(NAMED))
        finally:
            bare.end()
        bare = Bare(root, network=False)
        try:
            reader = Reader(bare)
            reader.read(BLOCKS[builds:at] + BLOCKS[at + 2:])
            reader.commands_of_the_prose()
            reader.kill_redis()
            reader.read(BLOCKS[at:at + 2])
            print(f"readme_bare.py: ok, {reader.checks} checks")
        finally:
            bare.end()
    finally:
        shutil.rmtree(work, ignore_errors=True)


main()
