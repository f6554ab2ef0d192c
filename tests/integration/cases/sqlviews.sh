#!/bin/sh
# sqlviews.sh - views as functions of SELECT, import and heap_diff, on a real
# redis, through real clients: files that the command line writes are read by
# jeprof and "go tool pprof".
. tests/integration/lib/lib.inc

export PPROF_TMPDIR="$work" HOME="$work" GOTOOLCHAIN=local
start_redis
prof 'enable_prof()' >/dev/null
load_redis 20000
prof 'snapshot("a")' >/dev/null
redis-cli -p "$redis_port" eval 'for i = 1, 100000 do
    redis.call("set", "leak" .. i, string.rep("x", 200)) end' 0 >/dev/null
prof 'snapshot("b")' >/dev/null
socket=$work/node/mysql.sock

# script CHAIN: what ADMIN EXECUTE prints of it.
script() {
    sql "ADMIN EXECUTE ON 10001 'System.print(Profile.$1)'"
}

# ---- equal to the script's, for every form, alone and compared ----

drawn=svg,pdf # by graphviz
! command -v dot >/dev/null || drawn=
# equal FORM FILE: to the script's, whose last line may lack its end: the client's
# comes behind one.
equal() {
    check
    cmp -s "$2" "$work/script" || {
        echo >>"$work/script"
        cmp "$2" "$work/script" || fault "$1"
    }
}
for form in $(sql "SELECT routine_name FROM information_schema.routines WHERE
    routine_type = 'FUNCTION' AND NOT find_in_set(routine_name, '$drawn')"); do
    sql "SELECT $form('a')" >"$work/a.$form"
    script "of(\"a\").$form()" >"$work/script"
    equal "$form" "$work/a.$form"
    # These show no difference.
    case $form in raw | address_names | export) continue ;; esac
    sql "SELECT $form('b', 'a')" >"$work/b.$form"
    script "of(\"b\").base(\"a\").$form()" >"$work/script"
    equal "$form of a difference" "$work/b.$form"
done
same "options are the chain's" \
    "$(script 'of("b").by("inuse_objects").focus("processCommand").nodecount(3).top()')" \
    "$(sql "SELECT top('b', NULL, 'by=inuse_objects; focus=processCommand; nodecount=3')")"
same "as top(n)" "$(script 'of("b").top(2)')" "$(sql "SELECT top('b', NULL, 2)")"
contains "the culprit comes first" _sdsnewlen \
    "$(sql "SELECT top('b', 'a', 1)" | tail -n 1)"

# ---- the files are usable ----

# The client ends a value with a newline, which is not gzip's.
head -c -1 "$work/a.pprof" >"$work/a.pb.gz"
check
gzip -t "$work/a.pb.gz" || fault "a.pb.gz is not a gzip file"
contains "go tool pprof" "Type: inuse_space" \
    "$(go tool pprof -top "$work/a.pb.gz" 2>&1)"
contains "jeprof" " zmalloc" \
    "$(jeprof --text --show_bytes /usr/bin/redis-server "$work/a.raw" 2>/dev/null)"
contains "heapwire-prof, of the raw one" " processCommand" \
    "$("$bin/heapwire-prof" --text "$(command -v redis-server)" "$work/a.raw" 2>&1)"
head -c -1 "$work/a.export" >"$work/a.heapwire"
contains "and of the exported one" " processCommand" \
    "$("$bin/heapwire-prof" --text "$work/a.heapwire" 2>&1)"
contains "a picture" "</svg>" "$(tail -c 200 "$work/a.flamegraph")"

# ---- several at once, over rows, in conditions ----

same "rows" "a	1	1
b	1	1" "$(sql "SELECT name, length(pprof(name)) > 99, dot(name) LIKE 'digraph%'
    FROM heapwire.snapshots")"
same "now" "1" "$(sql "SELECT top('now') LIKE '%Total: %'")"
same "null" "NULL	NULL" "$(sql "SELECT dot(NULL), dot(@unset)")"
contains "what is wrong" "ERROR 1139 (42000)" \
    "$(sql "SELECT dot('a', NULL, 'focus=(')" || true)"
contains "what is not there" "no snapshot named 'zzz' is kept" \
    "$(sql "SELECT dot('zzz')" || true)"

# ---- cancelled: the next one does not notice ----

cat >"$work/cancel.py" <<'PY'
import sys
import threading
import pymysql

def connect():
    return pymysql.connect(unix_socket=sys.argv[1], user="root")

victim, killer = connect(), connect()
codes = set()
for i in range(30):
    # Each asks for views that are not made yet.
    sql = "SELECT " + ", ".join(
        f"length(flamegraph('b', 'a', 'nodecount={i * 40 + k + 1}'))"
        for k in range(40))
    timer = threading.Timer(0.002 * (i % 10), lambda: killer.cursor().execute(
        f"KILL QUERY {victim.thread_id()}"))
    timer.start()
    try:
        cur = victim.cursor()
        cur.execute(sql)
        cur.fetchall()
        codes.add(0)
    except pymysql.err.MySQLError as e:
        codes.add(e.args[0])
    timer.join()
    try:
        victim.cursor().execute("DO 1")  # where the KILL came too late
    except pymysql.err.MySQLError as e:
        assert e.args[0] == 1317, e
assert codes <= {0, 1317} and 1317 in codes, codes
cur = victim.cursor()
cur.execute("SET max_execution_time = 50")
try:
    cur.execute("WITH RECURSIVE c(n) AS (SELECT 5000 UNION ALL SELECT n + 1 "
                "FROM c WHERE n < 5500) SELECT flamegraph('b', 'a', "
                "CONCAT('nodecount=', n)) FROM c")
    cur.fetchall()
    raise AssertionError("no deadline")
except pymysql.err.MySQLError as e:
    assert e.args[0] == 3024, e
print("ok")
PY
same "KILL QUERY and the deadline" ok "$($python "$work/cancel.py" "$socket" 2>&1)"

# ---- prepared: names as parameters, types, and a file by long data ----

cat >"$work/prepared.c" <<'C'
#include <mysql.h>
#include <stdio.h>
#include <string.h>

#define CHECK(x)                                                               \
    if (!(x)) {                                                                \
        printf("%s: %s\n", #x, mysql_stmt_error(s));                           \
        return 1;                                                              \
    }

static char bytes[32 << 20];

int
main(int argc, char **argv)
{
    MYSQL *m = mysql_init(NULL);
    MYSQL_STMT *s;
    MYSQL_BIND in[2] = {{0}}, out[1] = {{0}};
    unsigned long size, name = 1, got = 0;
    static const char import[] = "CALL import_snapshot(?, ?)";
    static const char view[] = "SELECT export(?, ?)";
    FILE *f = fopen(argv[2], "rb");
    my_bool is_null = 1;

    (void)argc;
    size = fread(bytes, 1, sizeof(bytes), f);
    fclose(f);
    if (!mysql_real_connect(m, NULL, "root", NULL, "heapwire", 0, argv[1], 0))
        return 1;
    s = mysql_stmt_init(m);
    CHECK(mysql_stmt_prepare(s, import, sizeof(import) - 1) == 0);
    in[0].buffer_type = MYSQL_TYPE_STRING;
    in[0].buffer = "c";
    in[0].buffer_length = 1;
    in[0].length = &name;
    in[1].buffer_type = MYSQL_TYPE_LONG_BLOB;
    CHECK(mysql_stmt_bind_param(s, in) == 0);
    for (unsigned long at = 0; at < size; at += 1000)
        CHECK(mysql_stmt_send_long_data(s, 1, bytes + at,
                                        size - at < 1000 ? size - at : 1000) ==
              0);
    CHECK(mysql_stmt_execute(s) == 0);
    CHECK(mysql_stmt_store_result(s) == 0);
    CHECK(mysql_stmt_num_rows(s) == 1);
    mysql_stmt_close(s);

    s = mysql_stmt_init(m);
    CHECK(mysql_stmt_prepare(s, view, sizeof(view) - 1) == 0);
    {
        MYSQL_FIELD *field = mysql_fetch_field(mysql_stmt_result_metadata(s));

        printf("%d %u\n", field->type == MYSQL_TYPE_BLOB, field->charsetnr);
    }
    in[1].buffer_type = MYSQL_TYPE_STRING;
    in[1].is_null = &is_null;
    CHECK(mysql_stmt_bind_param(s, in) == 0);
    CHECK(mysql_stmt_execute(s) == 0);
    out[0].buffer_type = MYSQL_TYPE_LONG_BLOB;
    out[0].buffer = bytes;
    out[0].buffer_length = sizeof(bytes);
    out[0].length = &got;
    CHECK(mysql_stmt_bind_result(s, out) == 0);
    CHECK(mysql_stmt_fetch(s) == 0);
    f = fopen(argv[3], "wb");
    fwrite(bytes, 1, got, f);
    fclose(f);
    mysql_stmt_close(s);
    mysql_close(m);
    return 0;
}
C
# shellcheck disable=SC2046
cc -o "$work/prepared" "$work/prepared.c" $(pkg-config --cflags --libs libmariadb)
same "a BLOB" "1 63" "$("$work/prepared" "$socket" "$work/a.export" "$work/c.export")"
same "what was imported shows the same" "$(sql "SELECT text('a')")" \
    "$(sql "SELECT text('c')")"
same "and is told apart" "imported" \
    "$(sql "SELECT cause FROM heapwire.snapshots WHERE name = 'c'")"
contains "a name is taken once" "a snapshot named 'c' is kept already" \
    "$("$work/prepared" "$socket" "$work/a.export" "$work/c.export" || true)"

# ---- import by other ways ----

same "PyMySQL, bytes in the text" "d" "$($python -c '
import sys, pymysql
c = pymysql.connect(unix_socket=sys.argv[1], user="root").cursor()
c.execute("CALL heapwire.import_snapshot(%s, %s)",
          ("d", open(sys.argv[2], "rb").read()))
print(c.fetchone()[0])' "$socket" "$work/a.raw" 2>&1)"
contains "a raw profile has no names" "redis" "$(sql "SELECT text('d')")"
same "the command line, x'...'" "e" "$({
    printf "CALL heapwire.import_snapshot('e', x'"
    od -An -v -tx1 "$work/a.export" | tr -d ' \n'
    printf "')"
} | mariadb --no-defaults -S "$socket" -u root -N 2>&1)"
same "a profile ends with its last line's end" 0A \
    "$(sql "SELECT hex(right(raw('a'), 1))")"
same "bytes of the same" "$(sql "SELECT md5(raw('a'))")" \
    "$(sql "SELECT md5(raw('e'))")"
contains "garbage" "ERROR 1210" \
    "$(sql "CALL heapwire.import_snapshot('f', 'garbage')" || true)"
contains "audited" "import_snapshot('e', x'4857534e" \
    "$(sql "SELECT statement FROM heapwire.audit_log" | grep "'e'")"
same "15 MB in one packet, which is no profile" 1210 "$($python -c '
import sys, pymysql
c = pymysql.connect(unix_socket=sys.argv[1], user="root",
                    max_allowed_packet=1 << 24).cursor()
try:
    c.execute("CALL heapwire.import_snapshot(%s, %s)", ("g", b"x" * 15000000))
except pymysql.err.MySQLError as e:
    print(e.args[0])' "$socket" 2>&1)"
if command -v node >/dev/null && node -e 'require("mysql2")' 2>/dev/null; then
    same "mysql2, execute()" "h" "$(node -e '
const fs = require("fs"), mysql = require("mysql2");
const c = mysql.createConnection({socketPath: process.argv[1], user: "root"});
c.execute("CALL heapwire.import_snapshot(?, ?)",
    ["h", fs.readFileSync(process.argv[2])], (e, rows) => {
        console.log(e ? e.message : (rows[0].name || rows[0][0].name));
        c.end();
    });' "$socket" "$work/a.export" 2>&1)"
fi

# ---- the table of differences ----

same "what grew is significant" "1	1" \
    "$(sql "SELECT cum_bytes > 10000000, significant FROM heapwire.heap_diff
        WHERE snapshot = 'b' AND base = 'a' LIMIT 1")"
same "and the same of the other side" "0" \
    "$(sql "SELECT sum(x.cum_bytes + y.cum_bytes) FROM heapwire.heap_diff x
        JOIN heapwire.heap_diff y USING (function)
        WHERE x.snapshot = 'a' AND x.base = 'b'
        AND y.snapshot = 'b' AND y.base = 'a'")"

finish_test
