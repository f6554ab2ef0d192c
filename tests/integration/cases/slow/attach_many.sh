#!/bin/sh
# attach_many.sh - 10,000 attaches and detaches of a program that notices
# everything, and 2,000 of Redis under a load that leaves it little sleep.
. tests/integration/lib/lib.inc

lib=$bin/../lib/libheapwire.so
rounds=${ROUNDS:-10000}
if [ ! -x "$bin/sleepers" ]; then
    echo "skipped: --attach is for x86-64"
    finish_test
    exit
fi
mkdir -m 700 "$work/state"

# gained WHAT KB: at most so much, whatever the rounds.
gained() {
    cat "$work/driver"
    kb=$(sed -n 's/^memory: \(.*\) kB more/\1/p' "$work/driver")
    check
    [ "${kb:-9999}" -lt "$2" ] || fault "$1 has gained $kb kB"
}

# A select may last longer by as long as its thread was kept; so it is not here.
"$bin/sleepers" epoll_event condition accept poll >"$work/sleepers.out" &
sleeper=$!
pids="$sleeper $pids"
wait_for 60 grep -q ready "$work/sleepers.out"
"$bin/attach_driver" "$sleeper" "$lib" "$work/state" "$rounds" >"$work/driver" ||
    fault "the sleepers: $(tail -n 20 "$work/driver")"
gained "the program that sleeps" 512
kill "$sleeper"
wait "$sleeper" || fault "it has noticed: $(tail -n 20 "$work/sleepers.out")"
tail -n 1 "$work/sleepers.out"

redis_port=$(free_port)
MALLOC_CONF=prof:true,prof_active:false redis-server --port "$redis_port" \
    --bind 127.0.0.1 --save '' --dir "$work" --maxclients 200 \
    >"$work/redis.log" 2>&1 &
redis=$!
pids="$redis $pids"
wait_for 60 redis-cli -p "$redis_port" ping
(while redis-benchmark -p "$redis_port" -n 100000 -r 5000 -d 200 -q -c 10 \
    -t set,get >/dev/null 2>&1; do :; done) &
load=$!
pids="$load $pids"

# pauses NAME: of a client that asks it all the time, in ms; until a signal.
cat >"$work/pauses.py" <<'END'
import signal, socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
ended, took = [], []
signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
while not ended:
    at = time.monotonic()
    s.sendall(b"PING\r\n")
    assert s.recv(100) == b"+PONG\r\n"
    took.append(time.monotonic() - at)
    time.sleep(0.0005)
took.sort()
print("of %d questions half took %.2f ms, 99 %% at most %.2f, 99.9 %% %.2f, "
      "one %.2f" % (len(took), *(1000 * took[int(p * (len(took) - 1))]
                                 for p in (0.5, 0.99, 0.999, 1))))
END
pauses() {
    "$python" "$work/pauses.py" "$redis_port" >"$work/$1" &
    asker=$!
    pids="$asker $pids"
}
answered() {
    kill "$asker"
    wait "$asker" || fault "Redis did not answer"
    echo "$1: $(cat "$work/$1")"
}
redis-cli -p "$redis_port" client no-evict on >/dev/null
pauses alone
sleep 10 # what it is like without us
answered alone
pauses attached
"$bin/attach_driver" "$redis" "$lib" "$work/state" "$((rounds / 5))" \
    >"$work/driver" ||
    fault "Redis: $(tail -n 20 "$work/driver")"
answered attached
kill "$load"
wait "$load" 2>/dev/null || true
gained Redis 4096 # its own memory comes and goes, too
check
[ "$(redis-cli -p "$redis_port" ping)" = PONG ] || fault "Redis is gone"
finish_test
