#!/usr/bin/python3
"""jeprof_compare.py THEIRS OURS: are jeprof's reports, in the one directory,
ours of the same names in the other?

A line per report, after its differences, each with its class; exits 1 if one
is in capitals.  A .dot is compared by nodes (by label: flat, cumulative, font
size), edges (by the labels of their ends: weight, style) and legend; a .text by
lines; for .collapsed there is collapsed_compare.py.  jeprof_runs.pl sees to it
that jeprof's sums and ties are the same each time, so that figures must be
equal to the digit.  What may differ, and why:

order     edges are printed, and nodes and edges numbered, in another order.
          Not reported.
run       jeprof numbers its Run#n nodes by hash order: they are compared by
          what they call.
nameless  of what has no name, or by --files no file, jeprof's text prints
          "name ??:0" where it counted the address: compared without it.
"""
import os
import re
import subprocess
import sys

NUMBER = r"-?[\d.]+"
PART = r"-?[\d.]+%|nan|[+-]inf"
NODE = re.compile(rf'N(\d+) \[label="(.*)\\n({NUMBER}) \(({PART})\)'
                  rf'(?:\\rof ({NUMBER}) \(({PART})\))?\\r",'
                  r'shape=box,fontsize=([\d.]+)\];')
EDGE = re.compile(rf'N(\d+) -> N(\d+) \[label=({NUMBER}), weight=(\d+), '
                  r'style="setlinewidth\(([\d.]+)\)(,dashed)?"\];')
LINE = re.compile(rf" *({NUMBER}) +({PART}) +({PART}) +({NUMBER}) +({PART}) "
                  r"(.*)")


def value(text):
    return text if text == "nan" else float(text.rstrip("%"))


class Report:
    """The differences found in one of them."""

    def __init__(self, name):
        self.found = {}
        self.lines = []
        self.files = name.startswith("files.")

    def add(self, kind, text):
        self.found[kind] = self.found.get(kind, 0) + 1
        self.lines.append(f"    {kind:9}{text}")

    def figures(self, kind, what, left, right):
        if left != right:
            self.add(kind, f"{what}: {left}, ours {right}")

    def heads(self, left, right):
        for a, b in zip(left, right):
            self.figures("HEAD", "line", a, b)
        if len(left) != len(right):
            self.add("HEAD", f"{len(left)} other lines, ours {len(right)}")


class Graph:
    def __init__(self, lines):
        self.head, self.nodes, self.edges = [], {}, {}
        numbers = {}
        for line in lines:
            node, edge = NODE.fullmatch(line), EDGE.fullmatch(line)
            if node:
                number, name, flat, flat_part, total, part, font = \
                    node.groups()
                if name in self.nodes:
                    sys.exit(f"two nodes are called {name}")
                numbers[number] = name
                self.nodes[name] = [value(n) for n in (
                    flat, flat_part, total or flat, part or flat_part, font)]
            elif edge:
                caller, callee = numbers[edge[1]], numbers[edge[2]]
                self.edges[caller, callee] = [
                    value(edge[3]), int(edge[4]), float(edge[5]), edge[6]]
            else:
                self.head.append(line)
        self.rename_runs()

    def rename_runs(self):
        names = {}
        for name in self.nodes:
            if re.search(r"(^|\\n)Run#\d+", name):
                callees = sorted(b for a, b in self.edges if a == name)
                names[name] = re.sub(r"Run#\d+", "Run of " +
                                     ", ".join(callees), name)
        self.nodes = {names.get(n, n): v for n, v in self.nodes.items()}
        self.edges = {(names.get(a, a), names.get(b, b)): v
                      for (a, b), v in self.edges.items()}


def compare_dot(theirs, ours, report):
    theirs, ours = Graph(theirs), Graph(ours)
    report.heads(theirs.head, ours.head)
    for kind, left, right in (("NODE", theirs.nodes, ours.nodes),
                              ("EDGE", theirs.edges, ours.edges)):
        for key in sorted(left.keys() | right.keys()):
            report.figures(kind, key, left.get(key), right.get(key))
    return f"{len(ours.nodes)} nodes, {len(ours.edges)} edges", ours.nodes


class Table:
    """A text report; lines without a name share one."""

    def __init__(self, lines, nameless):
        self.head, self.lines, self.flat, self.sums = [], {}, [], []
        for line in lines:
            found = LINE.fullmatch(line)
            if not found:
                self.head.append(line)
                continue
            flat, flat_part, running, total, part, name = found.groups()
            self.sums.append(value(running))
            name = re.sub(r"Run#\d+", "Run", name)
            if re.fullmatch(nameless, name):
                name = "(nameless)"
            self.flat.append(value(flat))
            self.lines.setdefault(name, []).append(
                [value(n) for n in (flat, flat_part, total, part)])


def compare_text(theirs, ours, report):
    nameless = r"[0-9a-f]{16}|" + (r".* \?\?:0" if report.files
                                   else r"\?\? \?\?:0")
    theirs, ours = Table(theirs, nameless), Table(ours, nameless)
    report.heads(theirs.head, ours.head)
    for name in theirs.lines.keys() | ours.lines.keys():
        left, right = (sorted(t.lines.get(name, [])) for t in (theirs, ours))
        report.figures("LINE", name, left, right)
    if ours.flat != sorted(ours.flat, reverse=True):
        report.add("ORDER", "not the heaviest first")
    report.figures("SUMS", "running", theirs.sums, ours.sums)
    if ours.flat and ours.sums[-1] != 100:
        report.add("SUM", f"of all: {ours.sums[-1]}")
    return f"{len(ours.flat)} lines", ours.flat


def compare_collapsed(theirs, ours, report):
    run = subprocess.run(
        [os.path.dirname(os.path.abspath(__file__)) + "/collapsed_compare.py",
         theirs, ours], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False)
    if run.returncode:
        report.add("STACKS", run.stdout)
    return run.stdout.strip().split("\n")[-1], True


def compare(theirs, ours):
    report = Report(os.path.basename(theirs))
    form = theirs.rsplit(".", 1)[1]
    if form == "collapsed":
        size, some = compare_collapsed(theirs, ours, report)
    else:
        lines = []
        for path in (theirs, ours):
            with open(path, encoding="utf-8", errors="replace") as file:
                lines.append(file.read().splitlines())
        size, some = {"dot": compare_dot,
                      "text": compare_text}[form](*lines, report)
    if not some:
        report.add("EMPTY", "there is nothing to compare")
    print("\n".join(report.lines + [
        f"  {os.path.basename(theirs)}: {size}; " +
        (", ".join(f"{n} {k}" for k, n in sorted(report.found.items())) or
         "no difference")]))
    return not any(kind.isupper() for kind in report.found)


def main():
    names = sorted(os.listdir(sys.argv[1]))
    if not names:
        sys.exit("there is nothing to compare")
    sys.exit(not all([compare(f"{sys.argv[1]}/{name}", f"{sys.argv[2]}/{name}")
                      for name in names]))


main()
