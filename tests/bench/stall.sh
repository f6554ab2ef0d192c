#!/bin/sh
# stall.sh - what a dump does to threads that allocate, what a snapshot costs,
# and how long a graph takes to its first row: with 1,000 and 20,000 stacks.
#
# SECONDS_EACH (8) of malloc() in THREADS (2) threads: without dumps, and while
# the agent dumps without a pause.
set -eu
cd "$(dirname "$0")/../.."

bin=$PWD/${BUILD:-build/release}/bin
lib=$PWD/${BUILD:-build/release}/lib
work=$(mktemp -d)
seconds=${SECONDS_EACH:-8}
threads=${THREADS:-2}
jemalloc=$(ls /usr/lib/*/libjemalloc.so.2 | head -n 1)
load=

finish() {
    [ -z "$load" ] || kill "$load" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

agent() { "$bin/agent_probe" "$work/state" "$@"; }
order() { echo "$*" >&9; }
# told: prints the figures since the last mark
told() {
    rm -f "$work/told"
    order tell "$work/told"
    until [ -s "$work/told" ]; do sleep 0.05; done
    cat "$work/told"
}
# row WHAT, and the figures on standard input
row() {
    awk -v what="$1" '{ printf "  %-34s %9.2f %9.2f %9.2f %9.2f %10.1f   %d\n",
        what, $2 / 1e3, $3 / 1e3, $4 / 1e3, $5 / 1e3, $6 / 1e3, $1 }'
}

for stacks in ${STACKS:-1000 20000}; do
    rm -rf "$work/state" "$work/orders"
    mkdir -m 700 "$work/state"
    mkfifo "$work/orders"
    exec 9<>"$work/orders"
    HEAPWIRE_EXE=$bin/stall_load HEAPWIRE_STATE_DIR=$work/state \
        LD_PRELOAD=$lib/libheapwire.so:$jemalloc \
        MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:16 \
        "$bin/stall_load" "$stacks" "$threads" "$work/orders" &
    load=$!
    agent enable >/dev/null
    order fill
    order mark
    told >/dev/null # it is full
    agent dump "$work/heap" "$work/maps" >"$work/first"
    echo "$(grep -c '^@' "$work/heap") stacks, $threads threads," \
        "$(wc -c <"$work/heap") bytes of dump"
    printf '  %-34s %9s %9s %9s %9s %10s   %s\n' "malloc(), microseconds" \
        p50 p99 p99.9 p99.99 longest calls
    order mark
    sleep "$seconds"
    told | row "no dump"
    order mark
    until=$(($(date +%s) + seconds))
    : >"$work/costs"
    while [ "$(date +%s)" -lt "$until" ]; do
        agent dump "$work/heap" "$work/maps" | sed -n 's/^microseconds=//p' \
            >>"$work/costs"
    done
    told | row "dumps without a pause"
    sort -n "$work/costs" | awk '{ c[NR] = $1 } END {
        printf "  a dump: median %.1f ms, longest %.1f ms, of %d\n",
            c[int((NR + 1) / 2)] / 1e3, c[NR] / 1e3, NR }'
    agent disable >/dev/null
    exec 9>&-
    kill "$load"
    wait "$load" 2>/dev/null || true
    load=

    # The same program as a node, over SQL.
    rm -f "$work/orders"
    mkfifo "$work/orders"
    exec 9<>"$work/orders"
    MALLOC_CONF=lg_prof_sample:16 "$bin/heapwire-run" \
        --state-dir "$work/node" --listen none --linger 0 -- \
        "$bin/stall_load" "$stacks" "$threads" "$work/orders" >"$work/log" 2>&1 &
    load=$!
    until mariadb --no-defaults --skip-ssl -S "$work/node/mysql.sock" -u root \
        -e "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().enable_prof()'" \
        >/dev/null 2>&1; do sleep 0.1; done
    order fill
    order mark
    told >/dev/null
    /usr/bin/python3 - "$work/node/mysql.sock" <<'END'
import sys
import time

import pymysql
from pymysql.cursors import SSCursor

session = pymysql.connect(unix_socket=sys.argv[1], user="root")


def run(what, script, times):
    """Times to the first row, and to the last."""
    first, last, rows = [], [], 0
    for _ in range(times):
        cursor = session.cursor(SSCursor)
        start = time.perf_counter()
        cursor.execute("ADMIN EXECUTE ON 10001 "
                       f"'System.print(HeapProf.getInstance().{script})'")
        cursor.fetchone()
        first.append(time.perf_counter() - start)
        rows = 1 + len(cursor.fetchall())
        last.append(time.perf_counter() - start)
        cursor.close()
    print(f"  {what:34} first row {sorted(first)[times // 2] * 1000:8.1f} ms, "
          f"all {rows} rows {sorted(last)[times // 2] * 1000:8.1f} ms")


run("graph of now, names not known yet", "dump_dot_snapshot()", 1)
run("graph of now, names known", "dump_dot_snapshot()", 5)
run("snapshot()", "snapshot()", 5)
run("graph of a snapshot, first", 'to_dot_format("")'.replace(
    '""', "HeapProf.getInstance().snapshot()"), 1)
END
    exec 9>&-
    kill "$load"
    wait "$load" 2>/dev/null || true
    load=
    rm -rf "$work/node"
done
