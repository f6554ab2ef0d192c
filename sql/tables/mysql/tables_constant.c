/*
 * tables_constant.c - tables whose rows never change: character sets and
 * collations that SET NAMES knows, reserved words, engines, plugins, HELP's
 * one topic (tables_empty.def has the answer about any other), and the empty
 * tables of tables_empty.def.
 */
#include <string.h>

#include "catalog_tables.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "variables.h"

#define C(name, type)                                                          \
    {                                                                          \
        name, &type_##type                                                     \
    }
#define TABLE(database, name, ...)                                             \
    {database, name,                                                           \
     CATALOG_COLUMNS(((const struct catalog_column[]){__VA_ARGS__})),          \
     catalog_nothing},

static void
produce_topic(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    rowset_text(out, "ADMIN EXECUTE");
    rowset_text(
        out,
        "ADMIN EXECUTE ON {node_id | (node_id, ...) | ALL "
        "[BACKENDS | COMPUTE NODES]} 'script'\n\n"
        "Runs a script on the nodes that are named and returns "
        "what it prints: a row for each line of one node's, a "
        "row for each node of a list or ALL. SELECT id, self "
        "FROM heapwire.nodes lists the nodes, and which "
        "is this one. SET heapwire_timeout bounds it, in "
        "seconds; SET heapwire_parallel says on how many nodes "
        "at a time it runs. Scripts drive the heap profiler of "
        "the database (HeapProf), say why its memory is so large "
        "(HeapProf.getInstance().diagnose()), sample what its threads run or "
        "wait for (CpuProf), show all their stacks, and who "
        "waits for whom (ExecEnv), and change jemalloc for a time "
        "(Jemalloc).\n");
    rowset_text(out, "ADMIN EXECUTE ON ALL "
                     "'System.print(HeapProf.getInstance()."
                     "has_enable())'\n"
                     "ADMIN EXECUTE ON ALL "
                     "'System.print(HeapProf.getInstance()."
                     "diagnose())'\n"
                     "ADMIN EXECUTE ON ALL "
                     "'System.print(CpuProf.getInstance().profile(10))'\n"
                     "ADMIN EXECUTE ON ALL 'System.print("
                     "ExecEnv.get_stack_trace_for_all_threads())'\n"
                     "ADMIN EXECUTE ON ALL "
                     "'System.print(Jemalloc.getInstance().risks())'\n");
}

static const struct catalog_column topic[] = {
    {"name", &type_name_nn},
    {"description", &type_plain_text_nn},
    {"example", &type_plain_text_nn},
};

static void
produce_engines(const struct catalog_scope *scope, struct rowset *out)
{
    ROWSET_TEXTS(out, variable_engine(scope->session), "DEFAULT",
                 "The tables of the node's profiler", "NO", "NO", "NO");
    if (strcmp(variable_engine(scope->session), "InnoDB") != 0)
        ROWSET_TEXTS(out, "InnoDB", "DISABLED", "Not here", NULL, NULL, NULL);
}

/* Monitors look into this text for deadlocks, and find none. */
static void
produce_innodb(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    ROWSET_TEXTS(out, "InnoDB", "",
                 "There is no InnoDB here: no buffer pool, no log, no locks");
}

static const struct catalog_column innodb_status[] = {
    {"Type", &type_name_nn},
    {"Name", &type_name_nn},
    {"Status", &type_plain_text_nn}};

static const struct catalog_column show_engines[] = {
    {"Engine", &type_name_nn},   {"Support", &type_word_nn},
    {"Comment", &type_short_nn}, {"Transactions", &type_yes_no},
    {"XA", &type_yes_no},        {"Savepoints", &type_yes_no},
};

static const struct catalog_column engines[] = {
    {"ENGINE", &type_name_nn},   {"SUPPORT", &type_word_nn},
    {"COMMENT", &type_short_nn}, {"TRANSACTIONS", &type_yes_no},
    {"XA", &type_yes_no},        {"SAVEPOINTS", &type_yes_no},
};

/* In MySQL a login method is a plugin, and so is an engine. */
static const char *const plugins[][2] = {
    {"mysql_native_password", "AUTHENTICATION"},
    {"caching_sha2_password", "AUTHENTICATION"},
    {NULL, "STORAGE ENGINE"}, /* the session's */
};

enum { PLUGINS = sizeof(plugins) / sizeof(plugins[0]) };

static const char *
plugin_name(const struct catalog_scope *scope, size_t i)
{
    return plugins[i][0] ? plugins[i][0] : variable_engine(scope->session);
}

static void
produce_show_plugins(const struct catalog_scope *scope, struct rowset *out)
{
    for (size_t i = 0; i < PLUGINS; i++)
        ROWSET_TEXTS(out, plugin_name(scope, i), "ACTIVE", plugins[i][1], NULL,
                     "BSD");
}

static const struct catalog_column show_plugins[] = {
    {"Name", &type_name_nn},     {"Status", &type_word_nn},
    {"Type", &type_short_nn},    {"Library", &type_name},
    {"License", &type_short_nn},
};

static void
produce_plugins(const struct catalog_scope *scope, struct rowset *out)
{
    for (size_t i = 0; i < PLUGINS; i++)
        ROWSET_TEXTS(out, plugin_name(scope, i), "1.0", "ACTIVE", plugins[i][1],
                     "1.0", NULL, NULL, NULL, "", "BSD", "ON");
}

static const struct catalog_column schema_plugins[] = {
    {"PLUGIN_NAME", &type_name_nn},
    {"PLUGIN_VERSION", &type_version_nn},
    {"PLUGIN_STATUS", &type_word_nn},
    {"PLUGIN_TYPE", &type_short_nn},
    {"PLUGIN_TYPE_VERSION", &type_version_nn},
    {"PLUGIN_LIBRARY", &type_name},
    {"PLUGIN_LIBRARY_VERSION", &type_name},
    {"PLUGIN_AUTHOR", &type_name},
    {"PLUGIN_DESCRIPTION", &type_plain_text_nn},
    {"PLUGIN_LICENSE", &type_short},
    {"LOAD_OPTION", &type_name_nn},
};

static const char words[] =
    "ACCESSIBLE ADD ALL ALTER ANALYZE AND AS ASC ASENSITIVE BEFORE BETWEEN "
    "BIGINT BINARY BLOB BOTH BY CALL CASCADE CASE CHANGE CHAR CHARACTER CHECK "
    "COLLATE COLUMN CONDITION CONSTRAINT CONTINUE CONVERT CREATE CROSS CUBE "
    "CUME_DIST CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER "
    "CURSOR DATABASE DATABASES DAY_HOUR DAY_MICROSECOND DAY_MINUTE DAY_SECOND "
    "DEC DECIMAL DECLARE DEFAULT DELAYED DELETE DENSE_RANK DESC DESCRIBE "
    "DETERMINISTIC DISTINCT DISTINCTROW DIV DOUBLE DROP DUAL EACH ELSE ELSEIF "
    "EMPTY ENCLOSED ESCAPED EXCEPT EXISTS EXIT EXPLAIN FALSE FETCH "
    "FIRST_VALUE FLOAT FLOAT4 FLOAT8 FOR FORCE FOREIGN FROM FULLTEXT FUNCTION "
    "GENERATED GET GRANT GROUP GROUPING GROUPS HAVING HIGH_PRIORITY "
    "HOUR_MICROSECOND HOUR_MINUTE HOUR_SECOND IF IGNORE IN INDEX INFILE INNER "
    "INOUT INSENSITIVE INSERT INT INT1 INT2 INT3 INT4 INT8 INTEGER INTERSECT "
    "INTERVAL INTO IO_AFTER_GTIDS IO_BEFORE_GTIDS IS ITERATE JOIN JSON_TABLE "
    "KEY KEYS KILL LAG LAST_VALUE LATERAL LEAD LEADING LEAVE LEFT LIKE LIMIT "
    "LINEAR LINES LOAD LOCALTIME LOCALTIMESTAMP LOCK LONG LONGBLOB LONGTEXT "
    "LOOP LOW_PRIORITY MASTER_BIND MASTER_SSL_VERIFY_SERVER_CERT MATCH "
    "MAXVALUE MEDIUMBLOB MEDIUMINT MEDIUMTEXT MIDDLEINT MINUTE_MICROSECOND "
    "MINUTE_SECOND MOD MODIFIES NATURAL NOT NO_WRITE_TO_BINLOG NTH_VALUE "
    "NTILE NULL NUMERIC OF ON OPTIMIZE OPTIMIZER_COSTS OPTION OPTIONALLY OR "
    "ORDER OUT OUTER OUTFILE OVER PARTITION PERCENT_RANK PRECISION PRIMARY "
    "PROCEDURE PURGE RANGE RANK READ READS READ_WRITE REAL RECURSIVE "
    "REFERENCES REGEXP RELEASE RENAME REPEAT REPLACE REQUIRE RESIGNAL "
    "RESTRICT RETURN REVOKE RIGHT RLIKE ROW ROWS ROW_NUMBER SCHEMA SCHEMAS "
    "SECOND_MICROSECOND SELECT SENSITIVE SEPARATOR SET SHOW SIGNAL SMALLINT "
    "SPATIAL SPECIFIC SQL SQLEXCEPTION SQLSTATE SQLWARNING SQL_BIG_RESULT "
    "SQL_CALC_FOUND_ROWS SQL_SMALL_RESULT SSL STARTING STORED STRAIGHT_JOIN "
    "SYSTEM TABLE TERMINATED THEN TINYBLOB TINYINT TINYTEXT TO TRAILING "
    "TRIGGER TRUE UNDO UNION UNIQUE UNLOCK UNSIGNED UPDATE USAGE USE USING "
    "UTC_DATE UTC_TIME UTC_TIMESTAMP VALUES VARBINARY VARCHAR VARCHARACTER "
    "VARYING VIRTUAL WHEN WHERE WHILE WINDOW WITH WRITE XOR YEAR_MONTH "
    "ZEROFILL";

static void
produce_keywords(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    for (const char *word = words; *word; word += *word == ' ') {
        size_t size = strcspn(word, " ");

        rowset_bytes(out, word, size);
        rowset_int(out, 1);
        word += size;
    }
}

static const struct catalog_column keywords[] = {{"WORD", &type_name},
                                                 {"RESERVED", &type_int}};

static const struct {
    const char *name, *collation, *description;
    int bytes;
} charsets[] = {
    {"ascii", "ascii_general_ci", "US ASCII", 1},
    {"binary", "binary", "Binary pseudo charset", 1},
    {"latin1", "latin1_swedish_ci", "cp1252 West European", 1},
    {"utf8mb3", "utf8mb3_general_ci", "UTF-8 Unicode", 3},
    {"utf8mb4", "utf8mb4_general_ci", "UTF-8 Unicode", 4},
};

enum { CHARSETS = sizeof(charsets) / sizeof(charsets[0]) };

/* MySQL's numbers; .NET and PHP clients look for some of them. */
static const struct {
    const char *name, *charset;
    int id, sort_length;
    bool pads;
} collations[] = {
    {"ascii_bin", "ascii", 65, 1, true},
    {"ascii_general_ci", "ascii", 11, 1, true},
    {"binary", "binary", 63, 1, false},
    {"latin1_bin", "latin1", 47, 1, true},
    {"latin1_general_ci", "latin1", 48, 1, true},
    {"latin1_general_cs", "latin1", 49, 1, true},
    {"latin1_swedish_ci", "latin1", 8, 1, true},
    {"utf8mb3_bin", "utf8mb3", 83, 1, true},
    {"utf8mb3_general_ci", "utf8mb3", 33, 1, true},
    {"utf8mb3_unicode_520_ci", "utf8mb3", 214, 8, true},
    {"utf8mb3_unicode_ci", "utf8mb3", 192, 8, true},
    {"utf8mb4_0900_ai_ci", "utf8mb4", 255, 0, false},
    {"utf8mb4_0900_as_ci", "utf8mb4", 305, 0, false},
    {"utf8mb4_0900_as_cs", "utf8mb4", 278, 0, false},
    {"utf8mb4_0900_bin", "utf8mb4", 309, 1, false},
    {"utf8mb4_bin", "utf8mb4", 46, 1, true},
    {"utf8mb4_general_ci", "utf8mb4", 45, 1, true},
    {"utf8mb4_unicode_520_ci", "utf8mb4", 246, 8, true},
    {"utf8mb4_unicode_ci", "utf8mb4", 224, 8, true},
};

enum { COLLATIONS = sizeof(collations) / sizeof(collations[0]) };

static bool
is_default_collation(const char *collation)
{
    for (size_t i = 0; i < CHARSETS; i++)
        if (strcmp(charsets[i].collation, collation) == 0)
            return true;
    return false;
}

static void
produce_show_charsets(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    for (size_t i = 0; i < CHARSETS; i++) {
        ROWSET_TEXTS(out, charsets[i].name, charsets[i].description,
                     charsets[i].collation);
        rowset_int(out, charsets[i].bytes);
    }
}

static const struct catalog_column show_charsets[] = {
    {"Charset", &type_name_nn},
    {"Description", &type_2048_nn},
    {"Default collation", &type_name_nn},
    {"Maxlen", &type_uint_nn},
};

static void
produce_charsets(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    for (size_t i = 0; i < CHARSETS; i++) {
        ROWSET_TEXTS(out, charsets[i].name, charsets[i].collation,
                     charsets[i].description);
        rowset_int(out, charsets[i].bytes);
    }
}

static const struct catalog_column schema_charsets[] = {
    {"CHARACTER_SET_NAME", &type_name_nn},
    {"DEFAULT_COLLATE_NAME", &type_name_nn},
    {"DESCRIPTION", &type_2048_nn},
    {"MAXLEN", &type_uint_nn},
};

static void
produce_collations(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    for (size_t i = 0; i < COLLATIONS; i++) {
        rowset_text(out, collations[i].name);
        rowset_text(out, collations[i].charset);
        rowset_int(out, collations[i].id);
        rowset_text(out, is_default_collation(collations[i].name) ? "Yes" : "");
        rowset_text(out, "Yes");
        rowset_int(out, collations[i].sort_length);
        rowset_text(out, collations[i].pads ? "PAD SPACE" : "NO PAD");
    }
}

static const struct catalog_column show_collations[] = {
    {"Collation", &type_name_nn},     {"Charset", &type_name_nn},
    {"Id", &type_ubigint_nn},         {"Default", &type_yes_no_nn},
    {"Compiled", &type_yes_no_nn},    {"Sortlen", &type_uint_nn},
    {"Pad_attribute", &type_word_nn},
};

static const struct catalog_column schema_collations[] = {
    {"COLLATION_NAME", &type_name_nn}, {"CHARACTER_SET_NAME", &type_name_nn},
    {"ID", &type_ubigint_nn},          {"IS_DEFAULT", &type_yes_no_nn},
    {"IS_COMPILED", &type_yes_no_nn},  {"SORTLEN", &type_uint_nn},
    {"PAD_ATTRIBUTE", &type_word_nn},
};

static void
produce_applicability(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    for (size_t i = 0; i < COLLATIONS; i++) {
        rowset_text(out, collations[i].name);
        rowset_text(out, collations[i].charset);
    }
}

static const struct catalog_column applicability[] = {
    {"COLLATION_NAME", &type_name_nn},
    {"CHARACTER_SET_NAME", &type_name_nn},
};

static void
produce_version(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    ROWSET_TEXTS(out, "2.1.2", SQL_SERVER_VERSION);
}

static const struct catalog_column sys_version[] = {
    {"sys_version", &type_word_nn}, {"mysql_version", &type_name_nn}};

const struct catalog_table tables_constant[] = {
    {CATALOG_HIDDEN, "character_set", CATALOG_COLUMNS(show_charsets),
     produce_show_charsets},
    {"information_schema", "CHARACTER_SETS", CATALOG_COLUMNS(schema_charsets),
     produce_charsets},
    {CATALOG_HIDDEN, "collation", CATALOG_COLUMNS(show_collations),
     produce_collations},
    {"information_schema", "COLLATIONS", CATALOG_COLUMNS(schema_collations),
     produce_collations},
    {"information_schema", "COLLATION_CHARACTER_SET_APPLICABILITY",
     CATALOG_COLUMNS(applicability), produce_applicability},
    {"information_schema", "KEYWORDS", CATALOG_COLUMNS(keywords),
     produce_keywords},
    {CATALOG_HIDDEN, "innodb_status", CATALOG_COLUMNS(innodb_status),
     produce_innodb},
    {CATALOG_SYS, "version", CATALOG_COLUMNS(sys_version), produce_version},
    {CATALOG_HIDDEN, "engines", CATALOG_COLUMNS(show_engines), produce_engines},
    {"information_schema", "ENGINES", CATALOG_COLUMNS(engines),
     produce_engines},
    {CATALOG_HIDDEN, "plugins", CATALOG_COLUMNS(show_plugins),
     produce_show_plugins},
    {"information_schema", "PLUGINS", CATALOG_COLUMNS(schema_plugins),
     produce_plugins},
    {CATALOG_HIDDEN, "help_topic", CATALOG_COLUMNS(topic), produce_topic},
#include "tables_empty.def"
    {NULL},
};
