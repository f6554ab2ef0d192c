#!/bin/sh
# Hosts without jemalloc, with one that does not serve, that cannot profile,
# that has a prefix; and state directories that are of no use.
. "$(dirname "$0")/agent.inc"
forker=$WORK/forker
cp "$BUILD/bin/forker" "$forker"
mkfifo "$WORK/stdin"

host_up() {
    (with_agent "$forker" "$forker" closeall) <"$WORK/stdin" \
        >"$WORK/stdout" 2>"$WORK/stderr" &
    host=$!
    started $host
    exec 9>"$WORK/stdin"
    eventually 5 file_has "$WORK/stdout" descriptors= || fail "no host"
}

host_down() {
    exec 9>&-
    wait $host || fail "the host ended with status $?"
}

# refuses STATUS WHAT: hello and everything that needs profiles say so
refuses() {
    expect "$2: hello" "$1" "$(agent_field allocator)"
    for op in active enable disable "dump $WORK/heap $WORK/maps"; do
        agent $op >"$WORK/answer"
        expect "$2: $op" "1 $1" "$? $(field status <"$WORK/answer")"
        [ "$(field text <"$WORK/answer")" ] || fail "$2: $op says nothing"
    done
}

PRELOAD=
host_up
refuses 1 "no jemalloc"
expect "a statistic without jemalloc" 1 "$(agent stats "$WORK/stats" | field status)"
host_down

# libc's malloc comes first: jemalloc is there and serves nobody.
PRELOAD=libc.so.6:$JEMALLOC
host_up
refuses 1 "a jemalloc that does not serve"
host_down

PRELOAD=$JEMALLOC
CONF=
host_up
refuses 3 "opt.prof off"
agent stats "$WORK/stats" >/dev/null || fail "statistics without profiling"
grep -q "^stats.allocated [1-9]" "$WORK/stats" || fail "stats.allocated"
agent enable | grep -q "prof:true" || fail "enable does not say what to do"
host_down

# Active from the start: since the start.
CONF=prof:true,prof_active:true
host_up
expect "active from the start" "1 0" \
    "$(agent_field active) $(agent_field changes)"
[ "$(agent_field active_since)" -ge "$(agent_field started)" ] || fail "since"
host_down

# A prefixed build, made from Debian's; libc's malloc goes on serving malloc.
cp "$(dirname "$JEMALLOC")/libjemalloc_pic.a" "$WORK/je.a"
ar d "$WORK/je.a" jemalloc_cpp.pic.o
for name in malloc calloc realloc free posix_memalign aligned_alloc memalign \
    valloc pvalloc malloc_usable_size mallctl mallctlnametomib mallctlbymib; do
    echo "$name je_$name"
done >"$WORK/names"
objcopy --redefine-syms="$WORK/names" "$WORK/je.a" &&
    cc -shared -o "$WORK/je.so" -Wl,--whole-archive "$WORK/je.a" \
        -Wl,--no-whole-archive -lpthread -ldl -lm || fail "no prefixed build"
PRELOAD=$WORK/je.so
CONF=prof:true,prof_active:false
host_up
expect "prefixed" "0 je_mallctl JE_MALLOC_CONF 1" \
    "$(agent_field allocator) $(agent_field mallctl) $(agent_field conf) \
$(agent_field opt_prof)"
agent enable >/dev/null || fail "enable, prefixed"
agent dump "$WORK/heap" "$WORK/maps" >/dev/null || fail "dump, prefixed"
host_down

# Two that serve: the one that can profile.
PRELOAD=$WORK/je.so:$JEMALLOC
CONF=prof:true,prof_active:false
host_up
expect "both can profile: the prefixed" je_mallctl "$(agent_field mallctl)"
host_down

# told TEXT: one line that has it, the host runs, nobody serves
told() {
    host_up
    eventually 5 file_has "$WORK/stderr" "^heapwire: .*$1" ||
        fail "not told: $1: $(cat "$WORK/stderr")"
    expect "lines, $1" 1 "$(wc -l <"$WORK/stderr")"
    CONNECT_MS=0 agent hello >/dev/null
    expect "served, $1" 3 $?
    host_down
}
PRELOAD=$JEMALLOC
good=$STATE
STATE=$WORK/none
told "No such file"
mkdir "$WORK/open"
chmod 777 "$WORK/open"
STATE=$WORK/open
told "not private"
ln -s "$good" "$WORK/link"
STATE=$WORK/link
told "Not a directory"
STATE=$WORK/lockdir
mkdir -m 700 "$STATE"
mkdir "$STATE/agent.lock"
told "Is a directory"
if [ "$(id -u)" -eq 0 ]; then
    # Unwritable, for a host that is not root.
    STATE=$WORK/unwritable
    mkdir -m 700 "$STATE"
    chmod 755 "$WORK" "$STATE" "$forker"
    cp "$BUILD/lib/libheapwire.so" "$WORK/"
    HEAPWIRE_EXE=$forker HEAPWIRE_STATE_DIR=$STATE \
        LD_PRELOAD=$WORK/libheapwire.so setpriv --reuid=nobody --clear-groups \
        "$forker" closeall <"$WORK/stdin" >"$WORK/stdout" 2>"$WORK/stderr" &
    host=$!
    exec 9>"$WORK/stdin"
    eventually 5 file_has "$WORK/stderr" "Permission denied" || fail "not told"
    host_down
fi
exit 0
