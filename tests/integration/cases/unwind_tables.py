"""An unwind table says of each byte of code what readelf says of it: where
the frame is, and where frame pointer and return address are saved."""
import bisect
import collections
import glob
import os
import platform
import re
import shutil
import subprocess
import sys

BUILD = os.environ.get("BUILD", "build/release")
EQUAL = 0.999  # of an object's bytes of code
ARM = platform.machine() == "aarch64"
NUMBERS = ({"sp": 31, "x29": 29, "lr": 30} if ARM else
           {"rax": 0, "rdx": 1, "rcx": 2, "rbx": 3, "rsi": 4, "rdi": 5,
            "rbp": 6, "rsp": 7})
FP = "x29" if ARM else "rbp"
LR = "r30" if ARM else "u"


def number(name):
    return NUMBERS.get(name, name.lstrip("rx"))


def cfa(text):
    match = re.fullmatch(r"([a-z0-9]+)([+-]\d+)", text)
    return f"r{number(match[1])}{match[2]}" if match else text


def place(text):
    if text in ("s", "u"):
        return "u"
    return f"r{number(text)}" if re.fullmatch(r"[a-z]+\d*", text) and \
        text not in ("exp", "vexp") else text


def wanted(path):
    """start, end, CFA, frame pointer, return address: as readelf says."""
    out = subprocess.run(["readelf", "--debug-dump=frames-interp", path],
                         capture_output=True, text=True,
                         env=dict(os.environ, LC_ALL="C")).stdout
    commons, names, rows, entry = {}, [], [], None

    def finish():
        if entry and entry[0] == "FDE":
            start, end, common = entry[1:]
            found = rows or [(start,) + commons.get(common, (0, "", "u", "u"))[1:]]
            for i, row in enumerate(found):
                to = found[i + 1][0] if i + 1 < len(found) else end
                if row[0] < to:
                    yield (row[0], min(to, end)) + row[1:]
        elif entry and rows:
            commons[entry[1]] = rows[0]

    for line in out.splitlines():
        words = [w for w in line.split() if not w.startswith("(")]
        if len(words) > 3 and words[3] in ("CIE", "FDE"):
            yield from finish()
            rows = []
            if words[3] == "CIE":
                entry = ("CIE", words[0])
            else:
                common = re.search(r"cie=([0-9a-f]+)", line)[1]
                start, end = re.search(r"pc=([0-9a-f]+)\.\.([0-9a-f]+)",
                                       line).groups()
                entry = ("FDE", int(start, 16), int(end, 16), common)
        elif words[:1] == ["LOC"]:
            names = words[2:]
        elif re.match(r"[0-9a-f]{16} ", line):
            saved = dict(zip(names, words[2:]))
            rows.append((int(words[0], 16), cfa(words[1]),
                         place(saved.get(FP, "u")),
                         place(saved.get("ra", saved.get("lr", LR)))))
    yield from finish()


def ours(path):
    run = subprocess.run([f"{BUILD}/bin/unwind_rows", path],
                         capture_output=True, text=True)
    assert run.returncode == 0, (path, run.stderr)
    rows = [line.split(" ", 1) for line in run.stdout.splitlines()]
    return [int(at, 16) for at, _ in rows], [text for _, text in rows], \
        run.stderr.strip()


def same(theirs, text):
    frame, fp, ra = theirs
    if text == "signal":
        return frame == "exp" and ra == "exp"
    if text == "outermost":
        return ra == "u"
    return text == f"{frame} {fp} {ra}"


def compare(path):
    starts, texts, figures = ours(path)
    total = equal = 0
    others = collections.Counter()
    for start, end, *theirs in wanted(path):
        at = start
        while at < end:
            i = bisect.bisect_right(starts, at) - 1
            to = min(end, starts[i + 1] if i + 1 < len(starts) else end)
            total += to - at
            if i >= 0 and same(theirs, texts[i]):
                equal += to - at
            else:
                others[" ".join(theirs) + " / " +
                       (texts[i] if i >= 0 else "")] += to - at
            at = to
    assert total, f"readelf says nothing of {path}"
    print(f"{path}: {equal / total:.4%} of {total} bytes; {figures}")
    for what, count in others.most_common(8):
        print(f"    {count} bytes: {what}")
    return equal / total >= EQUAL


def objects():
    found = [shutil.which(name) for name in
             ("redis-server", "mariadbd", "python3")] + ["/usr/bin/python3"]
    for name in ("libc.so.6", "libstdc++.so.6", "libgcc_s.so.1",
                 "ld-linux-*.so.*", "libjemalloc.so.2", "libcrypto.so.3"):
        found += glob.glob(f"/lib/*-linux-gnu/{name}")[:1]
    found += glob.glob("/lib/*-linux-musl*/libc.so")[:1]
    return sorted({os.path.realpath(f) for f in found
                   if f and open(f, "rb").read(4) == b"\x7fELF"})


if __name__ == "__main__":
    results = [compare(path) for path in sys.argv[1:] or objects()]
    sys.exit(0 if all(results) else 1)
