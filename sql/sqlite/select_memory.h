/*
 * select_memory.h - counts the memory that one SELECT takes from SQLite.
 *
 * SQLite has one limit for the whole process, which one user's sort must not
 * use up.  So its allocator is wrapped, and counts for the statement that runs
 * on the thread.
 */
#ifndef HW_SELECT_MEMORY_H
#define HW_SELECT_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "memory_budget.h"

enum {                                        /* bytes of one statement */
       SELECT_MEMORY_MAX = 64 * 1024 * 1024,  /* while it runs */
       PREPARE_MEMORY_MAX = 16 * 1024 * 1024, /* and while it is prepared */
       SELECT_MEMORY_STEP = 1024 * 1024,      /* held at a time */
       PREPARE_BLOCKS_MAX =
           200 * 1000 /* allocations while it is prepared, some 50 ms */
};

struct select_memory {
    int64_t used;    /* bytes */
    uint32_t blocks; /* allocations since its preparing began */
    bool preparing;
    bool exceeded; /* an allocation was refused, */
    bool refused;  /* by all that clients share */
    struct memory_hold held;
    const char *owner;            /* who shares it */
    const atomic_bool *cancelled; /* while it is prepared */
};

/* Call it once, before any other use of SQLite. */
void select_memory_count(void);

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
void select_memory_forget(struct select_memory *memory);

#endif
