#!/bin/sh
# evidence.sh - what is left of a database that died: its memory's history, the
# snapshots that the node took by itself, how it ended.
. tests/integration/lib.inc

# A row a second, the allocator's figures soon.
start_redis
samples() {
    sql 'select count(*) from heapwire.memory_history'
}
has_samples() {
    [ "$(samples)" -ge "$1" ]
}
wait_for 10 has_samples 3
check
[ "$(sql "select min(rss) > 1000000 and max(rss) < 1000000000
    and min(pid) = $redis and max(pid) = $redis and max(allocated) > 100000
    and count(distinct at) = count(*) and max(profiling) = 0
    and min(responsive) = 1 from heapwire.memory_history")" = 1 ] ||
    fault "the history: $(sql 'select * from heapwire.memory_history')"
same "the file" "600 2764928" "$(stat -c '%a %s' "$work/node/history" |
    awk '{ print $1, ($2 > 128 && $2 <= 2764928) ? 2764928 : $2 }')"

finish_test
