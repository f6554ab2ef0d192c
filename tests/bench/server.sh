#!/bin/sh
# server.sh - heapwired beside a MariaDB server: what queries, logins, idle
# connections and long results cost each.
#
# ROUNDS (default 3) rounds; in each, every measure is taken of the one and
# then of the other, by the same client (mysql_bench).  Prints the medians and
# their ratio.  CPU time per query says more than the rate, which the client
# and the machine's other work disturb.  SECONDS_EACH (default 1) for each.
set -eu
cd "$(dirname "$0")/../.."

bin=$PWD/${BUILD:-build/release}/bin
rounds=${ROUNDS:-3}
seconds=${SECONDS_EACH:-1}
rows=${ROWS:-1000000}
work=$(mktemp -d)
servers=

finish() {
    trap - EXIT INT TERM
    # shellcheck disable=SC2086
    [ -z "$servers" ] || kill $servers 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

free_port() {
    python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# MariaDB: as Debian has it, but for what a bench must not share.
mariadb_port=$(free_port)
as_user=
if [ "$(id -u)" = 0 ]; then
    as_user=--user=mysql
    chmod 711 "$work"
    install -d -o mysql "$work/data" "$work/tmp"
else
    mkdir "$work/data" "$work/tmp"
fi
# shellcheck disable=SC2086
mariadb-install-db --no-defaults --force $as_user --datadir="$work/data" \
    --auth-root-authentication-method=normal >"$work/install" 2>&1
# shellcheck disable=SC2086
mariadbd --no-defaults $as_user --datadir="$work/data" --tmpdir="$work/tmp" \
    --socket="$work/data/sock" --pid-file="$work/data/pid" \
    --bind-address=127.0.0.1 --port="$mariadb_port" --max-connections=1100 \
    --performance-schema=OFF >"$work/mariadb.log" 2>&1 &
mariadb=$!
servers="$servers $mariadb"
sql() { mariadb --no-defaults -u root -S "$work/data/sock" -e "$1"; }
until sql 'SELECT 1' >/dev/null 2>&1; do
    kill -0 "$mariadb" || { cat "$work/mariadb.log"; exit 1; }
    sleep 0.1
done
sql "SET GLOBAL max_recursive_iterations = 4294967295"
sql "CREATE USER bench@localhost IDENTIFIED VIA mysql_native_password
    USING PASSWORD('secret'); GRANT SELECT ON *.* TO bench@localhost"

# heapwire: a redis node.
heapwire_port=$(free_port)
redis_port=$(free_port)
printf '[node]\nmax_connections = 12000\n' >"$work/heapwire.ini"
"$bin/heapwired" --config "$work/heapwire.ini" --state-dir "$work/none" \
    --check >/dev/null 2>&1 || printf '[node]\n' >"$work/heapwire.ini"
chmod 600 "$work/heapwire.ini"
echo secret | "$bin/heapwire-passwd" "$work/heapwire.ini" bench --stdin \
    --privileges all >/dev/null
"$bin/heapwire-run" --config "$work/heapwire.ini" \
    --state-dir "$work/node" --listen "127.0.0.1:$heapwire_port" --http none -- \
    redis-server --port "$redis_port" --bind 127.0.0.1 --save '' \
    --dir "$work" >"$work/heapwire.log" 2>&1 &
runner=$!
servers="$servers $runner"
until mariadb --no-defaults -h 127.0.0.1 -P "$heapwire_port" -u bench \
    -psecret -e 'SELECT 1' >/dev/null 2>&1; do
    kill -0 "$runner" || { cat "$work/heapwire.log"; exit 1; }
    sleep 0.1
done
heapwire=$(pgrep -P "$runner" -x heapwired)

# both NAME OPTIONS MODE [TEXT]: the one, then the other.
both() {
    name=$1
    shift
    one heapwire "$name" "$@"
    one mariadb "$name" "$@"
}

# one SERVER NAME OPTIONS...
one() {
    server=$1
    name=$2
    shift 2
    if [ "$server" = heapwire ]; then
        set -- -p "$heapwire_port" -P "$heapwire" "$@"
    else
        set -- -p "$mariadb_port" -P "$mariadb" "$@"
    fi
    if figures=$("$bin/mysql_bench" -u bench -w secret "$@" 2>"$work/fault"); then
        echo "$server|$name|$figures" >>"$work/figures"
    else
        echo "$server: $name: $(cat "$work/fault")"
    fi
}

text=$(printf '%01024d' 0)
# Rows that each server makes in its own way, by the same two statements; and
# MariaDB's fastest source of rows, which heapwire has no like of.
join="SELECT '$text' FROM information_schema.KEYWORDS a,
    information_schema.KEYWORDS b, information_schema.COLLATIONS c LIMIT $rows"
recursion="WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s
    WHERE n < $rows) SELECT '$text' FROM s"
# Memory first, while neither has kept anything from earlier.
both "idle 1000" -c 1000 -s 1 idle
one heapwire "idle 10000" -c 10000 -s 2 idle
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    for n in 1 8 64; do
        both "SELECT 1, $n" -c $n -s "$seconds" query 'SELECT 1'
        both "SELECT @@version, $n" -c $n -s "$seconds" query \
            'SELECT @@version'
        both "prepared SELECT ?, $n" -c $n -s "$seconds" execute 'SELECT ?'
    done
    both "logins, 4" -c 4 -s "$seconds" connect
    both "stream $rows x 1 KB, join" stream "$join"
    both "stream $rows x 1 KB, recursion" stream "$recursion"
    one mariadb "stream $rows x 1 KB, seq_" stream \
        "SELECT '$text' FROM test.seq_1_to_$rows"
done

python3 - "$work/figures" <<'END'
import statistics
import sys

runs = {}
for line in open(sys.argv[1]):
    server, name, figures = line.rstrip("\n").split("|")
    for word in figures.split():
        key, value = word.split("=")
        runs.setdefault((name, key), {}).setdefault(server, []).append(
            float(value))
print(f"{'':30} {'':16} {'heapwire':>10} {'MariaDB':>10} {'ratio':>7}")
for (name, key), by in runs.items():
    m = {server: statistics.median(v) for server, v in by.items()}
    h, o = m.get("heapwire"), m.get("mariadb")
    ratio = f"{h / o:7.2f}" if h is not None and o else ""
    print(f"{name:30} {key:16} {h if h is not None else '':>10} "
          f"{o if o is not None else '':>10} {ratio}")
END
