"""The recorder: a program that knows its live bytes, against its segment."""
import collections
import contextlib
import os
import random
import struct
import subprocess
import sys
import tempfile

from runner import named, run_tests

BUILD = os.environ.get("BUILD", "build/release")
LIBRARY = f"{BUILD}/lib/libheapwire-recorder.so"
HOST = f"{BUILD}/bin/recorded_host"
ODD = f"{BUILD}/bin/recorded_odd"
JEMALLOC = "libjemalloc.so.2"
BUMP = f"{BUILD}/lib/libbump_malloc.so"
SITES = ["small", "middle", "huge", "zeroed", "chain", "array", "posix",
         "aligned", "by_align", "by_page"]
LARGEST = [200, 9000, 3 << 20, 603, 20000, 800, 5000, 900, 3000, 6000]
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
        preload = LIBRARY if behind is None else f"{LIBRARY}:{behind}"
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
        with open(self.truth.name, "rb") as f:
            data = f.read()
        numbers = struct.unpack(f"<{len(data) // 8}q", data)
        count = len(SITES)
        code = [numbers[2 * i:2 * i + 2] for i in range(count)]
        live = numbers[2 * count:]
        return code, [
            (sum(live[2 * i::2 * count]), sum(live[2 * i + 1::2 * count]))
            for i in range(count)]


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


def of_each_allocator(test):
    """glibc's, which is behind us anyway, and jemalloc, preloaded behind us."""
    for behind in None, JEMALLOC:
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
    threads = 16
    worst = 0
    for _ in range(20):
        with Host(threads, 0) as host:
            host.await_line("running")
            wait = rng.random() * 0.3
            with contextlib.suppress(subprocess.TimeoutExpired):
                host.driver.wait(wait)  # it does not end: the time is the test
            host.kill()
            code, known = host.known()
            found = by_site(host.read(), code)
        wrong = sum(abs(f[0] - k[0]) for f, k in zip(found, known))
        worst = max(worst, wrong)
        assert wrong <= threads, (found, known)
        assert sum(k[0] for k in known) > 0
        for site, (f, k) in enumerate(zip(found, known)):
            assert abs(f[1] - k[1]) <= threads * LARGEST[site], (f, k)
    print(f"at most {worst:.0f} samples wrong, of {threads} threads")


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

        of_each_allocator(run)


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
    assert segment.header["executions"] == 2, segment.header
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


if __name__ == "__main__":
    run_tests(named(globals(), sys.argv[1:]))
