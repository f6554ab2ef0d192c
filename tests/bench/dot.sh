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
dot_statement="ADMIN EXECUTE ON 10001 'System.print(HeapProf.getInstance().dump_dot_snapshot())'"
client() {
    milliseconds mariadb --no-defaults -S "$work/node/mysql.sock" -u root -N \
        -e "$1"
}
echo "whole mariadb process, SELECT 1:            $(client 'SELECT 1') ms"
echo "dump_dot_snapshot(), nothing cached:        $(client "$dot_statement") ms"
for i in 1 2 3 4 5; do
    echo "dump_dot_snapshot(), names cached ($i):      $(client "$dot_statement") ms"
done
profile=$(ls -t "$work"/own*.heap | head -n 1)
echo "the dump: $(wc -c <"$profile") bytes, $(grep -c '^@' "$profile") stacks"
for i in 1 2 3; do
    echo "jeprof --dot on a dump of that process ($i): $(milliseconds \
        jeprof --dot /usr/bin/redis-server "$profile") ms"
    echo "heapwire-prof --dot on the same ($i):        $(milliseconds \
        "$bin/heapwire-prof" --dot /usr/bin/redis-server "$profile") ms"
done
