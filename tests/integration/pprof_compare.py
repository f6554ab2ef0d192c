#!/usr/bin/env python3
"""Whether "go tool pprof -top" says what our text form says.

    pprof_compare.py TOP TEXT

TOP: pprof -top -unit=B of all nodes; TEXT: ours, in whole bytes, of all
functions.  Flat and cumulative bytes of each function must agree but for the
rounding of each stack.  pprof joins the inlined frames of a function with its
others: of a stack that has both, our cumulative bytes count for each.
"""
import re
import sys

INLINE = re.compile(r" \((partial-)?inline\)$")
RUN = re.compile(r"^Run#\d+$|Callback.*::Run$")  # one per callee, here
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


def ours(path):
    functions = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = re.match(r" *(-?\d+) +\S+ +\S+ +(-?\d+) +\S+ (.*)$", line)
            if not match:
                continue
            name = INLINE.sub("", match[3])
            functions.setdefault(name, []).append(
                (int(match[1]), int(match[2])))
    return functions


def main():
    theirs, mine = top(sys.argv[1]), ours(sys.argv[2])
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
