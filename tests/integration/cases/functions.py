"""What a session may reach through functions: nothing but their answers.

The functions are those of the tables in sql/functions/: a new one is tried as
soon as it has its row.  Arguments name single tests.
"""
import glob
import itertools
import re
import sys
import warnings
from contextlib import suppress

import pymysql

from mysql_wire import Refused, Wire, text_value
from node_under_test import REAL, Node
from runner import named, run_tests

SECRET = "5ec7e7" * 11  # of the cluster, in the node's memory
SETTINGS = f"[cluster]\nname = functions\nsecret = {SECRET}\n"
USERS = (("eve", b"evil", "status"),)
INVALID_TEXT = 1300

SQLITES = {"abs": 1, "sign": 1, "sqrt": 1, "exp": 1, "ln": 1, "log2": 1,
           "log10": 1, "pow": 2, "ltrim": 1, "rtrim": 1,
           "json_object": 2, "json_array": 2, "nullif": 2,
           "ifnull": 2, "coalesce": 2}
SYNTAX = ("CAST({} AS CHAR(1))", "CAST({} AS BINARY(9))",
          "CAST({} AS DECIMAL(65,30))", "CAST({} AS UNSIGNED)",
          "CAST({} AS DATETIME(6))", "CONVERT({} USING utf8mb4)",
          "{} + INTERVAL {} DAY_MICROSECOND", "{} - INTERVAL {} MONTH",
          "EXTRACT(DAY_MICROSECOND FROM {})", "TRIM(BOTH {} FROM {})",
          "{} DIV {}", "{} % {}", "{} -> {}", "{} ->> {}", "{} << {}", "{} >> {}", "{} LIKE {}",
          "{} REGEXP {}", "{} IN ({}, {})", "{} BETWEEN {} AND {}",
          "GROUP_CONCAT({} ORDER BY {} SEPARATOR 'x')", "-{}", "~{}",
          "TIMESTAMPDIFF(SECOND, {}, {})", "TIMESTAMPADD(YEAR, {}, {})")
EXTREMES = ("-9223372036854775808", "9223372036854775807", "-1", "0",
            "'18446744073709551616'", "-1e308", "x'e400ff'")


def node():
    return Node(REAL, listen="127.0.0.1:0", users=USERS, settings=SETTINGS)


def connect(n, **more):
    host, port = n.tcp
    return pymysql.connect(host=host, port=port, user="eve", password="evil",
                           charset="utf8mb4", read_timeout=60, **more)


def functions():
    """Of name, how many arguments to try."""
    row = re.compile(r'^    \{"(\w+)",\s*(\d+),\s*(\w+),', re.M)
    found = dict(SQLITES)
    for path in glob.glob("sql/functions/*.c"):
        with open(path, encoding="utf-8") as f:
            for name, least, most in row.findall(f.read()):
                most = int(most) if most.isdigit() else max(2, int(least))
                found[name] = max(int(least), min(most, 3))
    found.pop("sleep")
    found.update(charset=1, collation=1, coercibility=1)
    return found


def statements():
    calls = [f"{name}({', '.join(['{}'] * count)})"
             for name, count in sorted(functions().items())]
    assert len(calls) > 100, calls
    for call in calls + list(SYNTAX):
        count = min(call.count("{}"), 3)
        fixed = ["1"] * (call.count("{}") - count)
        for values in itertools.product(EXTREMES, repeat=count):
            yield call.format(*values, *fixed)


def test_no_argument_reads_memory_or_ends_the_node():
    secrets = (SECRET.encode(), bytes.fromhex(SECRET))
    secrets += tuple(s.hex().encode() for s in secrets)
    with node() as n, connect(n) as c:
        id = c.thread_id()
        tried = answered = 0
        for expression in statements():
            with c.cursor() as cursor:
                tried += 1
                try:
                    cursor.execute("SELECT " + expression.replace("%", "%%"),
                                   ())
                except pymysql.err.MySQLError as error:
                    assert error.args[0] < 2000 or error.args[0] > 2999, (
                        expression, error)
                    continue
                answered += 1
                value = cursor.fetchone()[0]
            value = str(value).encode() if not isinstance(value, bytes) \
                else value
            for secret in secrets:
                assert secret not in value, expression
        assert answered > tried / 4, (tried, answered)
        # byte by byte: CONV of SQL once read memory at a constant + its base
        for base in ("-9223372036854775808", "9223372036854775807", "-99"):
            for at in range(-64, 64):
                for call in (f"CONV({at}, 10, {base})",
                             f"CONV({at}, {base}, 10)"):
                    with c.cursor() as cursor:
                        cursor.execute(f"SELECT HEX({call})")
                        assert cursor.fetchone()[0] is None, call
        with c.cursor() as cursor:
            cursor.execute("SELECT CONNECTION_ID()")
            assert cursor.fetchone()[0] == id
        assert n.process.poll() is None
        print(f"{tried} statements, {answered} answers")


# Bytes that are no UTF-8, in all ways that make a text of them.
SOURCES = ("CHAR(228 USING utf8mb4)", "CHAR(228)", "x'e4'", "0xe4", "b'11100100'",
           "CONVERT(x'e4' USING utf8mb4)", "CAST(x'e4' AS CHAR)",
           "CAST(x'e4' AS CHAR(3))", "_utf8mb4 x'e4'", "BINARY x'e4'", "@bytes",
           "SUBSTRING(CAST('é' AS BINARY), 2)", "CAST('é' AS BINARY(1))",
           "LEFT(CAST('日本' AS BINARY), 4)", "x'f09f98'", "x'c080'", "x'eda080'",
           "x'f4908080'", "x'ff00'", "(SELECT x'e4')", "'zz'", "'1e999'")
MAKERS = ("{}", "CONCAT({})", "CONCAT('a', {}, 'b')", "CONCAT_WS('-', 1, {})",
          "UPPER({})", "LOWER({})", "LEFT({}, 9)", "RIGHT({}, 9)",
          "SUBSTRING({}, 1)", "REPEAT({}, 2)", "REPLACE({}, 'x', 'y')",
          "REPLACE('x', 'x', {})", "LPAD({}, 9, {})", "RPAD('a', 3, {})",
          "TRIM({})", "LTRIM({})", "TRIM('x' FROM {})", "IF(1, {}, 'a')",
          "IFNULL({}, 'a')", "NULLIF({}, 'a')", "COALESCE(NULL, {})",
          "CASE WHEN 1 THEN {} ELSE 'a' END", "GREATEST({}, 'a')",
          "LEAST({}, 'zz')", "MAX({})", "MIN({})", "ANY_VALUE({})",
          "GROUP_CONCAT({})", "GROUP_CONCAT('a', {} ORDER BY 1)",
          "GROUP_CONCAT(1 SEPARATOR 'a')", "SUBSTRING_INDEX({}, 'x', 1)",
          "REGEXP_REPLACE({}, 'x', 'y')", "REGEXP_REPLACE('é', 'x*', {})",
          "REGEXP_SUBSTR({}, '.*')", "DATE_FORMAT('2026-01-01', {})",
          "TIME_FORMAT('10:11:12', {})", "JSON_QUOTE({})", "JSON_ARRAY({})",
          "JSON_OBJECT('a', {})", "JSON_ARRAYAGG({})", "CAST({} AS CHAR)",
          "CONVERT({} USING utf8mb4)", "CAST({} AS DATE)", "CAST({} AS SIGNED)",
          "CAST({} AS DECIMAL(5, 2))", "GREATEST({}, 1)", "ROUND({})", "-{}",
          "(SELECT {})", "FIRST_VALUE({}) OVER ()", "STR_TO_DATE({}, '%Y')",
          "REVERSE({})", "INSERT({}, 1, 1, 'x')", "QUOTE({})", "SOUNDEX({})",
          "ELT(1, {})", "MAKE_SET(1, {})", "EXPORT_SET(1, {}, 'x', '', 1)",
          "SPACE({})", "CONV({}, 36, 2)", "JSON_UNQUOTE({})",
          "JSON_EXTRACT(JSON_QUOTE({}), '$')", "JSON_KEYS({})",
          "JSON_OBJECT({}, 1)", "'[1]' ->> {}", "INET6_NTOA({})",
          "UNHEX({})", "CHARSET({})",
          "TO_BASE64({})", "MD5({})", "HEX({})", "DATE_ADD({}, INTERVAL 1 DAY)")
WHOLE = ("SELECT {} UNION SELECT 'a'", "SELECT 'a' UNION ALL SELECT {}",
         "WITH t(a) AS (SELECT {}) SELECT a FROM t",
         "SELECT a FROM (SELECT {} AS a) t GROUP BY a ORDER BY a",
         "SELECT @y := {}")


def ask(c, statement):
    """Rows, or None for an error of ours; then the connection has its place."""
    rows = None
    try:
        c.query(statement if isinstance(statement, bytes)
                else statement.encode())
        result = c._result  # of the statement, warnings and all
        rows = result.rows
        for row in rows or ():
            for field, value in zip(result.fields, row):
                assert field.charsetnr == 63 or value is None or \
                    isinstance(value, str), (statement, value)
    except pymysql.err.MySQLError as error:
        assert error.args[0] not in range(2000, 3000), (statement, error)
    c.query("SELECT 7")
    assert c._result.rows == ((7,),), statement
    return rows


def test_a_text_is_always_utf8():
    with node() as n, connect(n) as c:
        c.query("SET @bytes = x'e4'")
        answers = 0
        for source in SOURCES:
            for maker in MAKERS:
                answers += ask(c, "SELECT " + maker.replace("{}", source)) \
                    is not None
            for whole in WHOLE:
                answers += ask(c, whole.replace("{}", source)) is not None
        assert answers > len(SOURCES) * (len(MAKERS) + len(WHOLE)) / 2, answers
        print(f"{answers} answers")


def test_what_is_no_text_is_null_with_a_warning():
    with node() as n, connect(n) as c, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        c.query("SELECT CHAR(228 USING utf8mb4) AS a, 'b' AS b")
        assert c._result.rows == ((None, "b"),), c._result.rows
        assert c._result.warning_count == 1
        shown = c.show_warnings()
        assert shown[0][:2] == ("Warning", INVALID_TEXT), shown
        assert "Invalid utf8mb4 character string" in shown[0][2], shown
        c.query(b"SELECT '\xe4' AS a")
        assert c._result.rows == ((None,),), c._result.rows
        assert "in column 'a'" in c.show_warnings()[0][2]
        c.query("SELECT x'e4' AS a, CHAR(228) AS b, HEX(CHAR(228)) AS c")
        assert c._result.rows == ((b"\xe4", b"\xe4", "E4"),), c._result.rows
        assert c._result.warning_count == 0


def test_names_and_faults_are_utf8():
    with node() as n, connect(n) as c:
        for statement in (b"SELECT 1 AS `\xe4`", b"SELECT 1 AS '\xe4'",
                          b"SELECT '\xe4'", b"SELECT \xe4", b"SELECT `\xe4`",
                          b"\xe4\xe4", b"SELECT 1 FROM `\xe4`", b"USE `\xe4`",
                          b"SELECT \xe4(1)", b"SHOW TABLES LIKE '\xe4'",
                          b"SHOW VARIABLES LIKE '\xe4'", b"SET @x = '\xe4'",
                          b"SELECT @x", b"SELECT @`\xe4`",
                          b"SELECT 1 `\xf0\x9f\x98`", b"SET NAMES '\xe4'",
                          b"EXPLAIN SELECT '\xe4'", b"SHOW PROCESSLIST /*\xe4*/",
                          b"SELECT info /*\xe4*/ FROM "
                          b"information_schema.processlist",
                          b"ADMIN EXECUTE ON 10001 'System.print(\"\xe4\")'"):
            ask(c, statement)


# What becomes an infinite double where one is made of it.
LONG = tuple(form.format("9" * digits) for digits in (38, 39, 66, 308, 309, 5000)
             for form in ("{}", "-{}", "{}.5", "0.{}", ".{}", "0.0{}", "{}e0",
                          "1e{}")) + ("1e308", "1e309", "-1e400")
HOLDERS = ("SELECT {}", "SELECT '{}' + 0", "SELECT IF(1, {}, 1.5)",
           "SELECT IF(1, '{}', 1.5) + 1", "SELECT COALESCE({}, 1.5)",
           "SELECT CASE WHEN 1 THEN {} ELSE 2.25 END", "SELECT {} UNION SELECT 1.5",
           "SELECT 1.5 UNION SELECT '{}'", "SELECT 1 WHERE {} > 1",
           "SELECT 1 WHERE 1 IN ({}, '{}')", "SELECT 1 LIMIT {}",
           "SELECT CAST({} AS DECIMAL(65, 30))", "SELECT CAST('{}' AS DECIMAL(65, 30))",
           "SELECT CAST('{}' AS DOUBLE), CAST('{}' AS SIGNED)", "SET @x = {}",
           "SELECT @x, @x + 1.5", "SELECT {} INTO @y", "SELECT IF(1, @y, 1.5)",
           "SELECT -@y, @y * 1.5", "SELECT SUM({}), AVG({}), MAX({})",
           "SELECT GREATEST({}, 1.5)", "SELECT ROUND({}, 2)", "SELECT -({})",
           "SELECT ABS({}) % 7.5", "SELECT {} DIV 0.3", "SELECT {} / 3",
           "SELECT FORMAT({}, 2)", "SELECT a * 1.5 FROM (SELECT {} a) t ORDER BY a")


def test_no_number_is_too_long():
    with node() as n, connect(n) as c:
        for value in LONG:
            for holder in HOLDERS:
                ask(c, holder.replace("{}", value))
            with Wire(n.socket).login() as w:
                for text in ("SELECT IF(1, ?, 1.5)", "SELECT ? + 1.5",
                             f"SELECT IF(?, {value}, 1.5)", "SELECT 1 LIMIT ?",
                             "SELECT CAST(? AS DECIMAL(65, 30))", "SELECT -?",
                             "SELECT SUM(?), AVG(?)"):
                    with suppress(Refused):
                        st = w.prepare(text)
                        w.execute(st, [text_value(value, kind)
                                       for kind in (0xF6, 0xFD)]
                                  [:len(st.parameters)])
                w.ping()
        for value in ("9" * 309, "1e400", "-1e400"):
            try:
                c.query(f"SELECT {value}")
                raise AssertionError(value)
            except pymysql.err.MySQLError as error:
                assert error.args[0] in (1367, 1690), (value, error)
        assert n.process.poll() is None


run_tests(named(globals(), sys.argv[1:]))
