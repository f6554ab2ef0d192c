#!/bin/sh
# unseen.sh - what profiles and figures lack is said where it is asked for:
# threads that are never sampled, children that nothing looks into, and one that
# has come instead of another; and the
# figures beside a profile are not older than it.
. tests/integration/lib/lib.inc

node=$work/node
sql() { # the session's answers, without names
    mariadb --no-defaults --skip-ssl -S "$node/mysql.sock" -u root -N -B --raw \
        -e "$1" 2>&1
}
state() { prof 'state()'; }
told() { state | grep -q "$1"; }
# host COMMAND...
host() {
    "$bin/heapwire-run" --profiling-source jemalloc --listen none --linger 0 \
        --state-dir "$node" -- "$@" >"$work/out" 2>"$work/log" &
    run=$!
    pids="$run $pids"
}

# Threads: of Redis, all but those of jemalloc and the agent.
port=$(free_port)
MALLOC_CONF=prof_thread_active_init:false host redis-server --save '' \
    --port "$port" --bind 127.0.0.1 --enable-debug-command yes
wait_for 60 redis-cli -p "$port" ping
wait_for 60 told "state: inactive"
warned=$(sql "ADMIN EXECUTE ON 10001
    'HeapProf.getInstance().enable_prof()'; SHOW WARNINGS")
threads="[0-9]* of [0-9]* threads are not sampled: they were created while \
prof.thread_active_init was false"
matches() { # WHAT EXPRESSION TEXT
    check
    printf '%s\n' "$3" | grep -q "$2" || fault "$1: $3"
}
matches "enable_prof() warns" "^Warning	1105	$threads" "$warned"
matches "state()" "^risk: $threads" "$(state)"
# Right behind figures that are a moment old.
sql "SELECT count(*) FROM heapwire.malloc_stats" >/dev/null
redis-cli -p "$port" debug populate 200000 k 500 >/dev/null
prof 'snapshot("a")' >/dev/null
used=$(redis-cli -p "$port" info memory | tr -d '\r' |
    sed -n 's/^used_memory://p')
same "as old as the profile" 1 "$(sql "SELECT allocated > 0.9 * $used
    FROM heapwire.snapshots WHERE name = 'a'")"
matches "the head of a view" "MB allocated.*; $threads" \
    "$(sql "SELECT text('a')" | tr -d '\n')"
prof 'disable_prof()' >/dev/null
redis-cli -p "$port" shutdown nosave >/dev/null 2>&1 || true
wait "$run" || fault "redis: $?"

# All are sampled: no word of it.
rm -rf "$node"
host redis-server --save '' --port "$port" --bind 127.0.0.1
wait_for 60 told "state: inactive"
same "nothing to warn of" "" "$(sql "ADMIN EXECUTE ON 10001
    'HeapProf.getInstance().enable_prof()'; SHOW WARNINGS")"
same "no children" "" "$(state | grep children)"
redis-cli -p "$port" shutdown nosave >/dev/null 2>&1 || true
wait "$run" || fault "redis: $?"

# Children of the same executable.
rm -rf "$node"
host "$bin/forker" workers 3
children="3 children of the same executable hold up to [0-9.]* MB and are not \
seen; process = child (or a NAME) serves one of them instead"
wait_for 60 told "^children: $children"
matches "state()" "^children: $children" "$(state)"
matches "heapwire.profiler" "$children" \
    "$(sql "SELECT risks FROM heapwire.profiler")"
matches "heapwire.memory" "$children" "$(sql "SELECT note FROM heapwire.memory")"
kill "$run"
wait "$run" 2>/dev/null || true

# A child that another one replaces, as nginx's at a reload.
rm -rf "$node"
"$bin/heapwire-run" --process child --listen none --linger 0 \
    --state-dir "$node" -- "$bin/forker" workers 1 >"$work/out" 2>"$work/log" &
run=$!
pids="$run $pids"
wait_for 60 told "state: inactive"
same "it was never on" "" "$(state | grep '^off')"
prof 'enable_prof()' >/dev/null
kill -KILL "$(sed -n 's/^1=//p' "$work/out")"
check
wait_for 60 told "^off: .*, because the process in which it was on has ended" ||
    fault "a replaced child: $(state)"
kill "$run"
wait "$run" 2>/dev/null || true

# A program that switches profiling on by itself, before we come: what it had
# until then is in no sample.
if [ -x "$bin/sleepers" ]; then # where --attach is
    rm -rf "$node"
    jemalloc=$(ldconfig -p | sed -n 's/.*libjemalloc\.so\.2.* => //p')
    LD_PRELOAD=$jemalloc MALLOC_CONF=prof:true,prof_active:false \
        /usr/bin/python3 -c '
import ctypes, time
c = ctypes.CDLL(None)
c.malloc.restype = ctypes.c_void_p
def hold(mb):
    for _ in range(mb):
        ctypes.memset(c.malloc(ctypes.c_size_t(1 << 20)), 1, 1 << 20)
hold(64)
on = ctypes.c_bool(True)
assert c.mallctl(b"prof.active", None, None, ctypes.byref(on),
                 ctypes.c_size_t(1)) == 0
hold(32)
print("ready", flush=True)
while True:
    time.sleep(1)' >"$work/switches" &
    switches=$!
    pids="$switches $pids"
    wait_for 60 grep -q ready "$work/switches"
    "$bin/heapwire-run" --listen none --state-dir "$node" \
        --attach "$switches" >"$work/out" 2>"$work/log" &
    run=$!
    pids="$run $pids"
    wait_for 60 told "state: active"
    prof 'snapshot("b")' >/dev/null
    matches "it was off once" "allocated while profiling was off" \
        "$(sql "SELECT text('b')" | tr -d '\n')"
    kill "$run"
    wait "$run" || fault "detaching: $?"
fi
finish_test
