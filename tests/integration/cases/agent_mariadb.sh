#!/bin/sh
# mariadbd --user=mysql with libjemalloc preloaded, started by root.
. tests/integration/lib/agent.inc
[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 0; }
strace -o /dev/null true 2>/dev/null ||
    { echo "skipped: nothing can be traced here"; exit 0; }
mariadbd=$(realpath "$(command -v mariadbd)")
data=$WORK/data
sock=$data/sock
PRELOAD=$JEMALLOC
chmod 711 "$WORK"
mariadb-install-db --no-defaults --force --user=mysql --datadir="$data" --tmpdir="$data" \
    --auth-root-authentication-method=normal >"$WORK/install" 2>&1 ||
    fail "mariadb-install-db: $(tail -n 5 "$WORK/install")"

# strace holds it before it drops its privileges, until strace is killed; -D: $!
# is mariadbd itself.
with_agent "$mariadbd" strace -D -f -o /dev/null -e trace=setuid \
    -e inject=setuid:delay_enter=600000000 mariadbd --no-defaults --user=mysql --datadir="$data" --tmpdir="$data" \
    --socket="$sock" --pid-file="$WORK/data/pid" --skip-networking \
    --innodb-buffer-pool-size=16M >"$WORK/log" 2>&1 &
db=$!
started $db
agent hello >"$WORK/early" || fail "no agent: $(cat "$WORK/log")"
expect "the agent that serves, and its user" "$db 0" \
    "$(field pid <"$WORK/early") $(field uid <"$WORK/early")"
kill -KILL "$(sed -n 's/^TracerPid:.//p' "/proc/$db/status")"
sql() { mariadb --no-defaults -u root -S "$sock" "$@"; }
wait_for 60 sql -e 'select 1' >/dev/null 2>&1 ||
    fail "mariadbd does not start: $(tail -n 5 "$WORK/log")"
mysql_uid=$(id -u mysql)
expect "uid of the process" "$mysql_uid" "$(stat -c %u "/proc/$db/task")"
agent hello >"$WORK/late" || fail "no hello as mysql"
expect "uid of the agent" "$mysql_uid" "$(field uid <"$WORK/late")"
expect "allocator" "0 mallctl 1" "$(field allocator <"$WORK/late") \
$(field mallctl <"$WORK/late") $(field opt_prof <"$WORK/late")"

agent enable >/dev/null || fail "enable"
sql -e "set @a = repeat('x', 12000000); select sleep(20)" >/dev/null 2>&1 &
started $!
loaded() { sql -e 'show processlist' 2>/dev/null | grep -q 'User sleep'; }
wait_for 60 loaded || fail "no load"
agent dump "$WORK/heap" "$WORK/maps" >"$WORK/dump" || fail "dump as mysql"
grep -q '^@ ' "$WORK/heap" || fail "no sample"
grep -q "$mariadbd" "$WORK/maps" || fail "maps lack mariadbd"
line=$(grep -m 1 " r-xp .*mariadbd" "$WORK/maps")
agent object $(echo "$line" | awk '{print $4, $5}') "$WORK/object" >/dev/null ||
    fail "object as mysql"
cmp -s "$WORK/object" "$mariadbd" || fail "another object"
expect "descriptors" "" "$(ls -l "/proc/$db/fd" | grep -E 'agent\.|memfd|\.so')"
# The directory is root's: mysql itself may connect too, others may not.
chmod 711 "$STATE"
chmod 666 "$STATE/agent.sock"
CONNECT_MS=0 setpriv --reuid=mysql --clear-groups "$CLIENT" "$STATE" hello \
    >/dev/null || fail "mysql is refused"
CONNECT_MS=0 setpriv --reuid=nobody --clear-groups "$CLIENT" "$STATE" hello \
    >/dev/null && fail "another user is let in"
agent hello >/dev/null || fail "no hello after another user"
kill $db
wait_for 60 gone $db || fail "mariadbd does not end"

# The same under heapwire-run: heapwired follows, and so do the agent's files.
chmod 700 "$STATE"
"$BUILD/bin/heapwire-run" --listen none --state-dir "$STATE" -- \
    mariadbd --no-defaults --user=mysql --datadir="$data" --tmpdir="$data" --socket="$sock" \
    --pid-file="$WORK/data/pid" --skip-networking \
    --innodb-buffer-pool-size=16M >"$WORK/log" 2>&1 &
runner=$!
started $runner
wait_for 60 sql -e 'select 1' >/dev/null 2>&1 ||
    fail "mariadbd does not start: $(tail -n 5 "$WORK/log")"
uid_of_heapwired() {
    pid=$(pgrep -P $runner -x heapwired) && stat -c %U "/proc/$pid/task"
}
answers() {
    mariadb --no-defaults -S "$STATE/mysql.sock" -u root -e "ADMIN EXECUTE ON \
        10001 'System.print(HeapProf.getInstance().has_enable())'" 2>&1 |
        grep -qx false
}
followed() { [ "$(uid_of_heapwired)" = mysql ] && answers; }
wait_for 60 followed || fail "heapwired runs as $(uid_of_heapwired)"
expect "owners" "mysql mysql mysql" \
    "$(stat -c %U "$STATE" "$STATE/agent.sock" "$STATE/agent.lock" | xargs)"
connects() { # heapwired's next connection may come between
    CONNECT_MS=0 setpriv --reuid=mysql --clear-groups "$CLIENT" "$STATE" hello
}
wait_for 60 connects || fail "heapwired could not connect again as mysql"
kill -KILL "$(pgrep -P $runner -x heapwired)"
wait_for 60 followed || fail "not back after a crash"
# Another user's file is not given away, be it a second name or the only one.
kill $runner
wait $runner
for puts in ln mv; do
    echo secret >"$WORK/secret"
    rm -f "$STATE/agent.lock"
    $puts "$WORK/secret" "$STATE/agent.lock"
    "$BUILD/bin/heapwire-run" --user mysql --listen none --state-dir "$STATE" \
        -- mariadbd --no-defaults --user=mysql --version >"$WORK/log" 2>&1
    expect "owner of another user's file, $puts" root \
        "$(stat -c %U "$STATE/agent.lock")"
done
exit 0
