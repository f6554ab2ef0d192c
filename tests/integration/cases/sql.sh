#!/bin/sh
# sql.sh - what stock clients send on their own, and what people ask beside the
# manual, against a real redis.
. tests/integration/lib/lib.inc

start_redis

# cli ARGUMENTS...: the stock client as it is, on the node's socket.
cli() {
    mariadb --no-defaults -S "$work/node/mysql.sock" -u root "$@" 2>&1
}

same "what an interactive client asks first" 1 \
    "$(sql 'select @@version_comment limit 1' | grep -c '^heapwire ')"
contains "the probe of mysql 8.1" "ERROR 1064 (42000)" \
    "$(sql 'select $$' || true)"
same "no database" "NULL	root@localhost" "$(sql 'select DATABASE(), USER() limit 1')"
same "databases" "heapwire
information_schema" "$(sql 'show databases')"
same "tables" "$(sql "select table_name from information_schema.tables
    where table_schema = 'heapwire' order by 1")" "$(cli -N heapwire -e 'show tables')"
contains "an unknown database" "ERROR 1049 (42000)" "$(cli nope -e '' || true)"
contains "rehash and field lists" "profiler" \
    "$(echo 'show tables' | cli --auto-rehash -D heapwire)"
same "the label as typed" "@@session.autocommit" \
    "$(cli -e 'select @@session.autocommit' | head -n 1)"
contains "status" "Current user:		root@localhost" "$(cli -e 'status')"
same "a table of the node" "10001	1	connected" \
    "$(sql 'select id, alive, state from heapwire.nodes')"
same "the profiler" "0	524288	" \
    "$(sql 'select active, sample_rate, reason from heapwire.profiler')"
contains "the session's own limit of time" \
    "maximum statement execution time exceeded (0.3 s)" \
    "$(cli -e 'set max_execution_time = 300; select sleep(9)' 2>&1)"
same "which is lifted, and of no other statement" 0 \
    "$(sql 'set max_execution_time = 300; do sleep(0.9);
        set max_execution_time = default; select sleep(0.9)')"
contains "line of a fault" "near '' at line 2" \
    "$(sql 'select 1
from' || true)"
contains "no writes" "ERROR 1290 (HY000)" \
    "$(sql 'create table t (a int)' || true)"

# An endless query is killed by its id, and the session lives on.
cli -N -e 'select connection_id(); with recursive c(n) as (select 1 union all
    select n + 1 from c limit 100000) select count(*) from c, (select 1 from c) d; select 7' \
    --force --unbuffered >"$work/endless" &
pids="$! $pids"
client=$!
wait_for 60 grep -q '[0-9]' "$work/endless"
wait_for 60 sh -c "mariadb --no-defaults -S $work/node/mysql.sock -u root -N \
    -e 'show processlist' | grep -q 'with recursive'"
sql "kill query $(head -n 1 "$work/endless")"
wait "$client" || true
contains "interrupted" "ERROR 1317 (70100)" "$(cat "$work/endless")"
same "and on" 7 "$(tail -n 1 "$work/endless")"

check
/usr/bin/python3 - "$work/node/mysql.sock" <<'PY' || fault "PyMySQL"
import sys
import pymysql

c = pymysql.connect(unix_socket=sys.argv[1], user="root", database="heapwire",
                    autocommit=False)
cur = c.cursor()
cur.execute("SELECT connection_id(), %s, %s", ("it's \\ here\n", None))
row = cur.fetchone()
assert isinstance(row[0], int) and row[1] == "it's \\ here\n", row
assert row[2] is None, row
cur.execute("SELECT @@autocommit, @@lower_case_table_names, @@sql_mode")
assert cur.fetchone()[:2] == (0, 0)
c.begin()
c.commit()
c.rollback()
cur.execute("SHOW VARIABLES WHERE Variable_name IN ('time_zone')")
assert cur.fetchall() == (("time_zone", "SYSTEM"),)
try:
    cur.execute("SELECT * FROM nope")
    raise SystemExit("no error")
except pymysql.err.ProgrammingError as e:
    assert e.args == (1146, "Table 'heapwire.nope' doesn't exist"), e.args
cur.execute("SELECT n FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL "
            "SELECT n + 1 FROM c WHERE n < 5000) SELECT n FROM c) t")
assert [r[0] for r in cur.fetchall()] == list(range(1, 5001))
PY

finish_test
