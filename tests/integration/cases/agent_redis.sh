#!/bin/sh
# A real redis-server with the agent in it, without heapwired.
. tests/integration/lib/agent.inc
sock=$WORK/redis.sock
conf="--port 0 --unixsocket $sock --save --dir $WORK --enable-debug-command yes"
cli() { redis-cli -s "$sock" "$@"; }

only_listens() { [ "$(grep -c "$sock" /proc/net/unix)" = 1 ]; }
start_redis() { # start_redis plain|agent
    if [ "$1" = plain ]; then
        redis-server $conf >"$WORK/log" 2>&1 &
    else
        with_agent "$REDIS" redis-server $conf >"$WORK/log" 2>&1 &
    fi
    redis=$!
    started $redis
    wait_for 60 cli ping || fail "redis does not start"
    # What jemalloc starts has another name at first.
    wait_for 60 grep -qx jemalloc_bg_thd /proc/$redis/task/*/comm ||
        fail "no thread of jemalloc's"
    # The client's connection has been closed on its side, too.
    wait_for 60 only_listens || fail "connections stay"
}

stop_redis() {
    kill "$redis"
    wait_for 60 gone "$redis" || fail "redis does not end"
    wait "$redis" 2>/dev/null
}

start_redis plain
fds=$(descriptors $redis)
tasks=$(threads $redis)
stop_redis

start_redis agent
agent hello >"$WORK/hello" || fail "no hello: $(cat "$WORK/hello")"
expect "more descriptors" "$fds" "$(descriptors $redis)"
expect "more threads" $((tasks + 1)) "$(threads $redis)"
expect "threads named heapwire" 1 "$(agent_threads $redis)"
while read -r line; do
    key=${line%%=*}
    expect "hello: $key" "${line#*=}" "$(field "$key" <"$WORK/hello")"
done <<END
pid=$redis
uid=$(id -u)
start_ticks=$(sed 's/.*) //' /proc/$redis/stat | cut -d' ' -f20)
boot_id=$(cat /proc/sys/kernel/random/boot_id)
exe=$(command -v redis-server)
allocator=0
mallctl=mallctl
conf=MALLOC_CONF
secure=0
config_prof=1
opt_prof=1
active=0
lg_sample=19
changes=0
active_since=0
END
field version <"$WORK/hello" | grep -q '^5\.' || fail "jemalloc's version"
[ "$(field started <"$WORK/hello")" -gt 1700000000000 ] || fail "started"

# Switching is seen by the next hello, and changes nothing twice.
agent enable >/dev/null || fail "enable"
agent enable >/dev/null || fail "enable twice"
expect "active" 1 "$(agent active | field value)"
expect "changes" 1 "$(agent_field changes)"
since=$(agent_field active_since)
[ "$since" -gt 1700000000000 ] || fail "active since $since"
cli debug populate 100000 key 200 >/dev/null || fail "populate"
agent dump "$WORK/heap" "$WORK/maps" >"$WORK/dump" || fail "dump"
agent disable >/dev/null || fail "disable"
expect "active" "0 0 2" "$(agent_field active) $(agent_field active_since) \
$(agent_field changes)"

# Samples survive a pause, and so does their date; a reset forgets both.
agent enable >/dev/null || fail "enable again"
expect "since the first time" "1 $since" \
    "$(agent_field active) $(agent_field active_since)"
agent reset 255 >/dev/null || fail "reset"
again=$(agent_field active_since)
[ "$again" -gt "$since" ] || fail "since $again after a reset, $since before"
agent disable >/dev/null || fail "disable again"
agent reset 255 >/dev/null || fail "reset while it is off"
expect "since" 0 "$(agent_field active_since)"
agent enable >/dev/null || fail "enable after it"
[ "$(agent_field active_since)" -gt "$again" ] || fail "since, of nothing kept"
agent disable >/dev/null || fail "disable at last"

# The dump: a profile, with samples, none of them through us; maps of redis.
expect "header" "heap_v2/524288" "$(head -n 1 "$WORK/heap")"
grep -q '^@ ' "$WORK/heap" || fail "no sample"
grep -q '^MAPPED_LIBRARIES' "$WORK/heap" || fail "no mapped libraries"
grep -q "$REDIS" "$WORK/maps" || fail "maps lack redis"
expect "sealed" "$(printf '47\n47')" "$(field seals <"$WORK/dump")"
python3 - "$WORK/heap" "$WORK/maps" <<'END' || fail "a frame of ours"
import re, sys
ours = [tuple(int(x, 16) for x in re.match(r'(\w+)-(\w+)', l).groups())
        for l in open(sys.argv[2]) if 'libheapwire.so' in l]
assert ours
for line in open(sys.argv[1]):
    if line.startswith('@ '):
        for address in line.split()[1:]:
            a = int(address, 16)
            assert not any(s <= a < e for s, e in ours), line
END

# Objects: the very file, also after it is deleted (see agent_fork.sh).
line=$(grep -m 1 " r-xp .*libjemalloc" "$WORK/maps")
agent object $(echo "$line" | awk '{print $4, $5}') "$WORK/object" >/dev/null ||
    fail "object"
cmp -s "$WORK/object" "$(echo "$line" | awk '{print $6}')" || fail "other file"
agent object 0:0 1 "$WORK/object" | grep -q '^status=4' || fail "object 0:0"

# Statistics: one text, whose parts add up.
agent stats "$WORK/stats" >"$WORK/out" || fail "stats"
expect "sealed" 47 "$(field seals <"$WORK/out")"
stat() { sed -n "s/^$1 //p" "$WORK/stats"; }
for name in stats.allocated stats.active stats.metadata stats.resident \
    stats.mapped stats.retained arenas.bin.0.size opt.dirty_decay_ms \
    stats.arenas.4096.bins.0.nmalloc stats.arenas.0.pactive; do
    [ "$(stat $name)" -ge 0 ] || fail "$name"
done
[ "$(stat stats.allocated)" -gt 20000000 ] || fail "stats.allocated"
expect "bins" "$(stat arenas.nbins)" "$(grep -c 'bin\..*\.size ' "$WORK/stats")"
expect "opt.thp" default "$(stat opt.thp)"
awk '$1 ~ /^stats.arenas.[0-9]+.pactive$/ {sum += $2}
    $1 == "stats.active" {active = $2} $1 == "arenas.page" {page = $2}
    END {exit sum * page != active}' "$WORK/stats" || fail "arenas differ"

# Bad requests close that connection and nothing else; the newest one wins.
agent short | grep -q closed=1 || fail "a short request was answered"
expect "bad op" 6 "$(agent badop | field status)"
rm -f "$WORK/watch"
agent watch 60 >"$WORK/watch" &
watcher=$!
started $watcher
wait_for 60 test -s "$WORK/watch" || fail "no watcher"
agent hello >/dev/null || fail "a second connection"
wait $watcher
expect "the older connection" "watching ended=1" "$(paste -sd ' ' "$WORK/watch")"

# A child has no thread and no descriptor of ours.
agent enable >/dev/null
cli config set rdb-key-save-delay 200 >/dev/null
cli bgsave >/dev/null
child() { pgrep -P "$redis" >/dev/null; }
wait_for 60 child || fail "no child"
child=$(pgrep -P "$redis" | head -n 1)
expect "threads of the child" 0 "$(agent_threads "$child")"
ls -l "/proc/$child/fd" | grep -E 'agent\.|memfd|\.so' && fail "leaked"
agent dump "$WORK/heap2" "$WORK/maps2" >/dev/null || fail "dump beside a child"
expect "the agent that serves" "$redis" "$(agent_field pid)"
cli config set rdb-key-save-delay 0 >/dev/null

# Stopped, it is silent; continued, it answers; killed, it closes.
freeze $redis
ANSWER_MS=500 agent hello >"$WORK/stopped"
expect "stopped" 4 $?
kill -CONT $redis
agent hello >/dev/null || fail "not back after SIGCONT"
rm -f "$WORK/watch"
agent watch 60 >"$WORK/watch" &
watcher=$!
started $watcher
wait_for 60 test -s "$WORK/watch" || fail "no watcher"
kill -KILL $redis
wait $watcher
expect "killed" "watching ended=1" "$(paste -sd ' ' "$WORK/watch")"
# The watcher may hear of the end before the listener is closed.
absent() {
    CONNECT_MS=0 agent hello >/dev/null
    [ $? = 3 ]
}
wait_for 60 absent || fail "a killed database answers"

# The next incarnation takes the directory over.
start_redis agent
expect "the next incarnation" "$redis" "$(agent_field pid)"

# A second process of the same program leaves the first alone, silently.
(with_agent "$REDIS" redis-server --version) >"$WORK/second" 2>&1
expect "lines of the second" 1 "$(wc -l <"$WORK/second")"
expect "the agent that serves" "$redis" "$(agent_field pid)"
stop_redis

# daemonize yes: the survivor serves, its parent has left.
(CONF=prof:true,prof_active:true && with_agent "$REDIS" redis-server $conf --daemonize yes \
    --pidfile "$WORK/pid") >"$WORK/log" 2>&1
wait_for 60 test -s "$WORK/pid" || fail "no pid file"
redis=$(cat "$WORK/pid")
started "$redis"
wait_for 60 cli ping || fail "the daemon does not start"
serving() { [ "$(agent_field pid)" = "$redis" ]; }
wait_for 60 serving || fail "the daemon has no agent"
expect "profiling in the daemon, as it was before its fork" 1 \
    "$(agent_field active)"
agent enable >/dev/null || fail "enable in the daemon"
cli debug populate 100000 key 200 >/dev/null
agent dump "$WORK/heap" "$WORK/maps" >/dev/null || fail "dump of the daemon"
grep -q '^@ ' "$WORK/heap" || fail "no sample in the daemon"
expect "descriptors of the daemon" "" \
    "$(ls -l "/proc/$redis/fd" | grep -E 'agent\.|memfd|\.so')"
expect "agents in the daemon" 1 "$(agent_threads "$redis")"
exit 0
