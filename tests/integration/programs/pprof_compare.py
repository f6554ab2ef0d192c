#!/usr/bin/env python3
"""Whether "go tool pprof -top" says what our top form says.

    pprof_compare.py TOP OURS

TOP: pprof -top -unit=B of all nodes; OURS: top, in whole bytes, of all
functions, whose long names lack their middle.  Flat and cumulative bytes of each function must agree but for the
rounding of each stack.  pprof joins the inlined frames of a function with its
others: of a stack that has both, our cumulative bytes count for each.
"""
import re
import sys

INLINE = re.compile(r" \((partial-)?inline\)$")
RUN = re.compile(r"^Run#\d+$|Callback.*::Run$")  # one per callee, here
COLUMNS = 59  # of a name
STACKS = 200  # at most; rounded by half a byte each


def top(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    functions = {}
    for line in text.split("cum%\n", 1)[1].splitlines():
        flat, _, _, cum, _, name = line.split(None, 5)
        functions[INLINE.sub("", name)] = (
            int(flat.removesuffix("B")), int(cum.removesuffix("B")))
    return functions


def cut(name):
    """As text.c does: at 1024 bytes, and then the middle."""
    name = name if len(name) <= 1024 else name[:1021] + "\u2026"
    return name if len(name) <= COLUMNS else \
        name[:COLUMNS // 2] + "\u2026" + name[len(name) - (COLUMNS - 1) // 2:]


def as_ours(theirs):
    """By what we call them, inlined or not; those that are alike added up."""
    known, functions = {}, {}
    for name, (flat, cum) in sorted(theirs.items()):
        forms = [INLINE.sub("", cut(name)), INLINE.sub("", cut(name + " (inline)"))]
        called = next((known[f] for f in forms if f in known), forms[0])
        known.update((form, called) for form in forms)
        before = functions.get(called, (0, 0))
        functions[called] = (before[0] + flat, before[1] + cum)
    return functions, known


def ours(path):
    functions = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = re.match(r" *(-?\d+)~? +\S+ +\S+ +(-?\d+)~? +\S+ (.*)$",
                             line)
            if not match:
                continue
            name = INLINE.sub("", match[3])
            functions.setdefault(name, []).append(
                (int(match[1]), int(match[2])))
    return functions


def main():
    theirs, known = as_ours(top(sys.argv[1]))
    mine = {}
    for name, figures in ours(sys.argv[2]).items():
        mine.setdefault(known.get(name, name), []).extend(figures)
    wrong = [f"only one has {name}" for name in theirs.keys() ^ mine.keys()
             if not RUN.search(name)]
    for name in theirs.keys() & mine.keys():
        flat, cum = theirs[name]
        flats = sum(f for f, _ in mine[name])
        cums = [c for _, c in mine[name]]
        if abs(flat - flats) > STACKS / 2 or not (
                max(cums) - STACKS / 2 <= cum <= sum(cums) + STACKS / 2):
            wrong.append(f"{name}: {flat} {cum} there, {mine[name]} here")
    for line in wrong[:20]:
        print(line)
    print(f"{len(mine)} functions, {sum(f for f, _ in theirs.values())} bytes")
    sys.exit(bool(wrong or len(mine) < 10))


main()
