#!/bin/sh
# leak_hunt.sh - what grows, as a user finds it: two snapshots of a redis; and
# of a server that was killed, the snapshots that the node took by itself.
. tests/integration/lib/lib.inc

# chain METHODS: of Profile, which begins with of("...").
chain() {
    sql "ADMIN EXECUTE ON 10001 'System.print(Profile.$1)'"
}

# A redis whose keys are overwritten all the time, and one hash that grows.
start_redis
prof 'enable_prof()' >/dev/null
noise() {
    redis-benchmark -p "$redis_port" -n 50000 -r 2000 -d 200 -P 16 -q \
        -t set,get >/dev/null
}
noise
prof 'snapshot("before")' >/dev/null
noise
redis-benchmark -p "$redis_port" -n 100000 -r 100000000 -P 16 -q \
    hset sessions __rand_int__ "$(printf '%0128d' 0)" >/dev/null
prof 'snapshot("after")' >/dev/null
top=$(chain 'of("after").base("before").by_growth().collapsed()' | head -n 1)
echo "redis: $top"
contains "the command that grows" ";hsetCommand;" "$top"
contains "in the tree, too" hsetCommand \
    "$(chain 'of("after").base("before").by_growth().tree()')"
check
[ "$(echo "$top" | sed 's/.* //')" -gt 5000000 ] || fault "of how much: $top"
stop_node

# A C++ server that leaks is killed while no client looks.
g++ -std=c++17 -O2 -g -o "$work/leaking_server" tests/integration/programs/leaking_server.cc
rm -rf "$work/node"
cat >"$work/conf" <<END
[node]
listen = none
[snapshots]
at_percent = none
growth = 6M
min_interval = 1
END
chmod 600 "$work/conf"
node_options="--config $work/conf"
start_node "$work/leaking_server"
began=$(milliseconds)
wait_for 60 prof 'enable_prof()'
# It is in its steady state after so many pages.
count() {
    sql 'select count(*) from heapwire.snapshots'
}
has_snapshots() {
    [ "$(count)" -ge "$1" ]
}
wait_for 60 has_snapshots 6
grown_old "$began"
kill -KILL "$(sql 'select max(pid) from heapwire.memory_history')"
wait_for 60 grep -q 'serves what is known' "$work/node.log"
kill "$run"
wait "$run" || true

# The next incarnation is asked.
start_node "$work/leaking_server"
same "how it died" "leaking_server	9" "$(sql \
    "select substring_index(program, '/', -1), killed_by from heapwire.deaths")"
last=$(sql 'select last_snapshot from heapwire.deaths')
first=$(sql "select name from heapwire.snapshots where taken < (select taken
    from heapwire.snapshots where name = '$last') order by taken limit 1 offset 2")
top=$(chain "of(\"$last\").base(\"$first\").by_growth().top(5)")
echo "$top"
contains "the first line of the difference" SessionLog::append \
    "$(echo "$top" | sed '1,/^Total/d' | grep -v '^~' | head -n 1)"
check
[ "$(sql 'select max(rss) - min(rss) > 20000000 from heapwire.memory_history
    where pid = (select pid from heapwire.deaths)')" = 1 ] ||
    fault "the history does not show the growth"
stop_node
finish_test
