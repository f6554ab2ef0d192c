#!/usr/bin/python3
"""jeprof_compare.py THEIRS OURS: are jeprof's reports, in the one directory,
ours of the same names in the other?

A line per report, after its differences, each with its class; exits 1 if one
is in capitals.  A .dot is compared by nodes (by label: flat, cumulative, font
size), edges (by the labels of their ends: weight, style) and legend; a .text by
lines; for .collapsed there is collapsed_compare.py.  What may differ, and why:

order     edges are printed, and nodes and edges numbered, in another order:
          ours breaks ties by name, jeprof's by Perl's hashes.  Not reported.
tie       of several edges (or, past --nodecount, nodes) that weigh the same,
          others stay than in jeprof's hash order.
run       jeprof numbers its Run#n nodes by hash order, too: they are compared
          by what they call.
rounding  sums were added up in another order, which moves the last digit of a
          number that lies between two.
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
    return float(text.rstrip("%"))


def digit(text):
    """How much the last printed digit is worth, and a little."""
    return 0.1001 if "." in text else 1.001


class Report:
    """The differences found in one of them."""

    def __init__(self, name):
        self.found = {}
        self.lines = []
        # Of jeprof.sh's: nothing is dropped, so that nothing can be tied.
        self.whole = re.match(r"(base-)?(all|lines|addresses)\.", name)
        self.files = name.startswith("files.")
        self.difference = re.match(r"(ever-)?base|swap", name)

    def add(self, kind, text):
        self.found[kind] = self.found.get(kind, 0) + 1
        self.lines.append(f"    {kind:9}{text}")

    def figures(self, kind, what, left, right):
        """left and right: pairs of a number and what its last digit is."""
        if all(a == b for (a, _), (b, _) in zip(left, right)):
            return
        close = all(a == b or (isinstance(a, float) and abs(a - b) <= unit)
                    for (a, unit), (b, _) in zip(left, right))
        self.add("rounding" if close else kind,
                 f"{what}: {[a for a, _ in left]}, ours "
                 f"{[b for b, _ in right]}")

    def heads(self, left, right):
        for a, b in zip(left, right):
            if re.sub(NUMBER, "#", a) != re.sub(NUMBER, "#", b):
                self.add("HEAD", f"{a}\n      ours {b}")
                continue
            pair = [[(value(n), digit(n)) for n in re.findall(NUMBER, line)
                     if re.fullmatch(r"-?\d+(\.\d+)?", n)] for line in (a, b)]
            self.figures("HEAD", a, *pair)
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
                self.nodes[name] = [
                    (value(n), digit(n)) for n in (
                        flat, flat_part, total or flat, part or flat_part,
                        font)]
            elif edge:
                caller, callee = numbers[edge[1]], numbers[edge[2]]
                self.edges[caller, callee] = [
                    (value(edge[3]), digit(edge[3])), (float(edge[4]), 1),
                    (float(edge[5]), 0.0000011), (edge[6], 0)]
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


DEGREE = 8  # --maxdegree, unless told


def edge_class(edge, weight, mine, others, tied):
    """It ends in a node that is not there; or an equally heavy edge, near it,
    is in the other graph, so that which of them came first decided: that edge
    is only there, or the other graph's nodes are full."""
    if tied.intersection(edge):
        return "tie"
    full = max(sum(e[0] == edge[0] for e in others),
               sum(e[1] == edge[1] for e in others)) >= DEGREE
    return "tie" if any(
        other[0] == weight[0] and (full or e not in mine) and
        (e[0] == edge[0] or e[1] == edge[1])
        for e, other in others.items()) else "EDGE"


def compare_dot(theirs, ours, report):
    theirs, ours = Graph(theirs), Graph(ours)
    shared = theirs.nodes.keys() & ours.nodes.keys()
    report.heads(theirs.head, ours.head)
    only = [{k: v for k, v in a.nodes.items() if k not in shared}
            for a in (theirs, ours)]
    # Where --nodecount cuts, those that weigh as much as the last node.
    last = [min((abs(v[2][0]) for v in g.nodes.values()), default=0)
            for g in (theirs, ours)]
    tied = {name for mine in only for name, v in mine.items()
            if not report.whole and last[0] == last[1] == abs(v[2][0])
            and len(theirs.nodes) == len(ours.nodes)}
    for mine, side in zip(only, ("jeprof's only", "ours only")):
        for name, figures in mine.items():
            report.add("tie" if name in tied else "NODE",
                       f"{side}: {name} {figures}")
    only = [{k: v for k, v in a.edges.items() if k not in b.edges}
            for a, b in ((theirs, ours), (ours, theirs))]
    for graph, edges, other, side in (
            (theirs, only[0], ours, "jeprof's only"),
            (ours, only[1], theirs, "ours only")):
        for edge, weight in edges.items():
            kind = "EDGE" if report.whole else edge_class(
                edge, weight, graph.edges, other.edges, tied)
            report.add(kind, f"{side}: {edge} {weight}")
    for name in shared:
        report.figures("NODE", name, theirs.nodes[name], ours.nodes[name])
    for edge in theirs.edges.keys() & ours.edges.keys():
        report.figures("EDGE", edge, theirs.edges[edge], ours.edges[edge])
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
            self.sums.append((value(running), digit(running)))
            name = re.sub(r"Run#\d+", "Run", name)
            if re.fullmatch(nameless, name):
                name = "(nameless)"
            self.flat.append(value(flat))
            self.lines.setdefault(name, []).append(
                [(value(n), digit(n)) for n in (flat, flat_part, total, part)])


def compare_text(theirs, ours, report):
    nameless = r"[0-9a-f]{16}|" + (r".* \?\?:0" if report.files
                                   else r"\?\? \?\?:0")
    theirs, ours = Table(theirs, nameless), Table(ours, nameless)
    report.heads(theirs.head, ours.head)
    for name in theirs.lines.keys() | ours.lines.keys():
        left, right = (sorted(t.lines.get(name, [])) for t in (theirs, ours))
        # A difference that is nothing but for the order of adding up may be
        # left out.
        short, long = sorted((left, right), key=len)
        while report.difference and len(short) < len(long) and any(
                all(n == 0 for n, _ in line) for line in long):
            long.remove(next(line for line in long
                             if all(n == 0 for n, _ in line)))
            report.add("rounding", f"{name}: nothing, of one only")
        if len(left) != len(right):
            report.add("LINE", f"{name}: {left}, ours {right}")
        for a, b in zip(left, right):
            report.figures("LINE", name, a, b)
    if ours.flat != sorted(ours.flat, reverse=True):
        report.add("ORDER", "not the heaviest first")
    if len(theirs.sums) == len(ours.sums):
        for i, (left, right) in enumerate(zip(theirs.sums, ours.sums)):
            report.figures("SUM", f"line {i + 1}", [left], [right])
    if ours.flat and ours.sums[-1][0] != 100:
        report.add("SUM", f"of all: {ours.sums[-1][0]}")
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
