#!/bin/sh
# heapwire.so in Debian's mariadbd: INSTALL SONAME, UNINSTALL under load, with
# jemalloc and without, beside a preloaded agent.  ROUNDS=1000 for long.
. tests/integration/lib/agent.inc
[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 0; }
rounds=${ROUNDS:-30}
data=$WORK/data
sock=$data/sock
chmod 755 "$WORK"
BUILD=$(readable "$BUILD" "$WORK/build")
mkdir "$WORK/plugins"
ln -s "$BUILD/lib/heapwire.so" "$WORK/plugins/heapwire.so"
mariadb-install-db --no-defaults --force --user=mysql --datadir="$data" --tmpdir="$data" \
    --auth-root-authentication-method=normal >"$WORK/install" 2>&1 ||
    fail "mariadb-install-db: $(tail -n 5 "$WORK/install")"

# server ENVIRONMENT... -- OPTIONS...: $db
server() {
    variables=
    while [ "$1" != -- ]; do
        variables="$variables $1"
        shift
    done
    shift
    # shellcheck disable=SC2086
    env $variables mariadbd --no-defaults --user=mysql --datadir="$data" --tmpdir="$data" \
        --socket="$sock" --skip-networking --innodb-buffer-pool-size=16M \
        --plugin-dir="$WORK/plugins" --pid-file="$data/pid" "$@" \
        >"$WORK/log" 2>&1 &
    db=$!
    started $db
    wait_for 60 sql -e 'select 1' >/dev/null 2>&1 ||
        fail "mariadbd does not start: $(tail -n 5 "$WORK/log")"
}
sql() { mariadb --no-defaults -u root -S "$sock" -N -B "$@" 2>&1; }
status() { sql -e "show status like 'heapwire_agent'" | cut -f2; }
node() {
    mariadb --no-defaults --skip-ssl -S "${1:-$data/mysql/.heapwire/mysql.sock}" \
        -u root -N -B --raw -e "$2" 2>&1
}
prof() {
    node "" "ADMIN EXECUTE ON 20002 \
        'System.print(HeapProf.getInstance().$1)'"
}
is_off() { [ "$(prof 'has_enable()')" = false ]; }
heapwired() { cat "$data/mysql/.heapwire/heapwired.lock" 2>/dev/null; }
# What was joined, or told to end, is listed for a moment yet.
has_agents() { [ "$(agent_threads $db)" = "$1" ]; }
few_heapwireds() { # and its keeper
    [ "$(pgrep -cf "$data/mysql/.heapwire --node-id")" -le 2 ]
}
stop() {
    kill $db
    wait_for 60 gone $db || fail "mariadbd does not end"
    wait $db || fail "mariadbd ended with $?: $(tail -n 5 "$WORK/log")"
    grep -E 'signal 11|Assertion|AddressSanitizer' "$WORK/log" && fail "it crashed"
}
options="--plugin-load-add=heapwire --heapwire-node-id=20002
    --heapwire-listen=none --heapwire-heapwired=$BUILD/bin/heapwired"

# From the start, with jemalloc: profiles with MariaDB's own functions in them.
# shellcheck disable=SC2086
server "LD_PRELOAD=$JEMALLOC" MALLOC_CONF=prof:true,prof_active:false -- $options
expect "status" serving "$(status)"
wait_for 60 is_off || fail "no heapwired: $(cat "$data/mysql/.heapwire"/*.log)"
expect "whose heapwired" "mysql 1" "$(ps -o user=,ppid= "$(heapwired)" | xargs)"
prof 'enable_prof()' >/dev/null
expect "enabled" true "$(prof 'has_enable()')"
sql -e "set @a = repeat('x', 12000000); select sleep(300)" >/dev/null &
started $!
names() {
    node "" "SELECT function FROM heapwire.heap_functions" | grep -q 'String::\|Item_\|mysql_\|THD'
}
wait_for 60 names || fail "no names: $(node "" 'SELECT function FROM heapwire.heap_functions LIMIT 5')"
expect "variables" "heapwire_config heapwire_enabled heapwire_heapwired \
heapwire_listen heapwire_node_id heapwire_state_dir" \
    "$(sql -e "show variables like 'heapwire%'" | cut -f1 | xargs)"
expect "read-only" 1 "$(sql -e 'set global heapwire_node_id = 3' | grep -c 'read only')"
expect "a wrong value" 1 "$(sql -e "set global heapwire_enabled = 'maybe'" |
    grep -c 'ON or OFF')"

# Its directory is no database, at which a dump of all of them would stop.
expect "databases" 0 "$(sql -e 'show databases' | grep -c heapwire)"
mariadb-dump --no-defaults -u root -S "$sock" --all-databases >"$WORK/dump" 2>&1 ||
    fail "no dump: $(tail -n 2 "$WORK/dump")"

# OFF: the agent, heapwired and what it had switched on are gone; ON: back.
old=$(heapwired)
started "$old"
sql -e 'set global heapwire_enabled = off'
expect "off" off "$(status)"
wait_for 60 has_agents 0 || fail "threads: $(agent_threads $db)"
wait_for 60 gone "$old" || fail "heapwired is left"
sql -e 'set global heapwire_enabled = on'
wait_for 60 is_off || fail "not back, or profiling: $(prof 'has_enable()')"

# Installed and uninstalled while connections work, and profiling is on.
prof 'enable_prof()' >/dev/null
for i in 1 2; do
    mariadb-slap --no-defaults -u root -S "$sock" --concurrency=4 \
        --iterations=1000000 --create-schema=slap$i \
        --create='create table t (a int primary key auto_increment, b text)' \
        --query="insert into t (b) values (repeat('x', 5000)); select count(b) from t" \
        >/dev/null 2>&1 &
    started $!
done
for i in $(seq "$rounds"); do
    answer=$(sql -e "uninstall plugin heapwire") || fail "round $i: $answer"
    answer=$(sql -e "install soname 'heapwire'") || fail "round $i: $answer"
done
expect "installed again" serving "$(status)"
wait_for 60 has_agents 1 || fail "agents: $(agent_threads $db)"
wait_for 90 is_off || fail "no heapwired after $rounds rounds"
started "$(heapwired)"
wait_for 60 few_heapwireds ||
    fail "heapwireds are left: $(pgrep -af "$data/mysql/.heapwire --node-id")"
old=$(heapwired)
stop
echo "$rounds rounds of uninstall and install"
wait_for 60 [ ! -e "$data/mysql/.heapwire/agent.sock" ] || fail "a socket is left"
wait_for 60 gone "$old" || fail "heapwired is left"

# With libc's malloc: it serves, and says what is missing.
# shellcheck disable=SC2086
server LANG=C -- $options
expect "status, libc" serving "$(status)"
starts_with_none() { prof 'enable_prof()' | grep -qi jemalloc; }
wait_for 60 starts_with_none || fail "no words: $(prof 'enable_prof()')"
expect "words" 0 "$(grep -c '^heapwire: ' "$WORK/log")"
started "$(heapwired)"

# What cannot be started is refused with the reason; the server runs on.
sql -e "uninstall plugin heapwire"
chmod 777 "$data/mysql/.heapwire"
answer=$(sql -e "install soname 'heapwire'") && fail "installed: $answer"
echo "$answer" | grep -q 'others may write to' || fail "words: $answer"
chmod 700 "$data/mysql/.heapwire"
sql -e "install soname 'heapwire'" || fail "not installed any more"
stop

# Preloaded by heapwire-run: that one serves, the plugin says so.
chown mysql "$STATE"
"$BUILD/bin/heapwire-run" --listen none --state-dir "$STATE" --user mysql -- \
    mariadbd --no-defaults --user=mysql --datadir="$data" --tmpdir="$data" --socket="$sock" \
    --skip-networking --innodb-buffer-pool-size=16M \
    --plugin-dir="$WORK/plugins" --plugin-load-add=heapwire >"$WORK/log" 2>&1 &
run=$!
started $run
wait_for 60 sql -e 'select 1' >/dev/null 2>&1 ||
    fail "mariadbd does not start: $(tail -n 5 "$WORK/log")"
expect "preloaded" preloaded "$(status)"
sql -e "uninstall plugin heapwire"
served() {
    [ "$(node "$STATE/mysql.sock" "ADMIN EXECUTE ON 10001 \
        'System.print(HeapProf.getInstance().has_enable())'")" = false ]
}
wait_for 60 served || fail "the preloaded agent was harmed"
kill $run
wait $run || fail "heapwire-run ended with $?"
exit 0
