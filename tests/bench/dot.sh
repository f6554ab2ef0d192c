#!/bin/sh
# dot.sh - the time of dump_dot_snapshot() on a loaded Redis, and of
# "jeprof --dot" on a dump of the same process, in one run.
set -eu
cd "$(dirname "$0")/../.."

bin=$PWD/${BUILD:-build/release}/bin
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

# jemalloc itself writes dumps here too, for jeprof to read.
MALLOC_CONF=lg_prof_sample:${LG_SAMPLE:-14},prof_prefix:$work/own,lg_prof_interval:26 \
    "$bin/heapwire-run" --state-dir "$work/node" --listen none -- \
    redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$work" \
    >"$work/log" 2>&1 &
server=$!
statement() {
    mariadb --no-defaults -S "$work/node/mysql.sock" -u root -N -B --raw -e \
        "ADMIN EXECUTE ON 10001 'System.print(HeapProf.getInstance().$1)'"
}
until redis-cli -p "$port" ping >/dev/null 2>&1 &&
    statement 'enable_prof()' >/dev/null 2>&1; do sleep 0.1; done
redis-benchmark -p "$port" -n "${REQUESTS:-400000}" -r 200000 -d 200 -P 16 -q \
    -t set,lpush,hset,zadd,sadd >/dev/null

milliseconds() {
    python3 - "$@" <<'EOF'
import subprocess
import sys
import time

start = time.monotonic()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL,
               stderr=subprocess.DEVNULL, check=True)
print(f"{(time.monotonic() - start) * 1000:.1f}")
EOF
}
/usr/bin/python3 - "$work/node/mysql.sock" <<'EOF'
import sys
import time

import pymysql

cursor = pymysql.connect(unix_socket=sys.argv[1], user="root").cursor()


def run(what, statement):
    start = time.perf_counter()
    cursor.execute(statement)
    rows = cursor.fetchall()
    print(f"{what:34} {(time.perf_counter() - start) * 1000:7.2f} ms, "
          f"{len(rows)} rows")


DOT = ("ADMIN EXECUTE ON 10001 "
       "'System.print(HeapProf.getInstance().dump_dot_snapshot())'")
run("SELECT 1", "SELECT 1")
run("dump_dot_snapshot(), first", DOT)
for i in range(5):
    run("dump_dot_snapshot(), names cached", DOT)
EOF
profile=$(ls -t "$work"/own*.heap | head -n 1)
echo "the dump: $(wc -c <"$profile") bytes, $(grep -c '^@' "$profile") stacks"
for i in 1 2 3; do
    echo "jeprof --dot on a dump of that process ($i): $(milliseconds \
        jeprof --dot /usr/bin/redis-server "$profile") ms"
    echo "heapwire-prof --dot on the same ($i):        $(milliseconds \
        "$bin/heapwire-prof" --dot /usr/bin/redis-server "$profile") ms"
done
