"""Runs each statement of a file on MariaDB and on a node, and compares labels
and values byte by byte, and errors by their code.

A line is a statement.  Before it, "-- ours: CODE" or "-- ours: VALUE" lines say
where we differ on purpose: an error, or the first row's values between bars.
"""
import sys

import pymysql


def text(value):
    return value.decode("utf-8", "backslashreplace") \
        if isinstance(value, bytes) else value


def run(connection, statement):
    with connection.cursor() as cursor:
        try:
            cursor.execute(statement)
            columns = cursor.description or ()
            return [d[0] for d in columns], cursor.fetchall()
        except pymysql.err.MySQLError as error:
            return error.args[0], error.args[1]


def same(a, b):
    if isinstance(a[0], int) or isinstance(b[0], int):
        return a[0] == b[0]
    return a[0] == b[0] and [list(map(text, row)) for row in a[1]] == [
        list(map(text, row)) for row in b[1]]


def meets(answer, ours):
    if isinstance(answer[0], int):
        return str(answer[0]) == ours
    return "|".join(str(text(v)) for v in answer[1][0]) == ours


def main(theirs, ours, path):
    connections = [pymysql.connect(unix_socket=s, user="root",
                                   charset="utf8mb4", conv={})
                   for s in (theirs, ours)]
    for c in connections:
        c.cursor().execute("SET sql_mode = 'ONLY_FULL_GROUP_BY'")
    expected, count, differ = None, 0, 0
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.rstrip("\n")
            if line.startswith("-- ours: "):
                expected = line[9:]
                continue
            if not line or line.startswith("-- "):
                continue
            count += 1
            a, b = (run(c, line) for c in connections)
            if not (meets(b, expected) if expected is not None
                    else same(a, b)):
                differ += 1
                print(f"{line}\n  theirs: {a}\n  ours:   {b}")
            expected = None
    print(f"{count} statements, {differ} differ")
    return differ > 0 or count == 0


sys.exit(main(*sys.argv[1:]))
