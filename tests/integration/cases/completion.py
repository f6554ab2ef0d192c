"""The completion of heapwire's words in bash and zsh, typed on a terminal.

Arguments name single tests.
"""
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time

from machine import no_terminal, no_zsh
from node_under_test import BUILD, REAL, Node
from runner import named, needs, run_tests

FILES = os.path.abspath("server/client/completion")
PROGRAMS = os.path.join(BUILD, "bin")
HEAPWIRE = os.path.join(PROGRAMS, "heapwire")
BASH = (["bash", "--norc", "--noprofile", "-i"], f". {FILES}/heapwire.bash")
ZSH = (["zsh", "-f", "-i"], f"fpath=({FILES} $fpath); autoload -U compinit; "
       "compinit -u -D")
READY, END = "now-it-is-ready", "that-is-all"


class Shell:
    def __init__(self, argv, setup, directory):
        self.said = ""
        self.ours, its = pty.openpty()
        self.process = subprocess.Popen(
            argv, stdin=its, stdout=its, stderr=its, start_new_session=True,
            cwd=directory, env={"HOME": directory, "TERM": "vt100",
                                "PATH": f"{PROGRAMS}:/usr/bin:/bin"})
        os.close(its)
        # Not as it is typed, but as it is printed.
        self.say(f"{setup}; echo {READY[:3]}''{READY[3:]}\n")
        self.await_match(READY)

    def say(self, text):
        os.write(self.ours, text.encode())

    def await_match(self, pattern):
        """Of what was printed since the last one."""
        end = time.monotonic() + 30
        while not (found := re.search(pattern, self.said)):
            left = end - time.monotonic()
            assert left > 0 and select.select([self.ours], [], [], left)[0], \
                self.said
            self.said += os.read(self.ours, 65536).decode(errors="replace")
        self.said = self.said[found.end():]
        return found

    def complete(self, line):
        """What it is after a Tab: put between quotes, and printed."""
        self.say(f"{line}\t")
        self.say(f"\x01echo {END[:3]}''{END[3:]}'<\x05>'\n")
        return self.await_match(END + "<(.*?) *>\r*\n")[1]

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)


def of_program(*words):
    done = subprocess.run([HEAPWIRE, "--complete", *words], check=True,
                          capture_output=True, text=True)
    return done.stdout.split()


def check_shell(argv, setup):
    with tempfile.TemporaryDirectory() as directory, Node(REAL) as node:
        os.symlink(node.socket, f"{directory}/s")
        with open(f"{directory}/unusual.cnf", "w", encoding="ascii"):
            pass
        shell = Shell(argv, setup, directory)
        try:
            for typed, says in (
                    ("heapwire dia", "heapwire diagnose"),
                    ("heapwire -S s get flam", "heapwire -S s get flamegraph"),
                    ("heapwire -S s --json get addr",
                     "heapwire -S s --json get address_names"),
                    ("heapwire top run", "heapwire top running"),
                    ("heapwire on A", "heapwire on ALL"),
                    ("heapwire --def", "heapwire --defaults-file"),
                    ("heapwire --defaults-file unus",
                     "heapwire --defaults-file unusual.cnf"),
                    ("heapwire get top unus", "heapwire get top unusual.cnf"),
                    ("heapwire nothing", "heapwire nothing")):
                got = shell.complete(typed)
                assert got == says, (argv[0], typed, got)
        finally:
            shell.close()


@needs(no_terminal)
def test_bash():
    check_shell(*BASH)


@needs(lambda: no_terminal() or no_zsh())
def test_zsh():
    check_shell(*ZSH)


def test_what_the_program_knows():
    words = subprocess.run([HEAPWIRE, "--help"], check=True, text=True,
                           capture_output=True).stdout
    usage = re.findall(r"^(?:usage:| {6}) heapwire \[OPTION\.\.\.\] (\w+)", words,
                       re.M)
    assert sorted(of_program("")) == sorted(usage), usage
    with Node(REAL) as node:
        forms = subprocess.run([HEAPWIRE, "-S", node.socket, "get"], check=True,
                               capture_output=True, text=True).stdout.split()
        assert "flamegraph" in forms
        assert of_program("-S", node.socket, "get", "") == forms
    assert of_program("-S", node.socket, "get", "") == []  # it is gone
    assert of_program("top", "") == re.search("^VIEW: (.*)$", words,
                                              re.M)[1].split()
    assert sorted(of_program("-")) == sorted(re.findall("^  (--[a-z-]+)", words,
                                                        re.M)), words
    for words in (("--socket", ""), ("-S", ""), ("get", "top", ""),
                  ("doctor", "--", ""), ("doctor", "--", "-x", ""),
                  ("nothing", ""), ("sql", "")):
        assert of_program(*words) == [], words
    # Each view is one.
    for view in of_program("top", ""):
        done = subprocess.run([HEAPWIRE, "-S", "/nonexistent", "top", view,
                               "--batch", "--count", "1"], check=False,
                              capture_output=True, text=True)
        assert done.returncode != 64, done
    done = subprocess.run([HEAPWIRE, "-S", "/nonexistent", "top", "no_view",
                           "--batch", "--count", "1"], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 64, done


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
