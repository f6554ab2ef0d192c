#!/bin/sh
# Hosts that fork, close everything, forbid unshare, delete their binary.
# FORKS=20000 for the long form.
. tests/integration/lib/agent.inc
forks=${FORKS:-2000}
forker=$WORK/forker
cp "$BUILD/bin/forker" "$forker"
PRELOAD=$JEMALLOC

# Forks beside dumps, with profiling on and many samples.
CONF=prof:true,prof_active:false,lg_prof_sample:12
mkfifo "$WORK/stdin"
with_agent "$forker" "$forker" fork "$forks" <"$WORK/stdin" >"$WORK/forks" 2>&1 &
host=$!
started $host
exec 9>"$WORK/stdin"
agent enable >/dev/null || fail "enable"
exec 9>&- # now it forks
dumps=0
slowest=0
while alive $host; do
    agent dump "$WORK/heap" "$WORK/maps" >"$WORK/dump" 2>/dev/null || continue
    us=$(field microseconds <"$WORK/dump")
    [ "$us" -gt "$slowest" ] && slowest=$us
    dumps=$((dumps + 1))
done
wait $host || fail "forks: $(cat "$WORK/forks")" # a child samples: failed
[ "$dumps" -gt 5 ] || fail "only $dumps dumps beside $forks forks"
grep -q '^@ ' "$WORK/heap" || fail "the last dump is empty"
echo "$(xargs <"$WORK/forks") dumps=$dumps slowest_dump_us=$slowest"

# A child of vfork() lives in the host's memory: it gets no thread.
with_agent "$forker" "$forker" vfork 100 >"$WORK/vforks" 2>&1 &
wait $! || fail "vfork: $(cat "$WORK/vforks")"
[ "$(field grown <"$WORK/vforks")" -lt 8192 ] ||
    fail "threads were left behind by vfork: $(cat "$WORK/vforks")"

# A shared descriptor table: the same, the children close what is ours, but for
# one that was opened the very moment before and not yet recorded.
forks=$((forks / 10))
CONF=prof:true,prof_active:true
(with_agent "$forker" "$BUILD/bin/forker" sealed "$forker" fork "$forks") \
    <"$WORK/stdin" >"$WORK/forks" 2>"$WORK/stderr" &
host=$!
started $host
exec 9>"$WORK/stdin"
agent dump "$WORK/heap" "$WORK/maps" >/dev/null || fail "dump, shared table"
exec 9>&-
while alive $host; do
    agent dump "$WORK/heap" "$WORK/maps" >/dev/null 2>&1
done
wait $host
leaked=$(field leaked <"$WORK/forks")
expect "shared table: $(xargs <"$WORK/forks")" "$forks 0 $leaked" \
    "$(field forks <"$WORK/forks") $(field hung <"$WORK/forks") \
$(field failed <"$WORK/forks")"
# An agent that waits for a processor just then leaks to several of them; where
# they close nothing, all have its socket.
[ $((leaked * 4)) -le "$forks" ] || fail "$leaked of $forks leaked"
expect "lines on stderr" 1 "$(grep -c '^heapwire: ' "$WORK/stderr")"

# closes_all COMMAND...: a host that closes 3 to 1023 is served all the same
closes_all() {
    : >"$WORK/stdout" # what the one before said
    (with_agent "$forker" "$@" "$forker" closeall) \
        <"$WORK/stdin" >"$WORK/stdout" 2>"$WORK/stderr" &
    host=$!
    started $host
    exec 9>"$WORK/stdin"
    wait_for 60 file_has "$WORK/stdout" descriptors= || fail "no host"
}
# ".", "..", 0, 1, 2 and the directory itself
none_of_ours() {
    expect "descriptors in /proc/self/fd$1" 6 \
        "$(field descriptors <"$WORK/stdout")"
}
# As long as the thread starts, the host waits: it meets none of its descriptors.
closes_all strace -f -qq -o /dev/null -e trace=read \
    -e inject=read:delay_enter=300000:when=1
none_of_ours ", a slow start"
exec 9>&-
wait $host || fail "closeall, a slow start, ended badly"
closes_all env
agent dump "$WORK/heap" "$WORK/maps" >/dev/null || fail "dump after close-all"
none_of_ours ""

# The binary is deleted, another takes its name: the old one is handed out.
cp "$forker" "$WORK/original"
rm "$forker"
cp /bin/true "$forker"
line=$(grep -m 1 " r-xp .*/forker" "$WORK/maps")
agent object $(echo "$line" | awk '{print $4, $5}') "$WORK/object" >/dev/null ||
    fail "object of the deleted binary"
cmp -s "$WORK/object" "$WORK/original" || fail "another binary was handed out"
cp "$WORK/original" "$forker"
exec 9>&-
wait $host || fail "closeall ended badly"

# With a shared table the agent's are closed too: it ends, the host does not.
closes_all "$BUILD/bin/forker" sealed
alive $host || fail "the host died"
exec 9>&-
wait $host || fail "closeall, shared table, ended badly"
exit 0
