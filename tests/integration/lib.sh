# lib.sh - what the integration tests share; sourced from the top of the tree.
#
# Gives $bin (the programs), $work (a private directory, removed at the end),
# and the functions below.  A test ends with "finish_test".
# shellcheck shell=sh

set -eu
bin=$PWD/${BUILD:-build/release}/bin
work=$(mktemp -d)
pids=
faults=0
checks=0
python=/usr/bin/python3 # Debian's: it has Debian's modules

finished=no
clean_up() {
    status=$?
    trap - EXIT INT TERM
    [ "$finished" = yes ] || echo "ended early, with status $status"
    for pid in $pids; do
        kill "$pid" 2>/dev/null || true
        kill -CONT "$pid" 2>/dev/null || true
    done
    for pid in $pids; do
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# A TCP port that nobody has now.
free_port() {
    python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
    tries=$(($1 * 20))
    shift
    while ! "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        if [ "$tries" -le 0 ]; then
            echo "timed out waiting for: $*"
            return 1
        fi
        sleep 0.05
    done
}

check() {
    checks=$((checks + 1))
}

fault() {
    faults=$((faults + 1))
    echo "FAULT: $*"
}

# same WHAT EXPECTED GOT
same() {
    check
    [ "$2" = "$3" ] || fault "$1: expected '$2', got '$3'"
}

# contains WHAT TEXT GOT
contains() {
    check
    case "$3" in
    *"$2"*) ;;
    *) fault "$1: expected '…$2…', got '$3'" ;;
    esac
}

# sql STATEMENT: over the node's unix socket, bare rows; errors on stdout.
sql() {
    mariadb --no-defaults -S "$work/node/mysql.sock" -u root -N -B --raw \
        -e "$1" 2>&1
}

# prof CALL: prints HeapProf.getInstance().CALL
prof() {
    sql "ADMIN EXECUTE ON 10001 'System.print(HeapProf.getInstance().$1)'"
}

# start_node COMMAND...: under heapwire-run, in $run; waits for its socket.
# $node_options are heapwire-run's.
start_node() {
    # shellcheck disable=SC2086
    "$bin/heapwire-run" --state-dir "$work/node" ${node_options:---listen none} \
        -- "$@" >"$work/node.log" 2>&1 &
    run=$!
    pids="$run $pids"
    wait_for 10 sql 'SELECT 1' || {
        cat "$work/node.log" "$work/node/heapwired.log"
        exit 1
    }
}

# start_redis OPTIONS...: a redis node; $redis_port, $redis (its pid).
start_redis() {
    redis_port=$(free_port)
    start_node redis-server --port "$redis_port" --bind 127.0.0.1 --save '' \
        --dir "$work" "$@"
    wait_for 10 redis-cli -p "$redis_port" ping
    redis=$(redis_pid)
    wait_for 10 prof 'has_enable()'
}

redis_pid() {
    redis-cli -p "$redis_port" info server | tr -d '\r' |
        sed -n 's/^process_id://p'
}

load_redis() {
    redis-benchmark -p "$redis_port" -n "${1:-50000}" -r 50000 -d 200 -P 16 \
        -q -t set,lpush,hset >/dev/null
}

stop_node() {
    kill "$run" 2>/dev/null || true
    wait "$run" 2>/dev/null || true
}

milliseconds() {
    echo $(($(date +%s%N) / 1000000))
}

finish_test() {
    finished=yes
    echo "$checks checks, $faults faults"
    [ "$faults" = 0 ]
}
