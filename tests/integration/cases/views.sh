#!/bin/sh
# views.sh - profiles as a script's chain shows them, to real clients: every
# form, wrong requests, a leak's top line, sharing, keeping, cancelling.
. tests/integration/lib/lib.inc

# The wrappers of malloc are charged, and an export is what is stored.
node_options="--allocator-frames none"

# show CHAIN: prints Profile.CHAIN
show() {
    sql "ADMIN EXECUTE ON 10001 'System.print(Profile.$1)'"
}

# refused WHAT ERROR SCRIPT
refused() {
    contains "$1" "$2" "$(sql "ADMIN EXECUTE ON 10001 '$3'" || true)"
}

start_redis
prof 'enable_prof()' >/dev/null
load_redis 30000
same "a snapshot has the name that it was given" before "$(prof 'snapshot("before")')"
redis-benchmark -p "$redis_port" -n 60000 -r 600000 -d 300 -P 16 -q -t set >/dev/null
prof 'snapshot("after")' >/dev/null

# ---- forms ----
contains "dot" 'digraph "' "$(show 'of("after").dot()')"
contains "text" 'Total: ' "$(show 'of("after").text()')"
contains "top" 'Total: ' "$(show 'of("after").top(2)')"
same "top(n) has n functions" 2 "$(show 'of("after").top(2)' | grep -c '%.*%.*%')"
contains "tree" '100.0%' "$(show 'of("after").tree()')"
contains "collapsed" 'main;' "$(show 'of("after").collapsed()')"
contains "raw" 'heap_v2/' "$(show 'of("after").raw()')"
contains "flame graph" '<svg' "$(show 'of("after").flamegraph()')"
contains "a picture of the graph" '<svg' "$(show 'of("after").svg()')"
contains "now" 'Total: ' "$(show 'now().top()')"
same "what redis's keys are made by grew most" yes "$(
    show 'of("after").base("before").by_growth().top(1)' |
        grep -q 'z.*alloc' && echo yes)"
contains "whole bytes" ' B' "$(show 'of("after").show_bytes().top(1)')"
contains "objects" 'objects' "$(show 'of("after").by("inuse_objects").top(1)')"
contains "allocator's frames" 'libjemalloc' \
    "$(show 'of("after").allocator_frames().text()')"
same "focus leaves what matches" 1 \
    "$(show 'of("after").focus("quicklist").collapsed()' | grep -c . | sed 's/[1-9].*/1/')"
same "ignore leaves the others" 0 \
    "$(show 'of("after").ignore("main").collapsed()' | grep -c 'main;' || true)"

# ---- bytes: the client adds a newline ----
show 'of("after").pprof()' | head -c -1 >"$work/after.pb.gz"
check
gzip -t "$work/after.pb.gz" || fault "pprof is not whole"
show 'of("after").export()' | head -c -1 >"$work/after.snapshot"
same "an export is the store's file" "" \
    "$(cmp "$work/after.snapshot" "$work"/node/snapshots/after* 2>&1)"

# ---- what is wrong ----
refused "an unknown word" \
    'ERROR 1210 (HY000) at line 1: script line 1, column 24: by takes one of ' \
    'Profile.of("after").by("kb").dot()'
refused "a regular expression" 'ERROR 1139 (42000) at line 1: script line 1, column 27: focus: bad regular expression' \
    'Profile.of("after").focus("(").dot()'
refused "an unknown form" "has no method 'png'" 'Profile.of("after").png()'
refused "an unknown snapshot" "no snapshot named 'never' is kept" \
    'Profile.of("never").dot()'
refused "a path" "is not a snapshot's name" 'Profile.of("../after").dot()'
refused "bytes and more" 'a script that prints bytes can print nothing else' \
    'System.print("a"); System.print(Profile.of("after").pprof())'
refused "an export of a difference" 'leave base() out' \
    'Profile.of("after").base("before").export()'
refused "a name that is taken" "is kept already" \
    'HeapProf.getInstance().snapshot("after")'
same "nothing has run when a later word is wrong" true "$(
    sql "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().disable_prof()
        Profile.of(\"after\").by(\"kb\").dot()'" >/dev/null || true
    prof 'has_enable()')"

# ---- snapshots ----
same "the list" "after before" "$(prof 'snapshots()' | cut -d ' ' -f 1 | sort | xargs)"
contains "its description" 'program: ' "$(prof 'describe("after")')"
prof 'pin("after")' >/dev/null
contains "pinned" 'pinned' "$(prof 'snapshots()' | grep after)"
refused "a reset that makes them incomparable" 'delete them first, or use reset(0, true)' \
    'HeapProf.getInstance().reset()'
prof 'reset(18, true)' >/dev/null
prof 'snapshot("later")' >/dev/null
refused "other rates" ".force(), or the option 'force'" 'Profile.of("later").base("after").dot()'
contains "in a table" "SELECT top(snapshot, base, 'force') compares them" \
    "$(sql "SELECT 1 FROM heapwire.heap_diff WHERE snapshot = 'later' AND
        base = 'after'" 2>&1 || true)"
contains "what is forced" 'Total: ' \
    "$(show 'of("later").base("after").force().top(1)')"
for name in before after later; do
    prof "delete(\"$name\")" >/dev/null
done
same "all are gone" "" "$(prof 'snapshots()')"
refused "a view of one that is gone" "no snapshot named 'after' is kept" \
    'Profile.of("after").dot()'
prof 'disable_prof()' >/dev/null
prof 'enable_prof(1)' >/dev/null
ended() {
    [ "$(prof 'has_enable()')" = false ]
}
check
wait_for 60 ended || fault "enable_prof(seconds) does not end"
stop_node

# ---- many stacks: sharing, keeping, cancelling ----
start_many() {
    rm -rf "$work/node"
    MALLOC_CONF=lg_prof_sample:12,prof_active:true
    export MALLOC_CONF
    start_node "$bin/many_stacks" 5000 16384
    unset MALLOC_CONF
    wait_for 60 grep -q ready "$work/node.log"
    wait_for 60 prof 'has_enable()'
    prof 'snapshot("many")' >/dev/null
}
start_many
check
$python tests/integration/programs/views.py \
    "$work/node/mysql.sock" || fault "views.py"
contains "the audit log has what was shown" 'Profile.of' \
    "$(sql 'select statement from heapwire.audit_log')"
stop_node

# ---- the deadline of a statement ends its view ----
# In which start_many is through on a busy machine, too.
printf '[node]\nlisten = none\nstatement_timeout = 6\n' >"$work/node.ini"
chmod 600 "$work/node.ini"
node_options="--config $work/node.ini"
start_many
refused "too slow a view" 'ERROR 3024' \
    'Profile.of("many").nodecount(1000).nodefraction(0).edgefraction(0).maxdegree(1000).svg()'
nobody_draws() {
    ! pgrep -x -P "$(cat "$work/node/heapwired.lock")" dot
}
check
wait_for 60 nobody_draws || fault "graphviz goes on"
finish_test
