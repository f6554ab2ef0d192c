/*
 * catalog.h - databases and tables: one definition per table.
 *
 * SELECT, SHOW, COM_FIELD_LIST and information_schema all read these.  A table
 * is a list of columns and a function that produces its present rows.
 */
#ifndef HW_CATALOG_H
#define HW_CATALOG_H

#include <stdatomic.h>

#include "cursor.h"
#include "errors.h"
#include "reader.h"

struct await;
struct error;
struct heap_walk;
struct memory_map;
struct peer_survey;
struct rowset;
struct snapshot;
struct sql_session;
struct stats;
struct thread_list;

/* The statement's choices and data that a table's produce() may read. */
struct catalog_scope {
    const struct sql_session *session;
    const char *database; /* SHOW TABLES: the database to list */
    const struct catalog_table
        *table;          /* SHOW COLUMNS, INDEX, ...: the table to describe */
    const char *routine; /* SHOW CREATE FUNCTION: the routine to describe */
    const struct sql_identity
        *grantee; /* SHOW GRANTS: the account; NULL: the session's */
    const char
        *label;  /* label of SHOW's first column; NULL: the column's own */
    bool full;   /* SHOW FULL ... */
    bool global; /* SHOW GLOBAL ... */
    /* Set only for a table whose needs (enum catalog_need) include it.
     * Otherwise it is NULL, or what another table of the statement needed.
     * All are borrowed and outlive the statement's rows. */
    struct snapshot *snapshot;
    struct stats *stats;
    const struct peer_survey *survey;
    const struct thread_list *threads;
    const struct memory_map *mappings;
    uint32_t timeout_s,
        parallel; /* the SELECT's own limits; 0: the session's */
    char no_total[ERROR_TEXT_MAX]; /* why NEED_TOTAL got no snapshot */
    const atomic_bool *cancelled;  /* or NULL: it cannot be cancelled */
    struct await *await;           /* or NULL: it cannot wait */
};

/* What must be fetched from the node before a table is produced. */
enum catalog_need {
    NEED_SNAPSHOT = 1, /* scope.snapshot: the named one, or a fresh one */
    NEED_STATS = 2,    /* scope.stats */
    /* scope.snapshot: a fresh one; NULL where the session may not take it or
     * the profiler is off */
    NEED_TOTAL = 4,
    /* scope.survey; NULL where the session may not ask other nodes or the
     * reader cannot wait */
    NEED_PEERS = 8,
    /* Nothing: the table reads files, or has many rows */
    NEED_TIME = 16,
    NEED_THREADS = 32, /* scope.threads: with their stacks */
    NEED_MAPPINGS = 64 /* scope.mappings */
};

struct catalog_type {
    const char *name; /* MySQL's name: "varchar(64)" */
    enum column_type type;
    uint32_t width;
    uint16_t flags; /* enum column_flag */
};

/* type_bigint, ..., and type_bigint_nn, ..., which are NOT NULL. */
#define CATALOG_TYPE(name)                                                     \
    extern const struct catalog_type type_##name, type_##name##_nn
CATALOG_TYPE(bigint);
CATALOG_TYPE(ubigint); /* bigint unsigned */
CATALOG_TYPE(int);
CATALOG_TYPE(uint);    /* int unsigned */
CATALOG_TYPE(boolean); /* tinyint(1): 1, 0 */
CATALOG_TYPE(double);
CATALOG_TYPE(decimal);    /* decimal(9,6) */
CATALOG_TYPE(percent);    /* decimal(5,2) */
CATALOG_TYPE(yes_no);     /* varchar(3) */
CATALOG_TYPE(word);       /* varchar(10) */
CATALOG_TYPE(version);    /* varchar(20) */
CATALOG_TYPE(name);       /* varchar(64) */
CATALOG_TYPE(short);      /* varchar(80) */
CATALOG_TYPE(256);        /* varchar(256) */
CATALOG_TYPE(grantee);    /* varchar(292) */
CATALOG_TYPE(512);        /* varchar(512) */
CATALOG_TYPE(text);       /* varchar(1024) */
CATALOG_TYPE(2048);       /* varchar(2048) */
CATALOG_TYPE(plain_text); /* text */
CATALOG_TYPE(mediumtext);
CATALOG_TYPE(longtext);
CATALOG_TYPE(time); /* datetime, as text */
CATALOG_TYPE(timestamp);

struct catalog_column {
    const char *name;
    const struct catalog_type *type;
    const char *comment; /* or NULL */
    uint16_t flags;      /* in addition to those of the type */
    uint16_t needs; /* enum catalog_need: in addition to those of the table */
};

/* The flags of a column that belongs to the primary key. */
#define CATALOG_KEY (COLUMN_NOT_NULL | COLUMN_PRI_KEY | COLUMN_PART_KEY)

struct catalog_table {
    /* database CATALOG_HIDDEN: only SHOW reads it.  NULL ends a list. */
    const char *database, *name;
    const struct catalog_column *columns;
    size_t column_count;
    void (*produce)(const struct catalog_scope *scope, struct rowset *out);
    const char *comment; /* or NULL */
    uint32_t privilege;  /* needed to read it; 0: none */
    unsigned needs;      /* enum catalog_need: of its rows, whatever is read */
    /* Instead of produce, for rows that are too many to keep; see
     * heap_walk.h. */
    const struct heap_walk *walk;
    /* Instead of produce: this table has the rows of that table on every node,
     * with node_id before its columns; see cluster_ask.h. */
    const struct catalog_table *of;
};

#define CATALOG_HIDDEN "show"
/* Statements may name these databases, but no list has them. */
#define CATALOG_MYSQL       "mysql"
#define CATALOG_PERFORMANCE "performance_schema"
#define CATALOG_SYS         "sys"
#define CATALOG_CHARSET     "utf8mb4"
#define CATALOG_COLLATION   "utf8mb4_general_ci"

#define CATALOG_COLUMNS(array) array, sizeof(array) / sizeof((array)[0])
/* The columns of such an array, which begins with CATALOG_NODE_ID, without that
 * one. */
#define CATALOG_OWN_COLUMNS(array)                                             \
    (array) + 1, sizeof(array) / sizeof((array)[0]) - 1
#define CATALOG_NODE_ID                                                        \
    {                                                                          \
        "node_id", &type_ubigint_nn, "The node whose row it is"                \
    }
/* The table of all nodes' rows of another one, whose columns the array has. */
#define CATALOG_OF_ALL(name, array, privileges, table)                         \
    {                                                                          \
        "heapwire", "cluster_" name, CATALOG_COLUMNS(array),                   \
            .comment = "heapwire." name " of every node",                      \
            .privilege = (privileges) | PRIVILEGE_CLUSTER, .of = (table)       \
    }

/* Registers all tables, once and before any thread starts; borrows them for the
 * life of the process.  See sql_start.c. */
void catalog_start(const struct catalog_table *const *all, size_t count);
size_t catalog_count(void);
const struct catalog_table *catalog_at(size_t i);

/* Column flags (enum column_flag) of column i.  Other nodes may send anything,
 * so in a table of all nodes only node_id keeps its flags. */
uint16_t catalog_flags(const struct catalog_table *table, size_t i);
/* What must be fetched for a set of columns (enum catalog_need): bit i stands
 * for column i, the last bit for all from there on, as in SQLite's colUsed. */
unsigned catalog_needs(const struct catalog_table *table, uint64_t columns);
/* Whether it has a primary key. */
bool catalog_has_key(const struct catalog_table *table);

/* The index of table, for catalog_at(). */
size_t catalog_index(const struct catalog_table *table);

enum { CATALOG_TABLES_MAX = 192 };

/* The produce() of a table that is always empty. */
void catalog_nothing(const struct catalog_scope *scope, struct rowset *out);

/* A set of tables, by their indices. */
struct table_set {
    uint64_t bits[CATALOG_TABLES_MAX / 64];
};

void table_set_add(struct table_set *set, size_t index);
bool table_set_has(const struct table_set *set, size_t index);
/* Whether set contains all tables of the set `of`. */
bool table_set_has_all(const struct table_set *set, const struct table_set *of);

/* The database at position i; NULL past the last. hidden adds those that no
 * list has, at the end. */
const char *catalog_database_at(size_t i, bool hidden);

/* The database's name as the catalog spells it; NULL: unknown. */
const char *catalog_database(struct span name);
int catalog_unknown_database(struct span name,
                             struct error *err); /* always -1, with 1049 */

/* Whether statements may name the database but no list has it. */
bool catalog_unlisted(const char *database);
/* Whether the session may know that the table exists. */
bool catalog_visible(const struct sql_session *session,
                     const struct catalog_table *table);

/* database is spelled as in the catalog.  NULL with 1146. */
const struct catalog_table *catalog_table(const char *database,
                                          struct span name, struct error *err);
/* Finds the table in the session's current database, or in the database that
 * name has before a dot.  NULL with 1046, 1049 or 1146. */
const struct catalog_table *catalog_resolve(const struct sql_session *session,
                                            const struct span *database,
                                            struct span name,
                                            struct error *err);

#endif
