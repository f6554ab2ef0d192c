"""PyMySQL or mysqlclient (MySQLdb), as the argument says: neither prepares,
parameters are put into the text."""
import hashlib
import importlib
import os
import sys

driver = importlib.import_module(sys.argv[1])
HAS = "System.print(HeapProf.getInstance().has_enable())"
env = os.environ
account = {"user": env["HW_USER"], "password": env["HW_PASSWORD"],
           "charset": "utf8mb4"}
tcp = {"host": "127.0.0.1", "port": int(env["HW_PORT"]), **account}
tls = {"ca": env["HW_CA"]}
if driver.__name__ == "pymysql":
    tls["check_hostname"] = False
ways = {
    "tcp": tcp,
    "tls": {**tcp, "ssl": tls},
    "socket": {"unix_socket": env["HW_SOCKET"], **account},
}


def rows(cursor, sql, values=None):
    cursor.execute(sql, values)
    return cursor.fetchall()


for way, options in ways.items():
    connection = driver.connect(**options)
    cursor = connection.cursor()
    if way == "tls":
        assert rows(cursor, "SHOW STATUS LIKE 'Ssl_cipher'")[0][1]
    print(way, "has_enable", rows(cursor, f"ADMIN EXECUTE ON 10001 '{HAS}'")[0][0])
    script = f'System.print(HeapProf.getInstance().to_dot_format("{env["HW_SNAPSHOT"]}"))'
    dot = rows(cursor, f"ADMIN EXECUTE ON 10001 '{script}'")
    text = "".join(line + "\n" for line, in dot)
    print(way, "dot", hashlib.md5(text.encode()).hexdigest())
    row = rows(cursor, "SELECT id, %s FROM heapwire.nodes WHERE id = %s",
               ("ä'\"\\", 10001))[0]
    print(way, "parameter", *row)
    print(way, "admin", rows(cursor, "ADMIN EXECUTE ON %s %s", (10001, HAS))[0][0])
    try:
        rows(cursor, "ADMIN EXECUTE ON 10001 'System.print(nonsense)'")
        sys.exit("a wrong script succeeded")
    except driver.MySQLError as error:
        print(way, "error", error.args[0])
    print(way, "after", rows(cursor, "SELECT 1")[0][0])
    connection.ping()
    connection.close()
