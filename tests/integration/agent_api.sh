#!/bin/sh
# heapwire.h: start and stop by the program itself.  ROUNDS=10000 for long.
. "$(dirname "$0")/agent.inc"
rounds=${ROUNDS:-500}
host=$BUILD/bin/api_host
export LD_PRELOAD="$JEMALLOC"
MALLOC_CONF=prof:true,prof_active:false
export MALLOC_CONF

mkfifo "$WORK/stdin"
HEAPWIRE_STATE_DIR=$STATE "$host" serve <"$WORK/stdin" >"$WORK/stdout" \
    2>"$WORK/stderr" &
pid=$!
started $pid
unset LD_PRELOAD
exec 9>"$WORK/stdin"
asked=0
answers() { [ "$(wc -l <"$WORK/stdout")" -ge "$asked" ]; }
# ask WANTED LINE
ask() {
    echo "$2" >&9
    asked=$((asked + 1))
    eventually 10 answers || fail "no answer to '$2'"
    expect "$2" "$1" "$(tail -n 1 "$WORK/stdout")"
}
settings="HEAPWIRE_STATE_DIR=$STATE"

# What cannot be started, and that nothing is left of it.
ask 0 stop
mkdir -m 700 "$WORK/closed"
mkdir -m 777 "$WORK/open"
chmod 777 "$WORK/open"
ask EINVAL "start "
ask EINVAL "start HEAPWIRE_STATE_DIR"
ask EINVAL "start MALLOC_CONF=x;$settings"
ask EINVAL "start HEAPWIRE_STATE_DIR=relative"
ask ENOENT "start HEAPWIRE_STATE_DIR=$WORK/none"
ask ENOTDIR "start HEAPWIRE_STATE_DIR=$WORK/stdout"
ask EPERM "start HEAPWIRE_STATE_DIR=$WORK/open"
ask E2BIG "start $settings;HEAPWIRE_JEMALLOC=$(head -c 17000 /dev/zero | tr '\0' x)"
expect "what failed starts leave" "0" "$(agent_threads $pid)"
before=$(descriptors $pid)

# It serves, with profiling; its descriptors are its own.
ask 0 "start $settings;;HEAPWIRE_PROCESS=parent;"
ask EALREADY "start -"
expect "who serves" "$pid 0" "$(agent_field pid) $(agent_field allocator)"
expect "descriptors" "$before 1" "$(descriptors $pid) $(agent_threads $pid)"
agent enable >/dev/null || fail "enable"
agent dump "$WORK/heap" "$WORK/maps" >/dev/null || fail "dump"
ask EBUSY fork # a child has none, and may not have this one's place

# Stopped: what was switched on is off, what was opened is gone.
ask 0 stop
[ ! -e "$STATE/agent.sock" ] || fail "the socket is left"
expect "stopped" "$before 0" "$(descriptors $pid) $(agent_threads $pid)"
ask 0 stop
ask 0 fork
ask 0 "start -"
expect "profiling after a stop" 0 "$(agent_field active)"
expect "words" "" "$(cat "$WORK/stderr")"
exec 9>&-
wait $pid || fail "the host ended badly"

# A table that it must share: the same.
(HEAPWIRE_STATE_DIR=$STATE LD_PRELOAD=$JEMALLOC "$BUILD/bin/forker" sealed \
    "$host" rounds 20) >"$WORK/rounds" || fail "shared: $(cat "$WORK/rounds")"
expect "shared: left" "0 0" "$(field descriptors <"$WORK/rounds") \
$(field threads <"$WORK/rounds")"

(HEAPWIRE_STATE_DIR=$STATE LD_PRELOAD=$JEMALLOC "$host" rounds "$rounds") \
    >"$WORK/rounds" || fail "rounds: $(cat "$WORK/rounds")"
expect "left" "0 0" "$(field descriptors <"$WORK/rounds") \
$(field threads <"$WORK/rounds")"
[ "$(field grown_kib <"$WORK/rounds")" -lt 1024 ] ||
    fail "it grows: $(xargs <"$WORK/rounds")"
echo "$rounds rounds: $(xargs <"$WORK/rounds")"

(HEAPWIRE_STATE_DIR=$STATE LD_PRELOAD=$JEMALLOC "$host" race 1000) \
    >"$WORK/race" || fail "race: $(cat "$WORK/race")"
echo "race: $(xargs <"$WORK/race")"
exit 0
