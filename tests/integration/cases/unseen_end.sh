#!/bin/sh
# unseen_end.sh - a container that is killed whole, database, heapwire-run and
# heapwired at once: the next one records that its database ended unseen.
. tests/integration/lib/lib.inc

why=$(unshare --pid --fork --mount-proc true 2>&1) || {
    echo "skipped: no pid namespace can be made here: $why"
    finish_test
    exit
}
# container: a redis in a pid namespace of its own, which ends with $run.
container() {
    redis_port=$(free_port)
    unshare --pid --fork --mount-proc --kill-child "$bin/heapwire-run" \
        --listen none --state-dir "$work/node" -- redis-server --save '' \
        --port "$redis_port" --bind 127.0.0.1 --dir "$work" \
        --enable-debug-command yes >"$work/node.log" 2>&1 &
    run=$!
    pids="$run $pids"
    wait_for 60 prof 'has_enable()'
    wait_for 60 redis-cli -p "$redis_port" ping
}
# Its first process ends after all the others, and is perhaps never waited for.
ended() {
    [ ! -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status"
}
end_container() {
    first=$(pgrep -P "$run")
    kill -9 "$run"
    wait "$run" 2>/dev/null || true
    wait_for 60 ended "$first"
}
container
prof 'enable_prof()' >/dev/null
redis-cli -p "$redis_port" debug populate 20000 k 1200 >/dev/null
prof 'snapshot("newest")' >/dev/null
seen() {
    [ "$(sql "select count(*) from heapwire.memory_history
        where rss > 20000000 and allocated > 20000000")" -ge 2 ]
}
wait_for 60 seen
end_container
same "nobody wrote it down" "" "$(cat "$work/node/deaths")"

container
recorded() {
    [ "$(sql 'select count(*) from heapwire.deaths')" -ge 1 ]
}
wait_for 60 recorded
same "it ended unseen" "redis	NULL	NULL	newest	1	1	1" \
    "$(sql "select if(program like '%redis%', 'redis', program), exit_status,
        killed_by, last_snapshot, at = sampled, rss > 20000000,
        allocated > 20000000 from heapwire.deaths")"
matches() { # WHAT EXPRESSION TEXT
    check
    printf '%s\n' "$3" | grep -q "$2" || fault "$1: $3"
}
matches "in words" \
    "^ended unseen after [0-9:]*, rss [2-9][0-9].* MB, growing [0-9]* MB/s$" \
    "$(sql 'select how from heapwire.deaths')"
end_container
same "and once" 1 "$(grep -c unseen=1 "$work/node/deaths")"
finish_test
