"""Compares dates and times with constants in all their forms, on MariaDB and on
a node: kinds of moments, operators, forms, and ways to give a constant.

The column is a real one of the node's, heapwire.nodes.since; MariaDB has its
value in a derived table.
"""
import datetime
import sys

import pymysql

OPERATORS = [
    "{m} = {c}", "{m} <=> {c}", "{m} <> {c}", "{m} < {c}", "{m} <= {c}",
    "{m} > {c}", "{m} >= {c}", "{c} = {m}", "{c} < {m}", "{c} >= {m}",
    "NOT {m} = {c}", "{m} BETWEEN {c} AND {c}", "{m} NOT BETWEEN {c} AND {c}",
    "{c} BETWEEN {m} AND {m}", "{m} IN ({c})", "{m} NOT IN ({c}, {c})",
    "{c} IN ({m}, {m})", "CASE {m} WHEN {c} THEN 1 ELSE 0 END",
    "CASE {c} WHEN {m} THEN 1 ELSE 0 END", "({m}, 1) = ({c}, 1)",
    "({m}, 1) <> ({c}, 1)", "(1, {c}) IN ((1, {m}), (2, {m}))",
    "{m} = (SELECT {c})", "{m} IN (SELECT {c})", "{c} IN (SELECT {m})",
    "({m}, 1) IN (SELECT {c}, 1)", "{m} = ANY (SELECT {c})",
    "{m} >= ALL (SELECT {c})", "{c} < ANY (SELECT {m})",
    "NULLIF({m}, {c}) IS NULL", "GREATEST({m}, {c}) = {m}",
    "LEAST({c}, {m}) = {m}", "{m} = {c} AND {m} >= {c} OR {m} > {c}",
    "IF({m} > {c}, 1, 0)", "({m} = {c}) IS TRUE",
]
DAYS = [
    "m.since", "(m.since + INTERVAL 0 DAY)", "CAST(m.since AS DATETIME)",
    "CAST(m.since AS DATETIME(6))", "IF(1, m.since, m.since)",
    "COALESCE(NULL, m.since)", "TIMESTAMP(m.since)", "DATE(m.since)",
    "(DATE(m.since) + INTERVAL 1 DAY - INTERVAL 1 DAY)",
]
TIMES = ["TIME'{0:%H:%M:%S}'", "TIME(m.since)", "CAST(m.since AS TIME(6))"]
SHIFTS = [datetime.timedelta(seconds=s) for s in (0, 1, -86400)]
DAY_FORMS = [
    "'{0:%Y-%m-%d %H:%M:%S}'", "'{0:%Y-%m-%dT%H:%M:%S}'",
    "'{0:%Y-%m-%d %H:%M:%S.000000}'", "'{0:%Y-%m-%d %H:%M:%S.5}'",
    "'{0:%y-%m-%d %H:%M:%S}'", "'{0.year}-{0.month}-{0.day} {0:%H:%M:%S}'",
    "'{0:%Y-%m-%d} {0.hour}:{0.minute}:{0.second}'", "'{0:%Y/%m/%d %H:%M:%S}'",
    "'{0:%Y-%m-%d %H:%M}'", "'{0:%Y-%m-%d}'", "'{0:%y-%m-%d}'",
    "'{0:%Y%m%d%H%M%S}'", "'{0:%y%m%d%H%M%S}'", "'{0:%Y%m%d}'",
    "{0:%Y%m%d%H%M%S}", "{0:%Y%m%d%H%M%S.0}", "{0:%Y%m%d%H%M%S.5}",
    "{0:%y%m%d%H%M%S}", "{0:%Y%m%d}", "{0:%y%m%d}", "TIMESTAMP'{0:%Y-%m-%d %H:%M:%S}'",
    "{{ts '{0:%Y-%m-%d %H:%M:%S}'}}", "DATE'{0:%Y-%m-%d}'", "{{d '{0:%Y-%m-%d}'}}",
    "CONCAT('{0:%Y-%m-%d}', 'T{0:%H:%M:%S}')", "NULL",
]
TIME_FORMS = [
    "'{0:%H:%M:%S}'", "'{0:%H:%M:%S.000}'", "'{0:%H:%M:%S.25}'", "'{0:%H:%M}'",
    "'{0.hour}:{0.minute}:{0.second}'", "'{0:%H%M%S}'", "{0:%H%M%S}",
    "'0 {0:%H:%M:%S}'", "TIME'{0:%H:%M:%S}'", "{{t '{0:%H:%M:%S}'}}",
    "'100:00:00'", "'-01:00:00'", "TIME'-01:00:00'", "NULL",
]
WRONG = ["'garbage'", "''"]
WRONG_DAYS = ["'2026-02-31'", "'2026-01-01 25:00:00'", "'2026-13-01T00:00:00'"]


# What a column's value that is no moment gives; a constant is refused.
NO_MOMENT = ((*("0" if any(word in o for word in (
    "<=>", "CASE", "IF(", "IS TRUE", "IS NULL")) else None
    for o in OPERATORS),),)


def run(cursor, *statements):
    try:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall()
    except pymysql.err.MySQLError as error:
        return error.args[0]


def ways(moment, form, base, source):
    """The statements by which a form is given as a constant, or as a column."""
    moment = moment.format(base)

    def listed(m, c):
        return ", ".join(o.format(m=m, c=c) for o in OPERATORS)

    yield [f"SELECT {listed(moment, form)} FROM {source} m"]
    yield [f"SELECT {listed(moment, 'k.c')} "
           f"FROM {source} m, (SELECT {form} AS c) k"]
    yield [f"WITH k AS (SELECT {moment} AS m FROM {source} m) "
           f"SELECT {listed('k.m', form)} FROM k"]
    yield [f"SET @c = {form}", f"SELECT {listed(moment, '@c')} FROM {source} m"]
    text = f"SELECT {listed(moment, '?')} FROM {source} m"
    yield [f"SET @c = {form}", "PREPARE p FROM '" + text.replace("'", "''") + "'",
           "EXECUTE p USING " + ", ".join(["@c"] * text.count("?"))]


def main(theirs, ours):
    mariadb, node = (pymysql.connect(unix_socket=s, user="root", charset="utf8mb4",
                                     conv={}).cursor() for s in (theirs, ours))
    node.execute("SELECT since FROM heapwire.nodes")
    since = node.fetchall()[0][0]
    base = datetime.datetime.fromisoformat(since)
    source = f"(SELECT TIMESTAMP'{since}' AS since)"
    count = faults = 0

    def compare(theirs, ours):
        nonlocal count, faults
        count += 1
        a, b = run(mariadb, *theirs), run(node, *ours)
        if a == b and not isinstance(a, int):
            return
        faults += 1
        print(*ours, sep="\n")
        if isinstance(a, int) or isinstance(b, int):
            print("  theirs:", a, "ours:", b)
            return
        for operator, x, y in zip(OPERATORS, a[0], b[0]):
            if x != y:
                print(f"  {operator}: theirs {x}, ours {y}")

    for moments, forms in ((DAYS, DAY_FORMS), (TIMES, TIME_FORMS)):
        for moment in moments:
            for form in forms:
                for shift in SHIFTS:
                    case = moment, form.format(base + shift), base
                    for pair in zip(ways(*case, source),
                                    ways(*case, "heapwire.nodes")):
                        compare(*pair)
    for moment in DAYS + TIMES:
        for wrong in WRONG + (WRONG_DAYS if moment in DAYS else []):
            for i, statements in enumerate(ways(moment, wrong, base,
                                                "heapwire.nodes")):
                answer = run(node, *statements)
                count += 1
                if answer != (1525 if i != 1 else NO_MOMENT):
                    faults += 1
                    print(*statements, answer, sep="\n")
    print(f"{count} statements, {faults} differ")
    return faults > 0


sys.exit(main(*sys.argv[1:]))
