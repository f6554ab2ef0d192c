"""Runs each statement of a file on MariaDB and on a node, and compares labels
and values byte by byte, and errors by their code; then the collation, character
by character.

A line is a statement.  Before it, "-- ours: CODE" or "-- ours: VALUE" lines say
where we differ on purpose: an error, or the first row's values between bars.
"""
import sys

import pymysql
from pymysql.converters import escape_string


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


def weights(theirs, ours):
    """Counts characters that do not compare as the server's collation says:
    each equals the one it weighs as, and these ascend."""
    wrong, last = 0, "!"
    for base in range(0, 0x10000, 2048):
        points = [c for c in range(max(base, ord("!")), base + 2048)
                  if not 0xd800 <= c < 0xe000]
        if not points:
            continue
        pairs = []
        with theirs.cursor() as cursor:
            cursor.execute("SELECT " + ", ".join(
                "HEX(WEIGHT_STRING(_utf8mb4 X'%s' COLLATE utf8mb4_general_ci))"
                % chr(c).encode().hex() for c in points))
            for c, weight in zip(points, cursor.fetchone()):
                pairs.append((chr(c), chr(int(weight, 16)), 1))
                if c == int(weight, 16) and c > ord("!"):
                    pairs.append((last, chr(c), 0))
                    last = chr(c)
        with ours.cursor() as cursor:
            cursor.execute(
                "SELECT COUNT(*) FROM (VALUES " + ", ".join(
                    "ROW('%s', '%s', %d)" % (escape_string(a),
                                             escape_string(b), equal)
                    for a, b, equal in pairs)
                + ") t(a, b, equal) WHERE IF(equal, a = b, a < b)")
            wrong += len(pairs) - int(cursor.fetchone()[0])
    return wrong


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
    wrong = weights(*connections)
    print(f"{count} statements, {differ} differ; {wrong} wrong weights")
    differ += wrong
    return differ > 0 or count == 0


sys.exit(main(*sys.argv[1:]))
