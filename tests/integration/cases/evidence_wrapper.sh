#!/bin/sh
# evidence_wrapper.sh - a wrapper that starts its database again when it dies:
# heapwire-run does not see that, heapwired does.
. tests/integration/lib/lib.inc

redis_port=$(free_port)
cat >"$work/wrapper" <<END
#!/bin/sh
while true; do
    /usr/bin/redis-server --port $redis_port --bind 127.0.0.1 --save '' \\
        --dir "$work"
done
END
chmod +x "$work/wrapper"

node_options="--listen none --exe /usr/bin/redis-server"
start_node "$work/wrapper"
wait_for 60 redis-cli -p "$redis_port" ping
wait_for 60 prof 'has_enable()'
redis=$(redis_pid)
# heapwired keeps the end of what it saw at the age of ten seconds.
old_enough() {
    [ "$(sql 'select max(timestampdiff(second, started, at)) > 10
        from heapwire.memory_history')" = 1 ]
}
wait_for 60 old_enough
[ "$(prof 'snapshot("early")')" = early ] || fault "no snapshot"
# Later than the last look at it, mostly.
[ "$(prof 'snapshot("final")')" = final ] || fault "no snapshot"
kill -9 "$redis"
known() {
    [ "$(sql 'select count(*) from heapwire.deaths')" = 1 ]
}
wait_for 60 known
same "its death" "$redis	NULL	NULL	1	1" "$(sql "select pid, exit_status,
    killed_by, how like 'ended; its exit status is not known%',
    rss > 5000000 from heapwire.deaths")"
same "its last snapshot" final "$(sql 'select last_snapshot from heapwire.deaths')"
sleep 1.5 # it is looked for each second
same "recorded once" 1 "$(wc -l <"$work/node/deaths")"
# However its file was written again since, as after a deletion.
touch -d '1 hour' "$work/node/snapshots/early.snapshot"
before=$(pgrep -P "$run" heapwired)
kill -9 "$before"
another() {
    now=$(pgrep -P "$run" heapwired) && [ "$now" != "$before" ] && known
}
check
wait_for 60 another || fault "no other heapwired: $(tail -3 "$work/node.log")"
same "whatever its file's time" final \
    "$(sql 'select last_snapshot from heapwire.deaths')"

# A program that is called by another name.
ln -s /usr/bin/false "$work/named"
"$bin/heapwire-run" --state-dir "$work/other" --listen none --http none \
    --linger 0 -- sh -c "exec $work/named" >"$work/other.log" 2>&1 || true
same "what was executed" "$work/named" \
    "$(sed -n 's/.* program=//p' "$work/other/deaths")"
finish_test
