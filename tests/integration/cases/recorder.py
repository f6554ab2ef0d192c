"""The recorder: a program that knows its live bytes, against its segment."""
import bisect
import collections
import contextlib
import fcntl
import functools
import math
import os
import random
import re
import subprocess
import sys
import tempfile

from node_under_test import wait_for
from ports import free_port
from recorder_truth import LARGEST, read_truth
from runner import named, run_tests

BUILD = os.environ.get("BUILD", "build/release")
LIBRARY = f"{BUILD}/lib/libheapwire-recorder.so"
EXTRA_PRELOAD = os.environ.get("EXTRA_PRELOAD")  # preloaded with it: given_tables.py
HOST = f"{BUILD}/bin/recorded_host"
ODD = f"{BUILD}/bin/recorded_odd"
HARD = f"{BUILD}/bin/recorded_hard"
JEMALLOC = "libjemalloc.so.2"
BUMP = f"{BUILD}/lib/libbump_malloc.so"
FIND = f"{BUILD}/lib/libfind_malloc.so"
EXPORTED = set("""
malloc calloc realloc reallocarray free cfree aligned_alloc posix_memalign
memalign valloc pvalloc mallocx rallocx xallocx dallocx sdallocx __libc_malloc
__libc_calloc __libc_realloc __libc_free __libc_memalign __libc_valloc
__libc_pvalloc _Znwm _Znam _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t
_ZnwmSt11align_val_t _ZnamSt11align_val_t _ZnwmSt11align_val_tRKSt9nothrow_t
_ZnamSt11align_val_tRKSt9nothrow_t _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm
_ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t _ZdlPvSt11align_val_t
_ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t
heapwire_recorder_segment heapwire_recorder_forked heapwire_recorder_adopt
heapwire_recorder_stop heapwire_recorder_spare_thread
heapwire_recorder_tables
_ZdlPvSt11align_val_tRKSt9nothrow_t _ZdaPvSt11align_val_tRKSt9nothrow_t
""".split())
EVERY = 1  # the mean at which every allocation is sampled
STEPS = 20000  # of a thread

Stack = collections.namedtuple(
    "Stack", "live_bytes live_objects allocated_bytes allocated_objects"
             " freed_bytes freed_objects frames")


class Segment:
    """What the driver printed of one."""

    def __init__(self, lines):
        self.stacks, self.modules, self.threads = [], {}, []
        self.samples, self.errors = [], []
        for line in lines:
            word, rest = line.split(" ", 1)
            getattr(self, "on_" + word)(rest)

    def on_header(self, rest):
        self.header = {k: int(v) for k, v in
                       (pair.split("=") for pair in rest.split())}

    def on_module(self, rest):
        number, start, end, base, build_id, path = rest.split(" ", 5)
        self.modules[int(number)] = (int(start, 16), int(end, 16),
                                     int(base, 16), build_id, path)

    def on_stack(self, rest):
        fields = rest.split()
        self.stacks.append(Stack(*map(float, fields[:6]), [
            (int(pc, 16), int(module)) for pc, module in
            (frame.split(":") for frame in fields[6:])]))

    def on_thread(self, rest):
        self.threads.append(rest.split(" ", 2))

    def on_sample(self, rest):
        self.samples.append(rest.split())

    def on_error(self, rest):
        self.errors.append(rest)


class Recorded:
    """A program that runs with the recorder."""

    def __init__(self, *command, mean=EVERY, cap=0, samples=1 << 16,
                 behind=None):
        out, theirs = os.pipe()
        preload = ":".join(filter(None, (LIBRARY, EXTRA_PRELOAD, behind)))
        # pylint: disable=consider-using-with
        self.driver = subprocess.Popen(
            [f"{BUILD}/bin/recorder_driver", preload, str(mean), str(cap),
             str(samples), str(theirs), *command], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, pass_fds=[theirs])
        os.close(theirs)
        self.output = os.fdopen(out)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.communicate(timeout=60)
        self.output.close()

    def ask(self, command):
        self.driver.stdin.write(command + "\n")
        self.driver.stdin.flush()
        answer = []
        for line in self.driver.stdout:
            if line == ".\n":
                return answer
            answer.append(line.rstrip("\n"))
        raise AssertionError(f"the driver ended at {command}")

    def read(self):
        segment = Segment(self.ask("read"))
        assert not segment.errors, segment.errors
        return segment

    def kill(self):
        self.ask("kill")
        return self.ask("wait")

    def await_line(self, text):
        for line in self.output:
            if line == text + "\n":
                return
        raise AssertionError(f"the program did not say {text}")


class Sites(Recorded):
    """A program that says what lives, as recorded_sites.h has it."""

    def await_sites(self):
        """By site: its code; the objects and bytes that live."""
        found = {}
        for line in self.output:
            if line == "done\n":
                return found
            _, name, start, end, objects, size = line.split()
            found[name] = ((int(start, 16), int(end, 16)),
                           (int(objects), int(size)))
        raise AssertionError("the program ended")

    def compare(self, *names):
        """These sites, or all: the segment says what the program says."""
        sites = self.await_sites()
        names = names or list(sites)
        segment = self.read()
        assert segment.header["lost_samples"] == 0, segment.header
        found = dict(zip(names, by_site(segment,
                                        [sites[name][0] for name in names])))
        known = {name: sites[name][1] for name in names}
        assert found == known, (found, known)
        return segment


class Host(Recorded):
    """recorded_host."""

    def __init__(self, threads, steps, **settings):
        # pylint: disable=consider-using-with
        self.truth = tempfile.NamedTemporaryFile()
        super().__init__(HOST, self.truth.name, str(threads), str(steps),
                         **settings)

    def known(self):
        """Its own count: objects and bytes by site, and each site's code."""
        return read_truth(self.truth.name)


def by_site(segment, code):
    """The segment's live objects and bytes of the sites; the stack is a site's
    whose code it is in."""
    found = [[0, 0] for _ in code]
    for stack in segment.stacks:
        sites = {i for i, (start, end) in enumerate(code)
                 for pc, _ in stack.frames if start < pc <= end}
        for site in sites:
            found[site][0] += stack.live_objects
            found[site][1] += stack.live_bytes
    return [tuple(sums) for sums in found]


def of_each_allocator(test, *more):
    """glibc's, which is behind us anyway, and those preloaded behind us."""
    for behind in None, JEMALLOC, *more:
        test(behind)


def test_exact():
    """Every allocation of 16 threads sampled, and blocks that go round."""
    def run(behind):
        with Host(16, STEPS, behind=behind) as host:
            host.await_line("done")
            code, known = host.known()
            segment = host.read()
        assert segment.header["lost_samples"] == 0, segment.header
        assert segment.header["doublings"] == 0, segment.header
        found = by_site(segment, code)
        assert found == known, (found, known)
        assert all(objects > 0 for objects, _ in known), known
        for stack in segment.stacks:
            assert (stack.allocated_bytes - stack.freed_bytes ==
                    stack.live_bytes), stack
            assert (stack.allocated_objects - stack.freed_objects ==
                    stack.live_objects), stack

    of_each_allocator(run)


def test_killed():
    """At any instruction: a sample a thread may be wrong, no more."""
    rng = random.Random(27)
    worst = collections.Counter()
    for threads, behind in 10 * [(1, None), (16, None), (1, JEMALLOC),
                                 (16, JEMALLOC)]:
        with Host(threads, 0, behind=behind) as host:
            host.await_line("running")
            # On a busy machine its threads may have done nothing yet.
            wait_for(lambda: sum(k[0] for k in host.known()[1]) > 20)
            wait = rng.random() * 0.3
            with contextlib.suppress(subprocess.TimeoutExpired):
                host.driver.wait(wait)  # it does not end: the time is the test
            host.kill()
            code, known = host.known()
            found = by_site(host.read(), code)
        wrong = sum(abs(f[0] - k[0]) for f, k in zip(found, known))
        worst[threads] = max(worst[threads], wrong)
        assert wrong <= threads, (found, known)
        assert sum(k[0] for k in known) > 0
        for site, (f, k) in enumerate(zip(found, known)):
            assert abs(f[1] - k[1]) <= threads * LARGEST[site], (f, k)
    print("samples wrong at most, by threads:", dict(worst))


def odd(mode, **settings):
    return Sites(ODD, mode, **settings)


def test_operators():
    """C++'s: they count once, whether they are the allocator's or call it."""
    with tempfile.TemporaryDirectory() as directory:
        program = os.path.join(directory, "recorded_new")
        subprocess.run(["c++", "-std=c++17", "-O2", "-o", program,
                        "tests/integration/programs/recorder/"
                        "recorded_new.cc"],
                       check=True)

        def run(behind):
            with Sites(program, behind=behind) as host:
                segment = host.compare()
            # 120 of each were allocated: none was counted twice.
            assert sorted(stack.allocated_objects for stack in segment.stacks
                          if stack.live_objects == 80) == 8 * [120]

        of_each_allocator(run, BUMP)


def test_jemalloc():
    """Its own functions."""
    with odd("jemalloc", behind=JEMALLOC) as host:
        host.compare("extended", "regrown")


def test_forks():
    """Children change nothing: of fork, of a raw clone, and executed."""
    def run(behind):
        with odd("forks", behind=behind) as host:
            segment = host.compare("kept")
        assert segment.header["executions"] == 1, segment.header
        assert len(segment.threads) == 1, segment.threads

    of_each_allocator(run)


def test_executed():
    """A shell that executes the program gives it its table, emptied."""
    with Sites("/bin/sh", "-c", f"x=$(echo); exec {ODD} forks") as host:
        segment = host.compare("kept")
    assert segment.header["executions"] == 3, segment.header
    assert all("/sh" not in module[4] and "dash" not in module[4]
               for module in segment.modules.values()), segment.modules


def test_signals():
    """Handlers that allocate within a sample, and leave it by longjmp."""
    with odd("signals", behind=BUMP) as host:
        host.compare("kept")


def test_stacks():
    """Of 16 KB, deep ones, and swapped ones."""
    def run(behind):
        with odd("stacks", behind=behind) as host:
            host.compare("kept")

    of_each_allocator(run)


def test_threads():
    """More of them, one after the other, than the list has places."""
    with odd("threads") as host:
        segment = host.compare("kept")
    assert len(segment.threads) > 4000, len(segment.threads)


def test_guard():
    """What a sample itself calls allocates, and is not sampled."""
    with Sites(HARD, "ends", behind=FIND) as host:
        host.compare()


def test_hard():
    """Threads that fork and spawn, are 5,000, allocate as they end."""
    def run(behind):
        for mode in ["forking", "200"], ["crowd"], ["ends"], ["altstack"]:
            with Sites(HARD, *mode, behind=behind) as host:
                host.compare()

    of_each_allocator(run)


PLUGIN = b"""#include <stdlib.h>
void *_Znwm(size_t size);
void _ZdlPv(void *block);
#ifdef OWN
__asm__(".skip " OWN);
static char block;
void *_Znwm(size_t size) { return size < 100 ? &block : NULL; }
void _ZdlPv(void *freed) { if (freed != &block) abort(); }
#endif
void use(void) { _ZdlPv(_Znwm(10)); free(malloc(10)); }
"""


def test_plugins():
    """Loaded and unloaded by threads, with C++'s operators of their own: the
    first one's are gone when the second's, or libstdc++'s, are called."""
    with tempfile.TemporaryDirectory() as directory:
        paths = [f"{directory}/{i}" for i in range(3)]
        for path, option in zip(paths, (
                '-DOWN="16"', '-DOWN="40000"', "-l:libstdc++.so.6")):
            subprocess.run(
                ["cc", "-x", "c", "-shared", "-fPIC", "-o", path, "-",
                 "-Wl,--no-as-needed", option], input=PLUGIN, check=True)

        def run(behind):
            for used in paths[:1], paths[:2], paths:
                with Sites(HARD, "plugins", *used, behind=behind) as host:
                    host.compare()

        of_each_allocator(run)


def estimates(mode, runs, **settings):
    """Of both sites: the estimates' shares of the truth, on average."""
    sums = collections.Counter()
    for _ in range(runs):
        with odd(mode, **settings) as host:
            sites = host.await_sites()
            segment = host.read()
        assert segment.header["doublings"] > 5, segment.header
        # Both of a block's buckets may be full while another thread thins.
        assert segment.header["lost_samples"] <= 3, segment.header
        assert len(segment.samples) <= settings["samples"] * 5 // 8 + 1
        names = "kept", "passing"
        found = by_site(segment, [sites[name][0] for name in names])
        for name, (objects, size) in zip(names, found):
            sums[f"{name} objects"] += objects / sites[name][1][0] / runs
            sums[f"{name} bytes"] += size / sites[name][1][1] / runs
    print(dict(sums), segment.header)
    # Ten runs have at least 7000 samples of each: a standard deviation is 1.2 %.
    assert all(0.92 < ratio < 1.08 for ratio in sums.values()), sums
    return segment


def test_full():
    """A table that is too small: the mean doubles, the estimate stays."""
    estimates("many", 10, samples=8192)


def test_large():
    """Large blocks give way to each other, not to the small ones."""
    segment = estimates("large", 10, samples=4096)
    assert segment.header["mean"] <= 1 << 17, segment.header


def reloaded(link, *pairs):
    """Blocks and stacks by the library that has them, of one place."""
    with Recorded(f"{BUILD}/bin/recorded_modules", link, "1000",
                  *map(str, pairs)) as host:
        host.await_line("done")
        segment = host.read()
    libraries = {module: (path, build_id) for module, (*_, build_id, path) in
                 segment.modules.items() if path == link or "_module_" in path}
    found = collections.Counter()
    code = collections.defaultdict(set)
    for stack in segment.stacks:
        for pc, module in stack.frames:
            if module in libraries and stack.live_bytes >= 1000:
                found[libraries[module]] += stack.live_objects / 2
                code[pc].add(module)
    assert len(code) == 2, code  # a library's two functions, at one place
    assert all(len(modules) > 1 for modules in code.values()), code
    return found


def test_modules():
    """Closed, and another one comes to its place: also by its path."""
    one, other = (os.path.abspath(f"{BUILD}/lib/librecorded_module_{x}.so")
                  for x in "ab")
    found = reloaded("-", one, 3, other, 5, one, 7)
    assert {path: n for (path, _), n in found.items()} == {
        one: 10, other: 5}, found
    with tempfile.TemporaryDirectory() as directory:
        link = os.path.join(directory, "plugin.so")
        found = reloaded(link, one, 3, other, 5, one, 7)
        assert sorted(found.values()) == [5, 10], found
        assert {path for path, _ in found} == {link}, found


def test_truth():
    """Of each way to allocate, at a mean at which few blocks are sampled: who
    counts one twice is 15 deviations off or more.  More runs: tests/bench."""
    with tempfile.TemporaryDirectory() as directory:
        program = os.path.join(directory, "truth")
        subprocess.run(["c++", "-std=c++17", "-O2", "-o", program,
                        "-Itests/integration/programs/recorder",
                        "tests/bench/truth.cc", "-pthread"], check=True)

        def run(behind):
            with Recorded(program, "27", "65536", "32", "asked", mean=65536,
                          behind=behind) as host:
                lines = list(iter(host.output.readline, "done\n"))
                segment = host.read()
            sites = {name: (int(start, 16), int(end, 16), size, variance)
                     for _, name, start, end, _, size, variance, *_ in
                     (line.split() for line in lines if line[0] == "s")}
            assert len(sites) == 16, sites
            found = by_site(segment, [site[:2] for site in sites.values()])
            for name, (_, size) in zip(sites, found):
                truth, variance = map(float, sites[name][2:])
                z = (size - truth) / math.sqrt(variance)
                assert abs(z) < 6, (name, behind, z)

        of_each_allocator(run)


def test_switch():
    """Off, on, and off again, while it runs."""
    def live():
        return len(host.read().samples)

    def allocated():
        return sum(stack.allocated_objects for stack in host.read().stacks)

    with Host(4, 0, mean="off") as host:
        host.await_line("running")
        assert allocated() == 0
        host.ask("wish 1 4096")
        wait_for(lambda: live() > 20)
        assert host.read().header["mean"] == 4096
        host.ask("wish 1 65536")
        wait_for(lambda: host.read().header["mean"] == 65536)
        host.ask("wish 0 65536")
        # The threads look at it soon, but one may have no processor in the
        # middle of a sample; what was sampled is freed as before.
        counts = []

        def is_off():
            counts.append(allocated())
            return (live() == 0 and len(counts) > 2 and
                    len(set(counts[-3:])) == 1)
        wait_for(is_off)


def size_class(size):
    """jemalloc's: four to each doubling, multiples of 16 at least."""
    if size <= 8:
        return 8
    step = max(16, 1 << max((size - 1).bit_length() - 3, 0))
    return -(-size // step) * step


def ask_redis(port, *words):
    return subprocess.run(["redis-cli", "-p", str(port), *words], check=False,
                          text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=60).stdout


def redis_info(port):
    return dict(line.split(":", 1) for line in ask_redis(port, "info").split()
                if ":" in line)


def functions_of(path):
    """The file's own, by address."""
    lines = subprocess.run(["nm", "-D", "--defined-only", path], check=True,
                           text=True, stdout=subprocess.PIPE).stdout
    return sorted((int(fields[0], 16), fields[2]) for fields in
                  map(str.split, lines.splitlines()) if fields[1] in "Tt")


def names_of(segment, stack):
    for pc, number in stack.frames:
        module = segment.modules.get(number)
        if module and os.path.basename(module[4]).startswith("redis"):
            functions = functions_of_redis(module[4])
            at = bisect.bisect(functions, (pc - 1 - module[2], "~"))
            yield functions[at - 1][1] if at else "?"


functions_of_redis = functools.lru_cache(maxsize=None)(functions_of)


def fill_redis(port, requests):
    subprocess.run(["redis-benchmark", "-p", str(port), "-q", "-n",
                    str(requests), "-r", "100000", "-P", "16", "-t",
                    "set,lpush,sadd"],
                   check=True, stdout=subprocess.DEVNULL, timeout=120)


def unknown_to_redis(host, port):
    """What lives but for what Redis counts: by libc, OpenSSL and others. Two
    looks, at the segment and by INFO: a client that goes between them is
    counted by one alone, 1.3 MB seen. So until three times the same is seen."""
    seen = []

    def look():
        segment = host.read()
        seen.append(sum(size_class(int(size)) for _, size, *_ in
                        segment.samples)
                    - int(redis_info(port)["used_memory"]))
        return len(seen) > 2 and max(seen[-3:]) - min(seen[-3:]) < 10000
    wait_for(look, step=0.1)
    return seen[-1]


def test_redis():
    """Debian's, which is linked with jemalloc: its own count, and names."""
    port = free_port()
    with tempfile.TemporaryDirectory() as directory, Recorded(
            "redis-server", "--port", str(port), "--save", "",
            "--dir", directory, samples=1 << 20) as host:
        wait_for(lambda: ask_redis(port, "ping") == "PONG\n")
        fill_redis(port, 1000)
        before, unknown = host.read(), unknown_to_redis(host, port)
        fill_redis(port, 20000)
        for _ in range(3):
            ask_redis(port, "bgsave")
            wait_for(lambda: redis_info(port)["rdb_bgsave_in_progress"] == "0")
        info = redis_info(port)
        assert info["rdb_last_bgsave_status"] == "ok", info
        assert int(info["rdb_saves"]) >= 3, info
        wait_for(lambda: abs(unknown_to_redis(host, port) - unknown) < 40000)
        segment = host.read()
        assert len(segment.samples) > len(before.samples) + 20000
        names = collections.Counter()
        for stack in segment.stacks:
            for name in set(names_of(segment, stack)):
                names[name] += stack.live_bytes
        for name in ("aeMain", "setCommand", "saddCommand",
                     "pushGenericCommand"):
            assert names[name] > 50000, (name, names.most_common(40))
        host.kill()


OWNER = 192  # of the header
SEALS = (fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)


def claims(data, seals=SEALS, variable="HEAPWIRE_RECORDER", text="{}"):
    """Whether a program, given a descriptor of these bytes, writes to it."""
    fd = os.memfd_create("segment", os.MFD_ALLOW_SEALING)
    try:
        os.write(fd, data)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
        subprocess.run([ODD, "child"], check=True, pass_fds=[fd],
                       env={"LD_PRELOAD": LIBRARY, variable: text.format(fd)})
        return os.pread(fd, len(data), 0) != data
    finally:
        os.close(fd)


def test_claims():
    """Only what is a segment, whole, sealed and free."""
    with Host(1, STEPS) as host:
        host.await_line("done")
        directory = f"/proc/{host.driver.pid}/fd"
        name, = [name for name in os.listdir(directory) if "heapwire-recorder"
                 in os.readlink(f"{directory}/{name}")]
        with open(f"{directory}/{name}", "rb") as f:
            taken = f.read()
        assert not claims(taken)
    assert claims(taken)  # its owner has ended
    free = taken[:OWNER] + bytes(8) + taken[OWNER + 8:]
    assert claims(free)
    assert not claims(free, variable="HEAPWIRE_OTHER")
    for text in "", "x", "{}x", "-1", "99999999999", "1048575":
        assert not claims(free, text=text), text
    for seal in fcntl.F_SEAL_SHRINK, fcntl.F_SEAL_GROW, fcntl.F_SEAL_SEAL:
        assert not claims(free, seals=SEALS & ~seal), seal
    assert not claims(b"X" + free[1:])
    assert not claims(free[:-4096])
    assert not claims(bytes(len(free)))
    assert not claims(b"")


def test_file():
    """What the library may and may not contain."""
    def run(*command):
        return subprocess.run([*command, LIBRARY], check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    needed = set(re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d")))
    assert needed <= {"libc.so.6", "ld-linux-x86-64.so.2"}, needed
    exported = {line.split()[2] for line in
                run("nm", "-D", "--defined-only").splitlines()}
    assert exported == EXPORTED, exported ^ EXPORTED
    wanted = {line.split()[-1].partition("@")[0] for line in
              run("nm", "-D", "--undefined-only").splitlines()}
    assert not wanted & {"dlsym", "dlopen", "__tls_get_addr", "exit", "fork",
                         "sigaction", "pthread_create", "backtrace",
                         "malloc", "mallctl"}, wanted
    thread_local = re.search(r" TLS .*", run("readelf", "-lW")).group().split()
    assert int(thread_local[5], 16) == 64, thread_local
    # What a program calls often goes on by a jump.
    for name in "malloc", "free", "calloc", "realloc", "mallocx", "_Znwm":
        code = run("objdump", "-d", "--no-show-raw-insn",
                   f"--disassemble={name}")
        assert re.search(r"jmp +\*", code), code


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
