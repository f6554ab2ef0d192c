#!/bin/sh
# evidence_container.sh - heapwire-run as PID 1 of a container whose database
# crashes, and the next container, which has the same state directory but cannot
# see the first one's processes.
. tests/integration/lib/lib.inc

if ! unshare --pid --fork --mount-proc true 2>/dev/null; then
    echo "skipped: no pid namespace can be made here"
    finish_test
    exit
fi

# container: a redis in a pid namespace of its own; $run is outside of it.
container() {
    redis_port=$(free_port)
    unshare --pid --fork --mount-proc --kill-child "$bin/heapwire-run" \
        --listen none --state-dir "$work/node" -- redis-server --save '' \
        --port "$redis_port" --bind 127.0.0.1 --dir "$work" \
        --enable-debug-command yes >"$work/node.log" 2>&1 &
    run=$!
    pids="$run $pids"
    wait_for 15 prof 'has_enable()'
    wait_for 10 redis-cli -p "$redis_port" ping
    sleep 10.5
}
lingers() {
    grep -q 'serves what is known' "$work/node.log"
}
gone() {
    ! kill -0 "$1" 2>/dev/null
}

container
redis-cli -p "$redis_port" debug segfault >/dev/null 2>&1 || true
wait_for 10 lingers
how="select count(*), min(killed_by), min(rss > 5000000) from heapwire.deaths"
same "how it died" "1	11	1" "$(sql "$how")"
check
gone "$run" && fault "the container has ended: no linger"
old=$run

container
wait_for 10 gone "$old"
status=0
wait "$old" || status=$?
same "the first one's status" 139 "$status"
same "the second finds it" "1	11	1" "$(sql "$how")"
check
[ "$(sql 'select count(distinct started) from heapwire.memory_history')" = 2 ] ||
    fault "the history: $(sql 'select pid, started, count(*) from
        heapwire.memory_history group by 1, 2')"

# docker stop, while it lingers: PID 1 gets SIGTERM.
redis-cli -p "$redis_port" debug segfault >/dev/null 2>&1 || true
wait_for 10 lingers
first=$(cat "/proc/$run/task/$run/children")
kill "${first% }"
wait_for 10 gone "$run"
same "both are told" 2 "$(grep -c ' signal=11 ' "$work/node/deaths")"

# full_disk: a redis whose state directory is on a full tmpfs; it is killed.
full_disk() {
    umount "$work/small" 2>/dev/null || true
    mkdir -p "$work/small"
    mount -t tmpfs -o size=1500k,mode=0700 none "$work/small"
    "$bin/heapwire-run" --listen none --state-dir "$work/small/node" -- \
        redis-server --save '' --port "$(free_port)" --bind 127.0.0.1 \
        --dir "$work" >"$work/node.log" 2>&1 &
    run=$!
    pids="$run $pids"
    wait_for 10 test -S "$work/small/node/mysql.sock"
    redis=$(pgrep -P "$run" redis)
    sleep 10.5
}
fill_disk() {
    cat /dev/zero >"$work/small/fill" 2>/dev/null || true
}
is_kept() {
    [ "$(grep -c ' signal=9 ' "$work/small/node/deaths")" = 1 ]
}
if unshare --mount mount -t tmpfs none /mnt 2>/dev/null; then
    at_end() {
        umount -l "$work/small" 2>/dev/null
    }
    full_disk
    fill_disk
    kill -9 "$redis"
    wait_for 10 lingers
    check
    is_kept || fault "room was reserved: $(cat "$work/node.log")"
    stop_node

    # Where the room was lost, it is written once there is some.
    full_disk
    rm -f "$work/small/node/deaths"
    fill_disk
    kill -9 "$redis"
    wait_for 10 lingers
    sleep 6
    same "told once" 1 "$(grep -c 'is not kept' "$work/node.log")"
    same "nothing is torn" 0 "$(wc -c <"$work/small/node/deaths")"
    rm "$work/small/fill"
    wait_for 10 is_kept
    stop_node
    check
    is_kept || fault "it is kept twice: $(cat "$work/small/node/deaths")"
else
    echo "skipped: the full disk (nothing can be mounted here)"
fi
finish_test
