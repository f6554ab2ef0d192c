#!/bin/sh
# evidence_container.sh - heapwire-run as PID 1 of a container whose database
# crashes, and the next container, which has the same state directory but cannot
# see the first one's processes.
. tests/integration/lib/lib.inc

why=$(unshare --pid --fork --mount-proc true 2>&1) || {
    echo "skipped: no pid namespace can be made here: $why"
    finish_test
    exit
}

# on_small NAME: a redis whose state directory is on a tmpfs of its own.
on_small() {
    mkdir "$work/$1"
    mount -t tmpfs -o size=1500k,mode=0700 none "$work/$1"
    "$bin/heapwire-run" --listen none --state-dir "$work/$1/node" -- \
        redis-server --save '' --port 0 --unixsocket "$work/$1.redis" \
        --dir "$work" >"$work/$1.log" 2>&1 &
    echo $! >"$work/$1.run"
    pids="$! $pids"
    wait_for 60 test -S "$work/$1/node/mysql.sock"
    wait_for 60 redis-cli -s "$work/$1.redis" ping
}
# They grow old beside the containers.
small=no
if unshare --mount mount -t tmpfs none /mnt 2>/dev/null; then
    small=yes
    at_end() {
        umount -l "$work/reserved" "$work/lost" 2>/dev/null
    }
    on_small reserved
    on_small lost
fi

# container: a redis in a pid namespace of its own; $run is outside of it.
container() {
    redis_port=$(free_port)
    unshare --pid --fork --mount-proc --kill-child "$bin/heapwire-run" \
        --listen none --state-dir "$work/node" -- redis-server --save '' \
        --port "$redis_port" --bind 127.0.0.1 --dir "$work" \
        --enable-debug-command yes >"$work/node.log" 2>&1 &
    run=$!
    pids="$run $pids"
    wait_for 60 prof 'has_enable()'
    wait_for 60 redis-cli -p "$redis_port" ping
    began=$(milliseconds)
}
lingers() { # of what is said in $1.log
    grep -q 'serves what is known' "$work/$1.log"
}
gone() {
    ! kill -0 "$1" 2>/dev/null
}

# full_disk NAME [FILE...]: without what FILEs had, and with a full disk, it is
# killed.  heapwired makes them again; then the disk has the deleted ones' room.
full_disk() {
    name=$1
    run=$(cat "$work/$name.run")
    shift
    (cd "$work/$name" && rm -f -- "$@")
    for file; do
        wait_for 60 made_again "$work/$name/$file"
    done
    cat /dev/zero >"$work/$name/fill" 2>/dev/null || true
    kill -9 "$(pgrep -P "$run" redis)"
    wait_for 60 lingers "$name"
}
made_again() { # FILE
    [ -e "$1" ] &&
        ! ls -l "/proc/$(pgrep -P "$run" heapwired)/fd" | grep -q "$1 (deleted)"
}
is_kept() {
    [ "$(grep -c ' signal=9 ' "$work/$1/node/deaths")" = 1 ]
}
not_kept() {
    grep -q 'cannot record how' "$work/lost.log"
}
container
grown_old "$began"
container=$run
if [ "$small" = yes ]; then
    # Where the room was lost, it is written once there is some.
    full_disk lost node/deaths
    check
    wait_for 60 not_kept || fault "not said: $(cat "$work/lost.log")"
    said=$(milliseconds)
fi
run=$container
redis-cli -p "$redis_port" debug segfault >/dev/null 2>&1 || true
wait_for 60 lingers node
how="select count(*), min(killed_by), min(rss > 5000000) from heapwire.deaths"
same "how it died" "1	11	1" "$(sql "$how")"
check
gone "$run" && fault "the container has ended: no linger"
old=$run

container
wait_for 60 gone "$old"
status=0
wait "$old" || status=$?
same "the first one's status" 139 "$status"
# Its heapwired may have answered for the second database until it gave way.
wait_for 60 prof 'has_enable()'
same "the second finds it" "1	11	1" "$(sql "$how")"
two_lives() {
    [ "$(sql 'select count(distinct started) from heapwire.memory_history')" = 2 ]
}
check
wait_for 60 two_lives ||
    fault "the history: $(sql 'select pid, started, count(*) from
        heapwire.memory_history group by 1, 2')"

# docker stop, while it lingers: PID 1 gets SIGTERM.
grown_old "$began"
redis-cli -p "$redis_port" debug segfault >/dev/null 2>&1 || true
wait_for 60 lingers node
first=$(cat "/proc/$run/task/$run/children")
kill "${first% }"
wait_for 60 gone "$run"
same "both are recorded" 2 "$(grep -c ' signal=11 ' "$work/node/deaths")"

if [ "$small" = yes ]; then
    full_disk reserved
    check
    is_kept reserved || fault "room was reserved: $(cat "$work/reserved.log")"
    stop_node

    # It was tried again meanwhile, each SAVE_STEP_MS.
    check
    [ $(($(milliseconds) - said)) -gt 5500 ] || fault "it was not tried again"
    same "said once" 1 "$(grep -c 'cannot record how' "$work/lost.log")"
    # Room for it alone may have come: heapwired let go of the deleted file.
    size=$(wc -c <"$work/lost/node/deaths")
    check
    [ "$size" = 0 ] || is_kept lost ||
        fault "it is torn: $(cat "$work/lost/node/deaths")"
    rm "$work/lost/fill"
    wait_for 60 is_kept lost
    run=$(cat "$work/lost.run")
    stop_node
    check
    is_kept lost || fault "it is kept twice: $(cat "$work/lost/node/deaths")"
else
    echo "skipped: the full disk (nothing can be mounted here)"
fi
finish_test
