#!/bin/sh
# Every method of MariaDB Connector/J's DatabaseMetaData, on a node: see
# programs/clients/Metadata.java.
. tests/integration/lib/lib.inc

printf '[node]\nlisten = 127.0.0.1:0\n' >"$work/ini"
chmod 600 "$work/ini"
password=$("$bin/heapwire-passwd" "$work/ini" admin --privileges \
    status,profile,control,admin)
"$bin/heapwired" --config "$work/ini" --state-dir "$work/node" \
    --log "$work/log" >"$work/stderr" 2>&1 &
pids="$! $pids"
wait_for 60 sql 'SELECT 1'
port=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\).*/\1/p' "$work/log")
javac -d "$work" tests/integration/programs/clients/Metadata.java
same "no method fails" "177 called" "$(java -cp \
    "$work:/usr/share/java/mariadb-java-client.jar" Metadata \
    "jdbc:mariadb://127.0.0.1:$port/heapwire?user=admin&password=$password&sslMode=disable")"
finish_test
