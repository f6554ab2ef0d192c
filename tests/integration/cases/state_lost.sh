#!/bin/sh
# state_lost.sh - a cleaner of /tmp deletes the state directory under a node that
# lives, or names in it: all is made again, and the node goes on.
. tests/integration/lib/lib.inc
chmod 755 "$work"
bin=$(readable "${bin%/bin}" "$work/build")/bin
state=$work/node
mkdir -m 777 "$work/free"
chmod 777 "$work/free"

cli() {
    redis-cli -s "$work/free/redis" "$@"
}
redis_pid() {
    cli info server 2>/dev/null | tr -d '\r' | sed -n 's/^process_id://p'
}
runs() {
    redis=$(redis_pid) && [ -n "$redis" ]
}
heapwired() {
    cat "$state/heapwired.lock" 2>/dev/null
}
is_connected() {
    [ "$(sql 'SELECT state FROM heapwire.profiler')" = connected ]
}
snapshots() {
    sql 'SELECT count(*) FROM heapwire.snapshots'
}
lists() {
    [ "$(snapshots)" = "$1" ]
}
on_disk() {
    sql 'SELECT name FROM heapwire.snapshots WHERE on_disk' | sort
}
files() {
    (cd "$state/snapshots" && ls | sed -n 's/\.snapshot$//p' | sort)
}
truthful() { # WHAT: what is listed as on disk is there, and nothing else
    same "$1: on disk" "$(files)" "$(on_disk)"
}
begin() { # USER OPTION...: redis as that user
    as=$1
    shift
    node_options="--listen none --exe $(command -v redis-server) $*"
    start_node setpriv --reuid="$as" --clear-groups redis-server --port 0 \
        --unixsocket "$work/free/redis" --save '' --dir /
    check
    wait_for 30 runs || fault "no redis: $(cat "$work/node.log")"
    uid=$(id -u "$as")
    lives "begin"
    prof 'enable_prof()' >/dev/null
    prof 'snapshot()' >/dev/null
}
lives() { # WHAT: the same database, seen by a heapwired; a snapshot is kept
    check
    wait_for 30 is_connected || {
        fault "$1: $(prof 'state()'); $(tail -3 "$work/node.log")"
        return 0
    }
    same "$1: the database" "$redis" "$(redis_pid)"
    same "$1: mode and owner" "700 $uid" "$(stat -c '%a %u' "$state")"
    count=$(snapshots)
    prof 'snapshot()' >/dev/null
    same "$1: one more" $((count + 1)) "$(snapshots)"
    truthful "$1"
}
delete() { # DIRECTORY: whole, while names in it are made again
    until rm -rf "$1" 2>/dev/null; do
        :
    done
}
new_one() { # than PID
    now=$(heapwired) && [ -n "$now" ] && [ "$now" != "$1" ]
}
directory() { # WHAT
    first=$(heapwired)
    delete "$state"
    check
    wait_for 30 new_one "$first" ||
        fault "$1: no new heapwired: $(tail -3 "$work/node.log")"
    check
    wait_for 30 sql_answers || fault "$1: no answer"
    lives "$1"
    first=$(heapwired)
    kill -KILL "$first"
    check
    wait_for 30 new_one "$first" || fault "$1: killed, and not back"
    check
    wait_for 30 sql_answers || fault "$1: no answer after the kill"
    lives "$1, and heapwired killed"
}
sql_answers() {
    [ "$(sql 'SELECT 1')" = 1 ]
}
agree() {
    [ "$(files)" = "$(on_disk)" ]
}
# With the same heapwired, whose sessions go on.
one_file() { # FILE
    first=$(heapwired)
    rm "$state/$1"
    check
    wait_for 30 test -e "$state/$1" || fault "$1 is not made again"
    check
    wait_for 30 sql_answers || fault "$1: no answer"
    lives "$1"
    same "$1: the same heapwired" "$first" "$(heapwired)"
}

begin root
for file in mysql.sock http.sock heapwired.lock heapwired.log agent.sock \
    agent.lock; do
    one_file $file
done
first=$(heapwired)
kill -KILL "$first"
wait_for 30 new_one "$first"
wait_for 30 sql_answers
lives "single names, and heapwired killed"
count=$(snapshots)
rm "$state/snapshots/$(files | head -1).snapshot"
check
wait_for 30 agree || fault "a snapshot's file: $(on_disk), and $(files)"
delete "$state/snapshots"
check
wait_for 30 test -d "$state/snapshots" || fault "the snapshots' directory"
lives "snapshots"
directory "the directory"
said=$(grep -c "was deleted, and heapwired makes it again" "$work/node.log")
same "said once" 1 "$said"
stop_node

if [ "$(id -u)" = 0 ]; then
    rm -rf "$state"
    begin nobody
    directory "a user's"
    stop_node
    rm -rf "$state"
    begin nobody --user nobody
    directory "--user"
    stop_node
fi
finish_test
