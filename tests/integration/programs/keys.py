"""Every table of a node, read whole: none fails, and what its definition says
of keys and NULLs is true, and the same wherever it is said.

    keys.py SOCKET BASE    BASE: a snapshot that is kept
"""
import sys

import pymysql
from pymysql.constants import FLAG

failures = []


def fault(table, what):
    failures.append(table)
    print(f"FAULT: {table}: {what}")


def rows(cursor, text, *values):
    cursor.execute(text, values or None)
    return cursor.fetchall()


def conditions(table):
    """The heap now, and all that are kept; what compares, with a base."""
    if table.endswith("_diff"):
        return ["", " WHERE base = '%s'" % base,
                " WHERE base = '%s' AND snapshot LIKE '%%'" % base]
    if table.startswith("heap_"):
        return ["", " WHERE snapshot LIKE '%'"]
    return [""]


def said(cursor, schema, table):
    """Columns that are never NULL and those of the key, by every table that
    says so."""
    columns = rows(cursor, "SELECT COLUMN_NAME, IS_NULLABLE, COLUMN_KEY FROM "
                   "information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND "
                   "TABLE_NAME = %s ORDER BY ORDINAL_POSITION", schema, table)
    never = [c[0] for c in columns if c[1] == "NO"]
    key = [c[0] for c in columns if c[2] == "PRI"]
    name = f"`{schema}`.`{table}`"
    shown = rows(cursor, f"SHOW COLUMNS FROM {name}")
    if [(s[0], s[2], s[3]) for s in shown] != list(columns):
        fault(table, "SHOW COLUMNS")
    for what, found in [
            ("STATISTICS", rows(
                cursor, "SELECT COLUMN_NAME FROM information_schema.STATISTICS"
                " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND INDEX_NAME ="
                " 'PRIMARY' AND NON_UNIQUE = 0 ORDER BY SEQ_IN_INDEX",
                schema, table)),
            ("KEY_COLUMN_USAGE", rows(
                cursor, "SELECT COLUMN_NAME FROM "
                "information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = %s "
                "AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION",
                schema, table)),
            ("SHOW INDEX", [r[4:5] for r in
                            rows(cursor, f"SHOW INDEX FROM {name}")])]:
        if [f[0] for f in found] != key:
            fault(table, f"{what}: {found}, and not {key}")
    constraints = rows(cursor, "SELECT CONSTRAINT_TYPE FROM "
                       "information_schema.TABLE_CONSTRAINTS WHERE "
                       "TABLE_SCHEMA = %s AND TABLE_NAME = %s", schema, table)
    if list(constraints) != [("PRIMARY KEY",)] * (len(key) > 0):
        fault(table, f"TABLE_CONSTRAINTS: {constraints}")
    made = rows(cursor, f"SHOW CREATE TABLE {name}")[0][1]
    line = "PRIMARY KEY (%s)" % ",".join(f"`{k}`" for k in key)
    if (line in made) != (len(key) > 0):
        fault(table, "SHOW CREATE TABLE: " + made)
    return never, key


def read(cursor, schema, table, condition, never, key):
    name = f"`{schema}`.`{table}`"
    found = rows(cursor, f"SELECT * FROM {name}{condition}")
    labels = [d[0] for d in cursor.description]
    flags = [f.flags for f in cursor._result.fields]
    for label, flag in zip(labels, flags):
        if bool(flag & FLAG.NOT_NULL) != (label in never) or \
                bool(flag & FLAG.PRI_KEY) != (label in key):
            fault(table, f"flags of {label} on the wire: {flag:x}")
    for label in never:
        at = labels.index(label)
        if any(row[at] is None for row in found):
            fault(table, f"{label} is NULL, and NOT NULL")
    places = [labels.index(k) for k in key]
    keys = [tuple(str(row[at]).lower() for at in places) for row in found]
    if key and len(set(keys)) != len(keys):
        fault(table, f"{len(keys) - len(set(keys))} keys are there twice")
    return len(found)


path, base = sys.argv[1:]
connection = pymysql.connect(unix_socket=path, user="root")
cursor = connection.cursor()
tables = rows(cursor, "SELECT TABLE_SCHEMA, TABLE_NAME FROM "
              "information_schema.TABLES")
counts = {}
keyed = 0
for schema, table in tables:
    never, key = said(cursor, schema, table)
    keyed += len(key) > 0
    for condition in conditions(table):
        counts[table + condition] = read(cursor, schema, table, condition,
                                         never, key)
assert counts["heap_stacks WHERE snapshot LIKE '%'"] > 0, counts
assert counts["heap_diff"] == 0 < counts[f"heap_diff WHERE base = '{base}'"]
assert keyed >= 9, keyed
print(len(tables), "tables,", keyed, "with a key,", sum(counts.values()),
      "rows")
sys.exit(bool(failures))
