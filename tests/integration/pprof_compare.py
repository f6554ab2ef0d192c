#!/usr/bin/env python3
"""Whether "go tool pprof -top" says what our collapsed stacks say.

    pprof_compare.py TOP COLLAPSED

TOP: pprof -top -unit=B of all nodes.  Flat and cumulative bytes of each
function must agree but for the rounding of stacks.  Full names become short as
the graph's do, which pprof has, by the names pprof knows; inlined frames are
frames of their function.
"""
import re
import sys

SIZE = re.compile(r"^(-?\d+)B?$")


def size_of(text):
    match = SIZE.match(text)
    if not match:
        sys.exit(f"not bytes: {text}")
    return int(match[1])


def main():
    theirs = {}
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    for line in text.split("cum%\n", 1)[1].splitlines():
        flat, _, _, cum, _, name = line.split(None, 5)
        name = re.sub(r" \((partial-)?inline\)$", "", name)
        theirs[name] = (size_of(flat), size_of(cum))
    flats, cums, lines = {}, {}, {}
    total = 0
    with open(sys.argv[2], encoding="utf-8") as file:
        for line in file:
            stack, value = line.rstrip("\n").rsplit(" ", 1)
            if stack == "(no frames)":
                continue
            names = [re.sub(r" \(inline\)$", "", n) for n in stack.split(";")]
            total += int(value)
            flats[names[-1]] = flats.get(names[-1], 0) + int(value)
            for name in set(names):
                cums[name] = cums.get(name, 0) + int(value)
                lines[name] = lines.get(name, 0) + 1
    wrong = []
    for name in sorted(cums.keys() | theirs.keys()):
        ours = flats.get(name, 0), cums.get(name, 0)
        other = theirs.get(name, (0, 0))
        # A line is cut, and made of some stacks that are rounded each.
        slack = 8 * lines.get(name, 0) + 1
        if abs(ours[0] - other[0]) > slack or abs(ours[1] - other[1]) > slack:
            wrong.append(f"{name}: {other} there, {ours} here")
    for line in wrong[:20]:
        print(line)
    print(f"{len(cums)} functions, {total} bytes")
    sys.exit(bool(wrong or not cums))


main()
