#!/bin/sh
# store.sh - snapshots of a real redis survive heapwired, the whole node, and
# the binaries that named their frames.
. tests/integration/lib/lib.inc

snapshots=$work/node/snapshots

# A redis whose binary can be removed.
cp "$(realpath "$(command -v redis-server)")" "$work/redis-server"
start_own_redis() {
    redis_port=$(free_port)
    start_node "$work/redis-server" --port "$redis_port" --bind 127.0.0.1 \
        --save '' --dir "$work"
    wait_for 60 redis-cli -p "$redis_port" ping
    wait_for 60 prof 'has_enable()'
}

cat >"$work/heapwire.ini" <<INI
[node]
state_dir = $work/node
listen = none
[snapshots]
keep = 4
keep_bytes = 64M
INI
chmod 600 "$work/heapwire.ini"
node_options="--config $work/heapwire.ini"

listed() {
    sql "select group_concat(name order by taken) from heapwire.snapshots"
}

start_own_redis
prof 'enable_prof()' >/dev/null
load_redis 30000
one=$(prof 'snapshot()')
two=$(prof 'snapshot()')
same "both are listed" "$one,$two" "$(listed)"
same "the directory is the node's alone" 700 "$(stat -c %a "$snapshots")"
same "and so are the files" "600 600" \
    "$(stat -c %a "$snapshots"/*.snapshot | tr '\n' ' ' | sed 's/ $//')"
same "their names" "$one.snapshot $two.snapshot" \
    "$(cd "$snapshots" && echo *)"
prof "to_dot_format(\"$one\")" >"$work/one.dot"
contains "it has names" processCommand "$(cat "$work/one.dot")"
facts="select name, taken, pid, program, jemalloc_version, sample_rate,
    active_since, samples, stacks, bytes, objects from heapwire.snapshots
    where name = '$one'"
before=$(sql "$facts")
same "the settings are in force" "4	67108864	0" \
    "$(sql "select group_concat(value order by name = 'snapshots.keep_age',
        name = 'snapshots.keep_bytes' separator '\\t') from heapwire.settings
        where name like 'snapshots.keep%'")"

# heapwired dies, and heapwire-run starts another.
heapwired=$(pgrep -P "$run" heapwired)
kill -9 "$heapwired"
another() {
    now=$(pgrep -P "$run" heapwired) && [ "$now" != "$heapwired" ] &&
        sql 'select 1'
}
wait_for 60 another
same "a killed heapwired loses none" "$one,$two" "$(listed)"
prof "to_dot_format(\"$one\")" >"$work/again.dot"
check
cmp -s "$work/one.dot" "$work/again.dot" || fault "it reads as before"

# The whole node ends, and its binary is gone; what lies there is not all well.
stop_node
mv "$work/redis-server" "$work/other-server"
head -c -100 "$snapshots/$two.snapshot" >"$snapshots/cut.snapshot"
ln -s "$snapshots/$two.snapshot" "$snapshots/link.snapshot"
echo unfinished >"$snapshots/x.tmp"
cp "$work/other-server" "$work/new-server"
redis_port=$(free_port)
start_node "$work/new-server" --port "$redis_port" --bind 127.0.0.1 \
    --save '' --dir "$work"
wait_for 60 prof 'has_enable()'
rm "$work/other-server"
same "another incarnation finds them" "$one,$two" "$(listed)"
same "and all that was known of them" "$before" "$(sql "$facts")"
prof "to_dot_format(\"$one\")" >"$work/again.dot"
check
cmp -s "$work/one.dot" "$work/again.dot" ||
    fault "without its binary it reads as before"
log=$(cat "$work/node/heapwired.log")
contains "the log names a cut file" "snapshots/cut" "$log"
contains "so is a link" "link.snapshot is skipped: it is a symbolic link" \
    "$log"
check
[ ! -e "$snapshots/x.tmp" ] || fault "what was being written is removed"

# Ceilings: the oldest go.
prof 'enable_prof()' >/dev/null
names=
for _ in 1 2 3 4; do
    names=$names${names:+,}$(prof 'snapshot()')
done
same "four are kept" "$names" "$(listed)"
contains "an old one is gone" "no snapshot named '$one' is kept" \
    "$(prof "to_dot_format(\"$one\")")"
same "files, too, but what is not ours" 6 \
    "$(find "$snapshots" -mindepth 1 | wc -l)"

# The directory cannot be used: it is logged, and heapwired serves nevertheless.
stop_node
chmod 755 "$snapshots"
start_node "$work/new-server" --port "$redis_port" --bind 127.0.0.1 \
    --save '' --dir "$work"
wait_for 60 prof 'has_enable()'
same "none is there" NULL "$(listed)"
contains "and why" "kept only in memory, until heapwired ends: " \
    "$(cat "$work/node/heapwired.log")"
contains "with what is wrong" "is open to others (chmod 700)" \
    "$(cat "$work/node/heapwired.log")"
prof 'enable_prof()' >/dev/null
name=$(prof 'snapshot()')
same "memory keeps it" "$name" "$(listed)"
stop_node

check
"$python" tests/integration/cases/slow/store_kill.py 20 ||
    fault "killed at random moments"
finish_test
