#!/bin/sh
# confined.sh - databases in hosts that allow little: seccomp filters that answer
# or kill, a user namespace, a read-only root, /proc that hides or is not there.
# All of them are profiled, with names, or say why not; none is harmed.
. tests/integration/lib/lib.inc

# Clients run as the database's user, where it runs.
client=
inside() {
    nsenter -t "$run" -m "$@"
}
sql() {
    # shellcheck disable=SC2086
    $client mariadb --no-defaults --skip-ssl -S "$node/mysql.sock" \
        -u "${user:-root}" -N -B --raw -e "$1" 2>&1
}

first_thread="SELECT folded FROM heapwire.threads ORDER BY tid LIMIT 1"
has_main() { # a busy machine's are not all copied at once
    sql "$first_thread" | grep -q ';main;'
}

# Redis under "$@", which ends with a command's first words; then as in any host.
try() { # NAME COMMAND...
    name=$1
    shift
    rm -rf "$node"
    port=$(free_port)
    # shellcheck disable=SC2086
    "$@" --save '' --dir "$(dirname "$node")" --port "$port" --bind 127.0.0.1 \
        >"$work/node.log" 2>&1 &
    run=$!
    pids="$run $pids"
    wait_for 60 redis-cli -p "$port" ping || {
        fault "$name: the database does not serve"
        cat "$work/node.log"
        return
    }
    wait_for 60 prof 'has_enable()' || {
        fault "$name: $(prof 'has_enable()')"
        cat "$work/node.log"; $client cat "$node/heapwired.log"
    }
    prof 'enable_prof()' >/dev/null
    redis-cli -p "$port" eval "for i = 1, 20000 do
        redis.call('set', KEYS[1] .. i, string.rep('x', 500)) end" 1 k >/dev/null
    contains "$name: names" "sdsnewlen" "$(sql "SELECT text('now')")"
    contains "$name: libc's names" "__libc_start" "$(sql "SELECT text('now')")"
    check
    held=$(sql "SELECT round(sum(flat_bytes) / 1e6) FROM heapwire.heap_functions")
    [ "${held:-0}" -ge 8 ] 2>/dev/null && [ "$held" -le 16 ] ||
        fault "$name: $held MB of 12"
    same "$name: statistics" 1 "$(sql "SELECT value > 1000000
        FROM heapwire.malloc_stats WHERE name = 'stats.allocated'")"
    check
    wait_for 60 has_main || fault "$name: threads: $(sql "$first_thread")"
    prof 'disable_prof()' >/dev/null
    same "$name: off" "0" "$(sql "SELECT active FROM heapwire.profiler")"
    redis-cli -p "$port" shutdown nosave >/dev/null 2>&1 || true
    status=0
    wait "$run" || status=$?
    same "$name: its exit status" 0 "$status"
    [ -z "${verbose-}" ] || { echo "== $name"; grep heapwire: "$work/node.log" || true; }
}

export MALLOC_CONF=lg_prof_sample:16 # finer: the bytes are checked
server=$(command -v redis-server)
all=unshare,close_range,memfd_create,signalfd
options="--listen none --linger 0"
node=$work/node
ours="$bin/heapwire-run --state-dir $node $options --"
within="$bin/heapwire-run --state-dir $node $options --exe $server --"
# shellcheck disable=SC2086
{
try plain $ours redis-server
for how in errno kill; do
    try "$how, outside" "$bin/confined" --$how $all $ours redis-server
    try "$how of one, outside" "$bin/confined" --$how unshare \
        $ours redis-server
    try "$how, within" $within "$bin/confined" --$how $all redis-server
done
}

# Namespaces with mounts of their own: not where the root is no mount point.
mounts=
unshare -m true 2>"$work/mounts" || {
    mounts=no
    echo "skipped: other mounts (no namespace can be made here: $(cat "$work/mounts"))"
}

# Without /proc there is no agent, which is said once, and no harm.
if [ -z "$mounts" ]; then
    rm -rf "$node"
    port=$(free_port)
    # shellcheck disable=SC2086
    $within "$bin/confined" --no-proc redis-server --save '' --port "$port" \
        --bind 127.0.0.1 >"$work/node.log" 2>&1 &
    run=$!
    pids="$run $pids"
    wait_for 60 redis-cli -p "$port" ping || fault "no /proc: it does not serve"
    same "no /proc: words" 1 \
        "$(grep -c "^heapwire: no /proc in the database's mount namespace" \
            "$work/node.log")"
    redis-cli -p "$port" shutdown nosave >/dev/null 2>&1 || true
    status=0
    wait "$run" || status=$?
    same "no /proc: its exit status" 0 "$status"
fi

# The whole tree is read-only but for a tmpfs, where the node's directory is.
read_only='mount -o remount,ro,bind / && mount -t tmpfs -o mode=755 none "$0" &&
    ! touch /etc/confined 2>/dev/null && cd "$0" && exec "$@"'
client=inside
# shellcheck disable=SC2086
[ -n "$mounts" ] ||
    try "read-only" unshare -m sh -c "$read_only" "$work" $ours redis-server

# A user without privileges.
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
client=$nobody
chmod 711 "$work"
mkdir -m 700 "$work/theirs"
chown 65534 "$work/theirs"
node=$work/theirs/node
theirs="$(readable "${bin%/bin}" "$work/build")/bin/heapwire-run --state-dir $node $options --"
hide='mount -t proc -o hidepid=invisible proc /proc && exec "$@"'
# shellcheck disable=SC2086
{
if users=$($nobody unshare -Ur true 2>&1); then
    try "a user namespace" $nobody unshare -Ur $theirs redis-server
else
    echo "skipped: a user namespace (none can be made here: $users)"
fi
user=nobody
[ -n "$mounts" ] ||
    try "hidepid" unshare -m sh -c "$hide" sh $nobody $theirs redis-server
}
finish_test
