#!/bin/sh
# evidence_mariadb.sh - a database that starts as root and drops it: what is left
# of it belongs to its user, and is found again by the next start, as root.
. tests/integration/lib/lib.inc

install_mariadb
node_options="--listen none --profiling-source jemalloc" # for its figures

start_database() {
    start_node /usr/sbin/mariadbd --no-defaults --user=mysql \
        --datadir="$work/db/data" --tmpdir="$work/db/data" --socket="$work/db/db.sock" \
        --skip-networking --pid-file="$work/db/pid"
    began=$(milliseconds)
    wait_for 60 prof 'has_enable()'
    wait_for 60 owned_by_mysql
}
owned_by_mysql() {
    [ "$(stat -c %U "$work/node")" = mysql ]
}
# The sampler has the allocator's figures each ten seconds.
kill_database() {
    grown_old "$began"
    database=$(cat "$work/db/pid")
    wait_for 60 sampled
    kill -KILL "$database"
    wait_for 60 grep -q "(pid $database) was killed by signal 9" "$work/node.log"
}
sampled() {
    [ "$(sql "select max(allocated) > 10000000 from heapwire.memory_history
        where pid = $database")" = 1 ]
}
deaths="select count(*), min(rss > 50000000 and allocated > 10000000),
    min(killed_by) from heapwire.deaths"

start_database
kill_database
same "how it died" "1	1	9" "$(sql "$deaths")"
same "whose the files are" "mysql mysql mysql" "$(cd "$work/node" &&
    stat -c %U history deaths linger | tr '\n' ' ' | sed 's/ $//')"
first=$(sql 'select count(*) from heapwire.memory_history')

old=$run
start_database
check
wait "$old" && fault "the first run told no failure"
wait_for 60 sql 'select 1' # as the database's user now
same "the next start finds it" "1	1	9" "$(sql "$deaths")"
has_more() {
    [ "$(sql 'select count(*) from heapwire.memory_history')" -ge $((first + 8)) ]
}
check
wait_for 60 has_more || fault "the history: $(sql 'select pid, count(*) from
    heapwire.memory_history group by 1')"
kill_database
same "both" "2	1	9" "$(sql "$deaths")"
check
[ ! -e "$work/node/history.damaged" ] || fault "the history was set aside"
kill "$run"
finish_test
