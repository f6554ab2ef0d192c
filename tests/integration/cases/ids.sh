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
    done 2>/dev/null | grep . # one that was joined is listed for a moment yet
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
    rm -rf "$work/state" "$work/stdin" "$work/out" # the former one has "done", too
    mkdir -m 700 "$work/state"
    [ -z "${left_lock-}" ] || (umask 077 && : >"$work/state/agent.lock")
    mkfifo "$work/stdin"
    HEAPWIRE_EXE=$bin/changer HEAPWIRE_STATE_DIR=$work/state \
        LD_PRELOAD="$bin/../lib/libheapwire.so:$jemalloc" \
        MALLOC_CONF=prof:true,prof_active:false${conf-} \
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
    "served nnp confine-thread" "storm=200" "storms=50" "cancelled" "small=40" \
    "served filter-in-between ids" "served nnp filter-small" \
    "served no-stdio"; do
    # shellcheck disable=SC2086
    change $what
    check
    wait_for 60 has_agent || fault "$what: no agent"
    # No new privileges alone is what our thread takes itself, a little later.
    [ "$what" = "served nnp confine-thread" ] && wait_for 60 as_the_host
    same_threads "$what" "$host"
    check
    wait_for 60 answers hello || fault "$what: does not answer"
    answers enable >/dev/null || fault "$what: cannot be enabled"
    answers dump "$work/profile" "$work/maps" >"$work/answer" ||
        fault "$what: $(cat "$work/answer")"
    contains "$what: dumps" heap_v2 "$(head -n 1 "$work/profile")"
    changed 0
done

# So it is with other namespaces, and with what only the kernel knows.
spaces() { readlink "/proc/$host/task"/*/ns/mnt | sort -u | wc -l; }
agent_tid() {
    grep -lx heapwire "/proc/$host/task"/*/comm | sed 's:/comm$::; s:.*/::'
}
pid_max=$(cat /proc/sys/kernel/pid_max)
for what in "served mounts" "served mounts-by-number" "served nnp landlock"; do
    # shellcheck disable=SC2086
    change $what
    check
    wait_for 60 has_agent || fault "$what: no agent"
    same "$what: namespaces" 1 "$(spaces)"
    later=$(sed -n 's/^later than //p' "$work/out")
    # Numbers begin anew at their greatest.
    [ -z "$later" ] ||
        [ $((($(agent_tid) - later + pid_max) % pid_max)) -lt $((pid_max / 2)) ] ||
        fault "$what: it is the old thread"
    wait_for 60 answers hello || fault "$what: does not answer"
    answers enable >/dev/null || fault "$what: cannot be enabled"
    answers dump "$work/profile" "$work/maps" >"$work/answer" ||
        fault "$what: $(cat "$work/answer")"
    changed 0
done

# A filter that did not come leaves all as it was.
what="drop filter-in-vain"
change drop filter-in-vain
check
wait_for 60 has_agent || fault "$what: no agent"
changed 0

# With nothing of profiling in it, too.
"$bin/heapwire-run" --state-dir "$work/node" --listen none --profiling off \
    --jemalloc no -- "$bin/changer" keepcaps </dev/null >"$work/out" 2>&1 ||
    fault "without profiling: $(cat "$work/out")"
contains "without profiling" done "$(cat "$work/out")"

# Past libc: a little later, and without harm to its dumpable flag.
owner() { stat -c %u "/proc/$host/environ"; }
for what in raw-ids "raw-drop raw-nnp" "nnp filter-capset raw-ids" \
    "served raw-ids dumpable"; do
    # shellcheck disable=SC2086
    change $what
    check
    wait_for 60 as_the_host || fault "$what: $(threads "$host" Uid CapEff)"
    wait_for 60 answers hello || fault "$what: does not answer"
    case $what in
    *dumpable) same "$what: owner in /proc" 65534 "$(owner)" ;;
    esac
    changed 0
done

# Where the main thread has ended its namespaces cannot be seen: that is at the
# second look, at which ours takes no_new_privs.
what="served raw-nnp no-main"
# shellcheck disable=SC2086
change $what
check
wait_for 60 as_the_host || fault "$what: $(threads "$host" NoNewPrivs)"
contains "$what: hello" "pid=$host" "$(answers hello)"
changed 0

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
    timeout client 10m
    timeout server 10m
    timeout connect 10m
listen a
    bind 127.0.0.1:$(free_port)
END
rm -rf "$work/node"
node_options="--listen none --profiling-source jemalloc"
start_node haproxy -db -f "$work/haproxy.cfg"
wait_for 60 prof 'has_enable()'
host=$(pgrep -P "$run" -x haproxy)
confined() { # not before its chroot: until then all are alike, too
    [ "$(readlink "/proc/$host/root")" = "$work/root" ] &&
        threads "$host" NoNewPrivs | grep -q '1 *$' && as_the_host
}
check
wait_for 60 confined || fault "haproxy: $(threads "$host" Uid NoNewPrivs)"
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
    wait_for 60 says_daemon || fault "haproxy -D: $call: $(prof "$call()")"
done
contains "haproxy -D: on stderr" "other root directory ($work/root)" \
    "$(cat "$work/node.log")"
host=$(pgrep -P "$run" -x haproxy)
check
kill -0 "$host" || fault "haproxy -D: the daemon is gone"
kill "$host"
stop_node

# Workers of a master: theirs is the other root directory.
rm -rf "$work/node"
web_port=$(free_port)
sed "s/127.0.0.1:.*/127.0.0.1:$web_port/" "$work/haproxy.cfg" \
    >"$work/master.cfg"
node_options="--listen none --process child"
start_node haproxy -W -f "$work/master.cfg"
wait_for 60 prof 'has_enable()'
master=$(pgrep -P "$run" -x haproxy)
first=$(pgrep -P "$master")
says_chroot() { prof "$1" | grep -q "changed its root directory (chroot)"; }
check
for call in 'enable_prof()' 'dump_dot_snapshot()'; do
    wait_for 60 says_chroot "$call" || fault "haproxy -W: $call: $(prof "$call")"
done
# Reloaded, while the first one still has a client.
mkfifo "$work/client"
python3 -c 'import socket, sys
client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
client.send(b"GET / HTTP/1.1\r\n")
sys.stdin.read()' "$web_port" <"$work/client" &
client=$!
pids="$client $pids"
exec 8>"$work/client"
has_client() {
    [ "$(ss -Htn state established "sport = :$web_port" | wc -l)" = 1 ]
}
check
wait_for 60 has_client || fault "haproxy -W: no client"
kill -USR2 "$master"
second_confined() {
    second=$(pgrep -P "$master" | grep -vx "$first") &&
        [ "$(readlink "/proc/$second/root")" = "$work/root" ]
}
wait_for 60 second_confined || fault "haproxy -W: no second worker"
exec 8>&-
says_reload() { prof "$1" | grep -q "pid $second).*restart instead of reload"; }
for call in 'state()' 'enable_prof()'; do
    wait_for 60 says_reload "$call" || fault "haproxy -W: $call: $(prof "$call")"
done
stop_node
node_options="--listen none"

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
    wait_for 60 at_state 'SELECT 1' || fault "no heapwired: $(cat "$work/heapwired.out")"
    wait_for 60 knows_why "$1" || fault "$what: $(at_state 'SELECT * FROM heapwire.profiler')"
    for call in enable_prof state; do
        contains "$what: $call" "$1" \
            "$(at_state "ADMIN EXECUTE ON 10001 'System.print(HeapProf.getInstance().$call())'")"
    done
    kill "$heapwired"
    wait "$heapwired" || true
}
for what in "nnp filter-openat" "nnp filter-prlimit ids" "raw-nnp raw-filter" \
    "served nnp filter-setresuid raw-uid" "served raw-mounts" "crowd=12 ids"; do
    # shellcheck disable=SC2086
    change $what
    check
    wait_for 60 without_agent || fault "$what: $(cat "/proc/$host"/task/*/comm)"
    case $what in
    *openat | *prlimit*) says_why "seccomp filter that forbids system calls which the agent's thread needs" ;;
    *raw*) says_why "privileges that the agent's thread could not give up" ;;
    *) says_why "no thread could be started" ;;
    esac
    changed 0
done

# Children below a parent's filter: they are served, or live on without.
export HEAPWIRE_PROCESS=child
what="nnp filter worker"
# shellcheck disable=SC2086
change $what
check
wait_for 60 answers hello || fault "$what: does not answer"
changed 0
# One that changes its root directory at once, as haproxy's do, in the state
# directory of an earlier one.
left_lock=true
change "worker-root=$work/root"
left_lock=
check
wait_for 60 answers hello || fault "a root directory at once: does not answer"
changed 0
what="nnp filter-openat short-worker"
# shellcheck disable=SC2086
change $what
says_why "seccomp filter that forbids system calls which the agent's thread needs"
changed 0
# One that is served: while its agent is aside, for another thread's change.
enabled() { # also before there is an agent
    env CONNECT_MS=60000 ANSWER_MS=60000 "$bin/agent_probe" "$work/state" enable \
        >"$work/enabled"
}
what="nnp worker-confined"
rm -rf "$work/state"
enabled &
# shellcheck disable=SC2086
change $what
changed 0
# One that has waited, and then served, does not say that it waited in vain.
what="worker served worker-stopped"
# shellcheck disable=SC2086
change $what
second=$(pgrep -n -P "$host")
in_vain() { grep -aq "it waited for an earlier" "$work/state/agent.lock"; }
serves_second() { answers hello | grep -q "pid=$second"; }
second_without() { [ "$(cat "/proc/$second/task"/*/comm)" = changer ]; }
check
wait_for 60 in_vain || fault "$what: no word"
kill "$(pgrep -o -P "$host")"
wait_for 60 serves_second || fault "$what: $(answers hello)"
enabled
wait_for 60 second_without || fault "$what: it has an agent"
says_why "no database with the heapwire agent"
changed 0
unset HEAPWIRE_PROCESS

# In the midst of heapwire_stop() a handler changes ids, or the thread ends; all
# descriptors are closed in the midst of a change: none of it hangs or is harmed.
for what in "served stop-interrupted" "served stop-cancelled" \
    "served files-in-between" "enabled stop-in-between=0 off" \
    "served hold=60 stop-in-between=110 release"; do
    rm -rf "$work/state"
    case $what in
    enabled*) enabled & ;;
    esac
    # shellcheck disable=SC2086
    change $what
    check
    wait_for 60 without_agent || fault "$what: $(cat "/proc/$host"/task/*/comm)"
    changed 0
done

# Where none can follow, profiling that the agent has switched on ends with it.
for what in "crowd=12 enabled ids off" "nnp enabled filter-unshare off"; do
    rm -rf "$work/state"
    enabled &
    # shellcheck disable=SC2086
    change $what
    check
    wait_for 60 without_agent || fault "$what: $(cat "/proc/$host"/task/*/comm)"
    says_why "no thread could be started"
    changed 0
done

# A change waits a moment for one that is held and alike, the next not at all;
# and no longer for one that cannot end, which is followed by the next.
what="served hold=8 within=5000"
# shellcheck disable=SC2086
change $what
changed 0
conf=,narenas:1,tcache:false # malloc has one lock
for what in "served no-end" "served malloc-interrupted"; do
    # shellcheck disable=SC2086
    change $what
    check
    wait_for 60 answers hello || fault "$what: does not answer"
    changed 0
done
conf=

# One that is held for longer than ten seconds, and has what the host has not:
# libc would abort the host.
what="hold=12 raw-drop ids-in-vain"
# shellcheck disable=SC2086
change $what
check
wait_for 60 answers hello || fault "$what: does not answer"
changed 0

# Likewise where a filter comes that is not for it: it says why when it ends.
what="nnp served hold=12 filter-openat"
# shellcheck disable=SC2086
change $what
check
wait_for 60 without_agent || fault "$what: $(cat "/proc/$host"/task/*/comm)"
says_why "seccomp filter that forbids system calls which the agent's thread needs"
changed 0

finish_test
