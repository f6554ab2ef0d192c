#!/usr/bin/env python3
"""Whether our collapsed stacks equal jeprof's.

    collapsed_compare.py THEIRS OURS

jeprof prints a line per distinct stack of addresses, cuts each value to whole
bytes and has no order.  We print one per distinct stack of names and cut their
sum: so ours lies from the sum of their lines to less than one more for each of
them.  A stack of no frames has no name there; lines of 0 are left out here.  A
function without a name is "??:0" there and its address here.
"""
import re
import sys

NAMELESS = "(no frames)"
ADDRESS = re.compile(r"(?:(?<=;)|^)[0-9a-f]{16}(?=;|$)")
TAG = re.compile(r"<[0-9a-f]{16}>(?=;|\[inline\]|$)")


def lines_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            stack, value = line.rstrip("\n").rsplit(" ", 1)
            yield stack, int(value)


def main():
    theirs, ours = {}, {}
    for stack, value in lines_of(sys.argv[1]):
        stack = TAG.sub("", stack) or NAMELESS
        total, count = theirs.get(stack, (0, 0))
        theirs[stack] = (total + value, count + 1)
    before, seen = None, set()
    for stack, value in lines_of(sys.argv[2]):
        if stack in seen:
            sys.exit(f"twice: {stack}")
        seen.add(stack)
        if before is not None and abs(value) > before:
            sys.exit(f"not by weight: {stack}")
        before = abs(value)
        stack = ADDRESS.sub("??:0", stack)
        total, count = ours.get(stack, (0, 0))
        ours[stack] = (total + value, count + 1)
    wrong = []
    for stack in sorted(theirs.keys() | ours.keys()):
        total, count = theirs.get(stack, (0, 0))
        mine = ours.get(stack, (0, 0))
        if abs(mine[0] - total) > max(0, count - mine[1]):
            wrong.append(f"{total} {ours.get(stack)} {stack}")
    for line in wrong[:20]:
        print(line)
    print(f"{len(seen)} stacks of {sum(c for _, c in theirs.values())} lines,"
          f" {sum(total for total, _ in ours.values())} bytes")
    sys.exit(bool(wrong or not ours))


main()
