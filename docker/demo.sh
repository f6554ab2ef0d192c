#!/bin/sh
# demo.sh - the main job, end to end: a real Redis with heapwire beside it, and
# every statement of the manual through the stock MySQL command line.
#
# Writes heap.dot, and heap.svg where graphviz is installed, to this directory.
# With a terminal the node stays up until Ctrl-C.
set -eu
cd "$(dirname "$0")/.."

step() {
    printf '\n== %s\n' "$*"
}

step "packages"
sh docker/install.sh

step "build"
cmake --preset release >/dev/null
cmake --build --preset release | tail -n 1

bin=$PWD/build/release/bin
work=$(mktemp -d)
node=$work/node
keys=${KEYS:-200000}
run=

finish() {
    trap - EXIT HUP INT TERM
    if [ -n "$run" ]; then
        kill "$run" 2>/dev/null || true
        wait "$run" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT TERM

free_port() {
    python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

step "a user for TCP, and a node: redis-server under heapwire-run"
redis_port=$(free_port)
admin_port=$(free_port)
password=$("$bin/heapwire-passwd" "$work/heapwire.ini" admin \
    --privileges status,profile,control)
"$bin/heapwire-run" --config "$work/heapwire.ini" --state-dir "$node" \
    --listen "127.0.0.1:$admin_port" -- \
    redis-server --port "$redis_port" --bind 127.0.0.1 --save '' \
    --dir "$work" --daemonize no >"$work/redis.log" 2>&1 &
run=$!

mysql_socket() {
    mariadb --no-defaults --socket "$node/mysql.sock" --user root "$@"
}

ready="ADMIN EXECUTE ON 10001 'HeapProf.getInstance().has_enable()'"
waited=0
until redis-cli -p "$redis_port" ping >/dev/null 2>&1 &&
    mysql_socket -e "$ready" >/dev/null 2>&1; do
    waited=$((waited + 1))
    if [ "$waited" -gt 100 ] || ! kill -0 "$run" 2>/dev/null; then
        cat "$work/redis.log" "$node/heapwired.log" >&2 2>/dev/null || true
        echo "the node did not start" >&2
        exit 1
    fi
    sleep 0.1
done

# say STATEMENT: shows it, its answer (long ones cut) and the time it took.
say() {
    printf '\nmysql> %s;\n' "$1"
    start=$(date +%s%N)
    mysql_socket -t -e "$1" >"$work/answer"
    took=$((($(date +%s%N) - start) / 1000000))
    lines=$(wc -l <"$work/answer")
    if [ "$lines" -gt 40 ]; then
        { head -n 14 "$work/answer"
        echo "… $((lines - 16)) more lines …"
        tail -n 2 "$work/answer"; } | cut -c 1-150
    else
        cut -c 1-150 "$work/answer"
    fi
    echo "($took ms, client and all)"
}

heap='HeapProf.getInstance()'
step "the statements of the manual"
say "SHOW BACKENDS"
say "SELECT id, role, alive, since, version, state FROM heapwire.nodes"
say "ADMIN EXECUTE ON 10001 'System.print($heap.has_enable())'"
say "ADMIN EXECUTE ON 10001 'System.print($heap.enable_prof())'"
say "ADMIN EXECUTE ON 10001 'System.print($heap.has_enable())'"

step "load: $keys keys by redis-benchmark"
redis-benchmark -p "$redis_port" -n "$keys" -r "$keys" -d 200 -P 16 -q \
    -t set,lpush,hset | tr "\r" "\n" | grep "requests per second"

say "ADMIN EXECUTE ON 10001 'System.print($heap.dump_dot_snapshot())'"
say "ADMIN EXECUTE ON 10001 'System.print($heap.snapshot())'"
name=$(sed -n 's/^| *\(heap_[a-z0-9_]*\).*/\1/p' "$work/answer")
say "ADMIN EXECUTE ON 10001 'System.print($heap.to_dot_format(\"$name\"))'"

step "heap.dot"
mysql_socket -N -B --raw -e \
    "ADMIN EXECUTE ON 10001 'System.print($heap.dump_dot_snapshot())'" >heap.dot
wc -l heap.dot
if command -v dot >/dev/null; then
    dot -Tsvg heap.dot >heap.svg
    ls -l heap.svg
fi

say "ADMIN EXECUTE ON 10001 'System.print($heap.disable_prof())'"
say "ADMIN EXECUTE ON 10001 'System.print($heap.has_enable())'"

step "connect yourself"
cat <<EOF
mysql --socket $node/mysql.sock --user root
mysql --host 127.0.0.1 --port $admin_port --user admin --password='$password'
EOF
if [ -t 0 ] && [ -t 1 ]; then
    echo "The node stays up until Ctrl-C."
    wait "$run"
fi
