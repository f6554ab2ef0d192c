#!/bin/sh
# faults.sh - what bad input and a bad node get: an answer, never a hang.
. tests/integration/lib/lib.inc

# expect_error WHAT CODE TEXT STATEMENT
expect_error() {
    answer=$(sql "$4" || true)
    contains "$1" "ERROR $2" "$answer"
    contains "$1" "$3" "$answer"
}

heap='HeapProf.getInstance()'

# ---- wrong statements ----
start_redis
expect_error "wrong SQL" "1064 (42000)" "near 'NONSENSE' at line 2" 'SHOW
NONSENSE'
expect_error "unknown statement" "1064 (42000)" "near 'HELLO' at line 1" HELLO
expect_error "unknown method" "1064 (42000)" dump_dot_snapshot \
    "ADMIN EXECUTE ON 10001 'System.print($heap.explode())'"
expect_error "unknown class" "1064 (42000)" HeapProf \
    "ADMIN EXECUTE ON 10001 'System.print(Exec.run())'"
expect_error "wrong script" "1064 (42000)" "line 1" \
    "ADMIN EXECUTE ON 10001 'System.print('"
expect_error "unknown node" "1032 (HY000)" "node not found: 7" \
    "ADMIN EXECUTE ON 7 'System.print(1)'"
expect_error "unknown database" "1049 (42000)" "nope" "USE nope"
expect_error "unknown table" "1146 (42S02)" "heapwire.nope" \
    "SELECT * FROM heapwire.nope"
expect_error "unknown thread" "1094 (HY000)" "999999" "KILL 999999"

# ---- a dump before any sample ----
dot=$(prof 'dump_dot_snapshot()')
contains "not active yet" "digraph" "$dot"
same "nothing sampled: closed" '}' "$(echo "$dot" | tail -n 1)"
same "nothing sampled: no node" 0 "$(echo "$dot" | grep -c '^N[0-9]' || true)"
check
echo "$dot" | dot -Tsvg >/dev/null || fault "the empty digraph is not valid"

# ---- stopped: an error after 4 s, at once for the next, then recovery ----
prof 'enable_prof()' >/dev/null
freeze "$redis"
start=$(milliseconds)
answer=$(prof 'has_enable()' || true)
took=$(($(milliseconds) - start))
contains "stopped" "not responding since" "$answer"
contains "stopped, and why" "is stopped by a signal" "$answer"
check
[ "$took" -lt 20000 ] || # else it never answers
    fault "the first error took $took ms"
first=$took
start=$(milliseconds)
for _ in 1 2 3 4 5 6 7 8 9 10; do
    answer=$(prof 'dump_dot_snapshot()' || true)
done
took=$(($(milliseconds) - start))
contains "still stopped" "not responding since" "$answer"
check
[ "$took" -lt $((5 * first)) ] || # each would wait as long
    fault "ten more errors took $took ms"
same "the server answers" 1 "$(sql 'SELECT 1')"
kill -CONT "$redis"
check
wait_for 60 prof 'has_enable()' || fault "no recovery after SIGCONT"
same "still enabled" true "$(prof 'has_enable()')"

# ---- the node's port is taken: the database runs, the socket serves ----
stop_node
port=$(free_port)
python3 -c "import socket, time
s = socket.socket()
s.bind(('127.0.0.1', $port))
s.listen()
open('$work/listens', 'w').close()
time.sleep(600)" &
pids="$! $pids"
wait_for 60 test -e "$work/listens"
password=$("$bin/heapwire-passwd" "$work/users.ini" admin)
node_options="--config $work/users.ini --listen 127.0.0.1:$port --http none"
start_redis
contains "port in use" "$port" "$(grep -ci 'in use' "$work/node/heapwired.log" \
    >/dev/null && grep "$port" "$work/node/heapwired.log")"
same "served by socket" false "$(prof 'has_enable()')"
stop_node
node_options=

# ---- a configuration that is wrong: nothing is started ----
printf '[node]\nid = many\n' >"$work/bad.ini"
chmod 600 "$work/bad.ini"
check
if "$bin/heapwire-run" --config "$work/bad.ini" --state-dir "$work/bad" -- \
    touch "$work/started" >"$work/out" 2>&1; then
    fault "a wrong configuration was taken"
fi
contains "wrong configuration" "bad.ini:2" "$(cat "$work/out")"
check
[ ! -e "$work/started" ] || fault "the command was started all the same"

# ---- a log on a full disk: records are lost, not unseen ----
mkdir "$work/small"
if mount -t tmpfs -o size=16k tmpfs "$work/small" 2>/dev/null; then
    at_end() {
        umount -l "$work/small"
    }
    node_options="--listen none --log $work/small/log"
    start_redis
    dd if=/dev/zero of="$work/small/filler" bs=1k count=64 2>/dev/null || true
    i=0
    while [ $i -lt 120 ]; do
        i=$((i + 1))
        echo "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().has_enable()';"
    done >"$work/many.sql"
    sql "source $work/many.sql" >/dev/null
    rm "$work/small/filler"
    same "after the disk was full" false "$(prof 'has_enable()')"
    contains "the log says so" "lines before this one were lost" \
        "$(cat "$work/small/log")"
    check
    grep -qvE '^[0-9-]+ [0-9:]+Z heapwired\[' "$work/small/log" &&
        ! tail -n 2 "$work/small/log" | head -n 1 | grep -q '^20.*are lost' &&
        fault "a record is torn: $(tail -n 3 "$work/small/log")"
    stop_node
else
    echo "skipped: a log on a full disk (nothing can be mounted here)"
fi

# ---- a symboliser that dies: addresses, and the legend says why ----
lame_node 'kill -9 $$'
dot=$(prof 'dump_dot_snapshot()' || true)
contains "addresses" "redis-check-rdb+0x" "$dot"
contains "why" "the symboliser was killed by signal 9" \
    "$(echo "$dot" | grep '^Legend')"
stop_node

# ---- opt.prof off, and no jemalloc at all ----
MALLOC_CONF=prof:false start_redis
same "off is false" false "$(prof 'has_enable()')"
contains "enable with opt.prof off" "prof:true,prof_active:false" \
    "$(prof 'enable_prof()' || true)"
contains "dump with opt.prof off" "MALLOC_CONF" \
    "$(prof 'dump_dot_snapshot()' || true)"
stop_node

node_options="--listen none --profiling-source jemalloc --jemalloc no"
start_node sleep 600
no_jemalloc() {
    contains "no jemalloc: $1" "does not allocate through jemalloc" \
        "$(prof "$1" || true)"
}
looked() {
    case $(prof 'has_enable()') in *"does not allocate"*) ;; *) false ;; esac
}
wait_for 60 looked
for method in 'has_enable()' 'enable_prof()' 'disable_prof()' 'snapshot()' \
    'dump_dot_snapshot()'; do
    no_jemalloc "$method"
done
stop_node
node_options=

# ---- killed and restarted by its wrapper: sessions live on ----
redis_port=$(free_port)
cat >"$work/wrapper" <<EOF
#!/bin/sh
while [ ! -e '$work/enough' ]; do
    redis-server --port $redis_port --bind 127.0.0.1 --save '' --dir '$work'
    # As such wrappers do, a little longer: until its end was told.
    until [ -e '$work/told' ]; do sleep 0.1; done
done
EOF
chmod +x "$work/wrapper"
node_options="--listen none --exe /usr/bin/redis-server"
start_node "$work/wrapper"
wait_for 60 redis-cli -p "$redis_port" ping
wait_for 60 prof 'has_enable()'
$python - "$work/node/mysql.sock" "$(redis_pid)" "$work/told" >"$work/session" \
    <<'EOF' || fault "the session"
import os
import signal
import sys

import pymysql
from node_under_test import wait_for

db = pymysql.connect(unix_socket=sys.argv[1], user="root")
cursor = db.cursor()


def prof(call):
    try:
        cursor.execute("ADMIN EXECUTE ON 10001 "
                       f"'System.print(HeapProf.getInstance().{call})'")
        return cursor.fetchall()[0][0]
    except pymysql.Error as error:
        return str(error)


assert prof("has_enable()") == "false"
os.kill(int(sys.argv[2]), signal.SIGKILL)
for said in ("ended at 20", "false"):
    wait_for(lambda: said in prof("has_enable()"))
    print(said)
    open(sys.argv[3], "w").close()
EOF
contains "ended, and when" "ended at 20" "$(head -n 1 "$work/session")"
same "the next incarnation serves" false "$(tail -n 1 "$work/session")"
touch "$work/enough"

# ---- garbage on the port ----
$python - "$work/node/mysql.sock" <<'EOF' || fault "garbage"
import os
import socket
import sys

for size in (1, 4, 5, 100, 5000, 100000):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(15)
    s.connect(sys.argv[1])
    greeting = s.recv(4096)
    assert greeting[4] == 10
    try:
        s.sendall(b"\xff" * 3 + os.urandom(size))
        while s.recv(4096):
            pass
    except (ConnectionResetError, BrokenPipeError):
        pass
    s.close()
EOF
same "after garbage" 1 "$(sql 'SELECT 1')"

# ---- a wrapper that a signal ends takes its database with it ----
redis=$(redis_pid)
stop_node
check
! kill -0 "$redis" 2>/dev/null || fault "the wrapper's redis lives on"

finish_test
