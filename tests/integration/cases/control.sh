#!/bin/sh
# control.sh - profiling for a while, resets, the overhead guard, and every
# state that the profiler can be in, distinguished.
. tests/integration/lib/lib.inc
c++ -O1 -g -fno-optimize-sibling-calls -pthread \
    -o "$work/load" tests/integration/programs/control_load.cc

# one COLUMN: of heapwire.profiler
one() {
    sql "select $1 from heapwire.profiler"
}
one_is() {
    [ "$(one "$1")" = "$2" ]
}
state() {
    prof 'state()'
}
# start_load STACKS MEGABYTES: what it shall do is written to descriptor 9.
start_load() {
    rm -rf "$work/node" "$work/orders"
    mkfifo "$work/orders"
    exec 9<>"$work/orders"
    start_node "$work/load" "$@" "$work/orders"
    wait_for 60 one_is state connected
}
stop_load() {
    stop_node
    exec 9>&-
}
node_options="--listen none --linger 0 --profiling-source jemalloc"

# ---- for a while ----
start_load 50 50
same "inactive" "inactive" "$(one profiling)"
contains "inactive: state()" "state: inactive
database: $work/load (pid " "$(state)"
contains "its rate" "sample rate: one in 524288 bytes (lg_sample 19)" "$(state)"
# In one session: a client more takes a second now and then.
sql "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().enable_prof(4)';
    SELECT profiling, active FROM heapwire.profiler;
    SELECT timestampdiff(second, active_since, active_until)
        FROM heapwire.profiler;
    ADMIN EXECUTE ON 10001 'System.print(HeapProf.getInstance().state())'" \
    >"$work/on"
same "on, until" "active	1
4" "$(sed '/^$/d' "$work/on" | head -n 2)"
contains "until, in words" "active until: 20" "$(cat "$work/on")"
wait_for 60 one_is active 0
same "off by itself" false "$(prof 'has_enable()')"
same "off: state" "inactive	NULL	2" "$(one 'profiling, active_until, changes')"
contains "for too long" "from 1 to 31622400" "$(prof 'enable_prof(99999999)' || true)"

# heapwired dies while it is on: the agent ends it all the same.
before=$(sql "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().enable_prof(3)';
    SELECT changes FROM heapwire.profiler" | tail -n 1)
heapwired=$(sql 'select connection_id()' >/dev/null && pgrep -P "$run" heapwired)
kill -KILL "$heapwired"
wait_for 60 one_is state connected
wait_for 60 one_is active 0
same "off without heapwired" "inactive	$((before + 1))" \
    "$(one 'profiling, changes')"

# ---- without end, whatever another client says ----
prof 'enable_prof()' >/dev/null
prof 'enable_prof(1)' >/dev/null
same "no end" "active	NULL" "$(one 'profiling, active_until')"
contains "no end, in words" "active until: it is switched off; enable_prof(sec" \
    "$(state)"

# ---- reset ----
dumps_more() { # dumps_more THAN
    prof 'dump_dot_snapshot()' >"$work/dot"
    [ "$(one samples)" -gt "$1" ]
}
check
wait_for 60 dumps_more 20 || fault "only $(one samples) samples"
prof 'reset(17)' >/dev/null
same "reset" "131072	1	NULL" "$(one 'sample_rate, resets, samples')"
echo go 0 >&9
wait_for 60 grep -qx 'at 0' "$work/node.log"
prof 'reset()' >/dev/null
prof 'dump_dot_snapshot()' >"$work/dot"
same "nothing yet" "active, nothing sampled yet	0	131072	2" \
    "$(one 'profiling, samples, sample_rate, resets')"
contains "nothing yet: the graph" "nothing sampled since" "$(cat "$work/dot")"
contains "nothing yet: its memory" "MB allocated: nothing is" \
    "$(cat "$work/dot")"
echo go 50 >&9
wait_for 60 dumps_more 100 || true
same "sampled" 1 "$(one "profiling = 'active' and samples > 100")"
contains "the line on memory" "lprofile " "$(cat "$work/dot")"
contains "what is outside" "RSS " "$(cat "$work/dot")"
contains "too small a rate" "a page or more; reset(12, true) does it" \
    "$(prof 'reset(12)' || true)"
contains "too large a rate" "30" "$(prof 'reset(31, true)' || true)"
prof 'snapshot("base")' >/dev/null
contains "a baseline" "delete them first, or use reset(18, true)" \
    "$(prof 'reset(18)' || true)"
same "nothing changed" "131072	2" "$(one 'sample_rate, resets')"
prof 'reset(18, true)' >/dev/null
same "forced" "262144	3" "$(one 'sample_rate, resets')"

# ---- overhead ----
wait_for 60 one_is 'overhead is not null' 1
# Its CPU time may stand still from one look to the next.
check
wait_for 60 one_is \
    'overhead > 0 and overhead < 1 and cpu_since > 0 and budget >= 1' 1 ||
    fault "an estimate and a measure: $(one 'overhead, cpu_since, budget')"
contains "in words" "overhead, estimated: 0." "$(state)"
# On a busy machine the program does not always keep up.
as_many_samples() {
    rate=$(state | sed -n 's/.*(\([0-9]*\) samples a second, counted, .*/\1/p')
    [ "${rate:-0}" -gt 80 ] && [ "$rate" -lt 280 ]
}
check
wait_for 60 as_many_samples ||
    fault "$rate samples a second of 200: one in 256 KB of 50 MB"
contains "measured" "which is not the cost of profiling: " "$(state)"
contains "risks" "risk: " "$(state)"
stop_load

# ---- the guard: a storm, and a budget that it is above ----
printf '[profiler]\nbudget_percent = 0.1\n' >"$work/config"
chmod 600 "$work/config"
node_options="--listen none --linger 0 --profiling-source jemalloc --config $work/config"
start_load 50 10
prof 'enable_prof()' >/dev/null
wait_for 60 one_is 'overhead is not null' 1
same "it bears a little" 1 "$(one active)"
echo go 4000 >&9
wait_for 60 one_is active 0
same "the guard" "inactive	1" \
    "$(one "profiling, guarded >= active_since or guarded is not null")"
contains "the guard's reason" "was above the budget of 0." \
    "$(one guard_reason)"
contains "the guard in words" "switched off by the overhead guard: 20" \
    "$(state)"
contains "the log" "the overhead guard switched profiling off in $work/load" \
    "$(cat "$work/node/heapwired.log")"
stop_load

# ---- what cannot profile ----
node_options="--listen none --linger 0 --profiling-source jemalloc --jemalloc no"
start_load 1 0
same "no jemalloc" "no jemalloc" "$(one profiling)"
contains "no jemalloc: state()" "does not allocate through jemalloc" "$(state)"
stop_load

node_options="--listen none --linger 0 --profiling-source jemalloc"
export MALLOC_CONF=prof:false
start_load 1 0
unset MALLOC_CONF
same "opt.prof off" "opt.prof is off" "$(one profiling)"
contains "opt.prof off: what to do" "MALLOC_CONF=prof:true,prof_active:false" \
    "$(state)"
contains "opt.prof off: enable" "ERROR 1289 (HY000)" \
    "$(prof 'enable_prof(5)' || true)"
stop_load

# state() names options that are dangerous.
export MALLOC_CONF=prof_accum:true,abort:true
start_load 1 0
unset MALLOC_CONF
wait_for 60 one_is "risks like '%prof_accum is set%'" 1
contains "abort" "risk: opt.abort is set" "$(state)"
stop_load

finish_test
