#!/bin/sh
# ids.sh - a host that changes its ids or puts on a sandbox: it lives, and no
# thread of ours stays outside of it.
. tests/integration/lib/lib.inc

[ "$(id -u)" = 0 ] || {
    echo "skipped: this needs root: it is about leaving it"
    exit 0
}
chmod 755 "$work"
bin=$(readable "${bin%/bin}" "$work/build")/bin
node_options="--listen none"

# threads PID FIELD...: of each thread its name, and these fields of its status
threads() {
    of=$1
    shift
    fields=$(echo "$*" | tr ' ' '|')
    for task in "/proc/$of/task"/*; do
        facts=$(grep -E "^(Name|$fields):" "$task/status" 2>/dev/null) ||
            continue # it has ended
        echo "$facts" | cut -f 2- | tr '\t\n' '  '
        echo
    done
}
# same_threads WHAT PID: all that a thread is allowed, in all threads
same_threads() {
    same "$1: one of a kind" 1 "$(threads "$2" Uid Gid Groups CapInh CapPrm \
        CapEff CapBnd CapAmb NoNewPrivs Seccomp Seccomp_filters |
        cut -d ' ' -f 2- | sort -u | wc -l)"
}
profiles() {
    prof 'enable_prof()'
    load_redis 20000 2>&1
    sql "ADMIN EXECUTE ON 10001 'System.print(HeapProf.getInstance().dump_dot_snapshot())'"
}

# Wrappers execute the database: they get no agent, and it does.
wrapped() { # wrapped UID COMMAND...
    uid=$1
    shift
    rm -rf "$work/node"
    start_redis_by "$@"
    same "$1: uid" "$uid" "$(stat -c %u "/proc/$redis")"
    same "$1: answers" 1 "$(sql 'SELECT 1')"
    same "$1: has an agent" "heapwire" \
        "$(cat "/proc/$redis"/task/*/comm | grep heapwire)"
    same_threads "$1" "$redis"
    contains "$1: profiles" "digraph" "$(profiles)"
    stop_node
}
start_redis_by() {
    redis_port=$(free_port)
    start_node "$@" redis-server --port "$redis_port" --bind 127.0.0.1 \
        --save '' --dir "$work"
    wait_for 60 redis-cli -p "$redis_port" ping
    redis=$(redis_pid)
    wait_for 60 prof 'has_enable()'
}
redis_uid=$(id -u redis)
wrapped "$redis_uid" setpriv --reuid redis --regid redis --clear-groups \
    --inh-caps -all --bounding-set -all
wrapped "$redis_uid" runuser -u redis --
wrapped "$redis_uid" gosu redis
wrapped 0 numactl --interleave=all

# ---- what a program changes of itself ----

# change STEPS...: in $host, whose steps are done
change() {
    rm -rf "$work/state" "$work/stdin"
    mkdir -m 700 "$work/state"
    mkfifo "$work/stdin"
    HEAPWIRE_EXE=$bin/changer HEAPWIRE_STATE_DIR=$work/state \
        LD_PRELOAD="$bin/../lib/libheapwire.so:$jemalloc" \
        MALLOC_CONF=prof:true,prof_active:false \
        "$bin/changer" "$@" <"$work/stdin" >"$work/out" 2>&1 &
    host=$!
    pids="$host $pids"
    exec 9>"$work/stdin"
    wait_for 60 grep -q done "$work/out" || fault "$*: $(cat "$work/out")"
}
as_the_host() {
    [ "$(threads "$host" Uid Gid Groups CapEff CapBnd NoNewPrivs |
        cut -d ' ' -f 2- | sort -u | wc -l)" = 1 ]
}
# The agent answers: with the memfds of a dump, if it can.
answers() { "$bin/agent_probe" "$work/state" "$@"; }
has_agent() { cat "/proc/$host"/task/*/comm | grep -q heapwire; }
changed() { # changed STATUS: it ended so, and not before
    exec 9>&-
    status=0
    wait "$host" || status=$?
    same "$what: its end" "$1" "$status"
}
jemalloc=$(ls /usr/lib/*/libjemalloc.so.2 | head -n 1)
for what in ids keepcaps "drop nnp filter" "drop nnp filter-by-number" \
    "nnp filter-tsync" \
    "nnp without=439" "nnp filter-memfd" "fork vfork mounts filter-null" "names=10" \
    "served nnp confine-thread" "storm=200" "storms=50" "cancelled" "small=40"; do
    # shellcheck disable=SC2086
    change $what
    check
    wait_for 10 has_agent || fault "$what: no agent"
    # No new privileges alone is what our thread takes itself, a little later.
    [ "$what" = "served nnp confine-thread" ] && wait_for 10 as_the_host
    same_threads "$what" "$host"
    check
    wait_for 10 answers hello || fault "$what: does not answer"
    answers enable >/dev/null || fault "$what: cannot be enabled"
    answers dump "$work/profile" "$work/maps" >"$work/answer" ||
        fault "$what: $(cat "$work/answer")"
    contains "$what: dumps" heap_v2 "$(head -n 1 "$work/profile")"
    changed 0
done

# A filter that did not come leaves all as it was.
what="drop filter-in-vain"
change drop filter-in-vain
check
wait_for 10 has_agent || fault "$what: no agent"
changed 0

# With nothing of profiling in it, too.
"$bin/heapwire-run" --state-dir "$work/node" --listen none --profiling off \
    --jemalloc no -- "$bin/changer" keepcaps </dev/null >"$work/out" 2>&1 ||
    fault "without profiling: $(cat "$work/out")"
contains "without profiling" done "$(cat "$work/out")"

# Past libc: a little later.
for what in raw-ids "raw-drop raw-nnp" "nnp filter-capset raw-ids"; do
    # shellcheck disable=SC2086
    change $what
    check
    wait_for 20 as_the_host || fault "$what: $(threads "$host" Uid CapEff)"
    answers hello >/dev/null || fault "$what: does not answer"
    changed 0
done

# Below another root directory there is no /proc: that is said at once, and no
# descriptor leads out.
mkdir "$work/root"
what="chroot ids"
change "chroot=$work/root" ids
same_threads "$what" "$host"
contains "$what: hello" "pid=$host" "$(answers hello)"
contains "$what: cannot profile" "changed its root directory" \
    "$(answers enable)"
same "$what: no directory" "" "$(find "/proc/$host/task"/*/fd \
    -lname "$work/state" 2>/dev/null)"
changed 0

# haproxy in its own sandbox: chroot, ids, no_new_privs, and no more threads.
cat >"$work/haproxy.cfg" <<END
global
    chroot $work/root
    user haproxy
    group haproxy
defaults
    mode http
    timeout client 5s
    timeout server 5s
    timeout connect 5s
listen a
    bind 127.0.0.1:$(free_port)
END
rm -rf "$work/node"
start_node haproxy -db -f "$work/haproxy.cfg"
wait_for 60 prof 'has_enable()'
host=$(pgrep -P "$run" -x haproxy)
confined() { # not before its chroot: until then all are alike, too
    [ "$(readlink "/proc/$host/root")" = "$work/root" ] &&
        threads "$host" NoNewPrivs | grep -q '1 *$' && as_the_host
}
check
wait_for 20 confined || fault "haproxy: $(threads "$host" Uid NoNewPrivs)"
same "haproxy: has an agent" heapwire \
    "$(cat "/proc/$host"/task/*/comm | grep heapwire)"
contains "haproxy: cannot profile" "changed its root directory" \
    "$(prof 'enable_prof()')"
stop_node
# As a daemon: its parent's agent ends, its own does not find the directory.
sed "s/127.0.0.1:.*/127.0.0.1:$(free_port)/" "$work/haproxy.cfg" \
    >"$work/daemon.cfg"
rm -rf "$work/node"
start_node haproxy -D -f "$work/daemon.cfg"
for call in state enable_prof dump_dot_snapshot; do
    says_daemon() {
        prof "$call()" | grep -q "runs on without it: it became a daemon with"
    }
    check
    wait_for 20 says_daemon || fault "haproxy -D: $call: $(prof "$call()")"
done
contains "haproxy -D: on stderr" "other root directory ($work/root)" \
    "$(cat "$work/node.log")"
host=$(pgrep -P "$run" -x haproxy)
check
kill -0 "$host" || fault "haproxy -D: the daemon is gone"
kill "$host"
stop_node

# Where our thread cannot live, it is not, and a heapwired that comes later says
# why.
without_agent() { [ "$(cat "/proc/$host"/task/*/comm)" = changer ]; }
at_state() {
    mariadb --no-defaults --skip-ssl -S "$work/state/mysql.sock" -u root -N -B \
        --raw -e "$1" 2>&1
}
knows_why() { at_state 'SELECT * FROM heapwire.profiler' | grep -q "$1"; }
says_why() { # says_why TEXT: what heapwired says
    "$bin/heapwired" --listen none --state-dir "$work/state" \
        --log "$work/heapwired.log" >"$work/heapwired.out" 2>&1 &
    heapwired=$!
    pids="$heapwired $pids"
    wait_for 30 at_state 'SELECT 1' || fault "no heapwired: $(cat "$work/heapwired.out")"
    wait_for 10 knows_why "$1" || fault "$what: $(at_state 'SELECT * FROM heapwire.profiler')"
    for call in enable_prof state; do
        contains "$what: $call" "$1" \
            "$(at_state "ADMIN EXECUTE ON 10001 'System.print(HeapProf.getInstance().$call())'")"
    done
    kill "$heapwired"
    wait "$heapwired" || true
}
for what in "nnp filter-openat" "nnp filter-prlimit ids" "raw-nnp raw-filter" "crowd=12 ids"; do
    # shellcheck disable=SC2086
    change $what
    check
    wait_for 20 without_agent || fault "$what: $(cat "/proc/$host"/task/*/comm)"
    case $what in
    *openat | *prlimit*) says_why "seccomp filter under which the agent's thread" ;;
    raw*) says_why "what the agent's thread could not give up" ;;
    *) says_why "no thread could be started" ;;
    esac
    changed 0
done

# Where none can follow, profiling that the agent has switched on ends with it.
enabled() { answers enable >"$work/enabled"; }
for what in "crowd=12 enabled ids off" "nnp enabled filter-unshare off"; do
    rm -rf "$work/state"
    enabled &
    # shellcheck disable=SC2086
    change $what
    check
    wait_for 20 without_agent || fault "$what: $(cat "/proc/$host"/task/*/comm)"
    says_why "no thread could be started"
    changed 0
done

# One that is held for longer than ten seconds, and has what the host has not:
# libc would abort the host.
what="hold=12 raw-drop ids-in-vain"
# shellcheck disable=SC2086
change $what
check
wait_for 10 answers hello || fault "$what: does not answer"
changed 0

finish_test
