#!/bin/sh
# companion.sh - the ways in which heapwired can go away, all of them at once:
# it is back, the database never noticed, and profiling is guarded again.
. tests/integration/lib/lib.inc

# Each node is a redis under a heapwire-run of its own: $work/WAY.
node_sql() { # WAY STATEMENT
    mariadb --no-defaults --skip-ssl -S "$work/$1/mysql.sock" -u root -N -B \
        --raw -e "$2" 2>&1
}
heapwired_of() {
    cat "$work/$1/heapwired.lock"
}
redis_of() {
    redis-cli -s "$work/$1/redis" info server | tr -d '\r' |
        sed -n 's/^process_id://p'
}
has_redis() {
    [ -n "$(redis_of "$1")" ]
}
score_of() {
    cat "/proc/$1/oom_score_adj"
}
said() { # WAY TEXT: by heapwire-run or heapwired, on stderr
    grep -q -- "$2" "$work/$1.err"
}
serves() {
    [ "$(node_sql "$1" 'SELECT active FROM heapwire.profiler')" = "${2:-1}" ]
}
begin() { # WAY
    mkdir -m 700 "$work/$1"
    port=$(free_port)
    printf '[node]\nlisten = 127.0.0.1:%s\nhttp = none\nheartbeat = 3\n' "$port" \
        >"$work/$1.ini"
    cat >>"$work/$1.ini" <<END
[profiler]
guard_timeout = ${guard_timeout:-60}
END
    chmod 600 "$work/$1.ini"
    echo hush | "$bin/heapwire-passwd" "$work/$1.ini" ann --stdin
    "$bin/heapwire-run" --config "$work/$1.ini" --state-dir "$work/$1" -- \
        redis-server --port 0 --unixsocket "$work/$1/redis" --save '' \
        --dir "$work/$1" >/dev/null 2>"$work/$1.err" &
    echo $! >"$work/$1.run"
    echo "$port" >"$work/$1.port"
    pids="$! $pids"
}
ready() { # WAY: what there is before
    wait_for 60 has_redis "$1"
    wait_for 60 serves "$1" 0
    node_sql "$1" "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().enable_prof()'" \
        >/dev/null
    wait_for 60 serves "$1"
    heapwired_of "$1" >"$work/$1.first"
    redis_of "$1" >"$work/$1.redis"
}
back() { # WAY: another heapwired serves, the same database is profiled
    wait_for 180 another "$1" || { # by then it may be tried every 60 s
        fault "$1: heapwired is not back: $(cat "$work/$1.err")"
        return
    }
    check
    wait_for 60 serves "$1" || fault "$1: $(node_sql "$1" \
        'SELECT * FROM heapwire.profiler')"
    same "$1: the database" "$(cat "$work/$1.redis")" "$(redis_of "$1")"
    same "$1: the guard has its budget" 1 \
        "$(node_sql "$1" 'SELECT budget > 0 FROM heapwire.profiler')"
    same "$1: the kernel ends heapwired first" "$(expected_score)" \
        "$(score_of "$(heapwired_of "$1")")"
    same "$1: not heapwire-run, nor the database" "$own_score $own_score" \
        "$(score_of "$(cat "$work/$1.run")") $(score_of "$(redis_of "$1")")"
}
another() {
    [ "$(heapwired_of "$1")" != "$(cat "$work/$1.first")" ] && serves "$1"
}
expected_score() {
    [ "$own_score" -lt 0 ] && echo $((own_score + 990)) && return
    [ "$own_score" -gt 990 ] && echo "$own_score" || echo 990
}
own_score=$(score_of self)

signals="KILL SEGV ABRT TERM USR1 ALRM STOP"
ways="$signals socket configuration port"
for way in $ways; do begin "$way"; done
guard_timeout=5
begin away
for way in $ways away; do ready "$way"; done

# All of them go.
for way in $signals; do
    kill -s "$way" "$(cat "$work/$way.first")"
done
# Exit status 71: something else has the socket's place.
rm "$work/socket/mysql.sock"
echo "not a socket" >"$work/socket/mysql.sock"
kill "$(cat "$work/socket.first")"
# Exit status 78: the configuration is wrong for a while.
cp "$work/configuration.ini" "$work/configuration.good"
echo "oops" >>"$work/configuration.ini"
kill "$(cat "$work/configuration.first")"
# Another process has the port for a while, before the next heapwired comes.
kill -STOP "$(cat "$work/port.run")"
kill -KILL "$(cat "$work/port.first")"
python3 -c 'import socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
while True:
    try:
        s.bind(("127.0.0.1", int(sys.argv[1])))
        s.listen()
        break
    except OSError: # the one that was killed has it still
        time.sleep(0.01)
print("has it", flush=True)
time.sleep(600)' "$(cat "$work/port.port")" >"$work/holder" &
holder=$!
pids="$holder $pids"
wait_for 60 grep -q "has it" "$work/holder"
kill -CONT "$(cat "$work/port.run")"

# And nothing starts heapwired again.
kill -STOP "$(cat "$work/away.run")"
kill -KILL "$(heapwired_of away)"
went=$(milliseconds)

# All but the last are back.
back port
kill "$holder" # which it notices after up to twice the time that took
for way in $signals; do back "$way"; done
check
said STOP "heapwired gave no sign of life for 3 s and was killed; it is" ||
    fault "STOP: $(cat "$work/STOP.err")"
check
said USR1 "heapwired was killed by signal 10; it is started again in 1 s" ||
    fault "USR1: $(cat "$work/USR1.err")"
check
said TERM "heapwired ended with status 0; it is started again in 1 s" ||
    fault "TERM: $(cat "$work/TERM.err")"
check
wait_for 60 said socket "status 71; it is started again in 2 s" ||
    fault "socket: $(cat "$work/socket.err")"
mv "$work/socket/mysql.sock" "$work/socket/was"
back socket
check
wait_for 60 said configuration "status 78; it is started again in 2 s" ||
    fault "configuration: $(cat "$work/configuration.err")"
check
said configuration "neither '\[section\]' nor 'key = value'" ||
    fault "not why: $(cat "$work/configuration.err")"
mv "$work/configuration.good" "$work/configuration.ini"
back configuration
listens() {
    mariadb --no-defaults --skip-ssl -h 127.0.0.1 -P "$(cat "$work/port.port")" \
        -u ann -phush -e 'SELECT 1'
}
check
wait_for 60 listens || fault "port: not on its port again"

# The agent has switched profiling off by itself, and the next heapwired says so.
sleep_until $((went + 6500)) # past guard_timeout; to look would be to guard it
kill -CONT "$(cat "$work/away.run")"
check
wait_for 60 serves away 0 || fault "away: $(cat "$work/away.err")"
same "away: when and why" \
    "1	heapwired was away for longer than guard_timeout	2" \
    "$(node_sql away "SELECT timestampdiff(second, guarded, now()) < 600,
        guard_reason, changes FROM heapwire.profiler")"
contains "away: its state" "switched off by the database's agent: " \
    "$(node_sql away "ADMIN EXECUTE ON 10001 \
        'System.print(HeapProf.getInstance().state())'")"
check
wait_for 60 grep -q "profiling was switched off in the database (pid \
$(cat "$work/away.redis"))" "$work/away/heapwired.log" ||
    fault "away: the log: $(cat "$work/away/heapwired.log")"
node_sql away "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().enable_prof()'"
same "away: on again, it is forgotten" "1	NULL	" \
    "$(node_sql away "SELECT active, guarded, guard_reason
        FROM heapwire.profiler")"

# A stop that is short, and one under a debugger, are no reason.
kept=$(heapwired_of KILL)
kill -STOP "$kept"
sleep 1.5 # less than the heartbeat's 3 s
kill -CONT "$kept"
same "a short stop" "$kept" "$(heapwired_of KILL)"
wait_for 60 serves KILL

# So is one of heapwire-run, which finds what was said meanwhile.
run=$(cat "$work/ABRT.run")
kept=$(heapwired_of ABRT)
kill -STOP "$run" "$kept"
sleep 5 # more than those
kill -CONT "$run" "$kept"
sleep 1.5 # in which it would be killed
same "both slept" "$kept" "$(heapwired_of ABRT)"
check
wait_for 60 serves ABRT || fault "ABRT does not serve"

# The database of a second heapwire-run where one serves runs without it, and
# leaves no trace there; also while heapwired has ended for a moment.
way=ABRT
trace() {
    ls -A "$work/$way"
    cat "$work/$way/deaths"
}
before=$(trace)
for gone in '' killed; do
    server=$(heapwired_of $way)
    [ -z "$gone" ] || kill -KILL "$server"
    status=0
    "$bin/heapwire-run" --config "$work/$way.ini" --state-dir "$work/$way" -- \
        touch "$work/begun" 2>"$work/second.err" || status=$?
    same "a second one $gone" "0 heapwire-run: $work/$way is served by another \
heapwire-run; one node more needs an id \
(--node-id) or a state directory of its own (--state-dir); the database runs \
without heapwire" \
        "$status $(sed "s/ (its heapwired has pid [0-9]*)//" "$work/second.err")"
    check
    [ -n "$gone" ] || grep -q "has pid $server)" "$work/second.err" ||
        fault "it names another heapwired than $server"
done
same "its trace" "$before" "$(trace)"
check
[ -e "$work/begun" ] || fault "its database was not started"
check
wait_for 60 serves $way || fault "$way does not serve any more"

# heapwire-run itself is killed: heapwired serves on, then gives way at once,
# and the next one serves the next database.
way=SEGV
orphan=$(heapwired_of $way)
kill -KILL "$(cat "$work/$way.run")"
wait_for 60 grep -q 'heapwire-run was killed: serves until' \
    "$work/$way/heapwired.log"
serves $way || fault "the orphan does not serve"
kill -KILL "$(cat "$work/$way.redis")"
began=$(milliseconds)
"$bin/heapwire-run" --config "$work/$way.ini" --state-dir "$work/$way" -- \
    redis-server --port 0 --unixsocket "$work/$way/redis" --save '' \
    --dir "$work/$way" >/dev/null 2>"$work/$way.err" &
pids="$! $pids"
gone() {
    ! kill -0 "$1" 2>/dev/null
}
wait_for 60 gone "$orphan"
wait_for 60 has_redis $way
serves_that() {
    [ "$(node_sql $way 'SELECT count(*) FROM heapwire.nodes WHERE alive')" = 1 ] &&
        serves $way 0
}
check
wait_for 60 serves_that || fault "no takeover: $(cat "$work/$way.err")"
check
[ $(($(milliseconds) - began)) -lt 60000 ] || # linger is 900 s
    fault "the takeover took $(($(milliseconds) - began)) ms"

# A start that fails beside a database that lives on leaves it its heapwired; one
# that does not fail gets its own once the first has ended.
way=ALRM
orphan=$(heapwired_of $way)
elder=$(redis_of $way)
kill -KILL "$(cat "$work/$way.run")"
wait_for 60 grep -q 'heapwire-run was killed: serves until' \
    "$work/$way/heapwired.log"
status=0
"$bin/heapwire-run" --config "$work/$way.ini" --state-dir "$work/$way" -- \
    sh -c 'sleep 1; exit 9' 2>"$work/$way.err" || status=$?
same "a failed start" "9 $orphan 0" \
    "$status $(heapwired_of $way) $(gone "$orphan" || echo 0)"
check
said $way "a database (pid $elder) whose heapwire-run was killed still runs" ||
    fault "not said: $(cat "$work/$way.err")"
serves $way || fault "the orphan does not serve"
"$bin/heapwire-run" --config "$work/$way.ini" --state-dir "$work/$way" -- \
    redis-server --port 0 --unixsocket "$work/$way/redis2" --save '' \
    --dir "$work/$way" >/dev/null 2>"$work/$way.err" &
pids="$! $pids"
wait_for 60 redis-cli -s "$work/$way/redis2" ping
serves $way || fault "the orphan does not serve beside another database"
same "both live" "$orphan" "$(heapwired_of $way)"
kill -KILL "$elder"
wait_for 60 gone "$orphan"
younger=$(redis-cli -s "$work/$way/redis2" info server | tr -d '\r' |
    sed -n 's/^process_id://p')
serves_younger() {
    node_sql $way "ADMIN EXECUTE ON 10001 \
        'System.print(HeapProf.getInstance().state())'" |
        grep -q "^database: .*(pid $younger)"
}
check
wait_for 60 serves_younger || fault "not served: $(cat "$work/$way.err") $(
    node_sql $way "SELECT * FROM heapwire.profiler")"
same "its own heapwired" "$(pgrep -P "$(cut -d' ' -f1 <<END
$pids
END
)" -x heapwired)" "$(heapwired_of $way)"

# Both at once, as the kernel does with a cgroup: nothing is locked.
way=USR1
kill -KILL "$(cat "$work/$way.run")" "$(heapwired_of $way)" \
    "$(cat "$work/$way.redis")"
"$bin/heapwire-run" --config "$work/$way.ini" --state-dir "$work/$way" -- \
    redis-server --port 0 --unixsocket "$work/$way/redis" --save '' \
    --dir "$work/$way" >/dev/null 2>"$work/$way.err" &
pids="$! $pids"
check
wait_for 60 serves $way 0 || fault "both killed: $(cat "$work/$way.err")"

# An orphan whose database has ended, too, ends by itself, after its linger.
way=TERM
sed -i 's/^heartbeat.*/&\nlinger = 0/' "$work/$way.ini"
heapwired_of $way >"$work/$way.first"
kill "$(heapwired_of $way)"
back $way
orphan=$(heapwired_of $way)
kill -KILL "$(cat "$work/$way.run")"
wait_for 60 grep -q 'heapwire-run was killed: serves until' \
    "$work/$way/heapwired.log"
check
serves $way || fault "the orphan does not serve"
kill -KILL "$(cat "$work/$way.redis")"
check
wait_for 60 gone "$orphan" || fault "the orphan stays"
finish_test
