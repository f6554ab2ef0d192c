#!/bin/sh
# wait.sh - heapwired --wait: a database that has the library preloaded without
# heapwire-run, also in another pid namespace, and as another user.
. tests/integration/lib/lib.inc
[ "$(id -u)" = 0 ] || {
    echo "skipped: needs root"
    exit 0
}
chmod 755 "$work"
bin=$(readable "${bin%/bin}" "$work/build")/bin
mkdir -m 777 "$work/free"
chmod 777 "$work/free"
redis=$(command -v redis-server) # as it is called, not where the link leads
state=$work/node
# preloaded COMMAND...: redis at its end, as a drop-in or an image would
preloaded() {
    env HEAPWIRE_EXE="$(command -v redis-server)" HEAPWIRE_STATE_DIR="$state" \
        LD_PRELOAD="$(realpath "$bin/../lib/libheapwire.so")" \
        MALLOC_CONF=prof:true,prof_active:false \
        "$@" redis-server --port 0 --unixsocket "$work/free/redis" --save '' \
        --dir / >"$work/redis.log" 2>&1 &
    database=$!
    pids="$database $pids"
}
beside() { # COMMAND...: heapwired
    "$@" "$bin/heapwired" --wait --listen none --state-dir "$state" \
        >"$work/heapwired.err" 2>&1 &
    heapwired=$!
    pids="$heapwired $pids"
    wait_for 60 sql 'SELECT 1'
}
state_of() {
    prof 'state()'
}
tells() {
    state_of | grep -q -- "$1"
}
deaths() {
    sql 'SELECT count(*) FROM heapwire.deaths'
}
has_deaths() {
    [ "$(deaths)" = "$1" ]
}
# What works of a database that is out of sight, and what is NULL.
serves() { # WHAT RSS
    check
    wait_for 60 tells "^database: $redis" || fault "$1: $(state_of)"
    same "$1: statistics" "1 1" "$(sql 'SELECT allocated > 0,
        (SELECT count(*) > 10 FROM heapwire.malloc_stats)
        FROM heapwire.memory' | xargs)"
    # rss itself is the agent's where that has it.
    same "$1: the kernel's figures" "$2" \
        "$(sql 'SELECT rss_shared IS NOT NULL FROM heapwire.memory')"
    pid=$(state_of | sed -n 's/^database: .*(pid \([0-9]*\))/\1/p')
    history() { # of this one
        [ "$(sql "SELECT (rss IS NOT NULL) = $1 AND pid = $pid
            FROM heapwire.memory_history ORDER BY at DESC LIMIT 1")" = 1 ]
    }
    check
    wait_for 60 history "$2" || fault "$1: no history: $(sql \
        'SELECT at, pid, rss FROM heapwire.memory_history' | tail -2)"
}

beside env
contains "what it waits for" "waits for a database that has libheapwire.so" \
    "$(state_of)"
preloaded env
serves "beside" 1
prof 'enable_prof()' >/dev/null
check
wait_for 60 tells "state: active" || fault "cannot profile: $(state_of)"
kill "$database"
check
wait_for 60 has_deaths 1 || fault "its end is not kept"
same "how it ended" "1 NULL NULL $redis" "$(sql "SELECT how = 'ended; its exit \
status is not known, because heapwire-run was not its parent', exit_status,
    killed_by, program FROM heapwire.deaths" | xargs)"

# The database in a pid namespace of its own: its pids are seen from outside.
if namespace=$(unshare --pid --fork --mount-proc true 2>&1); then
    preloaded unshare --pid --fork --mount-proc
    serves "a pid namespace within" 1
    pkill -P "$database"
    check
    wait_for 60 has_deaths 2 || fault "a pid namespace within: its end is not kept"
else
    echo "skipped: pid namespaces (none can be made here: $namespace)"
fi
kill "$heapwired"
wait "$heapwired" || true

# heapwired in one: it sees nothing of the database, and of no other process
# that has its number; with its own /proc, and with another's.
for proc in --mount-proc ""; do
    [ -z "$namespace" ] || break
    # shellcheck disable=SC2086
    beside unshare --pid --fork --kill-child $proc
    preloaded env
    serves "out of sight $proc" 0
    contains "out of sight $proc: said" "out of sight: it is in another pid" \
        "$(state_of)"
    before=$(deaths)
    kill -KILL "$database"
    check
    wait_for 60 has_deaths $((before + 1)) || fault "out of sight: its end"
    kill -TERM "$(pgrep -P "$heapwired")"
    wait "$heapwired" || true
done

# As another user, which has the directory.
rm -rf "$state"
install -d -m 700 -o nobody "$state"
beside setpriv --reuid=nobody --clear-groups
preloaded setpriv --reuid=nobody --clear-groups
serves "another user" 1
kill "$database"
check
wait_for 60 has_deaths 1 || fault "another user: its end"
finish_test
