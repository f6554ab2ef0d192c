#!/usr/bin/python3
"""nm and addr2line for jeprof, with the symbol information that we use.

jeprof asks nm without sizes, only of the file itself, and drops inlined frames
where an object has no _fini.  Linked as "nm" and "addr2line" and named in
JEPROF_TOOLS, this gives it, independently of our symboliser:

- the split debug file's symbols, by build-id, else by .gnu_debuglink;
- for an object with neither symbols nor debug file, its exported symbols as
  far as they reach, and every other function of .eh_frame as
  "module+0x<start>"; addr2line then says "??", so that nm's name is taken;
- llvm-symbolizer's names, inlined frames and lines, where binutils 2.40 is wrong
  (symbolizer_compare.py says where);
- a _fini in every object (at SEPARATOR).

With equal information, jeprof's graph must be ours.
"""
import bisect
import os
import re
import subprocess
import sys

SEPARATOR = 0xffffffff0000


def output(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, check=False,
                          stderr=subprocess.DEVNULL, text=True,
                          errors="replace", **more).stdout


def debug_file(image):
    found = re.search(r"Build ID: ([0-9a-f]+)", output("readelf", "-n", image))
    if found:
        digits = found.group(1)
        path = f"/usr/lib/debug/.build-id/{digits[:2]}/{digits[2:]}.debug"
        if os.path.exists(path):
            return path
    link = re.search(r"\[ +0\] +(\S+)",
                     output("readelf", "-p", ".gnu_debuglink", image))
    if link:
        here = os.path.dirname(os.path.abspath(image))
        for place in (here, here + "/.debug", "/usr/lib/debug" + here):
            path = f"{place}/{link.group(1)}"
            if os.path.exists(path):
                return path
    return None


def has_symbols(image):
    return ".symtab" in output("readelf", "-SW", image)


def symbol_file(image):
    """What has the symbols of image: itself, its debug file, or None."""
    if has_symbols(image):
        return image
    path = debug_file(image)
    return path if path and has_symbols(path) else None


def exported(image):
    """(start, size, demangled name) of exported functions."""
    for line in output("readelf", "--dyn-syms", "-W", image).splitlines():
        part = line.split()
        if len(part) == 8 and part[3] in ("FUNC", "IFUNC") and \
                part[6] not in ("UND", "ABS") and int(part[1], 16):
            size = int(part[2], 0)
            yield int(part[1], 16), size, part[7].split("@")[0]


def unwound(image):
    """(start, end) of functions, by .eh_frame."""
    for line in output("readelf", "--debug-dump=frames", image).splitlines():
        found = re.search(r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
        if found:
            yield int(found.group(1), 16), int(found.group(2), 16)


def bare_symbols(image):
    module = os.path.basename(image)
    names, ends = {}, {}
    for start, size, name in exported(image):
        if size and start not in names:
            names[start], ends[start] = name, start + size
    unnamed = {}
    starts = sorted(names)
    for start, _ in unwound(image):
        near = bisect.bisect_right(starts, start)
        if near == 0 or ends[starts[near - 1]] <= start:
            unnamed[start] = f"{module}+0x{start:x}"
    plain = subprocess.run(["c++filt"], input="\n".join(names.values()),
                           stdout=subprocess.PIPE, text=True,
                           check=True).stdout.split("\n")
    for start, name in zip(list(names), plain):
        names[start] = name
    return {**unnamed, **names}


def nm(arguments):
    image = arguments[-1]
    if "-f" in arguments:
        return 1                    # as GNU nm answers jeprof's probe
    source = symbol_file(image)
    if source:
        listing = output("nm", *[a for a in arguments[:-1] if a != "-D"],
                         source)
        listing = re.sub(r"^.* _fini\n", "", listing, flags=re.M)
        # A second name of one function, gcc's own: we say what DWARF says.
        listing = re.sub(r"^.*\.localalias\n", "", listing, flags=re.M)
    else:
        listing = "".join(f"{start:016x} T {name}\n" for start, name
                          in sorted(bare_symbols(image).items()))
    if listing:
        sys.stdout.write(listing)
        print(f"{SEPARATOR:016x} T _fini")
    return 0


def frames(text):
    """A list of function and place lines per address."""
    answers = []
    for line in text.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            answers.append([])
        else:
            answers[-1].append(line)
    return answers


def ask_llvm(source, questions):
    answers = frames(output("llvm-symbolizer", "--obj=" + source, "--inlines",
                            "--functions=linkage", "--no-demangle",
                            "--addresses", "--output-style=GNU",
                            input=questions))
    names = sorted({name for answer in answers for name in answer[::2]})
    readable = dict(zip(names, output("c++filt", input="\n".join(names))
                        .split("\n")))
    return [[readable[line] if i % 2 == 0 else re.sub(r"^.*:0$", "??:0", line)
             for i, line in enumerate(answer)] for answer in answers]


def addr2line(arguments):
    if "--help" in arguments:
        return 0
    image = arguments[arguments.index("-e") + 1]
    asked = [int(line, 16) for line in sys.stdin if line.strip()]
    real = [a for a in asked if a != SEPARATOR]
    source = symbol_file(image) if real else None
    answers = [["??", "??:0"] for _ in real]
    if source:
        questions = "".join(f"0x{a:x}\n" for a in real)
        theirs = frames(output("addr2line", "-a", "-f", "-C", "-i", "-e", image,
                               input=questions))
        answers = ask_llvm(source, questions)
        # Which of several symbols' names it is, is addr2line's to say.
        for answer, other in zip(answers, theirs):
            if "(" not in answer[-2] or \
                    answer[-2].startswith(other[-2] + " [clone "):
                answer[-2] = other[-2]
    rest = iter(answers)
    for address in asked:
        print("\n".join(["_fini", "??:0"] if address == SEPARATOR
                        else next(rest)))
    return 0


if __name__ == "__main__":
    TOOL = nm if os.path.basename(sys.argv[0]) == "nm" else addr2line
    sys.exit(TOOL(sys.argv[1:]))
