#!/bin/sh
# attach_mariadb.sh - heapwire-run --attach, by root, to a MariaDB that has
# become another user and works.
. tests/integration/lib/lib.inc

if [ ! -x "$bin/sleepers" ]; then
    echo "skipped: --attach is for x86-64"
    finish_test
    exit
fi
install_mariadb
bin=$(readable "${bin%/bin}" "$work/build")/bin
jemalloc=$(ls /usr/lib/*/libjemalloc.so.2)
LD_PRELOAD=$jemalloc MALLOC_CONF=prof:true,prof_active:false \
    mariadbd --no-defaults --user=mysql --datadir="$work/db/data" --tmpdir="$work/db/data" \
    --socket="$work/db/sock" --pid-file="$work/db/pid" --skip-networking \
    --innodb-buffer-pool-size=16M >"$work/mariadb.log" 2>&1 &
db=$!
pids="$db $pids"
ask() {
    mariadb --no-defaults -S "$work/db/sock" -u root -N -B -e "$1"
}
wait_for 60 ask 'select 1'
ask 'create database load_db; create table load_db.t (id int primary key auto_increment,
    v varchar(200), key (v))'
cat >"$work/load.py" <<'END'
import pymysql, signal, sys
c = pymysql.connect(unix_socket=sys.argv[1], user="root", database="load_db")
ended, rounds = [], 0
signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
with c.cursor() as cursor:
    while not ended:
        cursor.execute("insert into t (v) values (repeat(%s, 20))",
                       (str(rounds),))
        cursor.execute("select count(*) from (select v from t order by v "
                       "limit 2000) x")
        assert cursor.fetchone()[0] == min(rounds + 1, 2000)
        c.commit()
        rounds += 1
print(rounds)
END
"$python" "$work/load.py" "$work/db/sock" >"$work/rounds" 2>&1 &
load=$!
pids="$load $pids"

# The first time it is refused, politely, what cannot be right.
got=$(setpriv --reuid nobody --clear-groups "$bin/heapwire-run" \
    --attach "$db" 2>&1) && fault "another user has attached"
check

"$bin/heapwire-run" --state-dir "$work/node" --listen none --attach "$db" \
    >"$work/attach.log" 2>&1 &
run=$!
pids="$run $pids"
wait_for 60 grep -q 'attached to' "$work/attach.log" || {
    cat "$work/attach.log"
    exit 1
}
wait_for 60 prof 'has_enable()'
same "heapwired's user" "$(id -u mysql)" "$(stat -c %u "$work/node/mysql.sock")"
prof 'enable_prof()' >/dev/null
ask "set @held = repeat('x', 12000000); select sleep(600)" >/dev/null & # 23 samples
pids="$! $pids"
holds() {
    ask 'show processlist' | grep -q 'User sleep'
}
wait_for 60 holds
same "a snapshot" attached "$(prof 'snapshot("attached")')"
same "names of MariaDB's own" 1 "$(sql "select count(*) > 0 from
    heapwire.heap_functions where function like '%mysql%' or function like
    '%THD%' or function like '%alloc_root%' or function like '%handle_%'")"
same "statistics" 1 "$(sql "select value > 1000000 from heapwire.malloc_stats
    where name = 'stats.allocated'")"
kill "$run"
wait "$run" || fault "detaching ended with $?: $(cat "$work/attach.log")"
contains "detached" "detached from process $db" "$(cat "$work/attach.log")"

# What attaches dies at any call: the next one attaches, and MariaDB works on.
mkdir -m 700 "$work/bare"
chown mysql "$work/bare"
once() {
    "$@" "$bin/attach_driver" "$db" "$bin/../lib/libheapwire.so" "$work/bare" 1
}
is_free() {
    ! grep -q 'TracerPid:.[1-9]\|State:.[tT]' /proc/"$db"/task/*/status
}
deaths=0
for i in $(seq "${ROUNDS:-16}"); do
    side=$([ $((i % 2)) = 0 ] && echo before || echo after)
    at="$(($(od -An -N2 -tu2 /dev/urandom) % 110 + 1)) $side"
    once env DIES_AT="$at" DIES_LOG="$work/died" \
        LD_PRELOAD="$bin/../lib/libdies_at.so" >"$work/driver" || true
    deaths=$((deaths + $(tail -n 1 "$work/died" | grep -c "$side" || true)))
    same "when it died at $at" 1 "$(ask 'select 1')"
    once env >"$work/driver" || fault "after $at: $(cat "$work/driver")"
    wait_for 60 is_free || fault "left traced or stopped at $at"
done
check
[ "$deaths" -gt "$((${ROUNDS:-16} / 4))" ] || fault "it died only $deaths times"
kill "$load"
wait "$load" || fault "the load: $(cat "$work/rounds")"
check
[ "$(cat "$work/rounds")" -gt 10 ] || fault "the load: $(cat "$work/rounds")"
contains "what was kept" "ms" "$(cat "$work/attach.log")"
sed -n 's/.*\(by its thread.*\)/\1/p' "$work/attach.log"
finish_test
