#!/bin/sh
# evidence.sh - what is left of a database that died: its memory's history, the
# snapshots that the node took by itself, how it ended; read from the heapwired
# that lingers, and from the next one.
. tests/integration/lib/lib.inc

samples() {
    sql "select count(*) from heapwire.memory_history ${1:-}"
}
has_samples() {
    [ "$(samples)" -ge "$1" ]
}
taken() {
    sed -n 's/.*took the automatic snapshot \([a-z0-9_]*\): \(.*\)/\1 \2/p' \
        "$work/node/heapwired.log"
}
has_taken() {
    [ "$(taken | wc -l)" -ge "$1" ]
}
gone() {
    ! kill -0 "$1" 2>/dev/null
}
# looked: heapwired has looked at the memory, and then again.
looked() {
    wait_for 60 has_samples $(($(samples) + 2))
}
was_on() {
    [ "$(samples 'where profiling')" -ge 1 ]
}
populate() { # populate COUNT PREFIX
    redis-cli -p "$redis_port" debug populate "$1" "$2" 1000 >/dev/null
}

cat >"$work/conf" <<END
[node]
listen = none
[snapshots]
at_percent = none
growth = 8M
min_interval = 1
END
chmod 600 "$work/conf"
node_options="--config $work/conf --linger 600"

# short_linger SECONDS: a redis beside the others whose heapwired lingers for so long.
short_linger() {
    "$bin/heapwire-run" --config "$work/conf" --linger "$1" \
        --state-dir "$work/short$1" -- redis-server --port 0 \
        --unixsocket "$work/short$1.sock" --save '' --dir "$work" \
        >"$work/short$1.log" 2>&1 &
    pids="$! $pids"
}
# kill_short_linger SECONDS: $short_linger is its heapwire-run.
kill_short_linger() {
    short_linger=$(pgrep -f "^$bin/heapwire-run .*--state-dir $work/short$1 ")
    died=$(milliseconds)
    kill -9 "$(pgrep -P "$short_linger" redis)"
}
short_linger 2
short_linger 0

# A row a second, the allocator's figures soon.
start_redis --enable-debug-command yes
began=$(milliseconds)
wait_for 60 has_samples 3
is_right() {
    [ "$(sql "select min(rss) > 1000000 and max(rss) < 1000000000
        and min(pid) = $redis and max(pid) = $redis and max(allocated) > 100000
        and count(distinct at) = count(*) and max(profiling) = 0
        and min(responsive) = 1 from heapwire.memory_history")" = 1 ]
}
check
wait_for 60 is_right ||
    fault "the history: $(sql 'select * from heapwire.memory_history')"
same "its file is its owner's alone" 600 "$(stat -c %a "$work/node/history")"

# Growth is seen only while profiling is on.
populate 20000 before
looked
same "no snapshot while profiling is off" "" "$(taken)"
prof 'enable_prof()' >/dev/null
wait_for 60 was_on
populate 20000 first
wait_for 60 has_taken 1
populate 20000 second
wait_for 60 has_taken 2
contains "why" "memory grew by " "$(taken | tail -n 1)"
are_kept() { # another one may come between the two looks
    [ "$(taken | cut -d' ' -f1 | sort)" = \
        "$(sql 'select name from heapwire.snapshots order by name')" ]
}
check
wait_for 60 are_kept ||
    fault "$(taken) are kept as $(sql 'select name from heapwire.snapshots')"
contains "the settings" "snapshots.growth	8388608	1" \
    "$(sql 'select * from heapwire.settings')"

sed -i 's/^growth = .*/growth = 1G/' "$work/conf"
kill -HUP "$(cat "$work/node/heapwired.lock")"
in_force() {
    sql 'select * from heapwire.settings' | grep -q "snapshots.growth	1073741824"
}
wait_for 60 in_force
kept=none # a slow growth may be seen in more looks than one
until [ "$(taken | wc -l)" = "$kept" ]; do
    kept=$(taken | wc -l)
    looked # what was begun before
    looked
done
populate 20000 third
looked
same "a reload changes the marks" "$kept" "$(taken | wc -l)"

# A stopped database is unresponsive, and its memory is looked at on.
freeze "$redis"
note_says() {
    sql 'select note from heapwire.memory' | grep -qF "$1"
}
check
wait_for 60 note_says "profile_bytes is NULL: the database (pid $redis) is not \
responding since 20" || fault "the note: $(sql 'select note from heapwire.memory')"
was_unresponsive() {
    [ "$(samples 'where not responsive')" -ge 1 ]
}
check
wait_for 60 was_unresponsive || fault "no unresponsive sample"
kill -CONT "$redis"

# Killed: heapwired lingers and answers.
grown_old "$began"
kill -9 "$redis"
wait_for 60 grep -q 'serves what is known' "$work/node.log"
contains "heapwire-run says so" \
    "redis-server (pid $redis) was killed by signal 9 (SIGKILL)" \
    "$(sed 's,/[^ ]*/,,' "$work/node.log")"
is_of_before() { # heapwired may learn of it later than heapwire-run
    [ "$(sql 'select answered, rss > 40000000 and allocated > 1000000 and
        timestampdiff(second, taken, utc_timestamp()) < 60
        from heapwire.memory')" = "0	1" ]
}
check
wait_for 60 is_of_before || fault "its memory is not that of before, with its \
time: $(sql 'select * from heapwire.memory')"
death="select pid, how, exit_status, killed_by, told_by, profiling, last_snapshot,
    rss > 40000000, timestampdiff(second, sampled, at) between 0 and 20,
    allocated > 1000000 from heapwire.deaths"
told="$redis	was killed by signal 9 (SIGKILL)	NULL	9	NULL	1	\
$(taken | tail -n 1 | cut -d' ' -f1)	1	1	1"
wait_for 60 sql 'SELECT 1'
tells_how() {
    prof 'has_enable()' | grep -q ": it was killed by signal 9 (SIGKILL) (heap"
}
check
wait_for 60 tells_how || fault "a statement: $(prof 'has_enable()')"
same "how it died" "$told" "$(sql "$death")"
history=$(samples)
check
sql 'select state from heapwire.nodes' | grep -q gone || fault "not gone"
contains "its mappings are gone, too" "it was killed by signal 9" \
    "$(sql 'select name from heapwire.mappings')"
same "nothing more is sampled" "$history" "$(sleep 1.2; samples)" # one a second
last=$(taken | tail -n 1 | cut -d' ' -f1)
contains "the snapshots are served" digraph \
    "$(prof "to_dot_format(\"$last\")" | head -n 1)"
same "its files" "600 600" "$(stat -c %a "$work/node/deaths" "$work/node/linger" |
    tr '\n' ' ' | sed 's/ $//')"

# A signal ends it, with the database's status.
kill "$run"
status=0
wait "$run" || status=$?
same "the status" 137 "$status"
check
sql 'select 1' | grep -q ERROR || fault "heapwired is still there"

# The next incarnation finds it all.
start_redis --enable-debug-command yes
began=$(milliseconds)
same "the death is found" "$told" "$(sql "$death")"
check
[ "$(samples "where pid <> $redis")" = "$history" ] ||
    fault "$history samples were there: $(samples "where pid <> $redis")"
same "the snapshots are found" "$kept" "$(sql 'select count(*) from heapwire.snapshots')"

# It dies, too, and a successor takes over at once.
old=$run
old_redis=$redis
grown_old "$began"
kill -9 "$redis"
wait_for 60 grep -q 'serves what is known' "$work/node.log"
start_redis --enable-debug-command yes
began=$(milliseconds)
wait_for 60 gone "$old"
status=0
wait "$old" || status=$?
same "the predecessor's status" 137 "$status"
wait_for 60 prof 'has_enable()'
same "two deaths" "$old_redis" \
    "$(sql 'select max(pid) from heapwire.deaths where how like "was killed%"
        and pid <> '"$(echo "$told" | cut -f1)")"
wait_for 60 has_samples $((history + 5))

# A clean end, and one that was asked for, do not linger.
redis-cli -p "$redis_port" shutdown nosave || true
wait_for 60 gone "$run"
same "a clean end" 0 \
    "$(sed -n '$s/.* status=\([0-9]*\) .*/\1/p' "$work/node/deaths")"

# The time is over.
kill_short_linger 2
wait_for 60 gone "$short_linger"
check
[ $(($(milliseconds) - died)) -ge 2000 ] || fault "it did not linger"

# linger = 0: it ends with the database.
kill_short_linger 0
wait_for 60 gone "$short_linger"
same "deaths" "3 1 1" "$(cat "$work/node/deaths" | wc -l) \
$(cat "$work/short2/deaths" | wc -l) $(cat "$work/short0/deaths" | wc -l)"

finish_test
