#!/usr/bin/env python3
"""cpu_truth.py [SECONDS [NAME...]] - our stacks beside those of perf and libdw.

Of each program perf records registers and stack for so many seconds (5), and
the very same samples are unwound by perf script (libunwind), by libdw
(dw_walk.c, where libdw-dev is there; DW_FLAGS: other flags to build it), and by
our tables and walker: every address of every frame is compared.  "whole": ours
came to the outermost frame.  "goes on": ours has all of perf's frames, and more.
"neither": ours is no one's.  SHOW=N shows so many of these.  HZ: 499.
"""
import collections
import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../integration/lib"))
os.chdir(os.path.join(HERE, "../.."))

# pylint: disable=wrong-import-position
from perf_record import (DIFFERENT, EQUAL, OURS_LONGER,  # noqa: E402
                         THEIRS_LONGER, Code, Recording, compare, compare_all,
                         walk)
from profiled import BUILDS, built, redis, running  # noqa: E402

@contextlib.contextmanager
def mariadb(work, _):
    data, at = os.path.join(work, "data"), os.path.join(work, "sock")
    subprocess.run(["mariadb-install-db", "--no-defaults", "--force",
                    f"--datadir={data}", "--user=root",
                    "--auth-root-authentication-method=normal"],
                   check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    with running(["mariadbd", "--no-defaults", "--user=root",
                  f"--datadir={data}", f"--socket={at}", "--skip-networking",
                  f"--pid-file={work}/pid"]) as server:
        while not os.path.exists(at):
            time.sleep(0.1)
        with running(["mariadb-slap", "--no-defaults", f"--socket={at}",
                      "--user=root", "--concurrency=8", "--iterations=1000000",
                      "--auto-generate-sql",
                      "--auto-generate-sql-load-type=mixed",
                      "--auto-generate-sql-secondary-indexes=3",
                      "--number-char-cols=5", "--number-of-queries=20000"]):
            time.sleep(2)
            yield server.pid


PYTHON = """
import hashlib, json, re, zlib
while True:
    text = json.dumps([{"a": i, "b": [str(i)] * 5} for i in range(500)])
    hashlib.sha256(zlib.compress(text.encode())).hexdigest()
    sorted(re.findall(r"[0-9]+", text), key=lambda s: -int(s))
"""


@contextlib.contextmanager
def python(_work, _):
    with running(["/usr/bin/python3", "-c", PYTHON]) as process:
        yield process.pid


@contextlib.contextmanager
def openssl(_work, name):
    """Its code is assembler's, with call frame information by hand."""
    with running(["openssl", "speed", "-seconds", "1000", "-evp",
                  "aes-256-gcm"] if name.endswith("gcm") else
                 ["openssl", "speed", "-seconds", "1000",
                  name.split()[-1]]) as process:
        yield process.pid


PROGRAMS = {
    **dict.fromkeys(BUILDS, built), "redis": redis, "mariadb": mariadb,
    "python": python,
    **dict.fromkeys([f"openssl {what}" for what in (
        "sha256", "rsa2048", "ecdsap256", "aes-256-gcm", "camellia-256-cbc")],
        openssl)}


def build_dw_walk(work):
    """None where libdw cannot be had."""
    program = os.path.join(work, "dw_walk")
    flags = shlex.split(os.environ.get("DW_FLAGS", "-ldw"))
    done = subprocess.run(["cc", "-O2", "-o", program, "tests/bench/dw_walk.c",
                           *flags], capture_output=True, check=False)
    return None if done.returncode else program


def show_odd(code, found, libdw):
    frames = [f"{f.pc:x} {f.name}" for f in found.theirs]
    print(f"    {found.how}, end {found.end}\n"
          f"      ours:  {' '.join(f'{code.offset(p):x}' for p in found.ours)}\n"
          f"      libdw: {' '.join(f'{code.offset(p):x}' for p in libdw)}\n"
          f"      perf:  {', '.join(frames)}")


def measure(name, seconds, dw_walk, show):
    with tempfile.TemporaryDirectory(prefix="hw-truth-") as work:
        with PROGRAMS[name](work, name) as pid:
            data = os.path.join(work, "perf.data")
            with Recording(data, pid, int(os.environ.get("HZ", "499"))):
                time.sleep(seconds)
            compared, said = compare_all(data, pid, 20)
            code = Code(pid)
            libdw = [()] * len(compared)
            if dw_walk:
                found, _ = walk([dw_walk, str(pid)],
                                [c.sample for c in compared])
                libdw = [pcs for _, pcs in found]
    count, same_dw, neither = collections.Counter(), 0, []
    for c, pcs in zip(compared, libdw):
        count[c.how] += 1
        count["whole"] += c.end == 0
        dw = bool(pcs) and compare(code, c.ours, pcs) == EQUAL
        same_dw += dw
        if not dw and c.how != EQUAL:
            neither.append((c, pcs))
    n = len(compared)
    print(f"{name:36} {n:7} {count['whole']:7} {count[EQUAL]:7} "
          f"{count[OURS_LONGER]:7} {count[THEIRS_LONGER]:7} "
          f"{count[DIFFERENT]:7} {same_dw:7} {len(neither):7} "
          f"{1 - len(neither) / max(n, 1):8.2%}  {said}", flush=True)
    for c, pcs in neither[:show]:
        show_odd(code, c, pcs)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as work:
        dw_walk = build_dw_walk(work)
        if not dw_walk:
            print("without libdw: no libdw-dev here")
        print(f"{'':36} {'samples':>7} {'whole':>7} {'= perf':>7} "
              f"{'goes on':>7} {'shorter':>7} {'other':>7} {'= libdw':>7} "
              f"{'neither':>7} {'= either':>8}")
        for name in sys.argv[2:] or PROGRAMS:
            needed = (BUILDS[name][0][0] if name in BUILDS else
                      name.split()[0].replace("redis", "redis-server")
                      .replace("mariadb", "mariadbd"))
            if not shutil.which(needed):
                print(f"{name}: there is no {needed} here")
                continue
            measure(name, seconds, dw_walk, int(os.environ.get("SHOW", "0")))


if __name__ == "__main__":
    main()
