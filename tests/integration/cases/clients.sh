#!/bin/sh
# clients.sh - the stock clients of programs/clients/README.md against a loaded node.
#
# $CLIENTS names which (default: those that Debian's packages alone make).
. tests/integration/lib/lib.inc

here=tests/integration/programs/clients
port=$(free_port)
: >"$work/heapwire.ini"
chmod 600 "$work/heapwire.ini"
"$bin/heapwire-passwd" "$work/heapwire.ini" admin --privileges all >"$work/password"
node_options="--config $work/heapwire.ini --listen 127.0.0.1:$port --http none"
start_redis
prof 'enable_prof()' >/dev/null
load_redis 20000

export HW_PORT="$port" HW_SOCKET="$work/node/mysql.sock" HW_USER=admin
HW_PASSWORD=$(cat "$work/password")
HW_CA=$work/node/server-cert.pem
HW_SNAPSHOT=$(prof 'snapshot()')
export HW_PASSWORD HW_CA HW_SNAPSHOT

dot=$(prof "to_dot_format(\"$HW_SNAPSHOT\")" | md5sum | cut -d' ' -f1)
contains 'the snapshot is a graph' digraph "$(prof "to_dot_format(\"$HW_SNAPSHOT\")")"

# expected WAY...: what a client prints.
expected() {
    for way in "$@"; do
        printf '%s has_enable true\n%s dot %s\n' "$way" "$way" "$dot"
        printf '%s parameter 10001 ä'\''"\\\n' "$way"
        printf '%s admin true\n%s error 1064\n%s after 1\n' "$way" "$way" "$way"
    done
}

# client NAME WAYS COMMAND...
client() {
    name=$1
    ways=$2
    shift 2
    # shellcheck disable=SC2086
    same "$name" "$(expected $ways)" "$("$@" 2>&1)"
}

# as_admin CLIENT OPTIONS...: one of MariaDB's programs, over TCP.
as_admin() {
    program=$1
    shift
    "$program" --no-defaults --protocol=tcp -h 127.0.0.1 -P "$HW_PORT" \
        -u "$HW_USER" "-p$HW_PASSWORD" "$@" 2>&1
}

has="System.print(HeapProf.getInstance().has_enable())"

run_mariadb() {
    for way in tcp tls socket; do
        case $way in
        tcp) as="as_admin mariadb --skip-ssl" ;;
        tls) as="as_admin mariadb --ssl --ssl-ca=$HW_CA" ;;
        socket) as="mariadb --no-defaults -S $HW_SOCKET -u $HW_USER -p$HW_PASSWORD" ;;
        esac
        as="$as --default-character-set=utf8mb4 -N -B --raw"
        same "mariadb $way" true "$($as -e "ADMIN EXECUTE ON 10001 '$has'")"
        same "mariadb $way dot" "$dot" "$($as -e \
            "ADMIN EXECUTE ON 10001 'System.print(HeapProf.getInstance().to_dot_format(\"$HW_SNAPSHOT\"))'" |
            md5sum | cut -d' ' -f1)"
        contains "mariadb $way error" 'ERROR 1064 (42000)' \
            "$($as -e "ADMIN EXECUTE ON 10001 'System.print(nonsense)'" 2>&1 || true)"
        cipher=$($as -e "SHOW STATUS LIKE 'Ssl_cipher'" | cut -f2)
        check
        case $way:$cipher in
        tls:?* | tcp: | socket:*) ;;
        *) fault "mariadb $way has the cipher '$cipher'" ;;
        esac
    done
    contains 'status of the CLI' 'Server version' "$(as_admin mariadb -e '\s')"
}

run_mysqladmin() {
    contains ping 'mysqld is alive' "$(as_admin mysqladmin ping)"
    contains status 'Uptime:' "$(as_admin mysqladmin status)"
    contains version 'heapwire' "$(as_admin mysqladmin version)"
    contains processlist "$HW_USER" "$(as_admin mysqladmin processlist)"
    contains 'processlist -v' "$HW_USER" "$(as_admin mysqladmin -v processlist)"
    contains variables version_comment "$(as_admin mysqladmin variables)"
    contains extended-status Uptime "$(as_admin mysqladmin extended-status)"
    contains shutdown 'Access denied' "$(as_admin mysqladmin shutdown || true)"
    contains kill 'Unknown thread' "$(as_admin mysqladmin kill 4000000 || true)"
}

run_mysqlslap() {
    contains mysqlslap 'Number of clients running queries: 4' \
        "$(as_admin mysqlslap --concurrency=4 --iterations=2 --no-drop \
            --create-schema=heapwire --query='SELECT * FROM nodes')"
}

run_pymysql() { client PyMySQL 'tcp tls socket' $python $here/dbapi_client.py pymysql; }
run_mysqlclient() { client mysqlclient 'tcp tls socket' $python $here/dbapi_client.py MySQLdb; }
run_mysqli() { client mysqli 'tcp tls socket' php $here/mysqli_client.php; }
run_pdo() { client PDO 'tcp tls socket' php $here/pdo_client.php; }
run_dbd() { client DBD::mysql 'tcp tls socket' /usr/bin/perl $here/dbd_client.pl; }
run_dbd_mariadb() { client DBD::MariaDB 'tcp tls socket' /usr/bin/perl $here/dbd_client.pl MariaDB; }
run_ruby() { client 'Ruby mysql2' 'tcp tls socket' ruby $here/mysql2_client.rb; }
run_odbc() { client 'MariaDB ODBC' 'tcp tls socket' $python $here/odbc_client.py; }
run_sqlalchemy() { same SQLAlchemy 'sqlalchemy ok' "$($python $here/sqlalchemy_client.py 2>&1)"; }

run_isql() {
    printf '[node]\nDriver=MariaDB Unicode\nSERVER=127.0.0.1\nPORT=%s\n' "$HW_PORT" >"$work/odbc.ini"
    contains isql '10001' "$(echo 'SELECT id FROM heapwire.nodes' |
        ODBCINI=$work/odbc.ini isql -b node "$HW_USER" "$HW_PASSWORD" 2>&1)"
    contains 'isql runs a script' true "$(echo "CALL admin_execute(10001, '$has')" |
        ODBCINI=$work/odbc.ini isql -b node "$HW_USER" "$HW_PASSWORD" 2>&1)"
}

run_connectorj() {
    jar=/usr/share/java/mariadb-java-client.jar
    javac -d "$work" $here/ConnectorJ.java
    client Connector/J 'tcp tls prepared tls-prepared' \
        java -cp "$work:$jar" ConnectorJ
}

# MySQL's own, of Maven Central.
run_mysqlj() {
    mvn -q -B dependency:copy -DoutputDirectory="$work" \
        -Dartifact=com.mysql:mysql-connector-j:9.1.0
    javac -d "$work" $here/ConnectorJ.java
    client 'MySQL Connector/J' 'tcp tls prepared tls-prepared' \
        java -cp "$work:$work/mysql-connector-j-9.1.0.jar" ConnectorJ mysql
    javac -d "$work" $here/Metadata.java
    for way in true false; do
        same "its metadata, useInformationSchema=$way" "177 called" "$(java -cp \
            "$work:$work/mysql-connector-j-9.1.0.jar" Metadata \
            "jdbc:mysql://127.0.0.1:$HW_PORT/heapwire?user=$HW_USER&password=$HW_PASSWORD&sslMode=DISABLED&useInformationSchema=$way")"
    done
}

run_sysbench() {
    contains sysbench 'ignored errors:                      0 ' \
        "$(sysbench $here/point_select.lua --mysql-host=127.0.0.1 \
            "--mysql-port=$HW_PORT" "--mysql-user=$HW_USER" \
            "--mysql-password=$HW_PASSWORD" --mysql-db=heapwire --threads=4 \
            --events=2000 --time=0 run 2>&1)"
}

run_dump() {
    contains mysqldump "(10001,'127.0.0.1'" "$(as_admin mariadb-dump heapwire nodes)"
    contains mysqlshow nodes "$(as_admin mariadb-show heapwire)"
    contains mysqlcheck "doesn't support check" "$(as_admin mariadb-check heapwire nodes)"
    echo 1 >"$work/nodes.txt"
    contains mysqlimport 'Error: 1290' \
        "$(as_admin mariadb-import --local heapwire "$work/nodes.txt" || true)"
}

# Debian's driver, in the old way of Go's packages.
run_go() {
    GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE="$work/go" \
        GOFLAGS=-buildvcs=false /usr/bin/go build -o "$work/go_client" $here/go_client.go
    client go-sql-driver 'tcp tls socket' "$work/go_client"
}

run_xorm() {
    mkdir "$work/xorm"
    cp $here/xorm_client.go "$work/xorm"
    same xorm "no tables
InnoDB id" "$(cd "$work/xorm" && export GOPATH="$work/go" GOCACHE="$work/go" \
        GOFLAGS='-mod=mod -modcacherw' && printf 'module x\n\ngo 1.19\n' >go.mod &&
        /usr/bin/go get xorm.io/xorm@v1.3.9 \
            github.com/go-sql-driver/mysql@v1.7.1 >log 2>&1 &&
        /usr/bin/go run . 2>&1)"
}

# start_control: a MariaDB with the node's tables that strict_types.sql asks.
start_control() {
    [ ! -e "$work/db" ] || return 0
    install_mariadb
    control_port=$(free_port)
    /usr/sbin/mariadbd --no-defaults --user=mysql --datadir="$work/db/data" \
        --tmpdir="$work/db/data" --socket="$work/db/db.sock" \
        --bind-address=127.0.0.1 --port="$control_port" \
        --pid-file="$work/db/pid" --innodb-buffer-pool-size=16M \
        >"$work/db.log" 2>&1 &
    pids="$! $pids"
    control="mariadb --no-defaults -S $work/db/db.sock -u root"
    wait_for 60 $control -e 'SELECT 1'
    {
        echo "CREATE USER $HW_USER@localhost IDENTIFIED BY '$HW_PASSWORD';
            GRANT ALL ON *.* TO $HW_USER@localhost;
            CREATE DATABASE heapwire; USE heapwire;"
        as_admin mariadb-dump --skip-ssl heapwire nodes
        as_admin mariadb-dump --skip-ssl --where "snapshot = '$HW_SNAPSHOT'" \
            heapwire heap_functions
    } | $control
}

# strict NAME TEXT PROGRAM FORMAT: what the program says of types and values is
# what it says of MariaDB's, and has the text.  FORMAT is of a URL, by port.
strict() {
    for port in "$control_port" "$HW_PORT"; do
        # shellcheck disable=SC2059
        "$3" "$(printf "$4" "$port")" $here/strict_types.sql \
            >"$work/strict.$port" 2>&1 ||
            fault "$1: $(tail -n 5 "$work/strict.$port")"
    done
    same "$1" "" "$(diff "$work/strict.$control_port" "$work/strict.$HW_PORT")"
    contains "$1" "$2" "$(cat "$work/strict.$HW_PORT")"
}

run_rust() {
    command -v cargo >/dev/null || {
        echo "skipped: no cargo, for sqlx and mysql_async"
        return
    }
    mkdir -p "$work/rust/src"
    cp $here/strict_client.rs "$work/rust/src/main.rs"
    cat >"$work/rust/Cargo.toml" <<'END'
[package]
name = "strict_client"
version = "1.0.0"
edition = "2021"
[profile.dev]
debug = false
[dependencies]
tokio = { version = "1", features = ["macros", "rt"] }
mysql_async = { version = "0.36", default-features = false, features = [
    "minimal-rust", "bigdecimal", "rust_decimal"] }
sqlx = { version = "0.8", default-features = false, features = [
    "mysql", "runtime-tokio", "bigdecimal", "rust_decimal"] }
END
    : "${CARGO_TARGET_DIR:=$work/rust/target}"
    export CARGO_TARGET_DIR
    (cd "$work/rust" && cargo build --quiet >log 2>&1) || {
        fault "Rust: $(tail -n 20 "$work/rust/log")"
        return
    }
    start_control
    strict 'sqlx and mysql_async' 'Decimal: Some(36893488147419103230)' \
        "$CARGO_TARGET_DIR/debug/strict_client" \
        "mysql://$HW_USER:$HW_PASSWORD@127.0.0.1:%s/heapwire"
}

run_gorm() {
    mkdir "$work/gorm"
    cp $here/strict_client.go "$work/gorm"
    (cd "$work/gorm" && export GOPATH="$work/go" GOCACHE="$work/go" \
        GOFLAGS='-mod=mod -modcacherw' && printf 'module x\n\ngo 1.19\n' >go.mod &&
        /usr/bin/go get gorm.io/gorm@v1.25.7 gorm.io/driver/mysql@v1.5.4 \
            github.com/jmoiron/sqlx@v1.3.5 github.com/shopspring/decimal@v1.3.1 &&
        /usr/bin/go build -o strict_client .) >"$work/gorm.log" 2>&1 || {
        fault "GORM: $(tail -n 20 "$work/gorm.log")"
        return
    }
    start_control
    strict 'GORM and sqlx' 'GORM: {36893488147419103230 true}' \
        "$work/gorm/strict_client" \
        "$HW_USER:$HW_PASSWORD@tcp(127.0.0.1:%s)/heapwire"
}

run_mysql2() {
    cp $here/mysql2_client.js "$work"
    (cd "$work" && npm install --silent --no-audit --no-fund mysql2@3 >/dev/null)
    client mysql2 'tcp tls socket' node "$work/mysql2_client.js"
}

run_mycli() {
    contains mycli 10001 "$(HOME=$work mycli -h 127.0.0.1 -P "$HW_PORT" \
        -u "$HW_USER" -p "$HW_PASSWORD" -e 'SELECT id FROM heapwire.nodes' 2>&1)"
}

core='mariadb mysqladmin mysqlslap dump pymysql mysqlclient sqlalchemy mysqli pdo dbd odbc isql'
for name in ${CLIENTS:-$core}; do
    "run_$name"
done
stop_node
finish_test
