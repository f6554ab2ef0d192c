#!/bin/sh
# mariadb_node.sh - a database that starts as root and drops it, is killed, and
# is started again by its wrapper: heapwired follows its uid and finds it again.
. tests/integration/lib/lib.inc

install_mariadb

cat >"$work/wrapper" <<EOF
#!/bin/sh
while [ ! -e '$work/enough' ]; do
    /usr/sbin/mariadbd --no-defaults --user=mysql --datadir='$work/db/data' --tmpdir='$work/db/data' \\
        --socket='$work/db/db.sock' --skip-networking --pid-file='$work/db/pid'
done
EOF
chmod +x "$work/wrapper"

db() {
    mariadb --no-defaults -S "$work/db/db.sock" -u root -N -B -e "$1" 2>&1
}

# The user of heapwired, whose pid stands in its lock file.
heapwired_user() {
    ps -o user= -p "$(cat "$work/node/heapwired.lock")"
}

heapwired_is_mysql() {
    [ "$(heapwired_user)" = mysql ]
}

node_options="--listen none --exe /usr/sbin/mariadbd"
start_node "$work/wrapper"
wait_for 60 db 'SELECT 1'
wait_for 60 heapwired_is_mysql
same "heapwired follows the database" mysql "$(heapwired_user)"
wait_for 60 prof 'has_enable()' # its agent is another, once it is mysql
same "still the same socket" false "$(prof 'has_enable()')"
same "enable" "instance of HeapProf" "$(prof 'enable_prof()')"
db "CREATE DATABASE t; USE t; CREATE TABLE x ENGINE=InnoDB
    SELECT seq, REPEAT('x', 200) v FROM seq_1_to_20000" >/dev/null
contains "its graph" 'digraph "/usr/sbin/mariadbd' \
    "$(prof 'dump_dot_snapshot()')"

name=$(prof 'snapshot()')
same "a snapshot is kept" "$name" \
    "$(sql 'select group_concat(name) from heapwire.snapshots')"
same "in a file that is the database's user's, too" "mysql 700 mysql 600" \
    "$(stat -c '%U %a' "$work/node/snapshots" \
        "$work/node/snapshots/$name.snapshot" | paste -sd ' ')"
same "and symbol indexes and unwind tables may be" "mysql 700 mysql 700" \
    "$(stat -c '%U %a' "$work/node/symbols" "$work/node/unwind" |
        paste -sd ' ')"

kill -KILL "$(cat "$work/db/pid")"
disabled() {
    [ "$(prof 'has_enable()')" = false ]
}
check
wait_for 60 disabled || fault "no second incarnation: $(prof 'has_enable()')"
wait_for 60 db 'SELECT 1'
is_mysqls() {
    [ "$(awk '/^Uid:/ { print $3 }' "/proc/$(cat "$work/db/pid")/status")" = \
        "$(id -u mysql)" ]
}
wait_for 60 is_mysqls
same "enable the second" "instance of HeapProf" "$(prof 'enable_prof()')"
same "heapwired stays" mysql "$(heapwired_user)"

# As root again, and then not.
heapwired=$(cat "$work/node/heapwired.lock")
kill -KILL "$heapwired"
another() {
    [ "$(cat "$work/node/heapwired.lock")" != "$heapwired" ] &&
        heapwired_is_mysql && sql 'SELECT 1'
}
wait_for 60 another
contains "another heapwired has the snapshot" "digraph" \
    "$(prof "to_dot_format(\"$name\")")"
same "enable a third time" "instance of HeapProf" "$(prof 'enable_prof()')"
later=$(prof 'snapshot()')
same "and keeps one more" "$name,$later" \
    "$(sql "select group_concat(name order by taken) from heapwire.snapshots
        where cause = 'asked'")"
same "all the user's" "mysql 600" \
    "$(stat -c '%U %a' "$work"/node/snapshots/*.snapshot | sort -u)"

touch "$work/enough"
kill "$(cat "$work/db/pid")"
check
wait "$run" || fault "heapwire-run exited with $?"

finish_test
