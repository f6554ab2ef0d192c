#!/bin/sh
# Profiling that ends by itself and samples that are forgotten, in a real
# redis-server with the agent in it; no client is connected meanwhile.
. tests/integration/lib/agent.inc
sock=$WORK/redis.sock
cli() { redis-cli -s "$sock" "$@"; }

with_agent "$REDIS" redis-server --port 0 --unixsocket "$sock" --save '' \
    --dir "$WORK" >"$WORK/log" 2>&1 &
redis=$!
started $redis
wait_for 60 cli ping || fail "redis does not start"
load() {
    redis-benchmark -s "$sock" -n 80000 -r 80000 -d 200 -P 16 -q -t set,lpush \
        >/dev/null
}
is() { [ "$(agent_field "$1")" = "$2" ]; }

now_ms() { date +%s%3N; }

# within WHAT FIRST LAST GOT
within() {
    [ "$2" -le "$4" ] && [ "$4" -le "$3" ] ||
        fail "$1: wanted $2 to $3, got $4"
}
# on_until WHAT TIME: it is, if we are asked in time
on_until() {
    is active 1 || [ "$(now_ms)" -ge "$2" ] || fail "$1: off before $2"
}

began=$(now_ms)
agent enable_for 2 >/dev/null || fail "enable_for"
end=$(agent_field active_until)
within "until" $((began + 2000)) $(($(now_ms) + 2000)) "$end"
on_until "on" "$end"
sleep 1.5
on_until "still on" "$end"
sleep 1 # with no connection open
wait_for 10 is active 0 || fail "not off by itself" # a busy machine is late
expect "off by itself" "0 0 0 2" "$(agent hello >"$WORK/hello"
    for key in active active_since active_until changes; do
        field $key <"$WORK/hello"
    done | tr '\n' ' ' | sed 's/ $//')"

# Each enable sets the time anew, but for less than what is left; without a
# number to never, which no number ends.
agent enable_for 1 >/dev/null
began=$(now_ms)
agent enable_for 3 >/dev/null
end=$(agent_field active_until)
within "prolonged" $((began + 3000)) $(($(now_ms) + 3000)) "$end"
sleep 1.5
on_until "prolonged: on" "$end"
agent enable >/dev/null
expect "no end" "1 0" "$(agent_field active) $(agent_field active_until)"
agent enable_for 1 >/dev/null
expect "still no end" "1 0" "$(agent_field active) $(agent_field active_until)"
agent disable >/dev/null
began=$(now_ms)
agent enable_for 5 >/dev/null
agent enable_for 1 >/dev/null
within "not shortened" $((began + 5000)) $(($(now_ms) + 5000)) \
    "$(agent_field active_until)"
agent disable >/dev/null
expect "cancelled" "0 0" "$(agent_field active) $(agent_field active_until)"
agent enable >/dev/null
sleep 1.3
expect "an old end does nothing" 1 "$(agent_field active)"
agent enable_for 99999999999 | grep -q status=6 || fail "too long a time"

# While a connection is open and idle, it ends, too.
agent disable >/dev/null
agent enable_for 1 >/dev/null
agent watch 3 >/dev/null
expect "off beside an idle connection" 0 "$(agent_field active)"

# Where its guard is away for as long as it said, profiling ends, and the next
# guard finds out; without a guard it goes on.
off() { [ "$(agent active | field value)" = 0 ]; } # a request each
agent enable >/dev/null
expect "it had no guard" 0 "$(agent_field unguarded)"
began=$(now_ms)
agent guard 1 >/dev/null
for _ in 1 2 3 4 5 6; do # requests in time keep it on
    sleep 0.4
    next=$(now_ms)
    on_until "guarded" $((began + 1000))
    is active 1 || break # a busy machine was late
    began=$next
done
for _ in 1 2 3 4 5; do # each look guards it for another second
    sleep 1.5
    is active 1 || break
done
expect "unguarded" "0 0" "$(agent_field active) $(agent_field active_since)"
within "since" $((began + 1000)) "$(now_ms)" "$(agent_field unguarded)"
agent guard 60 >/dev/null
agent enable >/dev/null
expect "forgotten once it is on" "1 0" \
    "$(agent_field active) $(agent_field unguarded)"
for _ in 1 2 3 4 5; do # an agent that is a second late begins anew
    agent enable >/dev/null
    agent guard 1 >/dev/null
    agent watch 2 >/dev/null # connected, and says nothing
    off && break
done
off || fail "a silent connection guards it"
agent enable >/dev/null
agent guard 3 >/dev/null
kill -STOP $redis # stopped itself, it has missed nothing
sleep 4
kill -CONT $redis
expect "after a stop" "1 0" "$(agent_field active) $(agent_field unguarded)"
agent guard 0 >/dev/null
sleep 1.5
expect "never" 1 "$(agent_field active)"
agent enable_for 1 >/dev/null
agent disable >/dev/null

# A reset forgets what was sampled and changes the rate.
agent enable >/dev/null
load
samples() { # of a new dump: its first line, and objects in its second
    agent dump "$WORK/heap" "$WORK/maps" >/dev/null || fail "dump"
    head -n 1 "$WORK/heap"
    sed -n '2s/.*t\*: \([0-9]*\):.*/\1/p' "$WORK/heap"
}
before=$(samples | tail -n 1)
[ "$before" -gt 5 ] || fail "only $before samples"
resets=0
forgotten() { # but for what Redis samples by itself in between
    agent reset 17 >/dev/null || fail "reset"
    resets=$((resets + 1))
    [ "$(samples)" = "heap_v2/131072
0" ]
}
wait_for 60 forgotten || fail "not all forgotten: $(samples)"
expect "the rate, resets" "17 $resets" \
    "$(agent_field lg_sample) $(agent_field resets)"
cli flushall >/dev/null
load
after=$(samples | tail -n 1)
[ "$after" -gt $((before * 2)) ] || fail "$after samples at 4 times $before"
agent reset 255 >/dev/null || fail "reset, the rate as it is"
expect "as it was" "17 $((resets + 1))" "$(agent_field lg_sample) $(agent_field resets)"
for lg in 15 0 31 64 254 18446744073709551615; do
    agent reset $lg | grep -q "text=lg_sample is out of range" ||
        fail "reset $lg"
done
agent reset_forced 31 >/dev/null && fail "reset_forced 31"
agent reset_forced 12 >/dev/null || fail "reset_forced 12"
expect "forced" "12 $((resets + 2))" "$(agent_field lg_sample) $(agent_field resets)"
agent disable >/dev/null
cli ping >/dev/null || fail "redis"
