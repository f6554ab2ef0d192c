#!/bin/sh
# mariadb_threads.sh - which connection of a MariaDB holds the memory: the tid of
# heap_threads is that of its processlist.
. tests/integration/lib/lib.inc

install_mariadb
node_options="--listen none --profiling-source interposed --profiling on"
start_node /usr/sbin/mariadbd --no-defaults --user=mysql \
    --datadir="$work/db/data" --tmpdir="$work/db/data" --socket="$work/db/db.sock" \
    --skip-networking --pid-file="$work/db/pid" --max-allowed-packet=256M

db() {
    mariadb --no-defaults -S "$work/db/db.sock" -u "${2:-root}" -N -B -e "$1" 2>&1
}
wait_for 60 db 'SELECT 1'
wait_for 60 prof 'has_enable()'
db "CREATE USER hog; CREATE USER guest" >/dev/null

# Each holds a user's variable: 96 MB, and 24 MB, until its SLEEP is killed.
for held in hog:96 guest:24; do
    db "SET @held = REPEAT('x', ${held#*:} << 20); SELECT SLEEP(600)" "${held%:*}" \
        >/dev/null &
    pids="$! $pids"
done
asleep() {
    [ "$(db "SELECT COUNT(*) FROM information_schema.processlist
        WHERE info = 'SELECT SLEEP(600)'")" = 2 ]
}
wait_for 60 asleep
prof 'snapshot("held")' >/dev/null

most=$(sql "SELECT tid, live_bytes DIV 1048576 FROM heapwire.heap_threads
    WHERE snapshot = 'held' AND tid IN ($(db "SELECT GROUP_CONCAT(tid) FROM
        information_schema.processlist WHERE user IN ('hog', 'guest')"))
    ORDER BY live_bytes DESC")
tid=$(echo "$most" | head -n 1 | cut -f 1)
same "who holds most" "hog	SELECT SLEEP(600)" "$(db "SELECT user, info FROM
    information_schema.processlist WHERE tid = $tid")"
same "and then" guest "$(db "SELECT user FROM information_schema.processlist
    WHERE tid = $(echo "$most" | sed -n '2s/	.*//p')")"
# With what a connection has besides.
within() {
    check
    [ "$3" -ge "$2" ] && [ "$3" -lt $(($2 + 8)) ] ||
        fault "$1: expected $2 MB, got $3"
}
within "how much" 96 "$(echo "$most" | sed -n '1s/.*	//p')"
within "the other" 24 "$(echo "$most" | sed -n '2s/.*	//p')"
same "the thread is among those that are seen from outside" 1 \
    "$(sql "SELECT COUNT(*) FROM heapwire.threads WHERE tid = $tid")"
same "its stacks" 1 "$(sql "SELECT collapsed('held', NULL, 'by_thread') LIKE
    '%thread $tid mariadbd;%'")"
contains "the diagnosis has them, for all are of one pool" "MB mariadbd (tid $tid)" \
    "$(prof 'diagnose()' | grep '^By the threads that allocated it:')"

# Gone, it holds nothing.
db "KILL $(db "SELECT id FROM information_schema.processlist WHERE tid = $tid")" >/dev/null
gone() {
    [ "$(db "SELECT COUNT(*) FROM information_schema.processlist
        WHERE tid = $tid AND user = 'hog'")" = 0 ]
}
wait_for 60 gone
freed() {
    prof 'snapshot("freed")' >/dev/null
    left=$(sql "SELECT coalesce(SUM(live_bytes), 0) DIV 1048576 FROM
        heapwire.heap_threads WHERE snapshot = 'freed' AND tid = $tid")
    prof 'delete("freed")' >/dev/null
    [ "$left" -lt 8 ]
}
wait_for 60 freed
finish_test
