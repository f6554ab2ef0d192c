#!/bin/sh
# The dialect of SELECT, statement by statement, beside a real MariaDB: see
# dialect.py and dialect.sql; dates and times in all their forms: temporal_values.py;
# exact numbers: decimals.py.
. tests/integration/lib/lib.inc

mkdir "$work/db"
chmod 755 "$work"
if [ "$(id -u)" = 0 ]; then
    chown mysql "$work/db"
    user=--user=mysql
else
    user=
fi
# shellcheck disable=SC2086
mariadb-install-db --no-defaults --force --datadir="$work/db/data" --tmpdir="$work/db/data" $user \
    --auth-root-authentication-method=normal >"$work/install.log" 2>&1 || {
    cat "$work/install.log"
    exit 1
}
# shellcheck disable=SC2086
mariadbd --no-defaults $user --datadir="$work/db/data" --tmpdir="$work/db/data" --skip-networking \
    --socket="$work/db/db.sock" --pid-file="$work/db/pid" \
    --default-time-zone=+00:00 --character-set-server=utf8mb4 \
    --collation-server=utf8mb4_general_ci --innodb-buffer-pool-size=16M \
    >"$work/db.log" 2>&1 &
pids="$! $pids"
"$bin/heapwired" --listen none --state-dir "$work/node" --log "$work/log" \
    >"$work/stderr" 2>&1 &
pids="$! $pids"
wait_for 60 mariadb --no-defaults -S "$work/db/db.sock" -u root -e 'SELECT 1'
wait_for 60 sql 'SELECT 1'
check
"$python" tests/integration/programs/dialect.py "$work/db/db.sock" \
    "$work/node/mysql.sock" tests/integration/programs/dialect.sql ||
    fault "answers differ"
"$python" tests/integration/programs/temporal_values.py "$work/db/db.sock" \
    "$work/node/mysql.sock" || fault "dates and times differ"
"$python" tests/integration/programs/decimals.py "$work/db/db.sock" \
    "$work/node/mysql.sock" || fault "exact numbers differ"
finish_test
