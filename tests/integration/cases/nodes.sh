#!/bin/sh
# nodes.sh - statements that ask other nodes: three heapwireds that know of a
# fourth, which is not there.
. tests/integration/lib/lib.inc

config=$work/heapwire.ini
umask 077
{
    echo "[cluster]"
    echo "name = nodes.sh"
    echo "connect_timeout = 5" # a busy machine's login takes its time
    echo "secret = $(od -An -tx1 -N32 /dev/urandom | tr -d ' \n')"
} >"$config"
port4=1 # which no other test takes
for id in 1 2 3 4; do
    [ "$id" = 4 ] || eval "port$id=$(free_port)"
    eval "port=\$port$id"
    printf '[peer 1000%s]\naddress = 127.0.0.1:%s\n' "$id" "$port" >>"$config"
    [ "$id" != 3 ] || echo "role = compute_node" >>"$config"
done
for user in admin:status,profile,control,cluster,admin plain:status,profile; do
    echo secret-of-a-test | "$bin/heapwire-passwd" "$config" "${user%%:*}" \
        --stdin --privileges "${user#*:}"
done
for id in 1 2 3; do
    eval "port=\$port$id"
    "$bin/heapwired" --config "$config" --node-id "1000$id" \
        --listen "127.0.0.1:$port" --http none --state-dir "$work/$id" \
        --log "$work/log$id" &
    pids="$pids $!"
    eval "pid$id=$!"
done
for id in 1 2 3; do
    wait_for 60 grep -q "serves node" "$work/log$id"
done

# on ID ARGUMENTS...: the stock client, on that node.
on() {
    socket=$work/$1/mysql.sock
    shift
    mysql --no-defaults --comments -S "$socket" -u root -N -B "$@" 2>&1
}
ok="'System.print(\"ok\")'"
refused="submit failed for 127.0.0.1:$port4: Connection refused"

for id in 1 2 3; do
    same "any node from node 1000$id" "ok ok ok" "$(
        for other in 1 2 3; do
            on "$id" -e "ADMIN EXECUTE ON 1000$other $ok"
        done | tr '\n' ' ' | sed 's/ $//')"
done
same "all of them" "10001	OK	ok
10002	OK	ok
10003	OK	ok
10004	ERROR	$refused" "$(on 2 -e "ADMIN EXECUTE ON ALL $ok")"
same "backends" "10001 10002 10004" "$(
    on 3 -e "ADMIN EXECUTE ON ALL BACKENDS $ok" | cut -f1 | tr '\n' ' ' |
        sed 's/ $//')"
same "compute nodes" "10003	OK	ok" \
    "$(on 1 -e "ADMIN EXECUTE ON ALL COMPUTE NODES $ok")"
same "a list with an unknown id" "7	ERROR	node not found
10003	OK	ok" "$(on 1 -e "ADMIN EXECUTE ON 10003, 7 $ok")"
contains "nobody" "ERROR 1032 (HY000) at line 1: node not found: 7" \
    "$(on 1 -e "ADMIN EXECUTE ON 7 $ok" || true)"
contains "one that is not there" "$refused" \
    "$(on 1 -e "ADMIN EXECUTE ON 10004 $ok" || true)"
contains "its own fault" "no database with the heapwire agent is connected" \
    "$(on 1 -e "ADMIN EXECUTE ON 10002 \
        'HeapProf.getInstance().enable_prof()'" || true)"

same "warnings, and how many" "Warning	1105	node 10004: $refused
1" "$(on 1 -e "ADMIN EXECUTE ON ALL $ok; SHOW WARNINGS; SELECT @@warning_count" |
    tail -n 2)"
contains "the client learns that there are some" \
    "Warning (Code 1105): node 10004: $refused" \
    "$(on 1 --show-warnings -e "ADMIN EXECUTE ON ALL $ok")"

same "the nodes" "10001	backend	absent	1	NULL
10002	backend	absent	0	NULL
10003	compute node	absent	0	NULL
10004	backend	unreachable	0	$refused" "$(on 1 -e \
    "SELECT id, role, state, self, last_error FROM heapwire.nodes")"
same "SHOW BACKENDS" "10001 10002 10004" \
    "$(on 1 -e "SHOW BACKENDS" | cut -f1 | tr '\n' ' ' | sed 's/ $//')"
same "SHOW COMPUTE NODES" "10003" \
    "$(on 1 -e "SHOW COMPUTE NODES" | cut -f1)"

plain() {
    mysql --no-defaults -h 127.0.0.1 -P "$port1" -u plain -psecret-of-a-test \
        -N -B -e "$1" 2>&1 | grep -v 'can be insecure'
}
contains "others need a privilege" "ERROR 1227 (42000)" \
    "$(plain "ADMIN EXECUTE ON 10002 $ok")"
same "this node does not" "ok" "$(plain "ADMIN EXECUTE ON 10001 $ok")"
same "a user that may not ask sees the nodes" "4" \
    "$(plain "SELECT count(*) FROM heapwire.nodes")"

# One that does not answer any more.
freeze "$pid2"
began=$(date +%s)
same "time is up" "10001	OK	ok
10002	ERROR	timeout after 5s
10003	OK	ok" "$(on 1 -e \
    "ADMIN EXECUTE /*+ heapwire_timeout(5) */ ON 10001, 10002, 10003 $ok")"
took=$(($(date +%s) - began))
check
[ "$took" -le 25 ] || # else it never answers
    fault "five seconds took $took"
contains "its time, for one" "timeout after 1s" "$(on 3 -e \
    "SET STATEMENT heapwire_timeout = 1 FOR ADMIN EXECUTE ON 10002 $ok" ||
    true)"
same "its state" "unreachable" \
    "$(on 1 -e "SELECT state FROM heapwire.nodes WHERE id = 10002")"
kill -CONT "$pid2"
wait_for 60 sh -c "mysql --no-defaults -S $work/1/mysql.sock -u root -e \
    \"ADMIN EXECUTE ON 10002 'System.print(1)'\""
same "and back" "absent" \
    "$(on 1 -e "SELECT state FROM heapwire.nodes WHERE id = 10002")"

finish_test
