#!/bin/sh
# heapwire.h: start and stop by the program itself.  ROUNDS=10000 for long.
. tests/integration/lib/agent.inc
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
    wait_for 60 answers || fail "no answer to '$2'"
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
wait_for 60 no_agent $pid || fail "failed starts leave a thread"
before=$(descriptors $pid)

# It serves, with profiling; its descriptors are its own.
ask 0 "start $settings;;HEAPWIRE_PROCESS=parent;"
ask EALREADY "start -"
expect "the agent that serves" "$pid 0" "$(agent_field pid) $(agent_field allocator)"
expect "descriptors" "$before 1" "$(descriptors $pid) $(agent_threads $pid)"
agent enable >/dev/null || fail "enable"
agent dump "$WORK/heap" "$WORK/maps" >/dev/null || fail "dump"
ask EBUSY fork # a child has none, and may not have this one's place

# Stopped: what was switched on is off, what was opened is gone.
ask 0 stop
[ ! -e "$STATE/agent.sock" ] || fail "the socket is left"
wait_for 60 no_agent $pid || fail "the thread is left"
expect "stopped" "$before" "$(descriptors $pid)"
ask 0 stop
ask 0 fork
ask 0 "start -"
expect "profiling after a stop" 0 "$(agent_field active)"
ask 0 stop

# heapwired, where nothing else starts it: not as a child of the host.
beside=$WORK/beside
mkdir -m 700 "$beside"
settings="HEAPWIRE_STATE_DIR=$beside;HEAPWIRE_OPTION=--listen=none"
settings="$settings;HEAPWIRE_HEAPWIRED="
ask EINVAL "start ${settings}heapwired"
ask ENOENT "start ${settings}$WORK/heapwired"
ask EACCES "start ${settings}$WORK/stdout"
options=$(seq 40 | sed 's/.*/HEAPWIRE_OPTION=--help;/' | tr -d '\n')
ask E2BIG "start $options$settings$BUILD/bin/heapwired"
settings="HEAPWIRE_OPTION=--linger=1;$settings$BUILD/bin/heapwired"
says() {
    mariadb --no-defaults --skip-ssl -S "$beside/mysql.sock" -u root -N -B --raw \
        -e "ADMIN EXECUTE ON 10001 'System.print(HeapProf.getInstance().$1)'" 2>&1
}
knows() { [ "$(says 'has_enable()')" = false ]; }
heapwired() { cat "$beside/heapwired.lock"; }
ask 0 "start HEAPWIRE_OPTION=--node-id=nonsense;$settings"
wait_for 60 file_has "$beside/start.log" "--node-id" ||
    fail "not said: $(cat "$beside/start.log")"
ask 0 stop
ask 0 "start $settings"
wait_for 60 knows || fail "no heapwired: $(cat "$beside"/*.log)"
started "$(heapwired)"
expect "whose child, of which session" "1 $(heapwired)" \
    "$(ps -o ppid=,sid= "$(heapwired)" | xargs)"
expect "its environment" "HEAPWIRE_STARTED_BY_AGENT PATH" \
    "$(tr '\0' '\n' <"/proc/$(heapwired)/environ" | cut -d= -f1 | sort | xargs)"
expect "signals that it blocks or ignores" "0000000000000000" \
    "$(sed -n 's/^SigBlk:.//p' "/proc/$(heapwired)/status")"
ask ECHILD children
says 'enable_prof()' >/dev/null
[ "$(says 'has_enable()')" = true ] || fail "it cannot be switched on"
killed=$(heapwired)
kill -KILL "$killed"
again() { [ "$(heapwired)" != "$killed" ] && [ "$(says 'has_enable()')" = true ]; }
wait_for 60 again || fail "it was not started again"
ask ECHILD children
expect "descriptors" "$before" "$(descriptors $pid)"

# One whose agent ended before it looked finds none; see the end of this file.
HEAPWIRE_STARTED_BY_AGENT=1 "$BUILD/bin/heapwired" --listen none \
    --state-dir "$WORK/lone" --node-id 20003 >"$WORK/lone.log" 2>&1 &
lone=$!
started $lone

# It ends with the agent, and is used again where it has not.
second=$(heapwired)
started "$second"
ask 0 stop
wait_for 60 gone "$second" || fail "heapwired is left"
ask 0 "start $settings"
wait_for 60 knows || fail "no heapwired any more"
lingers=$(heapwired)
started "$lingers"
expect "words" "" "$(cat "$WORK/stderr")"
kill -KILL $pid
exec 9>&-
wait $pid
expect "the host was killed, and heapwired" "" "$(gone "$lingers" && echo gone)"
ended_s=$(date +%s)

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
cmake -DCMAKE_INSTALL_PREFIX="$WORK/installed" -DCMAKE_INSTALL_COMPONENT=libheapwire \
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

# Linked to a plugin that its program unloads: the code of our thread stays.
echo '#include <heapwire.h>
int begin(void) { return heapwire_start(0); }
int end(void) { return heapwire_stop(); }' >"$WORK/plugin.c"
cc -shared -fPIC "$WORK/plugin.c" -o "$WORK/plugin.so" \
    $(pkg-config --cflags --libs heapwire) || fail "a plugin"
HEAPWIRE_STATE_DIR=$STATE /usr/bin/python3 -c 'import ctypes, sys, _ctypes
def load():
    return ctypes.CDLL(sys.argv[1])
plugin = load()
print(plugin.begin())
_ctypes.dlclose(plugin._handle)
print("plugin.so" in open("/proc/self/maps").read(), load().end())
' "$WORK/plugin.so" >"$WORK/unloaded" || fail "an unloaded plugin: $?"
expect "an unloaded plugin" "0 True 0" "$(xargs <"$WORK/unloaded")"

# server NAME LIBRARIES...: builds api_server.cc, and starts it; $pid
server() {
    name=$WORK/$1
    shift
    g++ -O1 -g -DMALLCTL=mallctl -DPREFIX='""' $(pkg-config --cflags heapwire) \
        tests/integration/programs/api_server.cc -o "$name" "$@" \
        $(pkg-config --libs heapwire) 2>"$WORK/link" || fail "$(cat "$WORK/link")"
    : >"$WORK/stdout" # what the one before said
    HEAPWIRE_STATE_DIR=$STATE MALLOC_CONF=$CONF "$name" <"$WORK/stdin" \
        >"$WORK/stdout" 2>"$WORK/stderr" &
    pid=$!
    started $pid
    exec 9>"$WORK/stdin"
}
held() {
    echo "hold $1" >&9
    wait_for 60 file_has "$WORK/stdout" . || fail "no answer"
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
    print $3 / (1 - exp(-($3 / $2) / 524288)) }' "$WORK/heap")" 25
ends dynamic

# After "linger", or after ten seconds.
wait_for 60 gone "$lingers" || fail "heapwired stays for ever"
wait_for 60 gone "$lone" || fail "heapwired stays where no agent is"
wait "$lone" || fail "without an agent it ends with $?: $(cat "$WORK/lone.log")"
echo "heapwired ended within $(($(date +%s) - ended_s)) s"
exit 0
