/*
 * select_handle.h - SQLite connections over the catalog, borrowed per SELECT.
 *
 * Each is an empty in-memory database with our virtual tables, read-only, with
 * every limit lowered.  A handle belongs to one statement at a time; a few idle
 * ones are kept.  Acquire and release from any thread.
 */
#ifndef HW_SELECT_HANDLE_H
#define HW_SELECT_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "catalog.h"
#include "errors.h"
#include "rowset.h"
#include "select_memory.h"

struct select_wait;

enum {
    HANDLES_MAX = 64, /* SELECTs open at once */
    HANDLES_IDLE = 2,
    SELECT_HEAP_MAX = 256 * 1024 * 1024, /* bytes, all of SQLite's */
    SELECT_VALUE_MAX = 256 * 1024, /* bytes: what a call takes is bounded */
    SELECT_SHORT_MAX = 4096,       /* likewise, while handle_allow bounds it */
    SELECT_DEPTH_MAX = 500,        /* of an expression */
    SELECT_COMPOUNDS_MAX = 50      /* of UNION */
};

struct handle {
    sqlite3 *db;
    struct handle *next; /* idle */
    /* For the statement: */
    struct catalog_scope scope;
    int64_t now_ms; /* wall clock: NOW() is one time in a statement */
    const atomic_bool *cancelled; /* or NULL */
    struct table_set readable;    /* the tables it may read */
    uint64_t looks; /* of the progress handler until it stops; 0: none */
    bool exhausted; /* it did */
    struct select_memory memory;
    struct select_wait *wait; /* NULL: it cannot wait for the node */
    bool failed;              /* a table could not be made, and why: */
    struct error failure;
    bool produced[CATALOG_TABLES_MAX];
    struct rowset tables[CATALOG_TABLES_MAX]; /* each made once */
};

struct handle *handle_acquire(const struct catalog_scope *scope,
                              struct error *err);
/* After its statements were finalised.  NULL is fine. */
void handle_release(struct handle *handle);

/*
 * Lets the statement do about so many operations of SQLite's machine, then
 * stops it; 0: any number.  Not a time: what a statement answers must not
 * depend on how busy the node is.
 */
void handle_allow(struct handle *handle, uint64_t operations);

/* select_vtab.c, select_functions.c: -1 when SQLite refuses. */
int handle_add_tables(struct handle *handle);
int handle_add_functions(struct handle *handle);
bool handle_allows_function(const char *name);

#endif
