"""pyodbc over MariaDB Connector/ODBC, and its catalog.  The driver prepares what
has parameters; without, it drops the rows of what begins with ADMIN."""
import hashlib
import os
import sys

import pyodbc

HAS = "System.print(HeapProf.getInstance().has_enable())"
env = os.environ
account = f"UID={env['HW_USER']};PWD={env['HW_PASSWORD']};CHARSET=utf8mb4"
driver = "DRIVER={MariaDB Unicode}"
tcp = f"{driver};SERVER=127.0.0.1;PORT={env['HW_PORT']};{account}"
ways = {
    "tcp": tcp,
    "tls": f"{tcp};SSLCA={env['HW_CA']};FORCETLS=1",
    "socket": f"{driver};SOCKET={env['HW_SOCKET']};{account}",
}


def rows(cursor, sql, *values):
    cursor.execute(sql, *values)
    return cursor.fetchall()


for way, source in ways.items():
    connection = pyodbc.connect(source, autocommit=True)
    connection.setdecoding(pyodbc.SQL_CHAR, encoding="utf-8")
    cursor = connection.cursor()
    if way == "tls":
        assert rows(cursor, "SHOW STATUS LIKE 'Ssl_cipher'")[0][1]
    print(way, "has_enable", rows(cursor, f"CALL admin_execute(10001, '{HAS}')")[0][0])
    script = f'System.print(HeapProf.getInstance().to_dot_format("{env["HW_SNAPSHOT"]}"))'
    dot = rows(cursor, "ADMIN EXECUTE ON 10001 ?", script)
    text = "".join(line + "\n" for line, in dot)
    print(way, "dot", hashlib.md5(text.encode()).hexdigest())
    row = rows(cursor, "SELECT id, ? FROM heapwire.nodes WHERE id = ?",
               "ä'\"\\", 10001)[0]
    print(way, "parameter", *row)
    print(way, "admin", rows(cursor, "ADMIN EXECUTE ON ? ?", 10001, HAS)[0][0])
    try:
        rows(cursor, "ADMIN EXECUTE ON 10001 'System.print(nonsense)'")
        sys.exit("a wrong script succeeded")
    except pyodbc.Error as error:
        print(way, "error", 1064 if "(1064)" in str(error) or "'nonsense'" in str(error) else error)
    print(way, "after", rows(cursor, "SELECT 1")[0][0])
    tables = {row.table_name for row in cursor.tables(catalog="heapwire")}
    assert "nodes" in tables, tables
    columns = {row.column_name: row.type_name
               for row in cursor.columns(catalog="heapwire", table="nodes")}
    assert columns["id"] == "BIGINT" and columns["state"] == "VARCHAR", columns
    connection.close()
