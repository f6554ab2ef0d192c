#!/usr/bin/env python3
"""truth.py [RUNS [SOURCE...]] - what profiles say beside what a program knows.

RUNS (60) of truth.cc for each source: the recorder, on glibc's malloc and on
jemalloc by turns, and jemalloc's own profiling; at means of 64, 128, 256 and 512
KB.  Of each site, thread and age that has at least 30 samples on average, and
lacks as many, the estimate of the live bytes less the truth, in standard
deviations (which the program knows exactly), is a number that is normally
distributed where the estimate is right.  Prints the bias of all, and how likely
such numbers are by chance (Kolmogorov and Smirnov's test; their squares' sum).
"""
import collections
import math
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../integration", folder)
                for folder in ("cases", "lib")]
os.chdir(os.path.join(HERE, "../.."))

import recorder  # noqa: E402  pylint: disable=wrong-import-position

LEAST = 30  # samples, and objects without one
MEGABYTES = 48  # of each site

# found: the estimate; the rest as the program says.
Cell = collections.namedtuple(
    "Cell", "what name objects bytes variance sampled missed found")


def known(lines):
    """Of the program's words: by site, thread and age; each site's code."""
    cells, code = {}, {}
    for line in lines:
        if line.startswith("done"):
            return cells, code
        what, name, *rest = line.split()
        if what == "site":
            code[name] = tuple(int(word, 16) for word in rest[:2])
        cells[what, name] = tuple(map(float, rest[-5:]))
    raise AssertionError("the program ended")


def site_of(code, frames):
    """The site whose code one of the return addresses lies in, or None."""
    for name, (start, end) in code.items():
        if any(start < pc <= end for pc in frames):
            return name
    return None


def interposed(program, seed, mean):
    behind = recorder.JEMALLOC if seed // 4 % 2 else None
    with recorder.Recorded(program, str(seed), str(mean), str(MEGABYTES),
                           "asked", mean=mean, samples=1 << 17,
                           behind=behind) as host:
        cells, code = known(host.output)
        segment = host.read()
    assert segment.header["lost_samples"] == 0, segment.header
    assert segment.header["doublings"] == 0, segment.header
    found = collections.Counter()
    for stack in segment.stacks:
        site = site_of(code, [pc for pc, _ in stack.frames])
        found["site", site] += stack.live_bytes
    (moment,) = (name for what, name in cells if what == "age")
    sites = [site_of(code, [pc for pc, _ in stack.frames])
             for stack in segment.stacks]
    for _, size, stack, tid, weight, time_ns in segment.samples:
        if sites[int(stack)]:
            estimate = int(size) * float(weight)
            found["thread", tid] += estimate
            found["age", moment] += (int(time_ns) < int(moment)) * estimate
    return cells, found


def jemalloc(program, seed, mean):
    """As jeprof estimates: by stack, for the mean size of its samples."""
    with tempfile.TemporaryDirectory() as directory:
        dump = os.path.join(directory, "heap")
        rate = mean.bit_length() - 1
        # pylint: disable=consider-using-with
        process = subprocess.Popen(
            [program, str(seed), str(mean), str(MEGABYTES), "usable", dump],
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, "LD_PRELOAD": recorder.JEMALLOC,
                 "MALLOC_CONF": f"prof:true,lg_prof_sample:{rate}"})
        try:
            cells, code = known(process.stdout)
        finally:
            process.kill()
            process.communicate()
        with open(dump, encoding="ascii") as f:
            text = f.read()
    found, site = collections.Counter(), None
    for line in text.splitlines():
        if line.startswith("@"):
            site = site_of(code, [int(pc, 16) for pc in line.split()[1:]])
        counts = re.match(r"  t\*: (\d+): (\d+) ", line)
        if counts and site:
            n, size = map(int, counts.groups())
            if n:
                found["site", site] += size / -math.expm1(-size / n / mean)
    return {key: cell for key, cell in cells.items() if key[0] == "site"}, found


def normal(z):
    return math.erfc(-z / math.sqrt(2)) / 2


def kolmogorov(numbers):
    """How likely the greatest distance from N(0, 1) is."""
    numbers, n = sorted(numbers), len(numbers)
    distance = max(max((i + 1) / n - normal(z), normal(z) - i / n)
                   for i, z in enumerate(numbers))
    x = distance * (math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n))
    p = 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * x) ** 2)
                for k in range(1, 100))
    return distance, min(1, max(0, p))


def squares(numbers):
    """How likely so great a sum is: Wilson and Hilferty's."""
    n = len(numbers)
    z = (((sum(z * z for z in numbers) / n) ** (1 / 3) - (1 - 2 / (9 * n))) /
         math.sqrt(2 / (9 * n)))
    return 2 * min(normal(z), normal(-z))


def report(cells):
    for what in "site", "thread", "age":
        found = [c for c in cells if c.what == what and
                 min(c.sampled, c.missed) >= LEAST]
        if not found:
            continue
        z = [(c.found - c.bytes) / math.sqrt(c.variance) for c in found]
        total = sum(c.bytes for c in found)
        bias = sum(c.found for c in found) / total - 1
        error = math.sqrt(sum(c.variance for c in found)) / total
        mean = sum(z) / len(z)
        deviation = math.sqrt(sum((x - mean) ** 2 for x in z) / (len(z) - 1))
        distance, p = kolmogorov(z)
        print(f"  by {what:6} {len(z):5} estimates, bias {bias:+.3%} "
              f"(chance: +-{1.96 * error:.3%}); z: mean {mean:+.3f}, deviation "
              f"{deviation:.3f}, from {min(z):+.1f} to {max(z):+.1f}; "
              f"p = {p:.3f} (Kolmogorov, {distance:.4f}), "
              f"{squares(z):.3f} (squares)")
        within = sum(abs(x) < 1.96 for x in z) / len(z)
        print(f"            95 % intervals hold {within:.1%}")


def report_sites(cells):
    for name in dict.fromkeys(c.name for c in cells if c.what == "site"):
        of = [c for c in cells if (c.what, c.name) == ("site", name)]
        variance = sum(c.variance for c in of)
        total = sum(c.bytes for c in of)
        difference = sum(c.found for c in of) - total
        print(f"    {name:18} {difference / total:+8.3%} of {total / 1e6:6.0f} "
              f"MB: {difference / math.sqrt(variance):+5.2f} deviations; "
              f"{sum(c.sampled for c in of) / len(of):6.0f} samples a run")


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    sources = {"interposed": interposed, "jemalloc": jemalloc}
    with tempfile.TemporaryDirectory() as directory:
        program = os.path.join(directory, "truth")
        subprocess.run(["c++", "-std=c++17", "-O2", "-o", program,
                        "-Itests/integration/programs/recorder",
                        "tests/bench/truth.cc", "-pthread"], check=True)
        for source in sys.argv[2:] or sources:
            cells = []
            for seed in range(runs):
                truth, found = sources[source](program, seed,
                                               65536 << seed % 4)
                cells += [Cell(*key, *numbers, found[key])
                          for key, numbers in truth.items()]
            print(f"{source}, {runs} runs:")
            report(cells)
            report_sites(cells)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
