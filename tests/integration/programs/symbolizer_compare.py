#!/usr/bin/env python3
"""symbolizer_compare.py - our names and lines against llvm-symbolizer's.

usage: symbolizer_compare.py BUILD OBJECT [--source FILE] [--symbols FILE]
                             [--by-addr2line] [--note REGEX] [--step N]
                             [--most N] [--name CASE]

Asks us and llvm-symbolizer for every N-th byte (1) of all functions of OBJECT,
or evenly spread ones if they are more than --most, and for every place that a
call returns to, less one: what a stack has.  SOURCE: what the oracle reads,
SYMBOLS: whose symbols say where functions are, if that is not OBJECT.  Fails
unless all inline chains are the same, names and lines, and the note about what
could not be named is as expected: none, or REGEX.

The DWARF decides, and llvm-symbolizer reads it: there is no difference that is
excused but that a symbol has several names, or one that it did not find (it
leaves the symbols of a debug file alone).  addr2line is the oracle only where
libbfd answers for us: of split DWARF it has symbols alone, of dwz's common file
few inlined frames.  Elsewhere binutils 2.40 goes wrong:
 - it calls a function without a linkage name (static, in an anonymous
   namespace, a lambda) that was inlined after the symbol around it, at the first
   address that it is asked for: half of a program's call sites;
 - DWARF 5 line programs start with file 1, not 0 (its PR 30783): the wrong file
   for functions that never set one;
 - it looks for a name behind one DW_AT_abstract_origin, not behind two, as
   link-time optimisation has them: "??";
 - it loses inlined frames of units that begin with anything but the usual one:
   clang's DWARF 5 in places, DWARF 5 type units, dwz.
"""
import argparse
import collections
import os.path
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          errors="replace").stdout


def symbols_of(path):
    """(start, size) -> the readable names of functions there"""
    found = collections.defaultdict(set)
    for option in ([], ["-D"]):
        text = output("nm", "-SC", *option, path)
        for line in text.splitlines():
            m = re.fullmatch(r"([0-9a-f]+) ([0-9a-f]+) [tTwWi] (.*)", line)
            if m:
                name = re.sub(r"@+[A-Za-z0-9_.]+$", "", m[3])
                found[(int(m[1], 16), int(m[2], 16))].add(plain(name))
        if found:
            break
    return found


def code_addresses(symbols, step):
    addresses, next_one = [], 0
    for start, size in sorted(symbols):
        first = max(start, next_one)
        first += -first % step
        addresses.extend(range(first, start + size, step))
        next_one = max(next_one, start + size)
    return addresses


def call_sites(path):
    """Where calls return to, less one."""
    text = output("objdump", "-d", "--no-show-raw-insn", path)
    return {int(m[1], 16) - 1
            for m in re.finditer(r"\tcall[^\n]*\n *([0-9a-f]+):", text)}


def holders(symbols, addresses):
    """Of each of the ascending addresses the names of what holds it."""
    ranges = sorted(symbols)
    result, at = [], 0
    for address in addresses:
        while at < len(ranges) and sum(ranges[at]) <= address:
            at += 1
        names = set()
        for start, size in ranges[at:]:
            if start > address:
                break
            if address < start + size:
                names |= symbols[(start, size)]
        result.append(names)
    return result


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
            path, _, line = place.rpartition(":")
            place = "" if line in ("?", "0") else \
                f"{os.path.normpath(path)}:{line}"
            result[-1].append((function, place))
            i += 2
    return result


def run(command, addresses):
    questions = "".join(f"{a:#x}\n" for a in addresses)
    done = subprocess.run(command, input=questions, capture_output=True,
                          text=True, errors="replace")
    if done.returncode != 0:
        sys.exit(f"{command[0]}: status {done.returncode}: {done.stderr}")
    return chains(done.stdout), done.stderr.strip()


def ask_llvm(path, addresses):
    """Demangled by binutils, as ours are."""
    answers, _ = run(["llvm-symbolizer", "--obj=" + path, "--inlines",
                      "--functions=linkage", "--no-demangle", "--addresses",
                      "--output-style=GNU"], addresses)
    names = sorted({name for chain in answers for name, _ in chain})
    readable = subprocess.run(["c++filt", "--no-verbose"],
                              input="\n".join(names), check=True,
                              capture_output=True, text=True).stdout
    demangled = dict(zip(names, readable.split("\n")))
    return [[(demangled[name], place) for name, place in chain]
            for chain in answers]


def plain(name):
    """Without what tells parts and copies of a function apart."""
    return re.sub(r"( \[clone [^]]*\])+$|(\.(cold|constprop|isra|part|lto_priv)"
                  r"|\.\d+)+$", "", name)


def difference(ours, theirs, symbols):
    if len(ours) != len(theirs):
        return f"depth {len(ours)}, not {len(theirs)}"
    for i, ((name, place), (its_name, its_place)) in enumerate(
            zip(ours, theirs)):
        mine, its = plain(name), plain(its_name)
        if mine != its and not (i + 1 == len(ours) and mine in symbols and
                                its in symbols | {"??"}):
            return "name"
        if place != its_place:
            return "line"
    return None


def show(whose, chain, other):
    """The first frame that is not as in other, shortened."""
    at = next((i for i, frame in enumerate(chain)
               if i >= len(other) or frame != other[i]), len(chain) - 1)
    name, place = chain[at] if chain else ("", "")
    print(f"            {whose:7} {at} of {len(chain)}: {name[:90]} at "
          f"{place[-60:]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("object")
    parser.add_argument("--source")
    parser.add_argument("--symbols")
    parser.add_argument("--by-addr2line", action="store_true")
    parser.add_argument("--note")
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--most", type=int, default=8000)
    parser.add_argument("--name")
    args = parser.parse_args()

    name = args.name or args.object
    source = args.source or args.object
    symbols = symbols_of(args.symbols or args.object)
    addresses = code_addresses(symbols, args.step)
    addresses = addresses[::-(-len(addresses) // args.most)]
    if args.step == 1:
        covered = set(code_addresses(symbols, 1))
        calls = call_sites(args.object) & covered
        addresses = sorted(calls.union(addresses))
    ours, note = run([args.build + "/bin/symbolizer_driver",
                      args.build + "/bin/heapwire-symbolizer", args.object],
                     addresses)
    if args.by_addr2line:
        theirs, _ = run(["addr2line", "-afiC", "-e", source], addresses)
    else:
        theirs = ask_llvm(source, addresses)
    if not addresses or len(ours) != len(theirs):
        sys.exit(f"{name}: {len(addresses)} addresses, {len(ours)} answers of "
                 f"ours, {len(theirs)} of the oracle")

    wrong = collections.defaultdict(list)
    for i, holding in enumerate(holders(symbols, addresses)):
        what = difference(ours[i], theirs[i], holding)
        if what:
            wrong[what].append(i)
    inlined = sum(len(chain) > 1 for chain in theirs)
    print(f"{name}: {len(addresses)} addresses, {inlined} inlined, "
          f"{sum(map(len, wrong.values()))} wrong "
          f"({note.split(', ')[0].split(' in ')[-1]})")
    for what, places in wrong.items():
        print(f"    {len(places)} x {what}")
        for i in places[:2]:
            print(f"        {addresses[i]:#x}")
            show("ours", ours[i], theirs[i])
            show("oracle", theirs[i], ours[i])
    note = note.partition(": ")[2]
    if note:
        print("    note:", note)
    if bool(note) != bool(args.note) or not re.search(args.note or "", note):
        print("    WRONG: the note should be", args.note or "empty")
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
