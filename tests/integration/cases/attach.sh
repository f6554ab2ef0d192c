#!/bin/sh
# attach.sh - heapwire-run --attach: databases that run already.
. tests/integration/lib/lib.inc
programs=$(mktemp -d) # $work is open to nobody
chmod 755 "$programs"
at_end() {
    rm -rf "$programs"
}
bin=$(readable "${bin%/bin}" "$programs/build")/bin

lib=$bin/../lib/libheapwire.so
rounds=${ROUNDS:-20}
if [ ! -x "$bin/sleepers" ]; then
    echo "skipped: --attach is for x86-64"
    finish_test
    exit
fi

another_serves() {
    [ "$(cat "$work/node/heapwired.lock")" != "$before" ]
}
# attach PID OPTION...: in $run; waits until it has attached and its own
# heapwired serves.
attach() {
    target=$1
    shift
    before=$(cat "$work/node/heapwired.lock" 2>/dev/null || true)
    : >"$work/attach.log" # what the last one said is not what this one says
    "$bin/heapwire-run" --state-dir "$work/node" --listen none "$@" \
        --attach "$target" >"$work/attach.log" 2>&1 &
    run=$!
    pids="$run $pids"
    wait_for 60 grep -q 'attached to\|agent already' "$work/attach.log" || {
        cat "$work/attach.log"
        exit 1
    }
    wait_for 60 another_serves
    wait_for 60 sql 'SELECT 1'
}

# refused WORDS OPTION...: it says so, and attaches nothing.
refused() {
    words=$1
    shift
    got=$(timeout 60 "$bin/heapwire-run" --state-dir "$work/refused" \
        --listen none "$@" 2>&1) && fault "not refused: $*"
    contains "refused: $*" "$words" "$got"
}

detach() {
    kill "$run"
    wait "$run" || fault "detaching ended with $?: $(cat "$work/attach.log")"
    contains "detached" "detached from process $1" "$(cat "$work/attach.log")"
    wait_for 60 without_agent "$1" || fault "the agent's thread is there still"
}
without_agent() { # a thread that was joined is listed for a moment yet
    ! grep -qx heapwire /proc/"$1"/task/*/comm
}
# runs PID NAME: it has executed that program.
runs() {
    [ "$(cat "/proc/$1/comm")" = "$2" ]
}

# sleeps NAME KIND...: a program that notices everything; $sleeper.
sleeps() {
    name=$1
    shift
    : >"$work/$name.out" # what the one before said
    "$bin/sleepers" "$@" >"$work/$name.out" &
    sleeper=$!
    pids="$sleeper $pids"
    wait_for 60 grep -q ready "$work/$name.out"
}

# well NAME: it has noticed nothing.
well() {
    kill "$sleeper"
    wait "$sleeper" || fault "$1: $(cat "$work/$1.out")"
    check
}

### every kind of sleep

mkdir -m 700 "$work/bare"
for kind in poll poll_event ppoll select pselect epoll epoll_event epoll_pwait \
    nanosleep clock_nanosleep condition accept all; do
    sleeps "$kind" "$kind"
    case $kind in
    epoll | epoll_pwait) times=4 ;; # which wait for a new one
    *) times=$rounds ;;
    esac
    "$bin/attach_driver" "$sleeper" "$lib" "$work/bare" "$times" \
        >"$work/driver" || fault "$kind: $(cat "$work/driver")"
    well "$kind"
done

### what is refused, and not harmed

refused "is not there" --attach 2147483000
refused "wants a process id" --attach 12x
refused "either a command or --attach" --attach 1 -- true
refused "need --attach" --dry-run -- true
refused "for a process there is --dry-run" --explain --attach 1
sleeps refused poll select accept # an epoll notices SIGSTOP
for task in /proc/"$sleeper"/task/*; do
    thread=${task##*/}
    [ "$thread" = "$sleeper" ] || break
done
refused "is a thread of process $sleeper" --attach "$thread"
got=$("$bin/heapwire-run" --state-dir "$work/dry" --listen none --dry-run \
    --attach "$sleeper" 2>&1) || fault "dry run: $got"
contains "dry run" "nothing was touched" "$got"
[ ! -e "$work/dry" ] || fault "a dry run has made a directory"
! grep -q libheapwire /proc/"$sleeper"/maps || fault "a dry run has loaded it"
alone=$(pgrep -P "$sleeper") # which is as late, then
kill -STOP "$sleeper" "$alone"
wait_for 60 grep -q '^State:.T' "/proc/$sleeper/status"
refused "is stopped" --attach "$sleeper"
kill -CONT "$sleeper" "$alone"
strace -qq -f -e trace=none -p "$sleeper" -p "$alone" 2>"$work/strace" &
tracer=$!
pids="$tracer $pids"
traced() {
    grep -q 'TracerPid:[^0]*[1-9]' /proc/"$sleeper"/status
}
wait_for 60 traced
refused "is being traced" --attach "$sleeper"
kill "$tracer"
wait "$tracer" 2>/dev/null || true
wait_for 60 sh -c "grep -q 'TracerPid:[^0]*0\$' /proc/$sleeper/status"
chmod 700 "$work"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    cp -r "$bin/heapwire-run" "$bin/heapwired" "$work" # not ours to read
    got=$(setpriv --reuid 65534 --clear-groups "$bin/heapwire-run" \
        --attach "$sleeper" 2>&1) && fault "another user's was attached to"
    # heapwired, started again, would not get a directory back from another
    # user where others can make one.
    mkdir -m 1777 "$work/shared"
    setpriv --reuid 65534 --clear-groups sleep 60 &
    other=$!
    pids="$other $pids"
    wait_for 60 runs "$other" sleep
    words="cannot give $work/shared/state to uid 65534"
    contains "shared" "$words" "$(timeout 60 "$bin/heapwire-run" --listen none \
        --state-dir "$work/shared/state" --attach "$other" 2>&1)"
    ! grep -q libheapwire /proc/"$other"/maps || fault "shared: attached"
    case $got in
    *"belongs to uid 0"* | *"ermission denied"*) ;;
    *) fault "another user's: $got" ;;
    esac
    if less="setpriv --bounding-set=-sys_ptrace" && $less true 2>/dev/null; then
        got=$($less "$bin/heapwire-run" --attach "$sleeper" 2>&1) &&
            fault "attached to without CAP_SYS_PTRACE"
        contains "no capability" "needs CAP_SYS_PTRACE" "$got"
    fi
fi
well refused
refused "thread of the kernel" --attach 2

cat >"$work/spins.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *spin(void *arg) { for (;;) free(malloc(100)); return arg; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, spin, NULL);
    dprintf(1, "ready\n");
    spin(NULL);
}
END
cc -fno-builtin -o "$work/spins" "$work/spins.c" -pthread
"$work/spins" >"$work/spins.out" &
spins=$!
pids="$spins $pids"
wait_for 60 grep -q ready "$work/spins.out"
refused "running" --attach "$spins"
kill -0 "$spins" || fault "what spins in malloc was harmed"
kill "$spins"

cat >"$work/still.c" <<'END'
#include <unistd.h>
int main(void) { for (;;) pause(); }
END
cc -static -o "$work/static" "$work/still.c"
"$work/static" &
static=$!
pids="$static $pids"
wait_for 60 runs "$static" static
refused "is static" --attach "$static"

# A filter that allows everything, which heapwire-run cannot know.
"$python" -c 'import ctypes, struct, time
libc = ctypes.CDLL(None)
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
program = struct.pack("HxxxxxxP", 1, ctypes.addressof(allow))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.create_string_buffer(program), 0, 0) == 0
print("ready", flush=True)
while True: time.sleep(0.2)' >"$work/filtered" &
filtered=$!
pids="$filtered $pids"
wait_for 60 grep -q ready "$work/filtered"
refused "has a seccomp filter" --attach "$filtered"
got=$("$bin/heapwire-run" --state-dir "$work/dry" --listen none --dry-run \
    --force --attach "$filtered" 2>&1) || fault "--force: $got"
kill "$filtered"

# A child of vfork, which is its parent.
cat >"$work/vforks.c" <<'END'
#include <stdio.h>
#include <unistd.h>
int main(void) {
    pid_t pid = vfork();
    if (pid == 0) {
        dprintf(1, "%d\n", getpid());
        for (;;) pause();
    }
}
END
cc -o "$work/vforks" "$work/vforks.c"
"$work/vforks" >"$work/vforked" &
parent=$!
wait_for 60 grep -q . "$work/vforked"
child=$(cat "$work/vforked")
pids="$child $pids"
refused "child of vfork" --attach "$child"
kill -9 "$child" "$parent"

### the process dies meanwhile

for i in 1 2 3 4 5 6 7 8; do
    sleeps "dies$i" all
    "$bin/attach_driver" "$sleeper" "$lib" "$work/bare" 100000 \
        >"$work/driver" 2>&1 &
    driver=$!
    pids="$driver $pids"
    sleep "0.1$i" # anywhere in it
    kill -9 "$sleeper"
    wait "$sleeper" 2>/dev/null || true
    wait "$driver" && fault "nothing was wrong with a process that died"
    # Before it began, on a busy machine.
    grep -q 'has ended\|was ended by the end\|is not there' "$work/driver" ||
        fault "its end: $(cat "$work/driver")"
done

### heapwire-run dies meanwhile: the thread comes back by itself

sleeps orphan poll_event epoll_event select
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    "$bin/attach_driver" "$sleeper" "$lib" "$work/bare" 100000 \
        >"$work/driver" 2>&1 &
    driver=$!
    sleep "0.0$((i % 7 + 3))" # anywhere in it
    kill -9 "$driver" 2>/dev/null || true # it found no thread
    wait "$driver" 2>/dev/null || true
    kill -0 "$sleeper" || fault "killed by the end of its attacher"
done
grep 'WRONG' "$work/orphan.out" | grep -v 'errno (-1, 4)\|too early' &&
    fault "it has noticed more than a signal"
# The next one finds all in order.
"$bin/attach_driver" "$sleeper" "$lib" "$work/bare" 1 >"$work/driver" 2>&1 ||
    fault "after that: $(cat "$work/driver")"
check
kill "$sleeper"
wait "$sleeper" || true

### Redis under load

redis_port=$(free_port)
MALLOC_CONF=prof:true,prof_active:false redis-server --port "$redis_port" \
    --bind 127.0.0.1 --save '' --dir "$work" >"$work/redis.log" 2>&1 &
redis=$!
pids="$redis $pids"
wait_for 60 redis-cli -p "$redis_port" ping
# It ends once it is to: one that is killed leaves its redis-benchmark, to which
# the end of Redis is a fault.
(while [ ! -e "$work/enough" ]; do load_redis 20000; done) &
load=$!
pids="$load $pids"
attach "$redis"
wait_for 60 prof 'has_enable()'
prof 'enable_prof()' >/dev/null
load_redis 50000
check
[ "$(prof 'snapshot("attached")')" = attached ] || fault "no snapshot"
check
[ "$(sql "select count(*) > 3 from heapwire.heap_functions")" = 1 ] ||
    fault "no functions: $(sql 'select * from heapwire.heap_functions limit 5')"
refused "is served by another heapwire-run" --state-dir "$work/node" \
    --attach "$redis"
refused "its state directory is not" --attach "$redis"
detach "$redis"
contains "lives" PONG "$(redis-cli -p "$redis_port" ping)"

# One without prof:true says what that means.
redis_port=$(free_port)
redis-server --port "$redis_port" --bind 127.0.0.1 --save '' --dir "$work" \
    >"$work/plain.log" 2>&1 &
plain=$!
pids="$plain $pids"
wait_for 60 redis-cli -p "$redis_port" ping
contains "its loader's word" "cannot load /etc/hostname: /etc/hostname: " \
    "$("$bin/attach_driver" "$plain" /etc/hostname "$work/node" 1)"
attach "$plain"
wait_for 60 prof 'has_enable()'
contains "not prepared" "attached: heap profiling cannot be switched on" \
    "$(prof 'enable_prof()')"
same "but statistics" 1 "$(sql "select value > 100000 from
    heapwire.malloc_stats where name = 'stats.allocated'")"
detach "$plain"
kill "$plain"

# An address that is no mallctl is told to nobody.
contains "a wrong address" "no mallctl at 0x10: there is no code; the setting" \
    "$("$bin/heapwire-run" --state-dir "$work/dry" --listen none --dry-run \
        --mallctl 16 --attach "$redis" 2>&1)"

# Again, and heapwire-run is killed: the next takes over, a dry run does not.
attach "$redis"
kill -9 "$run"
wait "$run" 2>/dev/null || true
attach "$redis"
contains "taken over" "has its agent already" "$(cat "$work/attach.log")"
kill -9 "$run"
wait "$run" 2>/dev/null || true
contains "dry, of a killed one" "has its agent already" "$("$bin/heapwire-run" \
    --state-dir "$work/node" --dry-run --attach "$redis" 2>&1)"
[ ! -s "$work/node/linger" ] || fault "a dry run ends a heapwired"
attach "$redis"
detach "$redis"

# It ends: how is not known.
attach "$redis" --linger 60
touch "$work/enough"
check
wait "$load" || fault "a client of Redis has noticed"
kill -9 "$redis"
wait "$redis" 2>/dev/null || true
wait_for 60 grep -q 'has ended; how is not known' "$work/attach.log"
known() { # beside it, perhaps, the one that was detached and has ended since
    [ "$(sql "select count(*) from heapwire.deaths where pid = $redis")" = 1 ]
}
wait_for 60 known
same "its death" "$redis	NULL	NULL	1" "$(sql "select pid, exit_status,
    killed_by, how like '%attached to it%' from heapwire.deaths
    where pid = $redis")"
kill "$run"
wait "$run" || fault "lingering ended with $?"
finish_test
