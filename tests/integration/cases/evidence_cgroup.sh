#!/bin/sh
# evidence_cgroup.sh - databases that outgrow their cgroup's limit: snapshots at
# the marks on the way, then the kernel's out-of-memory killer.
. tests/integration/lib/lib.inc

limit=$((192 << 20))
v1=/sys/fs/cgroup/memory/heapwire-test-$$
v2=/sys/fs/cgroup/heapwire-test-$$
group=
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    mkdir "$v2" 2>/dev/null && group=$v2 && limit_file=memory.max
    used_file=memory.current of_all= kills_file=memory.events
else
    mkdir "$v1" 2>/dev/null && group=$v1 && limit_file=memory.limit_in_bytes
    used_file=memory.usage_in_bytes of_all=total_ kills_file=memory.oom_control
fi
if [ -z "$group" ] || ! echo "$limit" 2>/dev/null >"$group/$limit_file"; then
    [ -z "$group" ] || rmdir "$group"
    echo "skipped: no memory cgroup can be made here"
    finish_test
    exit
fi
# Processes that are left in it end with the test.
at_end() {
    while read -r pid; do kill -9 "$pid"; done <"$group/cgroup.procs"
    wait_for 60 rmdir "$group" || status=1
}

cat >"$work/conf" <<END
[node]
listen = none
linger = 10m
[snapshots]
at_percent = 50, 70, 90
min_interval = 1
END
chmod 600 "$work/conf"
redis_port=$(free_port)
# Only the database is to be what the kernel chooses.
sh -c 'echo $$ >"$0"; exec "$@"' "$group/cgroup.procs" "$bin/heapwire-run" \
    --config "$work/conf" --state-dir "$work/node" -- \
    redis-server --port "$redis_port" --bind 127.0.0.1 --save '' \
    --dir "$work" --enable-debug-command yes --oom-score-adj yes \
    --oom-score-adj-values 900 900 900 >"$work/node.log" 2>&1 &
run=$!
pids="$run $pids"
wait_for 60 sql 'SELECT 1'
wait_for 60 prof 'has_enable()'
redis=$(redis_pid)
began=$(milliseconds)
prof 'enable_prof()' >/dev/null
was_on() {
    [ "$(sql 'select count(*) from heapwire.memory_history where profiling')" -ge 1 ]
}
wait_for 60 was_on

taken() {
    sed -n 's/.*took the automatic snapshot \([a-z0-9_]*\): \(.*\)/\1 \2/p' \
        "$work/node/heapwired.log"
}
n=0
populate() {
    n=$((n + 1))
    redis-cli -p "$redis_port" debug populate 1000 "k$n" 1200 >/dev/null 2>&1
}
used() { # as heapwired counts it: the kernel takes the page cache back
    cached=$(awk -v of="$of_all" '$1 == of "active_file" ||
        $1 == of "inactive_file" { n += $2 } END { print n + 0 }' "$group/memory.stat")
    echo $(($(cat "$group/$used_file") - cached))
}
fill_to() { # PERCENT
    while [ "$(used)" -lt $((limit / 100 * $1)) ]; do
        populate || return 1
    done
}
passed() { grep -q "memory passed $1% of the cgroup's limit" "$work/node/heapwired.log"; }
# fill MARK...: each is looked at before the next one.
fill() {
    for mark; do
        fill_to $((mark + 3))
        check
        wait_for 60 passed "$mark" || fault "no snapshot at $mark%, $(used) in use: \
$(taken)"
    done
}
nearly_full() { # by history
    [ "$(sql "select max(cgroup_current) > 0.9 * $limit
        from heapwire.memory_history")" = 1 ]
}
fill 50 70 90
wait_for 60 nearly_full
grown_old "$began"
while populate; do :; done
wait_for 60 grep -q 'serves what is known' "$work/node.log"
echo "after $n times 1.2 MB:"
taken
contains "at half of it" "memory passed 50% of the cgroup's limit" "$(taken)"
contains "and then" "memory passed 70% of the cgroup's limit" "$(taken)"
same "how it died" \
    "$redis	9	1	$limit	1	$(taken | tail -n 1 | cut -d' ' -f1)" \
    "$(sql "select pid, killed_by, oom_kills, cgroup_limit,
        rss > 0.7 * cgroup_limit, last_snapshot from heapwire.deaths")"
contains "in words" "; the kernel killed 1 process of its cgroup for want of" \
    "$(sql 'select how from heapwire.deaths')"
same "it grew" 1 "$(sql "select max(cgroup_current) > 0.9 * $limit
    and min(cgroup_current) < 0.5 * $limit and max(cgroup_limit) = $limit
    and min(cgroup_limit) = $limit and max(cgroup_cache) is not null
    from heapwire.memory_history")"
contains "the last snapshot is served" digraph \
    "$(prof "to_dot_format(\"$(taken | tail -n 1 | cut -d' ' -f1)\")" | head -n 1)"

# All of it is on disk.
kill "$run"
status=0
wait "$run" || status=$?
same "the status" 137 "$status"
start_redis
same "the next incarnation" "9	1	$(taken | tail -n 1 | cut -d' ' -f1)" \
    "$(sql 'select killed_by, oom_kills, last_snapshot from heapwire.deaths')"
stop_node

# The kernel takes heapwired and its helpers before a database like any other:
# those are not counted as the database's, and no mark waits for the interval
# since the last snapshot.
redis_port=$(free_port)
sh -c 'echo $$ >"$0"; exec "$@"' "$group/cgroup.procs" "$bin/heapwire-run" \
    --listen none --profiling on --linger 0 --state-dir "$work/node" -- \
    redis-server --port "$redis_port" --bind 127.0.0.1 --save '' \
    --dir "$work" --enable-debug-command yes >"$work/node.log" 2>&1 &
run=$!
pids="$run $pids"
wait_for 60 sql 'SELECT 1'
wait_for 60 prof 'has_enable()'
dead=$(redis_pid)
fill 80 90
# heapwired is gone before the rest is filled, and has no second to come back: of
# two that are killed at one moment heapwire-run cannot tell who was first.
killed() {
    sed -n 's/^oom_kill //p' "$group/$kills_file"
}
is_seen() { grep -q 'heapwired was killed by' "$work/node.log"; }
until is_seen; do
    before=$(killed)
    populate || break
    [ "$(killed)" = "$before" ] || wait_for 2 is_seen || true
done
redis-cli -p "$redis_port" debug populate 200000 rest 1200 >/dev/null 2>&1 || true
status=0
wait "$run" || status=$?
grep '^heapwire-run' "$work/node.log" # whom the kernel has killed, and when
same "the status" 137 "$status"
start_redis
# What it had allocated is of a look up to a second before the end: at 90 %, some
# of which is heapwired's.
same "one process" "$dead	9	1	1" "$(sql "select pid, killed_by, oom_kills,
    allocated > 0.6 * $limit from heapwire.deaths order by at desc limit 1")"
how=$(sql 'select how from heapwire.deaths order by at desc limit 1')
contains "in words" "; the kernel killed 1 process of its cgroup for want of" \
    "$how"
contains "and heapwired" ", and heapwired" "$how"
stop_node
finish_test
