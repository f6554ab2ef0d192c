/*
 * catalog.h - databases and tables: one definition per table.
 *
 * SELECT, SHOW, COM_FIELD_LIST and information_schema all read these.  A table
 * is columns and a function that gives the rows of this moment.
 */
#ifndef HW_CATALOG_H
#define HW_CATALOG_H

#include <stdatomic.h>

#include "cursor.h"
#include "errors.h"
#include "reader.h"

struct error;
struct heap_walk;
struct peer_survey;
struct rowset;
struct snapshot;
struct sql_session;
struct stats;

/* What a producer may need to know. */
struct catalog_scope {
    const struct sql_session *session;
    const char *database;               /* SHOW TABLES: of that one */
    const struct catalog_table *table;  /* SHOW COLUMNS, INDEX, ...: of that */
    const char *routine;                /* SHOW CREATE FUNCTION: of that */
    const struct sql_identity *grantee; /* SHOW GRANTS: NULL: one's own */
    const char *label;                  /* SHOW's first column: NULL: its own */
    bool full;                          /* SHOW FULL ... */
    bool global;                        /* SHOW GLOBAL ... */
    /* Of tables that need them, else NULL; borrowed, and they outlive the
     * statement's rows. */
    struct snapshot *snapshot;
    struct stats *stats;
    const struct peer_survey *survey;
    uint32_t timeout_s, parallel;  /* what a SELECT says; 0: the session's */
    char no_total[ERROR_TEXT_MAX]; /* why NEED_TOTAL gave none */
    const atomic_bool *cancelled;  /* or NULL: it cannot be cancelled */
};

/* What a table takes from the node before it can be produced. */
enum catalog_need {
    NEED_SNAPSHOT = 1, /* scope.snapshot: the one named, or a fresh one */
    NEED_STATS = 2,    /* scope.stats */
    /* scope.snapshot, a fresh one, if the session may take it and the profiler
     * is on; else NULL. */
    NEED_TOTAL = 4,
    /* scope.survey, if the session may ask another node, and the reader can
     * wait; else NULL. */
    NEED_PEERS = 8
};

struct catalog_type {
    const char *name; /* MySQL's: "varchar(64)" */
    enum column_type type;
    uint32_t width;
    uint16_t flags; /* enum column_flag */
};

extern const struct catalog_type type_bigint;   /* bigint */
extern const struct catalog_type type_ubigint;  /* bigint unsigned */
extern const struct catalog_type type_int;      /* int */
extern const struct catalog_type type_uint;     /* int unsigned */
extern const struct catalog_type type_double;   /* double */
extern const struct catalog_type type_longtext; /* longtext */
extern const struct catalog_type type_name;     /* varchar(64) */
extern const struct catalog_type type_text;     /* varchar(1024) */
extern const struct catalog_type type_time;     /* datetime, as text */
extern const struct catalog_type type_boolean;  /* tinyint(1): 1, 0 */

struct catalog_column {
    const char *name;
    const struct catalog_type *type;
    const char *comment; /* or NULL */
    uint16_t flags;      /* besides its type's */
};

/* NOT NULL; and a part of the primary key besides. */
#define CATALOG_SET COLUMN_NOT_NULL
#define CATALOG_KEY (COLUMN_NOT_NULL | COLUMN_PRI_KEY | COLUMN_PART_KEY)

struct catalog_table {
    const char *database, *name; /* database CATALOG_HIDDEN: of SHOW alone */
    const char *comment;
    const struct catalog_column *columns;
    size_t column_count;
    uint32_t privilege; /* to read it; 0: none */
    void (*produce)(const struct catalog_scope *scope, struct rowset *out);
    unsigned needs; /* enum catalog_need */
    /* In place of produce: the rows are too many to keep.  See heap_walk.h. */
    const struct heap_walk *walk;
    /* Likewise: the rows of that table on every node, with node_id before its
     * columns.  See cluster_rows.h. */
    const struct catalog_table *of;
};

#define CATALOG_HIDDEN "show"
/* Named, but never listed. */
#define CATALOG_MYSQL       "mysql"
#define CATALOG_PERFORMANCE "performance_schema"
#define CATALOG_ENGINE      "heapwire"
#define CATALOG_CHARSET     "utf8mb4"
#define CATALOG_COLLATION   "utf8mb4_general_ci"

#define CATALOG_COLUMNS(array) array, sizeof(array) / sizeof((array)[0])
/* Of an array that begins with CATALOG_NODE_ID, for a table of all nodes. */
#define CATALOG_OWN_COLUMNS(array)                                             \
    (array) + 1, sizeof(array) / sizeof((array)[0]) - 1
#define CATALOG_NODE_ID                                                        \
    {                                                                          \
        "node_id", &type_ubigint, "The node whose row it is", CATALOG_SET      \
    }

/* Registers all tables: once, before any thread; borrowed for ever.  See
 * sql_start.c. */
void catalog_start(const struct catalog_table *const *all, size_t count);
size_t catalog_count(void);
const struct catalog_table *catalog_at(size_t i);

/* enum column_flag of its i-th column.  Other nodes may send anything: in a
 * table of all nodes only node_id has its flags. */
uint16_t catalog_flags(const struct catalog_table *table, size_t i);
/* Whether it has a primary key. */
bool catalog_has_key(const struct catalog_table *table);

/* A table's place: catalog_at() it is the table. */
size_t catalog_index(const struct catalog_table *table);

enum { CATALOG_TABLES_MAX = 192 };

/* produce() of a table that is always empty. */
void catalog_nothing(const struct catalog_scope *scope, struct rowset *out);

/* Tables, by their places. */
struct table_set {
    uint64_t bits[CATALOG_TABLES_MAX / 64];
};

void table_set_add(struct table_set *set, size_t index);
bool table_set_has(const struct table_set *set, size_t index);
/* Whether set has each one that of has. */
bool table_set_has_all(const struct table_set *set, const struct table_set *of);

/* Databases by position, NULL behind the last.  The hidden ones come last and
 * only where asked for. */
const char *catalog_database_at(size_t i, bool hidden);

/* The catalog's spelling of a database's name, or NULL. */
const char *catalog_database(struct span name);
int catalog_unknown_database(struct span name, struct error *err); /* 1049 */

/* Whether database is one of those that are named, but never listed. */
bool catalog_unlisted(const char *database);
/* Whether the session may see that the table exists. */
bool catalog_visible(const struct sql_session *session,
                     const struct catalog_table *table);

/* database as the catalog spells it.  NULL with 1146. */
const struct catalog_table *catalog_table(const char *database,
                                          struct span name, struct error *err);
/* In the session's current database, or name has the database before a dot.
 * NULL with 1046, 1049 or 1146. */
const struct catalog_table *catalog_resolve(const struct sql_session *session,
                                            const struct span *database,
                                            struct span name,
                                            struct error *err);

#endif
