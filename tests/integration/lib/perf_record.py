"""What perf records of a process, and says of its stacks; and what our walker
says of the very same registers and bytes of stack."""
import collections
import os
import re
import signal
import struct
import subprocess

from node_under_test import BUILD

STACK_BYTES = 32768
DEPTH = 127  # perf's most
SAMPLE, MASK_MODE = 9, 7
# Of what the kernel numbers (asm/perf_regs.h), DWARF's rax to r15, and rip.
DWARF_ORDER = [0, 3, 2, 1, 4, 5, 6, 7, *range(16, 24), 8]
# The fields of a sample, in their order: bit of sample_type, bytes.
IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM, CPU, PERIOD = (
    1 << 16, 1, 2, 4, 8, 64, 512, 128, 256)
CALLCHAIN, REGS, STACK = 32, 1 << 12, 1 << 13

Sample = collections.namedtuple("Sample", "pid tid time registers stack")
Frame = collections.namedtuple("Frame", "pc name object")


def no_perf():
    """As machine.py has it."""
    try:
        done = subprocess.run(
            ["perf", "record", "-q", "-e", "task-clock", "-o", "/dev/null",
             "--", "true"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            check=False)
    except FileNotFoundError:
        return "there is no perf here (Debian: linux-perf)"
    return (f"perf is not allowed here: {done.stderr.decode().strip()}"
            if done.returncode else "")


class Recording:
    """perf record of a process, from here to end(); also a with statement's."""

    def __init__(self, path, pid, hz=99):
        self.path = path
        orders, acks = os.pipe(), os.pipe()
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            ["perf", "record", "-q", "-e", "task-clock", "-F", str(hz),
             "--call-graph", f"dwarf,{STACK_BYTES}", "-m", "4M", "-o", path,
             "-p", str(pid), "-D", "-1",
             f"--control=fd:{orders[0]},{acks[1]}"],
            pass_fds=(orders[0], acks[1]), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(orders[0])
        os.close(acks[1])
        self.control = orders[1], acks[0]
        self.say(b"enable\n")

    def say(self, order):
        os.write(self.control[0], order)
        said = os.read(self.control[1], 64)  # "": it has ended
        assert said.startswith(b"ack"), (said, self.process.wait())

    def end(self):
        self.say(b"disable\n")
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        for fd in self.control:
            os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def parse_sample(body, kind, mask):
    """None without registers: the thread was about to end."""
    at, pid, tid, time = 0, 0, 0, 0
    for bit in (IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM, CPU, PERIOD):
        if kind & bit:
            if bit == TID:
                pid, tid = struct.unpack_from("<II", body, at)
            elif bit == TIME:
                time, = struct.unpack_from("<Q", body, at)
            at += 8
    if kind & CALLCHAIN:
        at += 8 + 8 * struct.unpack_from("<Q", body, at)[0]
    abi, = struct.unpack_from("<Q", body, at)
    at += 8
    if abi != 2:
        return None
    numbers = [n for n in range(64) if mask >> n & 1]
    found = dict(zip(numbers,
                     struct.unpack_from(f"<{len(numbers)}Q", body, at)))
    at += 8 * len(numbers)
    room, = struct.unpack_from("<Q", body, at)
    at += 8
    copied = struct.unpack_from("<Q", body, at + room)[0] if room else 0
    return Sample(pid, tid, time, [found[n] for n in DWARF_ORDER],
                  body[at:at + min(room, copied)])


def read_samples(path, pid):
    """Of perf.data, in its order."""
    with open(path, "rb") as f:
        data = f.read()
    assert data[:8] == b"PERFILE2", data[:8]
    attrs, _, start, size = struct.unpack_from("<4Q", data, 24)
    kind, = struct.unpack_from("<Q", data, attrs + 24)
    mask, = struct.unpack_from("<Q", data, attrs + 80)
    assert kind & REGS and kind & STACK and not kind & 16, hex(kind)
    found, at = [], start
    while at < start + size:
        what, _, length = struct.unpack_from("<IHH", data, at)
        if what == SAMPLE:
            sample = parse_sample(data[at + 8:at + length], kind, mask)
            if sample and sample.pid == pid:
                found.append(sample)
        at += max(length, 8)
    return found


def perf_stacks(path):
    """By tid and time: the frames that perf script finds, the kernel's left
    out.  An inlined call has its caller's address."""
    text = subprocess.run(
        ["perf", "script", "-i", path, "--no-inline", "--ns", "-F",
         "tid,time,ip,sym,dso", "--max-stack", str(DEPTH)],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ).stdout.decode("utf-8", "replace")
    found = {}
    for block in text.split("\n\n"):
        lines = block.strip("\n").split("\n")
        head = re.match(r"\s*(\d+)\s+(\d+)\.(\d{9}):", lines[0])
        if not head:
            continue
        frames = []
        for line in lines[1:]:
            pc, name, of = re.match(r"\s*([0-9a-f]+) (.*) \((.*)\)$",
                                    line).groups()
            if int(pc, 16) < 1 << 63:
                frames.append(Frame(int(pc, 16), name, of))
        tid, seconds, ns = map(int, head.groups())
        found[tid, seconds * 10 ** 9 + ns] = frames
    return found


def walk(command, samples):
    """A list of (end, addresses), as the samples; and what it said."""
    done = subprocess.run(
        command, check=True, capture_output=True,
        input=b"".join(struct.pack("<18Q", *s.registers, len(s.stack)) +
                       s.stack for s in samples),
        env={**os.environ, "HEAPWIRE_SYMBOLIZER":
             os.path.join(BUILD, "bin", "heapwire-symbolizer")})
    lines = done.stdout.decode().splitlines()
    assert len(lines) == len(samples), (len(lines), len(samples))
    return ([(int(line.split()[0]), [int(pc, 16) for pc in line.split()[1:]])
             for line in lines], done.stderr.decode().strip())


class Code:
    """Where a process's code lies."""

    def __init__(self, pid):
        with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
            lines = [line.split() for line in f]
        self.runs = [(*(int(a, 16) for a in line[0].split("-")),
                      int(line[2], 16)) for line in lines if "x" in line[1]]

    def offset(self, pc):
        """In its file, as perf script writes an address; else pc itself."""
        for start, end, offset in self.runs:
            if start <= pc < end:
                return pc - start + offset
        return pc


# How two stacks compare, from the best to the worst.
EQUAL, OURS_LONGER, THEIRS_LONGER, DIFFERENT = (
    "equal", "ours goes on", "theirs goes on", "different")


def compare(code, ours, theirs):
    """Addresses, leaf first; theirs may be offsets in their files.  Of the
    trampoline of a signal perf has the byte before, as if it called."""
    same = min(len(ours), len(theirs), DEPTH)
    if any(their not in (our, code.offset(our), code.offset(our) - 1)
           for our, their in zip(ours[:same], theirs)):
        return DIFFERENT
    if same == DEPTH or len(ours) == len(theirs):
        return EQUAL
    return OURS_LONGER if len(ours) > same else THEIRS_LONGER


Compared = collections.namedtuple("Compared", "how sample end ours theirs")


def compare_all(path, pid, rounds=0):
    """Of a process that is still there.  A list of Compared, and what the
    walker said."""
    theirs, code = perf_stacks(path), Code(pid)
    samples = [s for s in read_samples(path, pid) if (s.tid, s.time) in theirs]
    ours, said = walk([os.path.join(BUILD, "bin", "walk_samples"), str(pid),
                       str(rounds)], samples)
    found = []
    for s, (end, pcs) in zip(samples, ours):
        frames = theirs[s.tid, s.time]
        found.append(Compared(compare(code, pcs, [f.pc for f in frames]), s,
                              end, pcs, frames))
    return found, said
