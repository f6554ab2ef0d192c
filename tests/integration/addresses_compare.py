#!/usr/bin/env python3
"""addresses_compare.py - our names and lines against those of two oracles.

usage: addresses_compare.py BUILD CASE OBJECT [--oracle FILE] [--symbols FILE]
                            [--by-llvm] [--note REGEX] [--step N] [--most N]

Asks us, addr2line and llvm-symbolizer for the bytes of all functions of OBJECT,
or every N-th, evenly spread if they are more than --most, in ascending order.  addr2line is the
oracle; where we differ from it, llvm-symbolizer has to side with us, and how is
counted.  --by-llvm: llvm-symbolizer is the oracle.  FILE: what the oracles read,
and whose symbols say where functions are, if that is not OBJECT.  Fails below
99.9 % of equal chains of names and lines, and when the note about what could
not be named is not as expected: none, or REGEX.

Where binutils 2.40 is known to go wrong:
 - DWARF 5 line programs start with file 1, not 0 (its PR 30783): the wrong file
   for functions that never set one;
 - it looks for a name behind one DW_AT_abstract_origin, not behind two, as
   link-time optimisation has them: "??";
 - it loses inlined frames of units that begin with anything but the usual one:
   clang's DWARF 5 in places, DWARF 5 type units, dwz.
A function without a linkage name gets that of the symbol, or its bare one,
depending on what was asked before (addr2line_names.h); llvm-symbolizer takes
the symbol's name for the outermost frame only.
"""
import argparse
import collections
import os.path
import re
import subprocess
import sys

from symbolizer_compare import code_addresses, run

LEAST = 99.9  # percent


def plain(name):
    """Without what tells parts and copies of a function apart."""
    return re.sub(r"( \[clone [^]]*\])+$|(\.(cold|constprop|isra|part|lto_priv)"
                  r"|\.\d+)+$", "", name)


def bare(name):
    """hidden, of (anonymous namespace)::hidden<int>(int) const"""
    name = plain(name).replace("(anonymous namespace)", "{anonymous}")
    name = name.replace("operator()", "operator").replace("<lambda", "{lambda")
    depth, kept = 0, ""
    for c in name:
        depth += c in "(<{"
        if depth == 0:
            kept += c
        depth -= c in ")>}"
    return re.sub(r"( const| volatile|&)*$", "", kept).split("::")[-1].split(" ")[-1]


def ask_llvm(path, addresses):
    answers, _ = run(["llvm-symbolizer", "--obj=" + path, "--inlines",
                      "--functions=linkage", "--no-demangle", "--addresses",
                      "--output-style=GNU"], addresses)
    names = sorted({name for chain in answers for name, _ in chain})
    readable = subprocess.run(["c++filt"], input="\n".join(names), check=True,
                              capture_output=True, text=True).stdout
    demangled = dict(zip(names, readable.split("\n")))
    return [[(demangled[name], "" if place.endswith(":0") else place)
             for name, place in chain] for chain in answers]


def path_of(place):
    path, _, line = place.rpartition(":")
    return (os.path.normpath(path) if path else "", line)


def symbol_names(path):
    """start -> names of functions there, and the sorted starts"""
    text = subprocess.run(["nm", "-SC", path], check=True, capture_output=True,
                          text=True).stdout
    found = collections.defaultdict(set)
    for line in text.splitlines():
        m = re.fullmatch(r"([0-9a-f]+) ([0-9a-f]+) [tTwWi] (.*)", line)
        if m:
            found[(int(m[1], 16), int(m[2], 16))].add(plain(m[3]))
    return found


def covering(symbols, addresses):
    """The symbols' names at each of the ascending addresses."""
    ranges = sorted(symbols)
    result, at = [], 0
    for address in addresses:
        while at < len(ranges) and sum(ranges[at]) <= address:
            at += 1
        names = set()
        for i in range(at, len(ranges)):
            if ranges[i][0] > address:
                break
            if address < sum(ranges[i]):
                names |= symbols[ranges[i]]
        result.append(names)
    return result


def same_name(ours, llvm, symbols):
    """'' when equal; how it differs; None when that is no excuse."""
    if plain(ours) == plain(llvm):
        return ""
    if bare(ours) and bare(ours) == bare(llvm):
        return "qualified or bare"
    if plain(ours) in symbols:
        return "the symbol's name, for want of a linkage name"
    if llvm == "??":
        return "llvm has no name"
    return None


def against_llvm(ours, llvm, symbols):
    """A class of agreement, or (None, class of difference)."""
    if len(ours) != len(llvm):
        return None, f"depth {len(ours)}, llvm has {len(llvm)}"
    how = ""
    for (name, place), (its_name, its_place) in zip(ours, llvm):
        one = same_name(name, its_name, symbols)
        if one is None:
            return None, "name"
        how = how or one
        if path_of(place) != path_of(its_place):
            return None, "line"
    return "llvm: " + (how or "the same"), None


def show(who, chain, other):
    """The first frame that is not as in other, shortened."""
    at = next((i for i, frame in enumerate(chain)
               if i >= len(other) or frame != other[i]), len(chain) - 1)
    name, place = chain[at] if chain else ("", "")
    print(f"            {who:10} {at} of {len(chain)}: {name[:90]} at "
          f"{place[-60:]}")


def difference(ours, theirs):
    if len(ours) != len(theirs):
        return "depth"
    names = {its for (mine, _), (its, _) in zip(ours, theirs) if mine != its}
    if names == {"??"}:
        return "name that addr2line has not"
    if names:
        return "name"
    return "line"


def only_symbols(ours, theirs, symbols):
    """Where addr2line has no name we have the symbol's, and all else is equal."""
    return len(ours) == len(theirs) and all(
        mine == its or (mine[1] == its[1] and its[0] == "??" and
                        plain(mine[0]) in symbols)
        for mine, its in zip(ours, theirs))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("case")
    parser.add_argument("object")
    parser.add_argument("--oracle")
    parser.add_argument("--symbols")
    parser.add_argument("--by-llvm", action="store_true")
    parser.add_argument("--most", type=int, default=8000)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--note")
    args = parser.parse_args()

    oracle = args.oracle or args.object
    symbols = args.symbols or args.object
    addresses = code_addresses(symbols, args.step)
    step = -(-len(addresses) // args.most)
    addresses = addresses[::step]
    ours, note = run([args.build + "/bin/symbolizer_driver",
                      args.build + "/bin/heapwire-symbolizer", args.object],
                     addresses)
    llvm = ask_llvm(oracle, addresses)
    theirs = llvm
    if not args.by_llvm:
        theirs, _ = run(["addr2line", "-afiC", "-e", oracle], addresses)
    if not addresses or not len(ours) == len(theirs) == len(llvm):
        sys.exit(f"{args.case}: {len(addresses)} addresses, {len(ours)}, "
                 f"{len(theirs)} and {len(llvm)} answers")

    covers = covering(symbol_names(symbols), addresses)
    equal = named = excused = inlined = 0
    classes = collections.Counter()
    examples = {}
    for i, (mine, its, second) in enumerate(zip(ours, theirs, llvm)):
        inlined += len(mine) > 1
        if mine == its:
            equal += 1
            named += 1
            continue
        agreed, why = against_llvm(mine, second, covers[i])
        if only_symbols(mine, its, covers[i]):
            agreed = "it is the symbol's"
        if agreed:
            what = agreed if args.by_llvm else \
                f"{difference(mine, its)}, not addr2line's; {agreed}"
            excused += 1
        else:
            what = "WRONG: " + (why if args.by_llvm else
                                f"{difference(mine, its)} (llvm: {why})")
        named += bool(agreed) or [n for n, _ in mine] == [n for n, _ in its]
        classes[what] += 1
        examples.setdefault(what, []).append(i)

    count = len(addresses)
    good = 100 * (equal + excused) / count
    print(f"{args.case}: {count} addresses, {inlined} inlined, "
          f"{100 * equal / count:.2f} % equal, {good:.2f} % with what is "
          f"excused, names {100 * named / count:.2f} %"
          f" ({note.split(', ')[0].split(' in ')[-1]})")
    for what, n in classes.most_common(8):
        print(f"    {n} x {what}")
        for i in examples[what][:2 if what.startswith("WRONG") else 1]:
            print(f"        {addresses[i]:#x}")
            show("ours", ours[i], theirs[i])
            show("llvm" if args.by_llvm else "addr2line", theirs[i], ours[i])
            if not args.by_llvm:
                show("llvm", llvm[i], ours[i])
    note = note.partition(": ")[2]
    if note:
        print("    note:", note)
    if bool(note) != bool(args.note) or not re.search(args.note or "", note):
        print("    WRONG: the note should be", args.note or "empty")
        return 1
    return 0 if good >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
