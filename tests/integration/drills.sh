#!/bin/sh
# drills.sh - what befalls a cluster: its network breaks, etcd goes, its nodes
# are not what they should be.  Each drill is a program of its own, see there;
# they mostly wait, and so run side by side.
. tests/integration/lib/lib.inc

# drill NAME COMMAND...: starts it.
drill() {
    name=$1
    shift
    "$@" "$python" "tests/integration/drills_$name.py" >"$work/$name" 2>&1 &
    eval "$name=$!"
    pids="$pids $!"
}

# ended NAME: what it said.
ended() {
    eval "pid=\$$1"
    wait "$pid" && status=0 || status=$?
    echo "$1:"
    cat "$work/$1"
    same "the drill $1" 0 "$status"
}

# Hosts are network namespaces, with a bridge between them.
can_make_hosts() {
    unshare -n sh -c '
        ip link add hosts type bridge &&
        ip link add host type veth peer name lan' >"$work/hosts" 2>&1
}

drill misfits env
if can_make_hosts; then
    drill partition unshare -n
    drill etcd unshare -n
    ended partition
    ended etcd
else
    echo "skipped: no network namespaces can be made here: $(cat "$work/hosts")"
fi
ended misfits

finish_test
