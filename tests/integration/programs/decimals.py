"""Compares exact numbers on MariaDB and on a node: values, to the last digit,
types and decimals of columns; pairs of numbers under each operator, numbers in
each function, and columns of them sorted, grouped and summed.

We have 38 digits and 30 decimals, MariaDB 65 and 38: where its answer needs
more, ours must be error 1690, and no other number.
"""
import itertools
import re
import sys
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

import pymysql
from pymysql.constants import FIELD_TYPE

NUMBERS = [
    "0", "1", "-1", "7", "0.0", "0.1", "-0.5", "1.10", "2.345", "-7.50", "1e0", "'2.5'", "NULL",
    "999999999999999", "0.000000000000001", "123456789.123456789", "9223372036854775807",
    "-9223372036854775808", "18446744073709551615", "18446744073709551616",
    "12345678901234567890.12345", "-99999999999999999999.9", "0.12345678901234567890123",
    "CAST('3.14159' AS DECIMAL(10,5))", "5 / 3",
]
PAIRS = [
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "{a} % {b}",
    "{a} = {b}", "{a} <> {b}", "{a} < {b}", "{a} >= {b}", "{a} <=> {b}",
    "GREATEST({a}, {b})", "LEAST({a}, {b})", "IF(1, {a}, {b})", "IF(0, {a}, {b})",
    "COALESCE({a}, {b})", "NULLIF({a}, {b})", "CASE {a} WHEN {b} THEN 1.5 ELSE {a} END",
    "{a} IN ({b}, 1.1)", "{a} BETWEEN {b} AND 1e3", "{a} IN (SELECT {b})",
    "{a} > ALL (SELECT {b})", "({a}, 1) = ({b}, 1)", "{a} DIV {b}",
]
ALONE = [
    "{a}", "-{a}", "+{a}", "ABS({a})", "SIGN({a})", "ROUND({a})", "ROUND({a}, 2)", "ROUND({a}, -1)",
    "TRUNCATE({a}, 1)", "TRUNCATE({a}, -2)", "FLOOR({a})", "CEIL({a})", "CAST({a} AS SIGNED)",
    "CAST({a} AS DECIMAL(30,5))", "CAST({a} AS DECIMAL(5,2))", "CAST({a} AS DECIMAL)",
    "CAST({a} AS CHAR)", "CONCAT({a}, '')", "CONCAT(COALESCE({a}, 1.25))", "FORMAT({a}, 3)", "{a} IS NULL",
    "SUM({a})", "AVG({a})", "MIN({a})", "MAX({a})", "SUM(DISTINCT {a})", "COUNT(DISTINCT {a})",
    "SUM({a}) / COUNT(*)", "GROUP_CONCAT({a})", "(SELECT {a})", "{a} * 3 / 7", "JSON_ARRAY({a})",
    "SUM({a}) OVER ()", "FIRST_VALUE({a}) OVER ()", "{a} + INTERVAL 1 DAY IS NULL",
]
COLUMNS = [
    "SELECT {x} FROM {t} ORDER BY x", "SELECT {x} FROM {t} ORDER BY 1 DESC",
    "SELECT {x} + 0.5 AS y FROM {t} ORDER BY y DESC", "SELECT {x} FROM {t} ORDER BY x * -1.5, x LIMIT 3",
    "SELECT {x}, COUNT(*) FROM {t} GROUP BY x ORDER BY x", "SELECT DISTINCT {x} FROM {t} ORDER BY x",
    "SELECT MIN(x), MAX(x), SUM(x), AVG(x), COUNT(DISTINCT x) FROM {t}",
    "SELECT {x} FROM {t} WHERE x > 1.05 ORDER BY x", "SELECT {x} FROM {t} WHERE x IN (1, 1.1, 0.5) ORDER BY x",
    "SELECT {x} FROM {t} UNION SELECT 1.10 ORDER BY x", "SELECT {x} FROM {t} UNION ALL SELECT 2 ORDER BY 1",
    "SELECT {x}, RANK() OVER (ORDER BY x), SUM(x) OVER (ORDER BY x) FROM {t} ORDER BY x",
    "SELECT a.x, b.x FROM {t} a JOIN {t} b ON a.x = b.x ORDER BY a.x, b.x",
    "SELECT {x} FROM {t} GROUP BY x HAVING SUM(x) > 1 ORDER BY SUM(x)",
    "WITH q AS (SELECT {x} FROM {t}) SELECT x * 2 AS y FROM q ORDER BY y",
    "SELECT CONCAT(x) AS y FROM {t} ORDER BY x", "SELECT {x} FROM {t} ORDER BY ABS(x) DESC, x",
    "SELECT MAX(y) FROM (SELECT AVG(x) AS y FROM {t} GROUP BY x) u",
]
ROWS = [
    ("1.10", "1.1", "-3", "0.5", "NULL"), ("7", "1.10", "-99999999999999999999", "12345678901234567890.5"),
    ("9223372036854775807", "18446744073709551615", "-1"), ("0.1", "1e0", "-2.5"),
    ("99999999999999999999", "100000000000000000000", "-100000000000000000000", "1"),
    ("12345678901234567", "12345678901234567.1", "12345678901234566.9"),
]
PREPARED = [
    "{a} + ?", "? * {a}", "IF(1, ?, {a})", "? = {a}", "ROUND(?, 2)",
]
TOO_LONG = 1690
# Where MariaDB's answer is none to follow: overflows, or doubles among texts.
ODD = {
    "SELECT 0 - -9223372036854775808", "SELECT --9223372036854775808", "SELECT JSON_ARRAY(1e0)",
    "SELECT -t.x FROM (SELECT 18446744073709551615 AS x) t",
    "SELECT JSON_ARRAY(t.x) FROM (SELECT 1e0 AS x) t",
    "SELECT LEAST('2.5', 5 / 3)", "SELECT LEAST(5 / 3, '2.5')",
    "SELECT COALESCE(NULL, 18446744073709551615)", "SELECT COALESCE(18446744073709551615, NULL)",
}  # ROUND(an integer, -1) is of its type, as in MySQL
ODD |= {form.format(n) for n in ("999999999999999", *NUMBERS[16:19])
        for form in ("SELECT ROUND({}, -1)", "SELECT ROUND(t.x, -1) FROM (SELECT {} AS x) t")}


def digits(value):
    return len(re.sub(r"^0+", "", re.sub(r"[^0-9]", "", str(value))))


def plain(value):
    value = value.decode() if isinstance(value, bytes) else value
    return value and re.sub(r"^-(0(\.0*)?)$", r"\1", value)


def run(connection, *statements):
    """The fields' types and decimals, if exact; the rows."""
    with connection.cursor() as cursor:
        try:
            for statement in statements:
                cursor.execute(statement)
            rows = [[plain(v) for v in row] for row in cursor.fetchall()]
            return [(f.type_code, f.scale) if f.type_code == FIELD_TYPE.NEWDECIMAL and any(
                row[i] is not None for row in rows) else None
                for i, f in enumerate(cursor._result.fields)], rows
        except pymysql.err.MySQLError as error:
            return error.args[0]


def same(a, b):
    """A double's zeros are not compared here; of more decimals than there are
    the rounded ones are."""
    try:
        return a == b or (
            float(a) == float(b) if "." not in a or len(a.partition(".")[2]) <= 30
            else Decimal(a).quantize(Decimal(b), ROUND_HALF_UP) == Decimal(b))
    except (InvalidOperation, TypeError, ValueError):
        return False


def differ(theirs, ours, text):
    if isinstance(theirs, int) or isinstance(ours, int):
        return theirs != ours and not (
            ours == TOO_LONG and not isinstance(theirs, int) and (
                digits(text) > 38 or any(digits(v) > 38 for row in theirs[1] for v in row)))
    for i, (a, b) in enumerate(zip(theirs[0], ours[0])):
        for x, y in zip(theirs[1], ours[1]):
            if x[i] != y[i] and (a == b and a and a[1] <= 30 or not same(x[i], y[i])):
                return True
    return len(theirs[1]) != len(ours[1]) or any(
        a != b and a and a[1] <= 30 for a, b in zip(theirs[0], ours[0]))


def statements():
    for a, b in itertools.product(NUMBERS, NUMBERS):
        for pair in PAIRS:
            yield [f"SELECT {pair.format(a=a, b=b)}"]
    for a, form in itertools.product(NUMBERS, ALONE):
        yield [f"SELECT {form.format(a=a)}"]
        yield [f"SELECT {form.format(a='t.x')} FROM (SELECT {a} AS x) t"]
        yield [f"SET @x = {a}", f"SELECT {form.format(a='@x')} IS NULL"]
    for rows, form in itertools.product(ROWS, COLUMNS):
        table = "(" + " UNION ALL ".join(f"SELECT {r} AS x" for r in rows) + ")"
        yield [form.replace("{t} a", table + " a").replace("{t} b", table + " b")
               .format(t=table + " t", x="x")]
    for a, b, form in itertools.product(NUMBERS, ("1.50", "18446744073709551616"), PREPARED):
        yield [f"SET @p = {b}", f"PREPARE s FROM 'SELECT ROUND({form.format(a=a)}, 3)'".replace("'2.5'", "''2.5''"),
               "EXECUTE s USING @p"]


def main(theirs, ours):
    mariadb, node = (pymysql.connect(unix_socket=s, user="root", charset="utf8mb4", conv={})
                     for s in (theirs, ours))
    count = refused = faults = 0
    for each in statements():
        a, b = run(mariadb, *each), run(node, *each)
        count += 1
        refused += b == TOO_LONG != a
        if each[-1] not in ODD and differ(a, b, " ".join(each)):
            faults += 1
            print(*each, f"  theirs: {a}", f"  ours:   {b}", sep="\n")
    print(f"{count} statements, {refused} refused as too long, {faults} differ")
    return faults > 0


sys.exit(main(*sys.argv[1:]))
