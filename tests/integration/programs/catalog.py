"""What clients and their people ask of the catalog, over a node's socket."""
import socket
import sys
import time

import pymysql
import sqlalchemy as sa

failures = []


def same(what, expected, got):
    if expected != got:
        failures.append(what)
        print(f"FAULT: {what}: expected {expected!r}, got {got!r}")


def ask(cursor, text):
    cursor.execute(text)
    labels = [d[0] for d in cursor.description or ()]
    return labels, list(cursor.fetchall())


# Statements of clients as they send them, and the labels that they look for.
STARTS = {
    "mysqld_exporter": [
        ("SELECT ifnull(SCHEMA_NAME, 'NONE') as SCHEMA_NAME, DIGEST, "
         "LEFT(DIGEST_TEXT, 120) as DIGEST_TEXT, COUNT_STAR FROM (SELECT * "
         "FROM performance_schema.events_statements_summary_by_digest WHERE "
         "SCHEMA_NAME NOT IN ('mysql', 'performance_schema', "
         "'information_schema') AND LAST_SEEN > DATE_SUB(NOW(), INTERVAL 86400 "
         "SECOND) ORDER BY LAST_SEEN DESC)Q GROUP BY Q.SCHEMA_NAME, Q.DIGEST, "
         "Q.DIGEST_TEXT, Q.COUNT_STAR ORDER BY SUM_TIMER_WAIT DESC LIMIT 250",
         "SCHEMA_NAME DIGEST DIGEST_TEXT COUNT_STAR"),
        ("SELECT SUM(COUNT_STAR) AS SUM_COUNT_STAR FROM performance_schema."
         "events_statements_summary_by_digest HAVING SUM(COUNT_STAR) > 0",
         "SUM_COUNT_STAR"),
        ("SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT FROM "
         "performance_schema.events_waits_summary_global_by_event_name",
         "EVENT_NAME COUNT_STAR SUM_TIMER_WAIT"),
        ("SELECT EVENT_NAME, COUNT_READ, SUM_TIMER_MISC FROM "
         "performance_schema.file_summary_by_event_name",
         "EVENT_NAME COUNT_READ SUM_TIMER_MISC"),
        ("SELECT FILE_NAME, EVENT_NAME FROM "
         "performance_schema.file_summary_by_instance where FILE_NAME REGEXP "
         "'.*'", "FILE_NAME EVENT_NAME"),
        ("SELECT EVENT_NAME, CURRENT_NUMBER_OF_BYTES_USED FROM "
         "performance_schema.memory_summary_global_by_event_name where "
         "COUNT_ALLOC > 0;", "EVENT_NAME CURRENT_NUMBER_OF_BYTES_USED"),
        ("SELECT OBJECT_SCHEMA, OBJECT_NAME, ifnull(INDEX_NAME, 'NONE') as "
         "INDEX_NAME, COUNT_FETCH FROM "
         "performance_schema.table_io_waits_summary_by_index_usage WHERE "
         "OBJECT_SCHEMA NOT IN ('mysql', 'performance_schema')",
         "OBJECT_SCHEMA OBJECT_NAME INDEX_NAME COUNT_FETCH"),
        ("SELECT OBJECT_SCHEMA, SUM_TIMER_DELETE FROM "
         "performance_schema.table_io_waits_summary_by_table",
         "OBJECT_SCHEMA SUM_TIMER_DELETE"),
        ("SELECT COUNT_READ_NORMAL, SUM_TIMER_WRITE_EXTERNAL FROM "
         "performance_schema.table_lock_waits_summary_by_table",
         "COUNT_READ_NORMAL SUM_TIMER_WRITE_EXTERNAL"),
        ("SELECT * FROM performance_schema.replication_group_member_stats "
         "WHERE MEMBER_ID=@@server_uuid", None),
        ("SELECT * FROM performance_schema.replication_group_members", None),
        ("SELECT CHANNEL_NAME, WORKER_ID, "
         "LAST_APPLIED_TRANSACTION_START_APPLY_TIMESTAMP FROM "
         "performance_schema.replication_applier_status_by_worker", None),
        ("SELECT VARIABLE_VALUE FROM performance_schema.global_variables WHERE "
         "VARIABLE_NAME = 'version'", "VARIABLE_VALUE"),
        ("SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE "
         "VARIABLE_NAME = 'Uptime'", "VARIABLE_VALUE"),
    ],
    "DBeaver": [
        ("SHOW ENGINES", "Engine Support Comment Transactions XA Savepoints"),
        ("SHOW CHARSET", "Charset Description Default_collation Maxlen"),
        ("SHOW COLLATION",
         "Collation Charset Id Default Compiled Sortlen Pad_attribute"),
        ("SELECT @@GLOBAL.character_set_server, @@GLOBAL.collation_server",
         "@@GLOBAL.character_set_server @@GLOBAL.collation_server"),
        ("SHOW PLUGINS", "Name Status Type Library License"),
        ("SHOW VARIABLES LIKE 'lower_case_table_names'",
         "Variable_name Value"),
        ("show databases", "Database"),
        ("SELECT * FROM information_schema.TABLES t WHERE t.TABLE_SCHEMA = "
         "'information_schema' AND t.TABLE_NAME = 'CHECK_CONSTRAINTS'",
         "TABLE_CATALOG TABLE_SCHEMA TABLE_NAME TABLE_TYPE ENGINE VERSION "
         "ROW_FORMAT TABLE_ROWS AVG_ROW_LENGTH DATA_LENGTH MAX_DATA_LENGTH "
         "INDEX_LENGTH DATA_FREE AUTO_INCREMENT CREATE_TIME UPDATE_TIME "
         "CHECK_TIME TABLE_COLLATION CHECKSUM CREATE_OPTIONS TABLE_COMMENT"),
        ("SELECT * FROM information_schema.SCHEMATA WHERE SCHEMA_NAME="
         "'heapwire'",
         "CATALOG_NAME SCHEMA_NAME DEFAULT_CHARACTER_SET_NAME "
         "DEFAULT_COLLATION_NAME SQL_PATH DEFAULT_ENCRYPTION"),
        ("SHOW FULL TABLES FROM `heapwire`",
         "Tables_in_heapwire Table_type"),
        ("SHOW TABLE STATUS FROM `heapwire`",
         "Name Engine Version Row_format Rows Avg_row_length Data_length "
         "Max_data_length Index_length Data_free Auto_increment Create_time "
         "Update_time Check_time Collation Checksum Create_options Comment"),
        ("SELECT * FROM information_schema.COLUMNS WHERE TABLE_SCHEMA="
         "'heapwire' AND TABLE_NAME='nodes' ORDER BY ORDINAL_POSITION", None),
        ("SHOW CREATE TABLE heapwire.nodes", "Table Create_Table"),
        ("SHOW FULL PROCESSLIST",
         "Id User Host db Command Time State Info"),
        ("SHOW GLOBAL STATUS", "Variable_name Value"),
        ("SHOW GLOBAL VARIABLES", "Variable_name Value"),
    ],
    "HeidiSQL": [
        ("SELECT CONNECTION_ID()", None),
        ("SHOW VARIABLES", "Variable_name Value"),
        ("SET NAMES utf8mb4", ""),
        ("SHOW /*!50002 GLOBAL */ STATUS", "Variable_name Value"),
        ("SELECT NOW()", None),
        ("SHOW DATABASES", "Database"),
        ("SHOW TABLES FROM `information_schema`",
         "Tables_in_information_schema"),
        ("SHOW TABLE STATUS FROM `information_schema`", None),
        ("SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA "
         "WHERE SCHEMA_NAME='heapwire'", "DEFAULT_COLLATION_NAME"),
        ("SHOW TRIGGERS FROM `heapwire`",
         "Trigger Event Table Statement Timing Created sql_mode Definer "
         "character_set_client collation_connection Database_Collation"),
        ("SHOW EVENTS FROM `heapwire`",
         "Db Name Definer Time_zone Type Execute_at Interval_value "
         "Interval_field Starts Ends Status Originator character_set_client "
         "collation_connection Database_Collation"),
        ("SHOW FUNCTION STATUS WHERE `Db`='heapwire'",
         "Db Name Type Definer Modified Created Security_type Comment "
         "character_set_client collation_connection Database_Collation"),
        ("SHOW PROCEDURE STATUS WHERE `Db`='heapwire'", None),
        ("SHOW KEYS FROM `nodes` FROM `heapwire`",
         "Table Non_unique Key_name Seq_in_index Column_name Collation "
         "Cardinality Sub_part Packed Null Index_type Comment Index_comment "
         "Visible Expression"),
        ("SHOW WARNINGS", "Level Code Message"),
    ],
    "Workbench": [
        ("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", ""),
        ("set autocommit=1", ""),
        ("SELECT current_user()", "current_user()"),
        ("SHOW SESSION STATUS LIKE 'Ssl_cipher'", "Variable_name Value"),
        ("show character set where charset = 'utf8mb4'",
         "Charset Description Default_collation Maxlen"),
        ("SET SQL_SAFE_UPDATES=1", ""),
        ("SHOW SESSION VARIABLES LIKE 'sql_mode'", "Variable_name Value"),
        ("SHOW SESSION VARIABLES LIKE 'version_compile_os'",
         "Variable_name Value"),
        ("show engines", None),
        ("show collation", None),
        ("show variables", None),
        ("SHOW DATABASES", None),
        ("SHOW FULL TABLES FROM `heapwire`", None),
        ("SHOW PROCEDURE STATUS WHERE Db='heapwire'", None),
        ("SHOW FULL COLUMNS FROM `heapwire`.`nodes`",
         "Field Type Collation Null Key Default Extra Privileges Comment"),
        ("SHOW INDEXES FROM `heapwire`.`nodes`", None),
        ("SELECT * FROM information_schema.EVENTS", None),
        ("SELECT * FROM information_schema.FILES", None),
    ],
    "Navicat": [
        ("SHOW VARIABLES LIKE 'lower_case_%'", "Variable_name Value"),
        ("SET PROFILING = 1", ""),
        ("SHOW PROFILES", "Query_ID Duration Query"),
        ("SELECT COUNT(*) AS support_ndb FROM information_schema.ENGINES "
         "WHERE Engine = 'ndbcluster'", "support_ndb"),
    ],
    "Grafana": [
        ("SELECT DISTINCT TABLE_SCHEMA from information_schema.TABLES where "
         "TABLE_TYPE != 'SYSTEM VIEW' ORDER BY TABLE_SCHEMA",
         "TABLE_SCHEMA"),
        ("SELECT table_name FROM information_schema.tables WHERE "
         "table_schema = 'heapwire' ORDER BY table_name", "table_name"),
        ("SELECT column_name, data_type FROM information_schema.columns "
         "WHERE table_schema = 'heapwire' AND table_name = 'nodes' ORDER BY "
         "column_name", "column_name data_type"),
    ],
    "Metabase, Power BI, Connector/J, Connector/ODBC, DBD::mysql": [
        ("SHOW GRANTS FOR CURRENT_USER()", None),
        ("SHOW KEYS FROM `heapwire`.`nodes`", None),
        ("SELECT * FROM information_schema.REFERENTIAL_CONSTRAINTS", None),
        ("SELECT * FROM information_schema.KEY_COLUMN_USAGE", None),
        ("SELECT WORD FROM INFORMATION_SCHEMA.KEYWORDS WHERE RESERVED=1 "
         "ORDER BY WORD", "WORD"),
        ("SELECT NULL, NULL, NULL, SCHEMA_NAME FROM "
         "INFORMATION_SCHEMA.SCHEMATA WHERE SCHEMA_NAME LIKE 'heap%' ORDER "
         "BY SCHEMA_NAME", None),
        ("SELECT TABLE_NAME,TABLE_COMMENT,IF(TABLE_TYPE='BASE TABLE', "
         "'TABLE', TABLE_TYPE),TABLE_SCHEMA FROM INFORMATION_SCHEMA.TABLES "
         "WHERE TABLE_SCHEMA LIKE 'heapwire' AND ( TABLE_TYPE='BASE TABLE' "
         "OR TABLE_TYPE='VIEW' ) AND TABLE_NAME LIKE 'nodes' ORDER BY "
         "TABLE_SCHEMA, TABLE_NAME", None),
        ("SHOW /*!50002 FULL*/ TABLES FROM `heapwire`", None),
        ("SHOW COLUMNS FROM `heapwire`.`nodes` LIKE 'id'",
         "Field Type Null Key Default Extra"),
    ],
}
# Answers without a row, where a client would fall over one.
EMPTY = ("summary", "replication_", "TRIGGERS", "EVENTS", "WARNINGS",
         "FILES", "REFERENTIAL", "PROFILES")


def start_statements(path):
    for client, statements in STARTS.items():
        connection = pymysql.connect(unix_socket=path, user="root",
                                     database="heapwire")
        cursor = connection.cursor()
        for text, labels in statements:
            marked = f"/* ApplicationName={client} - Main */ {text}"
            try:
                got, rows = ask(cursor, marked)
            except pymysql.err.Error as error:
                same(f"{client}: {text}", labels, error)
                continue
            if labels is not None:
                same(f"{client}: {text}", labels.split(),
                     [label.replace(" ", "_") for label in got])
            empty = any(word in text for word in EMPTY) or labels == ""
            same(f"{client}: {text}: rows", not empty, bool(rows))
        connection.close()


def needed_values(path):
    cursor = pymysql.connect(unix_socket=path, user="root").cursor()
    ask(cursor, "SET max_execution_time = 5000")
    for table, expected in ("session", "5000"), ("global", "0"):
        same(f"{table}_variables", [(expected,)], ask(
            cursor, f"SELECT VARIABLE_VALUE FROM performance_schema.{table}_"
            "variables WHERE VARIABLE_NAME = 'max_execution_time'")[1])
    ask(cursor, "SET max_execution_time = DEFAULT")
    # TypeORM's getTables(): a branch of a UNION for each table there is.
    tables = ask(cursor, "SELECT table_schema, table_name FROM "
                 "information_schema.tables")[1]
    rows = ask(cursor, " UNION ".join(
        "SELECT table_name FROM information_schema.tables WHERE table_schema "
        f"= '{schema}' AND table_name = '{name}'"
        for schema, name in tables))[1]
    same("tables by a UNION", {name for _, name in tables},
         {row[0] for row in rows})
    ids = {row[2] for row in ask(cursor, "SHOW COLLATION")[1]}
    same("collations", set(), {33, 45, 63, 255, 8, 46, 83, 224} - ids)
    variables = dict(ask(cursor, "SHOW VARIABLES")[1])
    for name in ("version", "version_comment", "version_compile_os",
                 "hostname", "lower_case_table_names", "sql_mode",
                 "interactive_timeout", "datadir"):
        same(f"variable {name}", True, name in variables)
    status = dict(ask(cursor, "SHOW GLOBAL STATUS")[1])
    for name in ("Uptime", "Threads_connected", "Threads_running",
                 "Questions", "Queries", "Connections"):
        same(f"status {name}", True, name in status and int(status[name]) >= 0)


def counted(path):
    cursor = pymysql.connect(unix_socket=path, user="root").cursor()

    def status():
        return {name: int(value) for name, value in
                ask(cursor, "SHOW GLOBAL STATUS")[1] if value.isdigit()}

    def settled(least):
        """Once the clients that have gone are counted, or after a minute."""
        end = time.monotonic() + 60
        while True:
            found = status()
            if found["Threads_connected"] <= least or time.monotonic() > end:
                return found
            time.sleep(0.01)
    before = settled(1)
    pymysql.connect(unix_socket=path, user="root").close()
    pymysql.connect(unix_socket=path, user="root")._force_close()
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(path)
    ask(cursor, "SELECT REPEAT('x', 100000)")
    after = settled(before["Threads_connected"])
    same("counted", (3, 1, 1), tuple(
        after[name] - before[name] for name in
        ("Connections", "Aborted_clients", "Aborted_connects")))
    same("bytes", (True, True),
         (100000 < after["Bytes_sent"] - before["Bytes_sent"] < 1000000,
          0 < after["Bytes_received"] - before["Bytes_received"] < 10000))
    same("most", True, after["Threads_connected"] <=
         after["Max_used_connections"] <= after["Connections"])
    most = ask(cursor, "SELECT @@max_connections, (SELECT value FROM "
               "heapwire.settings WHERE name = 'max_connections')")[1][0]
    same("max_connections", int(most[1]), most[0])


def inspector(path):
    engine = sa.create_engine("mysql+pymysql://root@/heapwire?unix_socket=" +
                              path)
    inspect = sa.inspect(engine)
    same("schemas", ["heapwire", "information_schema"],
         inspect.get_schema_names())
    tables = inspect.get_table_names()
    same("tables", True, {"nodes", "profiler", "sessions"} <= set(tables))
    same("views", [], inspect.get_view_names())
    same("system views", True, "COLUMNS" in
         inspect.get_view_names("information_schema"))
    same("columns", ["id", "address", "port", "role", "alive", "since",
                     "version", "state", "self", "last_error",
                     "last_error_at", "round_trip_ms", "profiling"],
         [column["name"] for column in inspect.get_columns("nodes")])
    types = {c["name"]: str(c["type"]) for c in inspect.get_columns("nodes")}
    same("types", ("BIGINT", "VARCHAR(64)", "DATETIME"),
         (types["id"], types["address"], types["since"]))
    same("has_table", (True, False, False),
         (inspect.has_table("nodes"), inspect.has_table("nope"),
          inspect.has_table("nodes", schema="nope")))
    keys = {}
    with engine.connect() as connection:
        for table, column in connection.execute(sa.text(
                "SELECT table_name, column_name FROM information_schema.columns "
                "WHERE table_schema = 'heapwire' AND column_key = 'PRI' "
                "ORDER BY table_name, ordinal_position")):
            keys.setdefault(table, []).append(column)
    same("a key", ["snapshot", "stack"], keys.get("heap_stacks"))
    for table in tables:
        same(f"keys of {table}", (keys.get(table, []), [], [], []),
             (inspect.get_pk_constraint(table)["constrained_columns"],
              inspect.get_foreign_keys(table), inspect.get_indexes(table),
              inspect.get_unique_constraints(table)))
    same("comment", {"text": "The nodes that this one knows"},
         inspect.get_table_comment("nodes"))
    metadata = sa.MetaData()
    metadata.reflect(bind=engine)
    same("reflected", sorted(tables), sorted(metadata.tables))
    with engine.connect() as connection:
        rows = connection.execute(sa.select(metadata.tables["nodes"]))
        same("selected", 10001, rows.fetchall()[0][0])
        system = sa.MetaData()
        for name in inspect.get_view_names("information_schema"):
            table = sa.Table(name, system, autoload_with=connection,
                             schema="information_schema")
            connection.execute(sa.select(table).limit(1)).fetchall()


def cluster_tables(path):
    """Tables of all nodes are made of the node's own; beside the node whose
    row it is, no column names the node that took a snapshot."""
    cursor = pymysql.connect(unix_socket=path, user="root").cursor()
    _, rows = ask(cursor, "SELECT table_name, column_name, column_type, "
                          "is_nullable FROM information_schema.columns WHERE "
                          "table_schema = 'heapwire' ORDER BY table_name, "
                          "ordinal_position")
    catalog = {}
    for table, *column in rows:
        catalog.setdefault(table, []).append(tuple(column))
    same("there are tables of all nodes", True,
         "cluster_heap_functions" in catalog)
    for table, columns in catalog.items():
        if table.startswith("cluster_"):
            own = catalog[table.removeprefix("cluster_")]
            same(table, [("node_id", "bigint unsigned", "NO")] + [
                (*column[:2], "YES") for column in own
                if column[0] != "node_id"], columns)


start_statements(sys.argv[1])
needed_values(sys.argv[1])
counted(sys.argv[1])
inspector(sys.argv[1])
cluster_tables(sys.argv[1])
sys.exit(1 if failures else 0)
