#!/bin/sh
# redis.sh - what heapwire costs a Redis: throughput, memory, threads.
#
# ROUNDS (default 5) rounds; in each, one redis-server per mode is started and
# loaded in turn: plain, under heapwire-run with profiling off, and with it on.
# Prints every run and the medians, with the ratio to plain.  What a request
# costs redis's own threads (CPU time) says more than the rate, which the
# client and the machine's other work disturb.
set -eu
cd "$(dirname "$0")/../.."

bin=$PWD/${BUILD:-build/release}/bin
rounds=${ROUNDS:-5}
requests=${REQUESTS:-1000000}
work=$(mktemp -d)
server=

finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')

# start MODE: leaves the pids in $server and $redis.
start() {
    set -- "$1" redis-server --port "$port" --bind 127.0.0.1 --save '' \
        --dir "$work"
    mode=$1
    shift
    if [ "$mode" = plain ]; then
        "$@" >"$work/log" 2>&1 &
    else
        "$bin/heapwire-run" --state-dir "$work/node" --listen none -- "$@" \
            >"$work/log" 2>&1 &
    fi
    server=$!
    until redis-cli -p "$port" ping >/dev/null 2>&1; do sleep 0.05; done
    redis=$(redis-cli -p "$port" info server | tr -d '\r' |
        sed -n 's/^process_id://p')
    if [ "$mode" = on ]; then
        until mariadb --no-defaults -S "$work/node/mysql.sock" -u root -e \
            "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().enable_prof()'" \
            >/dev/null 2>&1; do sleep 0.1; done
    fi
}

stop() {
    kill "$redis" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    server=
}

field() {
    sed -n "s/^$1:[[:space:]]*\([0-9]*\).*/\1/p" "/proc/$redis/status"
}

# CPU time of all threads so far, in ns.
cpu_ns() {
    cat "/proc/$redis"/task/*/schedstat | awk '{s += $1} END {printf "%d", s}'
}

# run MODE: one line of figures.
run() {
    start "$1"
    sleep 1
    set -- "$1" "$(field VmRSS)" "$(field Threads)" \
        "$(ls "/proc/$redis/fd" | wc -l)"
    before=$(cpu_ns)
    rate=$(redis-benchmark -p "$port" -n "$requests" -r 100000 -d 200 -P 16 \
        -q -t set --csv | tail -n 1 | cut -d, -f2 | tr -d '"')
    each=$((($(cpu_ns) - before) / requests))
    echo "$1 $rate $each $2 $3 $4 $(field VmRSS)"
    stop
}

echo "mode set/s cpu_ns_each idle_rss_kb threads fds loaded_rss_kb"
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    for mode in plain idle on; do
        run "$mode" | tee -a "$work/figures"
    done
done

python3 - "$work/figures" <<'EOF'
import statistics
import sys

runs = {}
for line in open(sys.argv[1]):
    mode, *figures = line.split()
    runs.setdefault(mode, []).append([float(x) for x in figures])
plain = None
print("medians:")
for mode, rows in runs.items():
    m = [statistics.median(column) for column in zip(*rows)]
    plain = plain or m
    print(f"{mode:6} {m[0]:8.0f} set/s ({m[0] / plain[0]:.3f} of plain), "
          f"CPU {m[1]:.0f} ns each ({m[1] / plain[1]:.3f}), "
          f"RSS {m[2]:.0f} KB ({m[2] - plain[2]:+.0f}), "
          f"threads {m[3]:.0f} ({m[3] - plain[3]:+.0f}), "
          f"fds {m[4]:.0f} ({m[4] - plain[4]:+.0f}), "
          f"RSS loaded {m[5]:.0f} KB ({m[5] - plain[5]:+.0f})")
EOF
