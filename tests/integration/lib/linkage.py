"""A program of one linkage, alone and below heapwire-run: what it says, what it
ends with, what heapwire says of it, against what it knows itself.

check() prints the row of the table; faults are counted, not raised, so that a
run shows all of them.
"""
import contextlib
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import pymysql
from node_under_test import wait_for

BUILD = os.path.abspath(os.environ.get("BUILD", "build/release"))
RUN = os.path.join(BUILD, "bin", "heapwire-run")
LINKED = os.path.abspath("build/linked")
MB = 1 << 20
SECONDS = 60
PAGES, INDEX = 64, 48  # MB


def late(*_):
    raise TimeoutError("waited in vain")


signal.signal(signal.SIGALRM, late)
faults = []
scores = []  # of all bytes, in standard errors


def fault(form, text):
    faults.append((form.name, text))
    print(f"FAULT: {form.name}: {text}", flush=True)


class Form:
    """How a program is linked and started, and what is to be found in it."""

    def __init__(self, name, *argv, linkage="", stripped=False, twin=None,
                 exe=None, env=None, options=(), how=None, symbol="jemallctl",
                 version="5.3.0", lg_sample=19, refused=None,
                 words_on_stderr=None,
                 names=("PageCache::load", "Index<.*>::grow")):
        self.name, self.linkage, self.stripped = name, linkage, stripped
        self.argv = list(argv) or [os.path.join(LINKED, name)]
        self.exe = exe
        self.twin = twin and os.path.join(LINKED, twin)
        self.env = dict(os.environ, **(env or {}))
        self.options = list(options)
        self.how, self.symbol, self.version = how, symbol, version
        self.lg_sample = lg_sample
        self.refused = refused  # the profiler's state, where it cannot be
        self.words_on_stderr = words_on_stderr  # where there is no agent
        self.names = names  # of what holds the pages, of what holds the index


class Process:
    """One run, by orders on its standard input."""

    def __init__(self, form, wrapper=()):
        self.directory = tempfile.mkdtemp(prefix="hw-linkage-", dir="/tmp")
        self.errors = open(os.path.join(self.directory, "stderr"), "wb+")
        self.process = subprocess.Popen(
            [*wrapper, *form.argv], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.errors, env=form.env,
            text=True, cwd=self.directory)
        self.said = []
        signal.alarm(3 * SECONDS)

    def answer(self):
        line = self.process.stdout.readline().rstrip("\n")
        self.said.append(line)
        return line

    def order(self, text):
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return ""
        return self.answer()

    def allocated(self):
        """Its allocator's own figure: no two runs have the same."""
        answer = self.order("allocated")
        self.said.pop()
        return int(answer or 0)

    def end(self):
        """What it said, on both streams, and its status."""
        self.order("stop")
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.said += self.process.stdout.read().splitlines()
        status = self.process.wait(SECONDS)
        self.errors.seek(0)
        errors = self.errors.read().decode("utf-8", "replace").splitlines()
        ours = [line for line in errors if line.startswith("heapwire")]
        signal.alarm(0)
        shutil.rmtree(self.directory, ignore_errors=True)
        return (self.said, [e for e in errors if e not in ours], status), ours


def symbols(path):
    """Of address, the name without its parameters."""
    found = {}
    listed = subprocess.run(["nm", "-C", path], capture_output=True, text=True,
                            check=True).stdout
    for line in listed.splitlines():
        match = re.match(r"([0-9a-f]+) [TtWw] (.*)", line)
        if match:
            found.setdefault(int(match[1], 16), re.sub(r"\(.*", "", match[2]))
    return found


class Node:
    def __init__(self, directory):
        self.socket = os.path.join(directory, "state", "mysql.sock")

    def rows(self, statement):
        with pymysql.connect(unix_socket=self.socket, user="root",
                             read_timeout=SECONDS) as c:
            with c.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall()

    def one(self, statement):
        return self.rows(statement)[0][0]

    def prof(self, call):
        rows = self.rows("ADMIN EXECUTE ON 10001 "
                         f"'System.print(HeapProf.getInstance().{call})'")
        return "\n".join(row[0] for row in rows)

    def wait(self, settled):
        """The state of its profiler, once it is no longer on its way."""
        seen = "no heapwired", ""

        def is_settled():
            nonlocal seen
            with contextlib.suppress(pymysql.err.MySQLError):
                seen = self.rows(
                    "SELECT profiling, reason FROM heapwire.profiler")[0]
            return settled(seen[0])

        with contextlib.suppress(AssertionError):  # the caller compares
            wait_for(is_settled, SECONDS)
        return seen


def within(form, what, held, said, error):
    """In standard errors of what is held: those of too small an estimate are too
    small.  One in 26,000,000 is more than five and a half of them away."""
    score = (said - held) / max(error * math.sqrt(held / max(said, 1)), 1)
    scores.append(score)
    if abs(score) > 5.5 or error > held / 3:
        fault(form, f"{what}: holds {held}, heapwire says {said} ± {error}")
    return f"{said / MB:.1f}±{error / MB:.1f} of {held / MB:.0f}"


def functions(form, node, snapshot):
    """Of name: bytes in all, and their standard error.  A function without a
    name is called by what nm says of the twin that has its symbols."""
    node.prof(f'snapshot("{snapshot}")')
    known = symbols(form.twin) if form.twin else {}
    found = {}
    for name, size, error in node.rows(
            "SELECT function, cum_bytes, cum_error FROM heapwire.heap_functions "
            f"WHERE snapshot = '{snapshot}' ORDER BY flat_bytes DESC"):
        match = re.fullmatch(r".*\+0x([0-9a-f]+)", name)
        if match and os.path.basename(form.exe or form.argv[0]) in name:
            name = known.get(int(match[1], 16), name)
        found.setdefault(name, (size, error))
    return found


def one_of(found, pattern):
    matching = [v for n, v in found.items() if re.search(pattern, n)]
    return matching[0] if matching else (0, 0)


def allocated(node, expected, slack):
    """The allocator's figure, which may be of a second ago."""
    def is_it():
        nonlocal figure
        figure = node.one("SELECT value FROM heapwire.malloc_stats "
                          "WHERE name = 'stats.allocated'")
        return abs(figure - expected) <= slack

    figure = 0
    with contextlib.suppress(AssertionError):  # the caller compares
        wait_for(is_it, 20)
    return figure


def profiled(form, p, node):
    """The row's cells: how found, names, bytes, statistics."""
    node.prof("enable_prof()")
    if node.prof("has_enable()") != "true":
        fault(form, "enabled, and is not")
    p.order(f"pages {PAGES}")
    p.order(f"index {INDEX}")
    found = functions(form, node, "full")
    top = list(found)[:2]
    if not all(any(re.search(wanted, name) for name in top)
               for wanted in form.names):
        fault(form, f"the first of top are {list(found)[:5]}")
    cells = [", ".join(top)]
    for name, held in zip(form.names, (PAGES * MB, INDEX * MB)):
        cells.append(within(form, name, held, *one_of(found, name)))
    figure = p.allocated()
    statistic = allocated(node, figure, 2 * MB)
    if abs(statistic - figure) > 2 * MB:
        fault(form, f"stats.allocated: its own {figure}, ours {statistic}")
    cells.append(f"{statistic / MB:.1f} of {figure / MB:.1f}")
    p.order("drop")
    within(form, "half of the pages", PAGES // 2 * MB,
           *one_of(functions(form, node, "half"), form.names[0]))
    node.prof("disable_prof()")
    if node.prof("has_enable()") != "false":
        fault(form, "disabled, and is not")
    return cells, figure


def figures(form, node):
    """How it was found: of the profiler, and of the allocator that it has."""
    rate, symbol, version = node.rows(
        "SELECT sample_rate, allocator_symbol, jemalloc_version "
        "FROM heapwire.profiler")[0]
    if symbol != form.symbol or not version.startswith(form.version):
        fault(form, f"found {symbol} of {version}")
    if rate != 1 << form.lg_sample:
        fault(form, f"one sample in {rate} bytes")
    how, its = node.rows("SELECT found, mallctl FROM heapwire.allocators "
                         "WHERE chosen")[0]
    if its != form.symbol:
        fault(form, f"{its} of heapwire.allocators is chosen")
    if how != form.how:
        fault(form, f"found by {how}, not {form.how}")
    return f"{how}: {symbol}"


def with_us(form, p, node):
    """The row from the fourth cell on, and its allocator's own figure."""
    if p.answer() != "ready":
        fault(form, f"did not start: {p.said}")
    if form.words_on_stderr:
        return [], hold(p)
    state, reason = node.wait(lambda s: s == (form.refused or "inactive"))
    if state != (form.refused or "inactive"):
        fault(form, f"{state}: {reason}")
    elif not form.refused:
        found = figures(form, node)
        cells, figure = profiled(form, p, node)
        return [found, *cells], figure
    return [f"{state}: {reason}"], hold(p)


def hold(p):
    p.order(f"pages {PAGES}")
    p.order(f"index {INDEX}")
    figure = p.allocated()
    p.order("drop")
    return figure


def alone(form):
    p = Process(form)
    p.answer()
    figure = hold(p)
    return p.end()[0], figure


def check(form):
    """One row."""
    expected, figure_alone = alone(form)
    options = ["--listen", "none", "--linger", "0", *form.options]
    if form.exe:
        options += ["--exe", form.exe]
    directory = tempfile.mkdtemp(prefix="hw-node-", dir="/tmp")
    p = Process(form, [RUN, *options, "--state-dir",
                       os.path.join(directory, "state"), "--"])
    cells = []
    try:
        cells, figure = with_us(form, p, Node(directory))
        # each sample has a page more, and what it is remembered by
        sampled = (PAGES + INDEX) * MB * 20480 >> form.lg_sample
        if abs(figure - figure_alone) > sampled + MB:
            fault(form, f"its stats.allocated: {figure_alone} alone, {figure} "
                  "with us")
    except (pymysql.err.MySQLError, ValueError, IndexError,
            TimeoutError) as error:
        fault(form, repr(error))
    got, ours = p.end()
    shutil.rmtree(directory, ignore_errors=True)
    ours = [line for line in ours if ": socket " not in line]
    if not any((form.words_on_stderr or "") in line for line in ours or [""]):
        fault(form, f"expected '…{form.words_on_stderr}…', got {ours}")
    if ours and not form.words_on_stderr:
        fault(form, f"said {ours}")
    if got != expected:
        fault(form, f"alone {expected}, with us {got}")
    stripped = {True: "yes", False: "no"}.get(form.stripped, form.stripped)
    print(" | ".join([form.name, form.linkage, stripped, *cells, *ours]),
          flush=True)


def build(*which):
    subprocess.run(["sh", "tests/integration/programs/linked/build.sh", *which],
                   check=True)


def run(forms):
    """Those that the arguments name, or all; whether there was a fault."""
    print("host | linkage | stripped | how found | names | pages MB | index MB"
          " | allocated MB, ours of its own | said on stderr", flush=True)
    for form in forms:
        if not sys.argv[1:] or form.name in sys.argv[1:]:
            check(form)
    far = sum(abs(score) > 2 for score in scores)
    print(f"{len(scores)} figures, {far} farther than two standard errors; "
          f"{len(faults)} faults")
    return bool(faults)
