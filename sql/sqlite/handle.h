/*
 * handle.h - SQLite connections over the catalog, each used by one SELECT.
 *
 * Each is an empty in-memory database with the virtual tables that were needed
 * so far; it is read-only, and every limit is lowered.  One statement at a time
 * uses a handle, and a few idle ones are kept.  Acquire and release from any
 * thread.
 */
#ifndef HW_HANDLE_H
#define HW_HANDLE_H

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog.h"
#include "errors.h"
#include "memory_budget.h"
#include "sql_cursor.h"

struct await;
struct fetch;

/* ---- the memory that one SELECT takes ----
 *
 * SQLite has one limit for the whole process, which one user's sort must not
 * use up.  So its allocator is wrapped, and counts for the statement that runs
 * on the thread. */

enum {                                        /* bytes of one statement */
       SELECT_MEMORY_MAX = 64 * 1024 * 1024,  /* while it runs */
       PREPARE_MEMORY_MAX = 16 * 1024 * 1024, /* and while it is prepared */
       SELECT_MEMORY_STEP = 1024 * 1024,      /* reserved at a time */
       PREPARE_BLOCKS_MAX =
           200 * 1000 /* allocations while it is prepared, some 50 ms */
};

struct select_memory {
    int64_t used;    /* bytes */
    uint32_t blocks; /* allocations since its preparing began */
    bool preparing;
    bool exceeded; /* an allocation was refused, */
    bool refused;  /* by all that clients share */
    struct memory_reservation reserved;
    const char *owner;            /* who shares it */
    const atomic_bool *cancelled; /* NULL: it cannot be cancelled */
};

/* Call it once, before any other use of SQLite. */
void select_memory_install(void);

/* sqlite3_prepare_v3, counted.  SQLite's time to prepare doubles with each
 * level of views, and grows with the square of the number of windows; only its
 * allocations can stop it.  A limit in seconds would make a statement's answer
 * depend on the node's load.  SQLITE_INTERRUPT: it was cancelled. */
int select_memory_prepare(struct select_memory *memory, sqlite3 *db,
                          const char *sql, size_t size, unsigned flags,
                          sqlite3_stmt **out);
/* sqlite3_step, counted. */
int select_memory_step(struct select_memory *memory, sqlite3_stmt *statement);
/* Call it when the statement was reset or finalized, which frees its memory. */
void select_memory_reset(struct select_memory *memory);

/* ---- values that one call keeps for later ones of its statement ----
 *
 * CASE x WHEN y is CASE hw_case(0, x) WHEN hw_when(0, y): it compares as MySQL
 * does, and reads no more than SQLite does. x > ALL (SELECT y) is
 * hw_quantified(x, (SELECT hw_bounds(1, y)), ...): the smallest and the largest
 * y are enough to answer for all. */

enum { SLOTS_MAX = 256 }; /* of a statement */

struct slot {
    sqlite3_value *low, *high; /* for CASE, low alone */
    bool null;                 /* a value was NULL */
};

struct slots {
    struct slot slots[SLOTS_MAX];
    unsigned used; /* slots past it are zero */
};

void slot_clear(struct slot *slot);
void slots_fini(struct slots *slots);

/* COLLATION_TEXT stands in for SQLite's own BINARY, too, which is that of all
 * that names none: columns, DISTINCT, UNION, MIN, joins.  Two cases need its
 * name: a comparison of expressions, and what is sorted (ORDER BY, GROUP BY,
 * PARTITION BY), since SQLite's sorter compares its default byte by byte. */
#define COLLATION_TEXT "hw_text" /* collate_compare */
#define COLLATION_BIN  "hw_bin"  /* collate_compare_bin */

/* -1 if SQLite refuses. */
int collation_add(sqlite3 *db);

/* ---- handles ---- */

enum {
    HANDLES_MAX = 128, /* SELECTs open at once, which users share */
    HANDLES_SPARE =
        8, /* in addition, for trusted users; see struct sql_identity */
    HANDLES_IDLE = 4,
    STATEMENTS_KEPT =
        32, /* by one handle, for later statements with the same text */
    STATEMENT_TEXT_MAX = 4096, /* bytes of a kept one's SQL */
    STATEMENT_MEMORY_MAX =
        32 * 1024, /* bytes of SQLite's memory of a kept one */
    SELECT_HEAP_MAX = 256 * 1024 * 1024, /* bytes of SQLite's memory in all */
    SELECT_VALUE_MAX =
        256 * 1024,         /* bytes of a value, which bounds a call's time */
    SELECT_DEPTH_MAX = 500, /* levels of an expression */
    SELECT_COMPOUNDS_MAX = 128, /* SELECTs of a UNION */
    SELECT_ARGUMENTS_MAX = 127, /* of a function */
    SELECT_TABLES_MAX = 64      /* of a join; SQLite's own limit */
};

/* A prepared statement and the time of its last use; NULL: none. */
struct kept_statement {
    sqlite3_stmt *statement;
    size_t size; /* bytes of its text */
    uint64_t used;
    struct table_set needs_node; /* as in struct handle */
};

struct handle {
    sqlite3 *db;
    struct handle *next; /* the next idle one */
    struct kept_statement kept[STATEMENTS_KEPT];
    uint64_t uses;          /* count of statements' uses */
    const char **user_slot; /* its user's entry in the pool */
    struct table_set created;
    struct function_use *functions; /* user data of SQLite's functions */
    /* Members from here on belong to the present statement. */
    struct catalog_scope scope;
    struct sql_session *session; /* of scope, for warnings and @x := y */
    uint64_t found_rows;         /* the session's, before this statement */
    int64_t now_ms; /* wall clock: NOW() does not change within a statement */
    struct await *await;            /* NULL: it cannot wait, or be cancelled */
    struct table_set readable;      /* the tables it may read */
    struct table_set needs_node;    /* of which it reads a column that has
                                     * needs (enum catalog_need) */
    struct table_set bounded;       /* of nodes', asked from some time on */
    bool names_snapshot, names_now; /* as in struct deparsed */
    uint64_t charged; /* bytes, since it last said that it computes for long */
    int64_t recursion_left; /* rows that its recursive queries may still read of
                               themselves; -1: as many as the session says */
    struct select_memory memory;
    struct slots slots;
    struct fetch *fetch; /* NULL: the statement cannot wait for the node */
    bool failed;         /* a table or an assignment failed, with failure */
    struct error failure;
    struct table_set produced;                /* the tables that are filled */
    struct rowset tables[CATALOG_TABLES_MAX]; /* each is produced once */
};

/* Call it before a function works on so many bytes, which count as operations.
 * True: the statement has stopped, and the function must return. */
bool handle_charge(struct handle *handle, size_t bytes);
/* The same before it computes for long, or reads files. */
bool handle_compute(struct handle *handle);
/* Makes SQLite ask, while it runs, whether to go on. */
void handle_watch(struct handle *handle);
bool handle_is_cancelled(const struct handle *handle);

#endif
