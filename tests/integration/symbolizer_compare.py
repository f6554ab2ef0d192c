#!/usr/bin/env python3
"""symbolizer_compare.py - our names against addr2line's, address by address.

usage: symbolizer_compare.py BUILD OBJECT [--symbols FILE] [--step N]
                             [--least PERCENT] [--source OTHER]
                             [--note TEXT]

Takes every N-th byte (7) of all functions that have a size in FILE (OBJECT's
own symbols otherwise), asks both in ascending order, and fails below PERCENT
(99.9) of equal inline chains with lines.  addr2line reads OTHER where OBJECT
is not what it should read.  Where binutils 2.40 has the wrong one of a DWARF 5
unit's files, llvm-symbolizer's place is right.  TEXT has to be in our note,
which is else to be empty.
"""
import argparse
import re
import shutil
import subprocess
import sys


def code_addresses(path, step):
    covered = []
    for option in ([], ["-D"]):
        text = subprocess.run(["nm", "-S", *option, path], check=True,
                              capture_output=True, text=True).stdout
        for line in text.splitlines():
            words = line.split()
            if len(words) >= 4 and words[2] in "tTwWi":
                covered.append((int(words[0], 16), int(words[1], 16)))
        if covered:
            break
    addresses, next_one = [], 0
    for start, size in sorted(covered):
        first = max(start, next_one)
        first += -first % step
        addresses.extend(range(first, start + size, step))
        next_one = max(next_one, start + size)
    return addresses


def chains(text):
    """One list of (function, file:line) per address."""
    result, lines = [], text.splitlines()
    i = 0
    while i < len(lines):
        if re.fullmatch(r"0x[0-9a-f]+", lines[i]):
            result.append([])
            i += 1
        elif lines[i] == "(allocator)":
            i += 1
        else:
            function = re.sub(r"@+[A-Za-z0-9_.]+$", "", lines[i])
            place = re.sub(r" \(discriminator \d+\)$", "", lines[i + 1])
            result[-1].append((function, "" if place.endswith("?") else place))
            i += 2
    return result


def run(command, addresses):
    questions = "".join(f"{a:#x}\n" for a in addresses)
    done = subprocess.run(command, input=questions, capture_output=True,
                          text=True, errors="replace")
    if done.returncode != 0:
        sys.exit(f"{command[0]}: status {done.returncode}: {done.stderr}")
    return chains(done.stdout), done.stderr.strip()


def excused(path, differences):
    """Addresses that addr2line only puts into another file than llvm does."""
    command = ["llvm-symbolizer", "--output-style=GNU", "-afi", "-e", path]
    same_functions = [(address, ours) for address, ours, theirs in differences
                      if [f for f, _ in ours] == [f for f, _ in theirs]]
    if not same_functions or not shutil.which(command[0]):
        return set()
    others, _ = run(command, [address for address, _ in same_functions])
    return {address for (address, ours), other in zip(same_functions, others)
            if [p for _, p in ours] == [p for _, p in other]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("object")
    parser.add_argument("--symbols")
    parser.add_argument("--source")
    parser.add_argument("--note")
    parser.add_argument("--step", type=int, default=7)
    parser.add_argument("--least", type=float, default=99.9)
    args = parser.parse_args()

    addresses = code_addresses(args.symbols or args.object, args.step)
    ours, note = run([args.build + "/bin/symbolizer_driver",
                      args.build + "/bin/heapwire-symbolizer", args.object],
                     addresses)
    theirs, _ = run(["addr2line", "-afiC", "-e", args.source or args.object],
                    addresses)
    if not addresses or len(ours) != len(theirs):
        sys.exit(f"{len(addresses)} addresses, {len(ours)} answers of ours, "
                 f"{len(theirs)} of addr2line")
    different = [i for i in range(len(ours)) if ours[i] != theirs[i]]
    misplaced = excused(args.source or args.symbols or args.object,
                        [(addresses[i], ours[i], theirs[i])
                         for i in different])
    different = [i for i in different if addresses[i] not in misplaced]
    inlined = sum(len(chain) > 1 for chain in theirs)
    equal = 100 * (1 - len(different) / len(ours))
    print(f"{args.object}: {equal:.3f} % of {len(ours)} equal, "
          f"{inlined} inlined, {len(misplaced)} by llvm-symbolizer; {note}")
    for i in different[:20]:
        print(f"  {addresses[i]:#x}\n    ours   {ours[i]}\n"
              f"    theirs {theirs[i]}")
    if args.note and args.note not in note:
        sys.exit(f"the note should be: {args.note}")
    if ":" in note and not args.note:
        sys.exit("there should be no note")
    return 0 if equal >= args.least else 1


sys.exit(main())
