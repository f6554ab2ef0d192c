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
answers() { [ "$(cat "$WORK/stdout" 2>/dev/null | wc -l)" -ge "$asked" ]; }
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

# What a program that links it gets: the header, the archive, pkg-config.
# cmake --install would write its manifest into the tree.
cmake -DCMAKE_INSTALL_PREFIX="$WORK/installed" -DCMAKE_INSTALL_COMPONENT=devel \
    -P "$BUILD/cmake_install.cmake" >/dev/null || fail "install"
export PKG_CONFIG_PATH="$WORK/installed/lib/pkgconfig"
expect "global names" "heapwire_start heapwire_stop heapwire_use" \
    "$(nm -g --defined-only "$WORK/installed/lib/libheapwire.a" |
        awk '$2 == "T" { print $3 } $2 ~ /[^TtR]/ && NF == 3 { print "data:" $3 }' |
        sort | xargs)"
echo '#include <heapwire.h>
int main(void) { return heapwire_stop(); }' >"$WORK/plain.c"
cc -std=c99 -Wall -Wextra -Werror -pedantic "$WORK/plain.c" -o "$WORK/plain" \
    $(pkg-config --cflags --libs heapwire) && "$WORK/plain" || fail "C99"

# server NAME LIBRARIES...: builds api_server.cc, and starts it; $pid
server() {
    name=$WORK/$1
    shift
    g++ -O1 -g -DMALLCTL=mallctl -DPREFIX='""' $(pkg-config --cflags heapwire) \
        tests/integration/api_server.cc -o "$name" "$@" \
        $(pkg-config --libs heapwire) 2>"$WORK/link" || fail "$(cat "$WORK/link")"
    HEAPWIRE_STATE_DIR=$STATE MALLOC_CONF=$CONF "$name" <"$WORK/stdin" \
        >"$WORK/stdout" 2>"$WORK/stderr" &
    pid=$!
    started $pid
    exec 9>"$WORK/stdin"
}
held() {
    echo "hold $1" >&9
    eventually 10 file_has "$WORK/stdout" . || fail "no answer"
    cat "$WORK/stdout"
}
ends() {
    exec 9>&-
    wait $pid || fail "$1 ended with $?: $(cat "$WORK/stderr")"
    expect "$1: words" "" "$(cat "$WORK/stderr")"
    [ ! -e "$STATE/agent.sock" ] || fail "$1: its socket is left"
}

# near WHAT TRUTH GOT PERCENT
near() {
    awk -v t="$2" -v g="$3" -v p="$4" \
        'BEGIN { d = (g - t) * 100 / t; exit !(d < p && d > -p) }' ||
        fail "$1: $3, but $2 are held"
}

# -static: found, because it was given; statistics, and no profiles.
CONF=
server static -static /usr/lib/*/libjemalloc.a
file "$WORK/static" | grep -q 'statically linked' || fail "not static"
expect "static: found" "$pid 3 mallctl MALLOC_CONF" "$(agent_field pid) \
$(agent_field allocator) $(agent_field mallctl) $(agent_field conf)"
bytes=$(held 64)
agent stats "$WORK/stats" >/dev/null || fail "static: statistics"
near "static: allocated" "$bytes" \
    "$(awk '$1 == "stats.allocated" { print $2 }' "$WORK/stats")" 30
agent enable >"$WORK/refused" && fail "static: enabled"
grep -q 'prof:true' "$WORK/refused" || fail "$(cat "$WORK/refused")"
ends static

# Its own functions in front of the profile, the bytes as it knows them.
CONF=prof:true,prof_active:false
server dynamic -ljemalloc
expect "dynamic: found" "$pid 0" "$(agent_field pid) $(agent_field allocator)"
agent enable >/dev/null || fail "dynamic: enable"
bytes=$(held 256)
agent dump "$WORK/heap" "$WORK/maps" >/dev/null || fail "dynamic: dump"
near "dynamic: profile" "$bytes" "$(awk '$1 == "t*:" && !n++ {
    print $3 / (1 - exp(-($3 / $2) / 524288)) }' "$WORK/heap")" 20
ends dynamic
exit 0
