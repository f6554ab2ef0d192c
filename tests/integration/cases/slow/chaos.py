"""Every process of heapwire's is killed, crashed and stopped at random for
MINUTES (60), while databases work and people ask: the databases never stop
answering, no snapshot that was kept is lost, and nobody's memory or descriptors
grow.  SEED, which is printed, gives the same faults again.

Three nodes: Redis with jemalloc's profiling, of which everything may be hit;
MariaDB with the recorder, whose heapwire-run is only stopped, for another one
could not hand on the recorder's segment; and a Redis whose heapwired is only
stopped as well, for its memory must be watched over the whole time.  Beside them
a Redis and a MariaDB without heapwire answer the same load: what those hold up,
the machine does."""
import os
import random
import shutil
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress

from chaos_node import ChaosNode, ROLES, held, in_use_kb, looked_at
from databases import MariaDB, Redis, readable_build
from machine import no_root
from node_under_test import wait_for
from recorded_node import heap, prof, value
from redis_node import has_ended

MINUTES = float(os.environ.get("MINUTES", "60"))
SEED = int(os.environ.get("SEED", "0")) or random.randrange(1, 1 << 32)
DEADLY = (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT)
NODES = ((Redis, "redis"), (MariaDB, "mariadb", "heapwire-run"),
         (Redis, "calm", "heapwire-run", "heapwired"))
KEPT = 24  # of 64 that a node keeps by default
STOPPED_S = 3
# A database may be held up longer than its control by what is asked: profiles
# stop its threads and hold jemalloc's locks.  In ms, beside twice the control's.
GAP_MORE_MS = 1500
# From the middle third of the time to the last one.  A node has some 8 faults a
# minute: 60 minutes have 160 in each third, and 25 KB for each were a leak.
DATABASE_MORE_KB = 4096
# Of what it has in use, after a third of the time and at its end; what it has
# freed, glibc may keep.
HEAPWIRED_MORE_KB, KEPT_BY_GLIBC_KB = 2048, 16384
MORE_FDS = 8
SAMPLE_S = 2


class Chaos:
    def __init__(self, nodes):
        self.nodes = nodes
        self.ended = threading.Event()
        self.hitting = threading.Lock()  # gdb fails where a signal comes
        self.done = Counter()
        self.choose = random.Random(SEED)

    def wait(self, low, high):
        return self.ended.wait(self.choose.uniform(low, high))

    def hit(self):
        """One process of one node."""
        node = self.choose.choice(self.nodes)
        role = self.choose.choice(ROLES)
        deadly = self.choose.random() < 0.6 and role not in node.spared
        number = self.choose.choice(DEADLY) if deadly else signal.SIGSTOP
        pause = self.choose.uniform(0.05, STOPPED_S)
        if role == "symbolizer":  # lives as long as names are asked for
            with suppress(AssertionError):
                wait_for(lambda: role in node.processes(), 2, 0.005)
        pid = node.processes().get(role)
        if pid is None:
            return
        with suppress(ProcessLookupError):
            os.kill(pid, number)
            if number == signal.SIGSTOP:
                self.ended.wait(pause)
                os.kill(pid, signal.SIGCONT)
            self.done[role, number.name] += 1
        if role == "heapwire-run" and number in DEADLY:
            node.replace_run()

    def hits(self):
        away = dict.fromkeys(self.nodes, 0)
        while not self.wait(0.2, 2):
            with self.hitting:
                self.hit()
            # After many crashes heapwire-run waits a minute, in which nothing
            # could be hit: another one begins anew.
            for node in self.nodes:
                away[node] = 0 if node.heapwired() else away[node] + 1
                if away[node] > 8 and "heapwire-run" not in node.spared:
                    node.run.kill()
                    node.replace_run()
                    away[node] = 0

    def people(self, node, number):
        """What they do in their order; most of it fails while nobody serves."""
        choose = random.Random(SEED + number)
        count, keeps = 0, number < len(self.nodes)  # one of a node's two
        while not self.ended.wait(choose.uniform(0.05, 1)):
            what = choose.randrange(6)
            if what == 0 and keeps:
                count += 1
                node.keep(f"kept_{number}_{count}")
                node.forget_unknown()
            elif what == 1 and keeps and len(node.kept) > KEPT:
                node.forget(choose.choice(sorted(node.kept)))
            elif what == 2:
                node.ask(lambda w: heap(w, "enable_prof()"))
            elif what == 3:
                node.ask(lambda w: heap(w, "dump_dot_snapshot()"))
            elif what == 4:
                node.ask(lambda w: value(w, "SELECT COUNT(*) FROM "
                                         "heapwire.threads"))
            else:
                node.ask(lambda w: prof(w, "CpuProf.getInstance().profile(1)"))


class Holdings:
    """What processes hold, over the time."""

    def __init__(self):
        self.seen = {}

    def look(self, pids):
        for name, pid in pids.items():
            got = held(pid) if pid else None
            if got:
                self.seen.setdefault(name, []).append(got)

    def thirds(self, name):
        """KB and descriptors of the middle and of the last third: medians, and
        the least number, for some are open for a moment."""
        seen = self.seen[name]
        n = len(seen) // 3
        return [(statistics.median(kb for kb, _ in part),
                 min(fds for _, fds in part))
                for part in (seen[n:2 * n], seen[2 * n:])]

    def check(self, name, more_kb):
        (kb, fds), (last_kb, last_fds) = self.thirds(name)
        print(f"{name}: {kb:.0f} KB, then {last_kb:.0f} KB; "
              f"{fds} descriptors, then {last_fds}", flush=True)
        assert last_kb <= kb + more_kb, f"the memory of {name} grows"
        assert last_fds <= fds + MORE_FDS, f"the descriptors of {name} grow"


def reign(chaos, holdings, watched):
    threads = [threading.Thread(target=chaos.hits)] + [
        threading.Thread(target=chaos.people, args=(node, i))
        for i, node in enumerate(chaos.nodes * 2)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + MINUTES * 60
    calm = chaos.nodes[-1].heapwired()
    used = None
    try:
        while time.monotonic() < end:
            holdings.look(watched())
            if used is None and end - time.monotonic() < MINUTES * 40:
                with chaos.hitting:
                    used = in_use_kb(calm)
            for node in chaos.nodes:
                assert not has_ended(node.pid), (
                    f"{node.database.name} died", node.database.said())
            assert all(thread.is_alive() for thread in threads)
            time.sleep(SAMPLE_S)
    finally:
        chaos.ended.set()
        for thread in threads:
            thread.join()
    last = in_use_kb(calm)
    print(f"the calm heapwired: {used} KB in use, then {last} KB", flush=True)
    assert last <= used + HEAPWIRED_MORE_KB, "the memory of heapwired grows"


def check_gaps(nodes, controls, seen):
    gaps = dict(zip([*nodes, *controls], seen))
    for node in nodes:
        control = next(c for c in controls if c.name == node.database.name)
        (count, most, rare), (c_count, c_most, c_rare) = (
            gaps[node], gaps[control])
        print(f"{node.database.directory}: {count} answers, at most {most:.0f} "
              f"ms apart, 1 in 1,000 {rare:.1f} ms; without heapwire {c_count}, "
              f"{c_most:.0f} ms, {c_rare:.1f} ms", flush=True)
        assert most <= 2 * c_most + GAP_MORE_MS, node.database.directory


def in_directory(work, name):
    path = os.path.join(work, name)
    os.mkdir(path, 0o755)
    return path


def main():
    if no_root():
        print(f"skipped: {no_root()}")
        return
    print(f"SEED={SEED} MINUTES={MINUTES:g}", flush=True)
    work = tempfile.mkdtemp(prefix="hw-chaos-", dir="/tmp")
    os.chmod(work, 0o755)
    build = readable_build(os.path.join(work, "build"))
    controls = [kind(in_directory(work, f"control-{kind.name}"))
                for kind in (Redis, MariaDB)]
    bare = [control.start() for control in controls]
    nodes = []
    try:
        for kind, name, *spared in NODES:
            nodes.append(ChaosNode(kind(in_directory(work, name)), build, spared))
        chaos, holdings = Chaos(nodes), Holdings()

        def watched():
            return {"the calm heapwired": nodes[-1].heapwired(),
                    **{n.database.directory: n.pid for n in nodes},
                    **{c.directory: p.pid for c, p in zip(controls, bare)}}

        with looked_at([n.database for n in nodes] + controls) as seen:
            reign(chaos, holdings, watched)
            gaps = seen()
        for what, count in sorted(chaos.done.items()):
            print(*what, count)
        for node in nodes:
            print(f"{node.database.directory}: {len(node.kept)} kept; of "
                  f"{node.asked} questions {node.failed.total()} in vain, "
                  f"{node.failed.most_common(6)}", flush=True)
        for node in nodes:
            wait_for(lambda n=node: n.ask(lambda w: True), 120)
            node.check_kept()
        check_gaps(nodes, controls, gaps)
        holdings.check("the calm heapwired", KEPT_BY_GLIBC_KB)
        for database in [n.database for n in nodes] + controls:
            holdings.check(database.directory, DATABASE_MORE_KB)
    finally:
        for node in nodes:
            node.stop()
        for process in bare:
            process.terminate()
            process.wait(60)
        if sys.exc_info()[0]:
            print(f"kept for a look: {work}", flush=True)
        else:
            shutil.rmtree(work)


main()
