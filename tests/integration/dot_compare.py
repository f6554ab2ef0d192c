#!/usr/bin/python3
"""dot_compare.py JEPROF.dot OURS.dot: the same graph?

Compares nodes (by label: flat, cumulative, font size), edges (by the labels of
their ends: weight, style) and the legend.  Prints every difference with its
class and exits 1 if one has none.  What may differ, and why:

order     edges are printed, and nodes and edges numbered, in another order:
          ours breaks ties by name, jeprof's by Perl's hashes.  Not reported.
tie       of several edges that weigh the same, --maxdegree and the rule that
          a node's first edge stays keep others than jeprof's hash order does.
run       jeprof numbers its Run#n nodes by hash order, too: they are compared
          by what they call.
rounding  sums were added up in another order, which moves the last digit of a
          number that lies between two.
"""
import re
import sys

NODE = re.compile(r'N(\d+) \[label="(.*)\\n([\d.]+) \(([\d.]+)%\)'
                  r'(?:\\rof ([\d.]+) \(([\d.]+)%\))?\\r",'
                  r'shape=box,fontsize=([\d.]+)\];')
EDGE = re.compile(r'N(\d+) -> N(\d+) \[label=([\d.]+), weight=(\d+), '
                  r'style="setlinewidth\(([\d.]+)\)(,dashed)?"\];')


class Graph:
    def __init__(self, path):
        self.head, self.nodes, self.edges = [], {}, {}
        numbers = {}
        for line in open(path, encoding="utf-8", errors="replace"):
            line = line.rstrip("\n")
            node, edge = NODE.fullmatch(line), EDGE.fullmatch(line)
            if node:
                number, name, flat, flat_part, total, part, font = \
                    node.groups()
                if name in self.nodes:
                    sys.exit(f"{path}: two nodes are called {name}")
                numbers[number] = name
                self.nodes[name] = tuple(map(float, (
                    flat, flat_part, total or flat, part or flat_part, font)))
            elif edge:
                caller, callee = numbers[edge[1]], numbers[edge[2]]
                self.edges[caller, callee] = (
                    float(edge[3]), int(edge[4]), float(edge[5]), edge[6])
            else:
                self.head.append(line)
        self.rename_runs()

    def rename_runs(self):
        names = {}
        for name in self.nodes:
            if re.fullmatch(r"Run#\d+", name):
                callees = sorted(b for a, b in self.edges if a == name)
                names[name] = "Run of " + ", ".join(callees)
        self.nodes = {names.get(n, n): v for n, v in self.nodes.items()}
        self.edges = {(names.get(a, a), names.get(b, b)): v
                      for (a, b), v in self.edges.items()}


def close(a, b):
    """Equal but for the last printed digit of each number."""
    tolerances = ((0.1001, 0.1001, 0.1001, 0.1001, 0.1001) if len(a) == 5
                  else (0.1001, 1, 0.0000011, 0))
    return all(x == y or (isinstance(x, (int, float)) and
                          isinstance(y, (int, float)) and abs(x - y) <= t)
               for x, y, t in zip(a, b, tolerances))


def is_tie(edge, value, others, shared):
    """An equally heavy edge, near it, is only in the other graph."""
    return shared.issuperset(edge) and any(
        other[:2] == value[:2] and shared.issuperset(e) and
        (e[0] == edge[0] or e[1] == edge[1]) for e, other in others.items())


def main():
    theirs, ours = Graph(sys.argv[1]), Graph(sys.argv[2])
    shared = theirs.nodes.keys() & ours.nodes.keys()
    found = {}

    def report(kind, text):
        found[kind] = found.get(kind, 0) + 1
        print(f"{kind:9}{text}")

    for a, b in zip(theirs.head, ours.head):
        if a != b:
            report("HEAD", f"{a}\n      ours {b}")
    if len(theirs.head) != len(ours.head):
        report("HEAD", f"{len(theirs.head)} other lines, ours "
                       f"{len(ours.head)}")
    for what in ("nodes", "edges"):
        left, right = getattr(theirs, what), getattr(ours, what)
        only_left = {k: v for k, v in left.items() if k not in right}
        only_right = {k: v for k, v in right.items() if k not in left}
        for mine, others, side in ((only_left, only_right, "jeprof's only"),
                                   (only_right, only_left, "ours only")):
            for key, value in mine.items():
                tie = what == "edges" and is_tie(key, value, others,
                                                         shared)
                report("tie" if tie else what[:-1].upper(),
                       f"{side}: {key} {value}")
        for key in left.keys() & right.keys():
            if left[key] != right[key]:
                report("rounding" if close(left[key], right[key]) else
                       what[:-1].upper(),
                       f"{key}: {left[key]}, ours {right[key]}")
    print(f"{len(ours.nodes)} nodes, {len(ours.edges)} edges; " +
          (", ".join(f"{n} {k}" for k, n in sorted(found.items())) or
           "no difference"))
    if not ours.nodes:
        sys.exit("there is nothing to compare")
    sys.exit(any(kind.isupper() for kind in found))


main()
