#!/bin/sh
# import_flood.sh - imports that stand for gigabytes, many at a time, where the
# database and heapwired share a cgroup that has less: neither dies of them.
. tests/integration/lib/lib.inc

limit=$((640 << 20))
v1=/sys/fs/cgroup/memory/heapwire-test-$$
v2=/sys/fs/cgroup/heapwire-test-$$
group=
procs=/dev/null
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    mkdir "$v2" 2>/dev/null && group=$v2 && limit_file=memory.max kills=memory.events
else
    mkdir "$v1" 2>/dev/null && group=$v1 && limit_file=memory.limit_in_bytes \
        kills=memory.oom_control
fi
if [ -n "$group" ] && echo "$limit" 2>/dev/null >"$group/$limit_file"; then
    procs=$group/cgroup.procs
else
    echo "skipped: fewer bytes than it takes (no memory cgroup can be made here)"
    [ -z "$group" ] || rmdir "$group"
    group=
fi
at_end() {
    [ -n "$group" ] || return 0
    while read -r pid; do kill -9 "$pid"; done <"$group/cgroup.procs"
    wait_for 60 rmdir "$group" || status=1
}

redis_port=$(free_port)
sh -c 'echo $$ >"$0"; exec "$@"' "$procs" "$bin/heapwire-run" --listen none \
    --state-dir "$work/node" -- \
    redis-server --port "$redis_port" --bind 127.0.0.1 --save '' \
    --dir "$work" --enable-debug-command yes >"$work/node.log" 2>&1 &
run=$!
pids="$run $pids"
wait_for 60 sql 'SELECT 1'
wait_for 60 prof 'has_enable()'
redis=$(redis_pid)
prof 'enable_prof()' >/dev/null
# A third of the cgroup is the database's.
redis-cli -p "$redis_port" debug populate 160000 k 1200 >/dev/null
one=$(prof 'snapshot()')
sql "SELECT export('$one')" >"$work/one.heapwire"
heapwired=$(pgrep -P "$run" heapwired)
highest() {
    sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$heapwired/status"
}

before=$(highest)
codes=$($python tests/integration/programs/import_flood.py "$work/node/mysql.sock" \
    "$work/one.heapwire" 2>&1)
after=$(highest)
echo "heapwired: $before kB, then $after kB; answers: $codes"
contains "what cannot be had is said" "1041:" "$codes"
check
[ $((after - before)) -lt $(((256 + 64) << 10)) ] ||
    fault "decoding took $((after - before)) kB"
same "heapwired is the same" "$heapwired" "$(pgrep -P "$run" heapwired)"
same "so is the database" "$redis" "$(redis_pid)"
[ -z "$group" ] ||
    same "no process was killed" 0 "$(sed -n 's/^oom_kill //p' "$group/$kills")"
same "an honest one is imported still" again "$({
    printf "CALL heapwire.import_snapshot('again', x'"
    od -An -v -tx1 "$work/one.heapwire" | tr -d ' \n'
    printf "')"
} | mariadb --no-defaults --skip-ssl -S "$work/node/mysql.sock" -u root -N 2>&1)"
contains "and shown" "Total" "$(sql "SELECT text('again')")"
kill "$run"
wait "$run" || true
finish_test
