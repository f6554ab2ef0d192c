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
    wait_for 60 runs || fault "no redis: $(cat "$work/node.log")"
    uid=$(id -u "$as")
    lives "begin"
    prof 'enable_prof()' >/dev/null
    prof 'snapshot()' >/dev/null
}
lives() { # WHAT: the same database, seen by a heapwired; a snapshot is kept
    check
    wait_for 60 is_connected || {
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
deaths() {
    sql 'SELECT count(*) FROM heapwire.deaths'
}
history() {
    sql 'SELECT min(at) FROM heapwire.memory_history'
}
has_history() {
    [ "$(history)" != NULL ]
}
session() { # WORDS: of the session that goes on
    echo "SELECT concat('$1 ', connection_id());" >&9
    wait_for 60 grep -q "^$1 " "$work/session" || return 1
    sed -n "s/^$1 //p" "$work/session"
}
all_there() {
    for file in $there; do
        [ -e "$state/$file" ] || return 1
    done
    agree
}
# By the same heapwired, whose sessions, history and deaths go on.
kept() { # WHAT
    first=$(heapwired)
    mkfifo "$work/statements"
    mariadb --no-defaults --skip-ssl -S "$state/mysql.sock" -u root -N -B -n \
        <"$work/statements" >"$work/session" 2>&1 &
    client=$!
    pids="$client $pids"
    exec 9>"$work/statements"
    id=$(session before) || fault "$1: no session: $(cat "$work/session")"
    wait_for 60 has_history
    there=$(ls "$state" | grep -vxE "symbols|unwind") # made with the next one
    contains "$1: before" "mysql.sock" "$there"
    began=$(history)
    died=$(deaths)
    delete "$state"
    check
    wait_for 60 all_there ||
        fault "$1: $(ls -la "$state"); $(tail -3 "$work/node.log")"
    same "$1: the session" "$id" "$(session after)"
    exec 9>&-
    wait "$client" || fault "$1: the session ended: $(cat "$work/session")"
    rm "$work/statements" "$work/session"
    same "$1: the same heapwired" "$first" "$(heapwired)"
    lives "$1"
    same "$1: history" "$began" "$(history)"
    same "$1: deaths" "$died" "$(deaths)"
    same "$1: said once" 1 "$(grep -c "state directory $state was deleted" \
        "$state/heapwired.log")"
}
killed() {
    first=$(heapwired)
    kill -KILL "$first"
    check
    wait_for 60 new_one "$first" || fault "$1: killed, and not back"
    check
    wait_for 60 sql_answers || fault "$1: no answer after the kill"
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
    wait_for 60 test -e "$state/$1" || fault "$1 is not made again"
    check
    wait_for 60 sql_answers || fault "$1: no answer"
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
wait_for 60 new_one "$first"
wait_for 60 sql_answers
lives "single names, and heapwired killed"
count=$(snapshots)
rm "$state/snapshots/$(files | head -1).snapshot"
check
wait_for 60 agree || fault "a snapshot's file: $(on_disk), and $(files)"
delete "$state/snapshots"
check
wait_for 60 test -d "$state/snapshots" || fault "the snapshots' directory"
check # what was in a file alone is listed no longer
wait_for 60 agree || fault "its files: $(on_disk), and $(files)"
lives "snapshots"
kept "the directory"
killed "the directory"
# A link in its place, before it is made again: the log until then is 8.
linked() {
    wait_for 60 test -e "$state/heapwired.log"
    exec 8<"$state/heapwired.log"
    delete "$state"
    ln -sT "$work/free" "$state"
}
until linked; do
    :
done
check
wait_for 60 grep -q "cannot open the state directory" "$work/node.log" ||
    fault "a link in its place: $(tail -3 "$work/node.log")"
[ ! -e "$work/free/heapwired.lock" ] || fault "followed a link"
contains "a link in its place: nobody else makes it" \
    "ends, to be started again" "$(cat <&8)"
exec 8<&-
rm "$state"
check
wait_for 60 sql_answers || fault "after a link: $(tail -3 "$work/node.log")"
lives "after a link"
# An orphan's, whose database another heapwire-run takes over.
if [ -x "$bin/sleepers" ]; then # where --attach is
    kill -KILL "$run"
    wait "$run" 2>/dev/null || true
    wait_for 60 grep -q "heapwire-run was killed" "$state/heapwired.log"
    kept "an orphan's"
    first=$(heapwired)
    "$bin/heapwire-run" --state-dir "$state" --listen none \
        --attach "$redis" >"$work/attach.log" 2>&1 &
    run=$!
    pids="$run $redis $pids"
    check
    wait_for 60 new_one "$first" ||
        fault "attaching to an orphan's: $(cat "$work/attach.log")"
    lives "attached"
    kill "$run"
    wait "$run" || fault "detaching: $(cat "$work/attach.log")"
    redis-cli -s "$work/free/redis" shutdown nosave >/dev/null 2>&1 || true
else
    stop_node
fi

if [ "$(id -u)" = 0 ]; then
    delete "$state"
    begin nobody
    kept "a user's" # which only root can make
    killed "a user's"
    stop_node
    delete "$state"
    begin nobody --user nobody
    kept "--user"
    killed "--user"
    stop_node
    # Where everybody can make one, as in /tmp.
    delete "$state"
    mkdir -m 1777 "$work/sticky"
    chmod 1777 "$work/sticky"
    ln -s sticky/node "$work/node" # where sql looks
    state=$work/sticky/node
    begin nobody --state-dir "$state"
    kept "a user's, as in /tmp"
    stop_node
fi
finish_test
