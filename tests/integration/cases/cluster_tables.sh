#!/bin/sh
# cluster_tables.sh - tables and profiles of all nodes, over five redis nodes:
# each node's rows are its own; a sum of profiles is the sum of the single
# ones; a silent node gives a warning and no row.
. tests/integration/lib/lib.inc

nodes="10001 10002 10003 10004 10005"

# ---- five nodes ----

{
    printf '[cluster]\nname = tables\nsecret = %s\n' \
        "$("$bin/heapwire-passwd" --cluster-secret)"
    for id in $nodes; do
        printf '[peer %s]\naddress = 127.0.0.1:%s\n' "$id" "$(free_port)"
    done
} >"$work/cluster.ini"
chmod 600 "$work/cluster.ini"

# at ID STATEMENT: over that node's own socket, bare rows; errors on stdout.
at() {
    mariadb --no-defaults --skip-ssl -S "$work/$1/mysql.sock" -u root -N -B \
        --raw -e "$2" 2>&1
}

for id in $nodes; do
    port=$(free_port)
    echo "$port" >"$work/$id.port"
    "$bin/heapwire-run" --config "$work/cluster.ini" --node-id "$id" \
        --state-dir "$work/$id" -- redis-server --port "$port" \
        --bind 127.0.0.1 --save '' --dir "$work" >"$work/$id.log" 2>&1 &
    echo $! >"$work/$id.run"
    pids="$! $pids"
done
for id in $nodes; do
    wait_for 60 at "$id" "ADMIN EXECUTE ON $id
        'HeapProf.getInstance().has_enable()'" || {
        cat "$work/$id.log"
        exit 1
    }
    wait_for 60 redis-cli -p "$(cat "$work/$id.port")" ping
done

# Each has another load, so that nothing is equal by chance.
load() {
    redis-cli -p "$(cat "$work/$1.port")" eval "for i = 1, $2 do
        redis.call('set', KEYS[1] .. i, string.rep('x', $3))
        redis.call('hset', KEYS[1] .. 'hash', i, string.rep('y', $3))
        redis.call('zadd', KEYS[1] .. 'sorted', i, string.rep('z', $3) .. i)
        redis.call('rpush', KEYS[1] .. 'list' .. i % 999, string.rep('l', $3))
        end" 1 "$4" \
        >/dev/null
}

all_enabled() { # once the third has reached all of them
    [ "$(at 10003 "ADMIN EXECUTE ON ALL 'HeapProf.getInstance().enable_prof()'" |
        grep -c OK)" = 5 ]
}
wait_for 60 all_enabled
n=0
for id in $nodes; do
    n=$((n + 1))
    load "$id" $((n * 20000)) 200 a
done
at 10003 "ADMIN EXECUTE ON ALL 'HeapProf.getInstance().snapshot(\"a\")'" \
    >/dev/null
n=0
for id in $nodes; do
    n=$((n + 1))
    load "$id" $(((6 - n) * 10000)) 500 b
done
at 10003 "ADMIN EXECUTE ON ALL 'HeapProf.getInstance().snapshot(\"b\")'" \
    >/dev/null

# ---- each table against each node's own ----

# all_own COLUMNS TABLE [WHERE]: what the nodes say themselves.
all_own() {
    for id in $nodes; do
        at "$id" "SELECT $id, $1 FROM heapwire.$2 ${3-}"
    done
}

# of_all COLUMNS TABLE [WHERE]: what the third says of all.
of_all() {
    at 10003 "SELECT node_id, $1 FROM heapwire.cluster_$2 ${3-}"
}

# alike COLUMNS TABLE [WHERE]: of what does not change from moment to moment.
alike() {
    all_own "$@" >"$work/own"
    of_all "$@" >"$work/all"
    check
    [ -s "$work/own" ] || fault "$2 has no rows"
    check
    cmp "$work/own" "$work/all" || {
        fault "cluster_$2"
        diff "$work/own" "$work/all" | head -n 4
    }
}

alike "name, taken, pid, program, samples, bytes, note, rss" snapshots
alike "name, value, text" malloc_stats "WHERE name LIKE 'opt.%' ORDER BY 1, 2"
alike "state, active, sample_rate, jemalloc_version, changes" profiler
alike "snapshot, function, module, flat_bytes, flat_percent, cum_objects" \
    heap_functions "WHERE snapshot = 'b' ORDER BY 1, 3, 4"
same "memory has a row of each node" "$(printf '%s\t1\n' $nodes)" \
    "$(of_all "rss > 0 AND allocated > 0 AND profile_bytes > 0" memory)"
same "a fresh profile of each" "$(printf '%s\tnow\n' $nodes)" \
    "$(of_all "min(snapshot)" heap_functions "GROUP BY node_id")"
same "only those that are asked for" "10002	a
10004	a" "$(of_all name snapshots "WHERE node_id IN (10004, 10002) AND name = 'a'")"
same "their columns are described" "node_id" \
    "$(at 10001 'SHOW COLUMNS FROM heapwire.cluster_memory' | head -n 1 |
        cut -f 1)"
same "no warnings" "" "$(at 10003 'SELECT rss FROM heapwire.cluster_memory;
SHOW WARNINGS' | tail -n +6)"

# ---- the sum is the sum ----

# Bytes of a line are cut to whole ones, of a node and of the sum.
sums() {
    "$python" - "$@" <<'END'
import collections, sys

def read(path):
    out = collections.Counter()
    for line in open(path, errors="replace"):
        stack, _, weight = line.rstrip("\n").rpartition(" ")
        if stack:
            out[stack] += int(weight)
    return out

whole, parts = read(sys.argv[1]), sys.argv[2:]
total = collections.Counter()
for part in parts:
    total.update(read(part))
wrong = [s for s in set(whole) | set(total)
         if abs(whole[s] - total[s]) > len(parts)]
print(f"{len(wrong)} of {len(whole) > 2 and 'many'} stacks differ")
END
}

for kind in "'NAME:b'" "'NAME:b', 'NAME:a'"; do
    at 10001 "SELECT collapsed($(echo "$kind" | sed s/NAME/cluster/g))" \
        >"$work/whole"
    parts=
    for id in $nodes; do
        at "$id" "SELECT collapsed($(echo "$kind" | sed s/NAME://g))" \
            >"$work/part.$id"
        parts="$parts $work/part.$id"
    done
    # shellcheck disable=SC2086
    same "the sum of $kind" "0 of many stacks differ" \
        "$(sums "$work/whole" $parts)"
done
at 10005 "SELECT collapsed('cluster_by_node:b')" >"$work/whole"
parts=
for id in $nodes; do
    at "$id" "SELECT collapsed('b')" | sed "s/^/node $id;/" >"$work/part.$id"
    parts="$parts $work/part.$id"
done
# shellcheck disable=SC2086
same "each node's stacks on its frame" "0 of many stacks differ" \
    "$(sums "$work/whole" $parts)"
same "of some" "$(at 10002 "SELECT collapsed('b')")" \
    "$(at 10001 "SELECT collapsed('cluster@10002:b')")"

bytes="SELECT cum_bytes FROM heapwire.heap_functions WHERE function = 'main'"
sum=0
for id in $nodes; do
    sum=$((sum + $(at "$id" "$bytes AND snapshot = 'b'")))
done
same "main's bytes" "1" "$(at 10001 "SELECT abs(cum_bytes - $sum) <= 5 FROM
    heapwire.heap_functions WHERE function = 'main' AND snapshot = 'cluster:b'")"
same "its share on each node" "1" "$(at 10001 "SELECT cum_bytes =
    (SELECT cum_bytes FROM heapwire.cluster_heap_functions WHERE
     function = 'main' AND snapshot = 'b' AND node_id = 10002)
    FROM heapwire.heap_functions WHERE function = 'node 10002' AND
    snapshot = 'cluster_by_node:b'")"
same "how it grew" "1" "$(at 10001 "SELECT sum(flat_bytes) > 0 FROM
    heapwire.heap_diff WHERE snapshot = 'cluster:b' AND base = 'cluster:a'")"
largest=$(at 10001 "SELECT node_id FROM heapwire.cluster_heap_functions WHERE
    function = 'main' AND snapshot = 'a' ORDER BY cum_bytes DESC LIMIT 1")
contains "shares are said" "In use by node: $largest " \
    "$(at 10001 "SELECT text('cluster:a')")"
for form in dot flamegraph svg; do
    contains "$form of fresh ones" "on 5 nodes" \
        "$(at 10004 "SELECT $form('cluster')")"
done

# ---- nodes that do not answer ----

# The heapwired of the second dies for good, the one of the fourth stops.
kill -KILL "$(cat "$work/10002.run")"
daemon() {
    "$python" - "$work/$1" <<'END'
import os, sys
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        line = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
    except OSError:
        continue
    if line[0].endswith(b"heapwired") and sys.argv[1].encode() in line:
        print(pid)
END
}
second=$(daemon 10002)
fourth=$(daemon 10004)
kill -KILL "$second"
redis-cli -p "$(cat "$work/10002.port")" shutdown nosave >/dev/null
freeze "$fourth"
pids="$fourth $pids"
# Within 3 s a busy machine may leave out others, too.
those_that_answer() {
    at 10001 "SET heapwire_timeout = 3;
        SELECT node_id FROM heapwire.cluster_memory; SHOW WARNINGS" >"$work/got"
    [ "$(head -n 3 "$work/got" | xargs)" = "10001 10003 10005" ] &&
        grep -q "submit failed" "$work/got"
}
wait_for 60 those_that_answer || cat "$work/got"
same "a node that answers has a row" "10001
10003
10005" "$(head -n 3 "$work/got")"
same "one that does not has a warning" 2 "$(tail -n +4 "$work/got" | wc -l)"
contains "one cannot be reached" "node 10002: submit failed for 127.0.0.1:" \
    "$(sed -n 4p "$work/got")"
contains "one does not answer" "node 10004: timeout after " \
    "$(sed -n 5p "$work/got")"
picture_says_so() {
    at 10001 "SET heapwire_timeout = 3; SELECT text('cluster')" >"$work/got"
    grep -q "3 of 5 nodes, without 10002 (" "$work/got"
}
check
wait_for 60 picture_says_so || fault "the picture: $(head "$work/got")"
contains "no node that was asked" "node 10002: submit failed" \
    "$(at 10001 "SELECT * FROM heapwire.cluster_memory WHERE node_id = 10002")"
contains "no node of that id" "there is no node 7" \
    "$(at 10001 "SELECT dot('cluster@7')")"
kill -CONT "$fourth"
wait_for 60 sh -c "mariadb --no-defaults --skip-ssl -S '$work/10001/mysql.sock' \
    -u root -N -B -e \"SELECT node_id FROM heapwire.cluster_memory\" |
    grep -q 10004" || fault "it does not come back"
contains "no name for a snapshot" "sum of all nodes" \
    "$(at 10001 "ADMIN EXECUTE ON 10001
        'HeapProf.getInstance().snapshot(\"cluster\")'")"

finish_test
