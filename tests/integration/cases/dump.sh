#!/bin/sh
# dump.sh - mariadb-dump's dump of a node is loaded into a MariaDB, strict as it
# is by default, and has the same rows there.  slow/dump_mysql.sh says in $MYSQLD
# the command that starts a MySQL in its place.
. tests/integration/lib/lib.inc

mkdir "$work/server"
in_server="--socket=$work/server/db.sock --pid-file=$work/server/pid
    --tmpdir=$work/server --innodb-buffer-pool-size=16M --skip-networking"
if [ "${MYSQLD:-}" ]; then
    data="--datadir=$work/server/data"
    # shellcheck disable=SC2086
    $MYSQLD --initialize-insecure "$data" >"$work/db.log" 2>&1 || {
        tail "$work/db.log"
        exit 1
    }
else
    install_mariadb
    chown mysql "$work/server"
    MYSQLD="/usr/sbin/mariadbd --no-defaults --user=mysql"
    data="--datadir=$work/db/data"
fi
# shellcheck disable=SC2086
$MYSQLD "$data" $in_server >>"$work/db.log" 2>&1 &
pids="$! $pids"

start_redis
prof 'enable_prof()' >/dev/null
load_redis 20000
prof 'snapshot("kept")' >/dev/null

db() {
    mariadb --no-defaults --skip-ssl -S "$work/server/db.sock" -u root -N -B \
        --raw "$@" 2>&1
}
wait_for 60 db -e 'SELECT 1' || {
    tail "$work/db.log"
    exit 1
}

# dump_into DATABASE ARGUMENTS...: what it prints is an error.
dump_into() {
    db -e "CREATE DATABASE $1"
    into=$1
    shift
    mariadb-dump --no-defaults --skip-ssl -S "$work/node/mysql.sock" -u root \
        "$@" >"$work/$into.sql"
    db "$into" <"$work/$into.sql"
}

same "a dump of all tables is loaded" "" "$(dump_into whole --routines \
    --events --triggers heapwire)"
same "it has all of them" "$(sql 'SHOW TABLES FROM heapwire')" \
    "$(db -e 'SHOW TABLES FROM whole')"
# Without what a dump says about sql_mode: as strict as the server is.
same "the tables alone, for a strict server" "" \
    "$(dump_into strict --no-data --compact heapwire)"
same "what one snapshot has" "" "$(dump_into kept --where "snapshot = 'kept'" \
    heapwire heap_functions heap_stacks heap_frames heap_flame_graph)"

# rows DATABASE TABLE ORDER: all of its values, as numbers and texts have it.
rows() {
    printf "SELECT * FROM %s.%s WHERE snapshot = 'kept' ORDER BY %s" "$@"
}

compare() {
    there=$(db -e "$(rows kept "$1" "$2")")
    same "$1: rows" "$(sql "$(rows heapwire "$1" "$2")" | md5sum)" \
        "$(echo "$there" | md5sum)"
    contains "$1 is not empty" "kept" "$there"
}
compare heap_functions 'BINARY `function`'
compare heap_stacks stack
compare heap_frames 'stack, depth'
compare heap_flame_graph frame
same "routines" "$(sql "SELECT COUNT(*) FROM information_schema.routines")" \
    "$(db -e "SELECT COUNT(*) FROM information_schema.routines
        WHERE routine_schema = 'whole'")"
for table in snapshots nodes settings malloc_bins; do
    same "$table: how many" "$(sql "SELECT COUNT(*) FROM heapwire.$table")" \
        "$(db -e "SELECT COUNT(*) FROM whole.$table")"
done
same "a value" "$(sql 'SELECT id, role, port FROM heapwire.nodes')" \
    "$(db -e 'SELECT id, role, port FROM whole.nodes')"
finish_test
