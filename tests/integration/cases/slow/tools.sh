#!/bin/sh
# tools.sh - the tools of those who run MySQL servers, against a node: Percona's
# toolkit, mysqltuner, phpMyAdmin, and the plugins of monitors, which say the
# same of a MariaDB.  Each gets what it computes with: none fails or warns.
sh docker/install.sh clients
. tests/integration/lib/lib.inc

install_mariadb
/usr/sbin/mariadbd --no-defaults --user=mysql --datadir="$work/db/data" \
    --tmpdir="$work/db/data" --socket="$work/db/db.sock" --skip-networking \
    --pid-file="$work/db/pid" --innodb-buffer-pool-size=16M \
    >"$work/db.log" 2>&1 &
pids="$! $pids"

port=$(free_port)
password=$("$bin/heapwire-passwd" "$work/users.ini" admin --privileges all)
node_options="--config $work/users.ini --listen 127.0.0.1:$port --http none"
start_redis
db() {
    mariadb --no-defaults -S "$work/db/db.sock" -u root -N -B -e "$1" 2>&1
}
wait_for 60 db "CREATE USER IF NOT EXISTS t@localhost IDENTIFIED BY 'tt'"
db "GRANT ALL ON *.* TO t@localhost"
(
    umask 077
    printf '[client]\nhost=127.0.0.1\nport=%s\nuser=admin\npassword=%s\nskip-ssl\n' \
        "$port" "$password" >"$work/my.cnf"
)

# clean NAME COMMAND...: prints what it prints; its exit status is 0, and no
# Perl or shell complains.
clean() {
    name=$1
    shift
    status=0
    "$@" >"$work/out" 2>&1 || status=$?
    same "$name: status" 0 "$status"
    same "$name: complaints" "" "$(grep -E \
        'Use of uninitialized|Illegal|arithmetic|DBD::|ERROR [0-9]+|syntax' \
        "$work/out" || true)"
}

clean pt-show-grants pt-show-grants -h 127.0.0.1 -P "$port" -u admin \
    -p "$password"
contains pt-show-grants "IDENTIFIED WITH 'mysql_native_password'" \
    "$(cat "$work/out")"
contains pt-show-grants 'GRANT SELECT ON `heapwire`.* TO `admin`@' \
    "$(cat "$work/out")"

clean pt-deadlock-logger pt-deadlock-logger --iterations 1 \
    "h=127.0.0.1,P=$port,u=admin,p=$password"
same "pt-deadlock-logger: no deadlock" "" "$(cat "$work/out")"

clean pt-mysql-summary pt-mysql-summary --sleep 1 -- \
    "--defaults-file=$work/my.cnf"
contains "pt-mysql-summary: to its end" '# The End' "$(cat "$work/out")"

clean mysqltuner mysqltuner --host 127.0.0.1 --port "$port" --user admin \
    --pass "$password" --forcemem 1000 --forceswap 1000 --nocolor
contains mysqltuner 'Data in heapwire tables: 0B (Tables: ' "$(cat "$work/out")"
contains mysqltuner 'InnoDB Storage engine is disabled' "$(cat "$work/out")"

plugins=/usr/lib/nagios/plugins

# monitor MODE WHERE...: its exit status, as a monitor takes it.
monitor() {
    mode=$1
    shift
    status=0
    "$plugins/check_mysql_health" --mode "$mode" --statefilesdir "$work/state" \
        "$@" >"$work/out" 2>&1 || status=$?
    echo "$mode $status $(grep -c 'uninitialized\|Illegal' "$work/out")"
}
# Not here: how long a login took, what judges a server that has run for minutes,
# InnoDB and a cluster.
for mode in threads-connected threads-created threads-running \
    threads-cached connects-aborted clients-aborted \
    slave-lag slave-io-running slave-sql-running qcache-lowmem-prunes \
    keycache-hitrate table-lock-contention open-files slow-queries \
    long-running-procs; do
    same check_mysql_health "$(monitor $mode --hostname localhost \
        --socket "$work/db/db.sock" --username t --password tt)" \
        "$(monitor $mode --hostname 127.0.0.1 --port "$port" \
            --username admin --password "$password")"
done
same check_mysql_health "bufferpool-hitrate 0 0" "$(monitor bufferpool-hitrate \
    --hostname 127.0.0.1 --port "$port" --username admin --password "$password")"
for plugin in processlist replication-running replication-delay; do
    clean "pmp-check-mysql-$plugin" "$plugins/pmp-check-mysql-$plugin" \
        -H 127.0.0.1 -P "$port" -l admin -p "$password"
done

same phpMyAdmin "46 pages" "$("$python" \
    tests/integration/programs/phpmyadmin.py "$work/phpmyadmin" "$port" admin \
    "$password" 2>&1)"
finish_test
