/*
 * handle.h - SQLite connections over the catalog, each lent to one SELECT.
 *
 * Each is an empty in-memory database with the virtual tables that were needed
 * so far; it is read-only, and every limit is lowered.  One statement at a time
 * uses a handle, and a few idle ones are kept.  Acquire and release from any
 * thread.
 */
#ifndef HW_HANDLE_H
#define HW_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "catalog.h"
#include "errors.h"
#include "rowset.h"
#include "select_memory.h"
#include "slots.h"

struct await;
struct fetch;

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
    struct table_set needy; /* as in struct handle */
};

struct handle {
    sqlite3 *db;
    struct handle *next; /* the next idle one */
    struct kept_statement kept[STATEMENTS_KEPT];
    uint64_t uses;      /* count of statements' uses */
    const char **place; /* its user's place in the pool */
    struct table_set created;
    struct function_use *functions; /* user data of SQLite's functions */
    /* Members from here on belong to the present statement. */
    struct catalog_scope scope;
    struct sql_session *session; /* of scope, for @x := y */
    uint64_t found_rows;         /* the session's, before this statement */
    int64_t now_ms; /* wall clock: NOW() does not change within a statement */
    const atomic_bool *cancelled; /* NULL: it cannot be cancelled */
    struct await *await;          /* likewise, and it cannot wait */
    struct table_set readable;    /* the tables it may read */
    struct table_set needy; /* those of which it reads columns with needs */
    bool names_snapshot, names_now; /* as in struct deparsed */
    uint64_t looks; /* calls of the progress handler since it last said that it
                       computes for long */
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
