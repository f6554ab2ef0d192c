#!/bin/sh
# demo.sh - the main job, end to end: installs what it needs, builds the
# programs, starts a Redis with heapwire beside it, and asks it through the
# stock MySQL command line.
#
# Writes heap.html (a flame graph to click through), heap.dot and, where
# graphviz is installed, heap.svg to the current directory.  In a terminal the
# node stays up until Ctrl-C; without one it ends with the demo.
set -eu
out=$PWD
cd "$(dirname "$0")/.."

step() {
    printf '\n== %s\n' "$*"
}

step "packages"
sh docker/install.sh demo

step "build"
cmake --preset release >/dev/null
cmake --build --preset programs | tail -n 1

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
        echo "The node is gone."
    fi
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT TERM

step "an account for TCP, and a node: redis-server under heapwire-run"
password=$("$bin/heapwire-passwd" "$work/heapwire.ini" admin --privileges all)
"$bin/heapwire-run" --config "$work/heapwire.ini" --state-dir "$node" \
    --listen 127.0.0.1:0 -- \
    redis-server --port 0 --unixsocket "$work/redis.sock" --save '' \
    --dir "$work" --daemonize no >"$work/redis.log" 2>&1 &
run=$!

query() {
    mariadb --no-defaults --socket "$node/mysql.sock" --user root heapwire "$@"
}

heap='HeapProf.getInstance()'
waited=0
until redis-cli -s "$work/redis.sock" ping >/dev/null 2>&1 &&
    query -e "ADMIN EXECUTE ON 10001 '$heap.has_enable()'" >/dev/null 2>&1; do
    waited=$((waited + 1))
    if [ "$waited" -gt 600 ] || ! kill -0 "$run" 2>/dev/null; then
        cat "$work/redis.log" "$node/heapwired.log" >&2 2>/dev/null || true
        echo "the node did not start" >&2
        exit 1
    fi
    sleep 0.1
done

# say STATEMENT [OPTION...]: shows it, its answer (a long one cut) and the time
# it took.
say() {
    statement=$1
    shift
    printf '\nmysql> %s;\n' "$statement"
    start=$(date +%s%N)
    query "$@" -e "$statement" >"$work/answer"
    took=$((($(date +%s%N) - start) / 1000000))
    lines=$(wc -l <"$work/answer")
    if [ "$lines" -gt 45 ]; then
        { head -n 8 "$work/answer"
        echo "… $((lines - 10)) more lines …"
        tail -n 2 "$work/answer"; } | cut -c 1-150
    else
        cut -c 1-150 "$work/answer"
    fi
    echo "($took ms, client and all)"
}

# admin CALL: a statement of StarRocks' manual.
admin() {
    say "ADMIN EXECUTE ON 10001 'System.print($heap.$1)'" -t
}

# load COMMANDS: by redis-benchmark.
load() {
    redis-benchmark -s "$work/redis.sock" -n "$keys" -r "$keys" -d 200 -P 16 -q \
        -t "$1" | tr '\r' '\n' | grep 'requests per second'
}

step "profiling on"
say "SELECT id, role, alive, since, version FROM nodes" -t
admin 'enable_prof()'

step "load: $keys keys, a snapshot, and $keys hash fields"
load set,lpush
admin 'snapshot("before")'
load hset
admin 'snapshot("after")'

step "which functions hold the memory"
echo "(redis-check-rdb+0x…: static functions of the server; Debian's redis-server is a link to it)"
say "SELECT top('after', NULL, 10)" -N --raw

step "along which calls"
say "SELECT tree('after')" -N --raw

step "what grew between the snapshots"
say "SELECT function, flat_bytes AS grown, flat_error, significant
    FROM heap_diff WHERE snapshot = 'after' AND base = 'before'
    ORDER BY grown DESC LIMIT 3" -t

step "all of the memory, and what explains it"
say "SELECT allocated, active, resident, rss, cgroup_limit FROM memory" -t
say "SELECT REPLACE(note, '; ', ';\n') AS note FROM memory" -N --raw

step "graphs"
admin 'dump_dot_snapshot()'
admin 'to_dot_format("after")'
{
    echo '<!doctype html><meta charset="utf-8"><title>heapwire</title>'
    query -N --raw -e "SELECT flamegraph('after')" | sed 1d # not its <?xml ?>
} >"$out/heap.html"
query -N --raw -e "SELECT dot('after')" >"$out/heap.dot"
files="heap.html heap.dot"
if command -v dot >/dev/null; then
    dot -Tsvg "$out/heap.dot" >"$out/heap.svg"
    files="$files heap.svg"
fi
# shellcheck disable=SC2086
(cd "$out" && ls -l $files)

step "profiling off"
admin 'disable_prof()'
admin 'has_enable()'

step "the node"
if [ -t 0 ]; then
    port=$(query -N -e "SHOW VARIABLES LIKE 'port'" | cut -f 2)
    cat <<EOF
It stays up until Ctrl-C.  Connect from another terminal:

mysql --socket $node/mysql.sock --user root heapwire
mysql --host 127.0.0.1 --port $port --user admin --password='$password' heapwire

heap.html opens in a browser.
EOF
    wait "$run"
else
    echo "It ends here, for there is no terminal to stop it from:" \
        "run the demo in one to connect to it."
fi
