#!/usr/bin/env python3
"""PDFs of profiles whose names attack: hostile_pdf.py PICTURE DIRECTORY.

qpdf and poppler read each, and find the names as text.
"""
import os
import re
import subprocess
import sys
import time

picture, directory = sys.argv[1:]

NAMES = [
    "plain", "a(b", "a)b", "((((", "))))", "a\\b", "ends in \\", "\\\\", "\\)",
    "(open\\", ") Tj ET endstream endobj", "%PDF-1.7", "%%EOF",
    "<</JS (app.alert(1)) /S /JavaScript>>", "/OpenAction", "] >> endobj", "\\N", "\\G", "\\E", "\\L", "\\l",
    "\"quoted\"", "</title><script>x</script>", "&#1;&lt;&amp;amp;", "${x}", "`id`",
    "\x01\x02\x1b[2J", "\x7f\x08", "\u202eturned\u2066", "\u4f60\u597d\uff01", "\u0416\u0443\u043a",
    "\u05e9\u05dc\u05d5\u05dd", "\U0001f600\U0001f600", "e\u0301\u0302\u0303", "\ud7ff\ufffd\uffff",
    "x" * 10240, "(" * 10240, "\\" * 10240, "ns::" * 2500 + "f", "\u4f60" * 3400,
]
ODD = [b"\xff\xfe\x80", b"\xed\xa0\x80", b"\xc0\x80x", b"ok \xf5\x80\x80\x80"]


def ask(*command):
    done = subprocess.run(command, capture_output=True)
    return done.returncode, done.stdout, done.stderr


def draw(what, names, stacks):
    profile, table, pdf = (os.path.join(directory, f"hostile.{end}") for end in ("heap", "names", "pdf"))
    with open(profile, "w", encoding="ascii") as file:
        file.write("heap_v2/1\n")
        for stack, size in stacks:
            file.write("@ " + " ".join(f"{0x1000 * (i + 1):#x}" for i in stack))
            file.write(f"\n  t*: 1: {size} [0: 0]\n")
        file.write("\nMAPPED_LIBRARIES:\n\n")
    with open(table, "wb") as file:
        for i, name in enumerate(names):
            for less in (0, 1):  # a leaf's, and a caller's
                file.write(b"%x\t%s\n" % (0x1000 * (i + 1) - less, name))
    begin = time.monotonic()
    code, out, err = ask(picture, "db (\\", profile, table, "--live", "--pdf")
    took = time.monotonic() - begin
    assert code == 0, (what, err[:400])
    with open(pdf, "wb") as file:
        file.write(out)
    code, said, err = ask("qpdf", "--check", pdf)
    assert code == 0 and not err, (what, said, err)
    code, info, err = ask("pdfinfo", pdf)
    assert code == 0 and not err, (what, err)
    info = dict(re.findall(r"^(\S+):\s+(.*)$", info.decode(), re.M))
    assert (info["JavaScript"], info["Encrypted"], info["Pages"]) == ("no", "no", "1"), (what, info)
    assert not re.search(rb"/(JavaScript|OpenAction|Launch|EmbeddedFile|AA)\b", out), what
    code, text, err = ask("pdftotext", pdf, "-")
    assert code == 0 and not err, (what, err)
    print(f"{what}: ok ({len(out)} bytes in {took:.1f} s)")
    return text.decode()


def main():
    names = [name.encode("utf-8", "surrogatepass").replace(b"\n", b"") for name in NAMES] + ODD
    each = [([i, 0], 1 << 20) for i in range(1, len(names))]
    text = draw("all at once", names, each)
    for wanted in ("a(b", "a)b", "((((", "a\\b", "\\\\", ") Tj ET endstream", "%%EOF", "/OpenAction", "\\N", "\\G", "\\l",
                   '"quoted"', "${x}", "\u0416\u0443\u043a"):
        assert wanted in text, (wanted, text)
    assert not re.search("[\x00-\x08\x0e-\x1f\u202d\u202e\u2066-\u2069]", text.replace("\f", "")), "as it is shown"
    for i in range(1, len(names)):
        if len(names[i]) > 1000:
            draw(f"name {i}", names, [([i, 0], 1 << 20)])
    # 100,000 frames, of which the graph keeps what is large enough.
    many = [b"f%d" % i for i in range(100001)]
    draw("100,000 frames", many, [([50 * i + k for k in range(50)] + [100000], 1000 + i) for i in range(2000)])


main()
