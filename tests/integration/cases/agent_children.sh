#!/bin/sh
# Servers whose work is done in forked children: process = child, or a name.
. tests/integration/lib/agent.inc
forker=$BUILD/bin/forker
PRELOAD=$JEMALLOC
CONF=prof:true,prof_active:true

# host PROCESS: three workers, one of which calls itself forker-second
mkfifo "$WORK/stdin"
host() {
    : >"$WORK/workers" # what the host before said
    (HEAPWIRE_PROCESS=$1 with_agent "$forker" "$forker" workers 3) \
        <"$WORK/stdin" >"$WORK/workers" 2>"$WORK/stderr" &
    host=$!
    started $host
    exec 9>"$WORK/stdin"
    printf 1 >&9
    wait_for 60 file_has "$WORK/workers" 1= || fail "no worker"
}
all_workers() {
    exec 9>&-
    wait_for 60 file_has "$WORK/workers" 3= || fail "no workers"
}
worker() { field "$1" <"$WORK/workers"; }
served() { [ "$(agent_field pid)" = "$1" ]; }
ends() {
    kill $host
    wait $host 2>/dev/null
    expect "words" "" "$(cat "$WORK/stderr")"
    for number in 1 2 3; do # the next host finds none that has the lock
        wait_for 60 gone "$(worker $number)" || fail "a worker is left"
    done
}

# The first child; it samples as its parent did.  When it has ended, the next.
host child
wait_for 60 served "$(worker 1)" || fail "the first child is not served"
all_workers # the first that asks comes first
expect "agents: parent, first" "0 1" \
    "$(agent_threads $host) $(agent_threads "$(worker 1)")"
expect "profiling in it" 1 "$(agent_field active)"
sampled() { # it has slept before it began
    agent dump "$WORK/heap" "$WORK/maps" >/dev/null || fail "dump of the child"
    grep -q '^@ ' "$WORK/heap"
}
wait_for 60 sampled || fail "no sample of the child"
kill -KILL "$(worker 1)"
next() { pid=$(agent_field pid) && [ "$pid" != "$(worker 1)" ] && [ -n "$pid" ]; }
wait_for 60 next || fail "no other child is served"
ends

host second
all_workers
wait_for 60 served "$(worker 2)" || fail "the named child is not served"
ends

host parent
all_workers
wait_for 60 served $host || fail "the parent is not served"
expect "agents in the children" "0 0 0" "$(agent_threads "$(worker 1)") \
$(agent_threads "$(worker 2)") $(agent_threads "$(worker 3)")"
ends

# Children that leave the session as a daemon does, but too many to be one.
(with_agent "$forker" "$forker" sessions 12) >"$WORK/workers" \
    2>"$WORK/stderr" &
host=$!
started $host
wait_for 60 served $host || fail "the parent of sessions is not served"
wait_for 60 file_has "$WORK/workers" 12= || fail "no sessions"
expect "agents in the tenth and twelfth child" "0 0" \
    "$(agent_threads "$(worker 10)") $(agent_threads "$(worker 12)")"
for number in 1 2 3 4 5 6 7 8 9 10 11 12; do
    kill "$(worker $number)"
done
wait $host || fail "the parent of sessions ended badly"
exit 0
