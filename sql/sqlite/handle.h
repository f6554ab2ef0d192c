/*
 * handle.h - SQLite connections over the catalog, borrowed per SELECT.
 *
 * Each is an empty in-memory database with those of our virtual tables that
 * were asked for, read-only, with every limit lowered.  A handle belongs to one
 * statement at a time; a few idle ones are kept.  Acquire and release from any
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

struct select_wait;

enum {
    HANDLES_MAX = 96,      /* SELECTs open at once */
    HANDLES_USER_MAX = 64, /* of one user: the others find one free */
    HANDLES_SPARE = 8,     /* and more, for trusted users: see struct
                              sql_identity */
    HANDLES_IDLE = 4,
    STATEMENTS_KEPT = 32,      /* by a handle, for the next one that reads so */
    STATEMENT_TEXT_MAX = 4096, /* bytes of SQL of one that is kept */
    STATEMENT_MEMORY_MAX = 32 * 1024,    /* likewise, of SQLite's memory */
    SELECT_HEAP_MAX = 256 * 1024 * 1024, /* bytes, all of SQLite's */
    SELECT_VALUE_MAX = 256 * 1024, /* bytes: what a call takes is bounded */
    SELECT_SHORT_MAX = 4096,       /* likewise, while handle_allow bounds it */
    SELECT_DEPTH_MAX = 500,        /* of an expression */
    SELECT_COMPOUNDS_MAX = 128     /* of UNION */
};

/* A prepared statement and when it was used last; NULL: none. */
struct kept_statement {
    sqlite3_stmt *statement;
    size_t size; /* of its text */
    uint64_t used;
};

struct handle {
    sqlite3 *db;
    struct handle *next; /* idle */
    struct kept_statement kept[STATEMENTS_KEPT];
    uint64_t uses;      /* of statements */
    const char **place; /* in the pool */
    struct table_set created;
    struct function_use *functions; /* what SQLite calls them with */
    /* For the statement: */
    struct catalog_scope scope;
    struct sql_session *session; /* the scope's, for @x := y */
    uint64_t found_rows;         /* of the session, before this one */
    int64_t now_ms; /* wall clock: NOW() is one time in a statement */
    const atomic_bool *cancelled;   /* or NULL */
    struct table_set readable;      /* the tables it may read */
    bool names_snapshot, names_now; /* as in struct rewritten */
    uint64_t looks; /* of the progress handler until it stops; 0: none */
    bool exhausted; /* it did */
    bool acted;     /* it has changed a variable or a lock */
    struct select_memory memory;
    struct slots slots;
    struct select_wait *wait; /* NULL: it cannot wait for the node */
    bool failed;              /* to make a table or set a variable, and why: */
    struct error failure;
    struct table_set produced;                /* those of the tables: */
    struct rowset tables[CATALOG_TABLES_MAX]; /* each made once */
};

/*
 * On the loop: lets the statement do about so many operations of SQLite's
 * machine, then stops it; 0: any number, on a worker.
 */
void handle_allow(struct handle *handle, uint64_t operations);

/* A function is about to work on that many bytes, which counts for operations,
 * too.  True: it may not, the statement has stopped. */
bool handle_charge(struct handle *handle, size_t bytes);
/* True: the statement is on the loop, and has stopped. */
bool handle_leave_loop(struct handle *handle);
/* Has SQLite ask, while it runs, whether to go on. */
void handle_watch(struct handle *handle);
bool handle_is_cancelled(const struct handle *handle);

#endif
