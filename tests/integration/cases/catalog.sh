#!/bin/sh
# catalog.sh - what clients ask about databases, tables, columns and the
# server, on their own and for their people, against a real redis.
. tests/integration/lib/lib.inc

port=$(free_port)
password=$("$bin/heapwire-passwd" "$work/users.ini" admin)
node_options="--config $work/users.ini --listen 127.0.0.1:$port --http none"
start_redis
socket=$work/node/mysql.sock

# Statements of DBeaver, HeidiSQL, Workbench and others; SQLAlchemy.
check
"$python" tests/integration/programs/catalog.py "$socket" || fault "catalog.py"

# tool NAME ARGUMENTS...: one of the stock client's companions.
tool() {
    name=$1
    shift
    "$name" --no-defaults -S "$socket" -u root "$@" 2>&1 | tr -s ' '
}

contains "processlist" "show processlist" "$(tool mysqladmin processlist)"
contains "processlist -v" "show full processlist" \
    "$(tool mysqladmin -v processlist)"
contains "processlist -vv" "COMMAND" "$(tool mysqladmin -vv processlist)"
contains "variables" "| version_compile_os " "$(tool mysqladmin variables)"
contains "extended-status" "| Threads_running " \
    "$(tool mysqladmin extended-status)"
one_thread() { # of clients that have gone, heapwired may not have heard yet
    tool mysqladmin status | grep -q "Threads: 1 "
}
check
wait_for 60 one_thread || fault "status: $(tool mysqladmin status)"
same "flushes and refuses" "" "$(tool mysqladmin flush-privileges flush-tables \
    flush-status flush-hosts flush-logs)"
contains "mysqlshow" "| heapwire " "$(tool mysqlshow)"
contains "mysqlshow of a database" "| profiler " "$(tool mysqlshow heapwire)"
contains "mysqlshow of a table" "| address | varchar(64) | utf8mb4_general_ci" \
    "$(tool mysqlshow -k heapwire nodes)"
contains "mysqlshow of nothing" "Unknown database 'nope'" \
    "$(tool mysqlshow nope || true)"
contains "mysqlshow -i" "| nodes | heapwire | 10 " \
    "$(tool mysqlshow -i heapwire)"

contains "mysqlcheck" "heapwire.nodes
note : The storage engine for the table doesn't support check" \
    "$(tool mysqlcheck heapwire)"
contains "mysqldump" "INSERT INTO \`nodes\` VALUES
(10001,'127.0.0.1',$port,'backend'" "$(tool mysqldump heapwire nodes)"

# JDBC's metadata, through MariaDB's driver.
routines() { # WHERE
    sql "SELECT group_concat(routine_name SEPARATOR ' ')
        FROM information_schema.routines $1"
}
jar=/usr/share/java/mariadb-java-client.jar
javac -d "$work/java" tests/integration/programs/Catalog.java
java -cp "$work/java:$jar" Catalog \
    "jdbc:mariadb://127.0.0.1:$port/heapwire?user=admin&password=$password" \
    >"$work/jdbc" 2>&1 || true
same "JDBC" "product: MySQL
catalogs: heapwire information_schema
tables: nodes TABLE
system views: COLUMNS
primary keys: id
indexes: PRIMARY
foreign keys:
procedures: $(routines '')
functions: $(routines "WHERE routine_type = 'FUNCTION'")
privileges:
table types: SYSTEM VIEW TABLE VIEW
types: some" "$(grep -v '^columns:' "$work/jdbc" | sed 's/ *$//')"

finish_test
