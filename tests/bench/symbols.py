"""symbols.py BUILD BINARY PROFILE... - see symbols.sh."""

import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

BUILD, BINARY = sys.argv[1], os.path.realpath(sys.argv[2])
PROFILES = sys.argv[3:]
ROUNDS = int(os.environ.get("ROUNDS", "5"))
PARTS = os.environ.get("PARTS", "side memory growth").split()
PROF = os.path.join(BUILD, "bin", "heapwire-prof")
NULL = os.open(os.devnull, os.O_WRONLY)


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def run(*command, stdin=None):
    """Milliseconds: wall, CPU of it and all that it waited for; and the
    largest resident set of one of those, in MB."""
    actions = [(os.POSIX_SPAWN_DUP2, NULL, 1), (os.POSIX_SPAWN_DUP2, NULL, 2)]
    if stdin:
        actions.append((os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0))
    start = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, os.environ,
                          file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    if status:
        sys.exit(f"symbols.py: {' '.join(command)}: status {status}")
    return (wall * 1000, (usage.ru_utime + usage.ru_stime) * 1000,
            usage.ru_maxrss / 1024)


def addresses_of(profile):
    """All distinct ones, as they are named, in order; and the mappings."""
    found, maps = set(), []
    with open(profile, encoding="ascii", errors="replace") as lines:
        for line in lines:
            if line.startswith("@"):
                stack = [int(a, 16) for a in line.split()[1:]]
                found.update(a - (i > 0) for i, a in enumerate(stack))
            elif " r-xp " in line:
                maps.append(line.split())
    return sorted(found), maps


def code_mapping(maps):
    for words in maps:
        if words[-1] == BINARY:
            start, end = (int(a, 16) for a in words[0].split("-"))
            return start, end, int(words[2], 16)
    sys.exit(f"symbols.py: no mapping of {BINARY}")


def segment_bias():
    """What to add to an offset in the file for its virtual address."""
    for line in subprocess.run(["readelf", "-lW", BINARY], text=True,
                               capture_output=True, check=True
                               ).stdout.splitlines():
        words = line.split()
        if words and words[0] == "LOAD" and "E" in "".join(words[6:-1]):
            return int(words[2], 16) - int(words[1], 16)
    sys.exit("symbols.py: no code")


def section(name):
    for line in subprocess.run(["readelf", "-SW", BINARY], text=True,
                               capture_output=True, check=True
                               ).stdout.splitlines():
        words = line.replace("[", " ").split()
        if len(words) > 5 and words[1] == name:
            return int(words[4], 16), int(words[5], 16)
    return 0, 0


def row(what, *columns):
    print(f"  {what:34}" + "".join(f"{c:>12}" for c in columns), flush=True)


class Bench:
    def __init__(self, work):
        self.work = work
        self.indexes = os.path.join(work, "symbols")
        os.mkdir(self.indexes)
        self.has_index = False
        with open(BINARY, "rb") as file:  # into the page cache
            while file.read(1 << 24):
                pass

    def make_index(self):
        """Of the binary, and of the libraries that have DWARF somewhere."""
        _, maps = addresses_of(PROFILES[0])
        for path in dict.fromkeys([BINARY, *(words[-1] for words in maps)]):
            start = time.perf_counter()
            done = subprocess.run(
                [PROF, "--index", "--symbols=" + self.indexes, path],
                capture_output=True, text=True, check=False)
            took = time.perf_counter() - start
            if done.returncode == 0:
                self.has_index = True
                print(f"index, {took:.1f} s: {done.stdout.strip()}")
            elif path == BINARY:
                print(f"no index: {done.stderr.strip()}")
                return

    def indexed(self, profile):
        return (PROF, "--dot", "--symbols=" + self.indexes, BINARY, profile)

    def ways(self, profile):
        ways = {"jeprof": ("jeprof", "--dot", BINARY, profile),
                "heapwire-prof": (PROF, "--dot", BINARY, profile)}
        if self.has_index:
            ways["with the index"] = self.indexed(profile)
        return ways

    def side(self):
        """All ways in turns."""
        for profile in PROFILES:
            addresses, _ = addresses_of(profile)
            ways = self.ways(profile)
            times = {way: [] for way in ways}
            for _ in range(ROUNDS):
                for way, command in ways.items():
                    # Short ones are as easily disturbed as long ones.
                    many = 1 if way == "jeprof" else 5
                    times[way] += [run(*command)[:2] for _ in range(many)]
            with open(profile, encoding="ascii", errors="replace") as text:
                stacks = sum(line.startswith("@") for line in text)
            print(f"{os.path.basename(profile)}: {len(addresses)} addresses, "
                  f"{stacks} stacks; ms, median of {ROUNDS} rounds")
            row("", "wall", "CPU", "x wall", "x CPU")
            base = [median(t[i] for t in times["jeprof"]) for i in (0, 1)]
            for way, list_ in times.items():
                wall, cpu = (median(t[i] for t in list_) for i in (0, 1))
                row(way, f"{wall:.1f}", f"{cpu:.1f}", f"{base[0] / wall:.0f}",
                    f"{base[1] / cpu:.0f}")

    def peaks(self, command):
        """Peak resident sets of the process and of its helper, MB."""
        pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[
            (os.POSIX_SPAWN_DUP2, NULL, 1), (os.POSIX_SPAWN_DUP2, NULL, 2)])
        peaks, done = {}, threading.Event()

        def watch():
            children = f"/proc/{pid}/task/{pid}/children"
            while not done.is_set():
                try:
                    with open(children, encoding="ascii") as file:
                        family = [str(pid), *file.read().split()]
                except OSError:
                    family = [str(pid)]
                for one in family:
                    try:
                        with open(f"/proc/{one}/status",
                                  encoding="ascii") as file:
                            found = re.search(r"VmHWM:\s+(\d+)", file.read())
                        if found:
                            peaks[one] = int(found[1]) / 1024
                    except OSError:
                        pass

        thread = threading.Thread(target=watch)
        thread.start()
        os.wait4(pid, 0)
        done.set()
        thread.join()
        own = peaks.pop(str(pid), 0)
        return own, max(peaks.values(), default=0)

    def memory(self):
        bias = segment_bias()
        print("peak resident sets, MB; of ours the program's and the "
              "helper's are added")
        row("", "addr2line", "ours", "part", "indexed", "part")
        for profile in PROFILES:
            addresses, maps = addresses_of(profile)
            start, end, offset = code_mapping(maps)
            path = os.path.join(self.work, "addresses")
            with open(path, "w", encoding="ascii") as file:
                for a in addresses:
                    if start <= a < end:
                        file.write(f"{a - start + offset + bias:x}\n")
            theirs = run("addr2line", "-f", "-i", "-C", "-e", BINARY,
                         stdin=path)[2]
            columns = [f"{theirs:.0f}"]
            for way, command in self.ways(profile).items():
                if way == "jeprof":
                    continue
                ours = sum(max(self.peaks(command) for _ in range(3)))
                columns += [f"{ours:.1f}", f"1/{theirs / ours:.0f}"]
            row(os.path.basename(profile), *columns)

    def functions(self):
        """(unit or "", start, size) of all functions."""
        found = []
        for line in subprocess.run(["nm", "-S", "--defined-only", BINARY],
                                   text=True, capture_output=True, check=True
                                   ).stdout.splitlines():
            words = line.split()
            if len(words) == 4 and words[2] in "TtWw" and int(words[1], 16):
                unit = re.search(r"unit_\d\d\d", words[3])
                found.append((unit[0] if unit else "", int(words[0], 16),
                              int(words[1], 16)))
        return found

    def synthetic(self, name, functions, count, dice):
        """A profile of count distinct addresses of functions."""
        bias = segment_bias()
        with open(PROFILES[0], encoding="ascii", errors="replace") as text:
            maps = text.read().split("\nMAPPED_LIBRARIES:\n")[1]
        start, _, offset = code_mapping(addresses_of(PROFILES[0])[1])
        picked, tries = set(), 0
        while len(picked) < count and tries < count * 50:
            _, at, size = dice.choice(functions)
            picked.add(at + dice.randrange(size))
            tries += 1
        picked = [a - bias - offset + start for a in picked]
        dice.shuffle(picked)
        path = os.path.join(self.work, name)
        with open(path, "w", encoding="ascii") as file:
            file.write("heap_v2/1\n  t*: 1: 1 [0: 0]\n")
            for i in range(0, len(picked), 20):
                stack = picked[i:i + 20]
                file.write("@ " + " ".join(f"{a + (k > 0):#x}" for k, a in
                                           enumerate(stack)) + "\n")
                file.write("  t*: 1: 100 [0: 0]\n  t0: 1: 100 [0: 0]\n")
            file.write("\nMAPPED_LIBRARIES:\n" + maps)
        return path, len(picked)

    def cost(self, *command):
        times = [run(*command) for _ in range(ROUNDS)]
        return median(t[0] for t in times), median(t[1] for t in times)

    def grow(self, what, profiles):
        print(f"{what}; ms, wall (CPU), median of {ROUNDS}")
        row("", "1 core", "2 cores", "indexed")
        for label, profile in profiles:
            columns = []
            for prefix in (("taskset", "-c", "0"), ()):
                wall, cpu = self.cost(*prefix, PROF, "--dot", BINARY, profile)
                columns.append(f"{wall:.0f} ({cpu:.0f})")
            if self.has_index:
                wall, cpu = self.cost(*self.indexed(profile))
                columns.append(f"{wall:.1f} ({cpu:.1f})")
            row(label, *columns)

    def growth(self):
        dice = random.Random(4)
        functions = self.functions()
        profiles = []
        for count in (10, 100, 1000, 10000, 100000):
            path, got = self.synthetic(f"synthetic-{count}", functions, count,
                                       dice)
            profiles.append((f"{got} addresses", path))
        self.grow("addresses anywhere", profiles)
        units = sorted({unit for unit, _, _ in functions if unit})
        _, info = section(".debug_info")
        profiles = []
        for count in (1, 5, 20, 50, 100, 200):
            if count > len(units):
                break
            # Those of one kind lie 8 apart: a mixture.
            some = set(dice.sample(units, count))
            path, got = self.synthetic(
                f"units-{count}", [f for f in functions if f[0] in some], 1000,
                dice)
            profiles.append((f"{count} units, {got} addresses", path))
        self.grow("units touched", profiles)
        self.floor(info)

    def floor(self, info):
        """Reading all of .debug_info, and adding it up."""
        offset, _ = section(".debug_info")
        print(f"the floor: {info / 1e6:.0f} MB of .debug_info read in pieces "
              "and added up")
        tool = os.path.join(BUILD, "bin", "read_floor")
        wall, cpu = self.cost(tool, BINARY, str(offset), str(info))
        row("", f"{wall:.0f} ({cpu:.0f})")


def main():
    with tempfile.TemporaryDirectory(dir=os.path.dirname(BINARY)) as work:
        bench = Bench(work)
        print(f"{os.path.basename(BINARY)}: "
              f"{os.path.getsize(BINARY) / 1e6:.0f} MB, .debug_info "
              f"{section('.debug_info')[1] / 1e6:.0f} MB; load "
              f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        bench.make_index()
        for part in PARTS:
            getattr(bench, part)()


main()
