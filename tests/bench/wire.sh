#!/bin/sh
# wire.sh - how long dump_dot_snapshot() takes over the wire once the names are
# known, on a node with about 2,000 stacks of C++ (big_program.sh), and how much
# of that is the dump, the only part that the database notices.
#
#     wire.sh [jemalloc|interposed]
#
# The source: jemalloc's own profiling, or the recorder, whose profile disturbs
# nothing, so that the dump alone is not measured.
#
# TIMES (60) is how often; STACKS (150) what big gets; PROFILE a file for what
# perf record sees of heapwired meanwhile.
set -eu
source=${1:-jemalloc}
cd "$(dirname "$0")/../.."

bin=$PWD/${BUILD:-build/release}/bin
lib=$PWD/${BUILD:-build/release}/lib
dir=${HEAPWIRE_BENCH_DIR:-/tmp/heapwire-bench}
jemalloc=$(ls /usr/lib/*/libjemalloc.so.2 | head -n 1)
times=${TIMES:-60}
work=$(mktemp -d)
node=

finish() {
    [ -z "$node" ] || kill "$node" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

[ -x "$dir/big" ] || sh tests/bench/big_program.sh
big="$dir/big 250 1000 ${STACKS:-150} 4 stay"

# The dump alone, through the agent.
dump_alone() {
    mkdir -m 700 "$work/state"
    # shellcheck disable=SC2086
    HEAPWIRE_EXE=$dir/big HEAPWIRE_STATE_DIR=$work/state \
        LD_PRELOAD=$lib/libheapwire.so:$jemalloc \
        MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:0 \
        $big >"$work/ready" 2>/dev/null &
    node=$!
    until grep -q ready "$work/ready"; do sleep 0.1; done
    for _ in $(seq "$times"); do
        "$bin/agent_probe" "$work/state" dump "$work/heap" "$work/maps"
    done | sed -n 's/^microseconds=//p' | sort -n >"$work/costs"
    kill "$node"
    wait "$node" 2>/dev/null || true
    node=
    awk -v stacks="$(grep -c '^@' "$work/heap")" '{ c[NR] = $1 / 1e3 } END {
        printf "%d stacks; the dump: median %.2f ms, fastest %.2f, slowest %.2f\n",
            stacks, c[int((NR + 1) / 2)], c[1], c[NR] }' "$work/costs"
}

# Every allocation is sampled, from the first on.
wish='import glob, os, struct, sys
for path in glob.glob(f"/proc/{sys.argv[1]}/fd/*"):
    if "heapwire-recorder" in os.readlink(path):
        with open(path, "r+b", buffering=0) as segment:
            os.pwrite(segment.fileno(), struct.pack("<IIQQ", 1, 0, 1, 0), 128)'
if [ "$source" = jemalloc ]; then
    dump_alone
    touch "$work/go"
fi
printf '#!/bin/sh\nuntil [ -e %s/go ]; do sleep 0.1; done\nexec %s\n' "$work" \
    "$big" >"$work/start"
chmod 755 "$work/start"
MALLOC_CONF=prof_active:true,lg_prof_sample:0 "$bin/heapwire-run" \
    --state-dir "$work/node" --listen none --http none --linger 0 \
    --exe "$dir/big" --profiling-source "$source" --profiling on \
    -- "$work/start" >"$work/log" 2>&1 &
node=$!
if [ "$source" != jemalloc ]; then
    until [ -d "$work/node" ]; do sleep 0.1; done
    /usr/bin/python3 -c "$wish" "$node"
    touch "$work/go"
fi
until grep -q ready "$work/log" &&
    mariadb --no-defaults --skip-ssl -S "$work/node/mysql.sock" -u root \
        -e "SELECT 1" >/dev/null 2>&1; do sleep 0.1; done
daemon=$(pgrep -P "$node" heapwired || pgrep -n heapwired)
/usr/bin/python3 - "$work/node/mysql.sock" "$times" "$daemon" <<'END'
import os
import subprocess
import sys
import time

import pymysql

session = pymysql.connect(unix_socket=sys.argv[1], user="root")
times = int(sys.argv[2])


def daemon_cpu():
    with open(f"/proc/{sys.argv[3]}/stat", encoding="ascii") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return ((int(words[11]) + int(words[12])) * 1000 /
            os.sysconf("SC_CLK_TCK"))


def ask(statement):
    cursor = session.cursor()
    start = time.perf_counter()
    cursor.execute(statement)
    rows = cursor.fetchall()
    took = (time.perf_counter() - start) * 1000
    cursor.close()
    return took, rows


DOT = ("ADMIN EXECUTE ON 10001 'System.print("
       "HeapProf.getInstance().dump_dot_snapshot())'")
first, rows = ask(DOT)
print(f"dump_dot_snapshot(): the first {first:.0f} ms, {len(rows)} rows")

# The node makes an index of what was slow to name, on a processor that the
# statements would want.
MAKING = ("SELECT COUNT(*) FROM heapwire.symbol_indexes "
          "WHERE state IN ('wanted', 'making')")
until = time.monotonic() + 300
while int(ask(MAKING)[1][0][0]) > 0:
    if time.monotonic() > until:
        sys.exit("the index of big is not made in 5 minutes")
    time.sleep(0.2)
print(f"  its index is there; {ask(DOT)[0]:.0f} ms")
stacks, = ask("SELECT COUNT(DISTINCT stack), SUM(objects) "
              "FROM heapwire.heap_stacks")[1]
print(f"  {stacks[0]} stacks, {stacks[1]} objects")
perf = None
if os.environ.get("PROFILE"):
    perf = subprocess.Popen(["perf", "record", "-q", "-e", "cpu-clock", "-F",
                             "5000", "-g", "-o", os.environ["PROFILE"], "-p",
                             sys.argv[3]])
    time.sleep(1)
for what, statement in (("names known", DOT), ("SELECT 1", "SELECT 1")):
    before = daemon_cpu()
    took = sorted(ask(statement)[0] for _ in range(times))
    cpu = (daemon_cpu() - before) / times
    print(f"  {what:14} median {took[times // 2]:.2f} ms, fastest "
          f"{took[0]:.2f}, slowest {took[-1]:.2f}; {cpu:.2f} ms of heapwired's "
          "CPU")
if perf:
    perf.send_signal(2)
    perf.wait()
END
