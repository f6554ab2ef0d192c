/*
 * select_memory.h - what one SELECT takes of SQLite's memory.
 *
 * SQLite has one limit for the whole process, and one user's sort must not use
 * it up.  So its allocator is wrapped, and counts for the statement that steps
 * on the thread.
 */
#ifndef HW_SELECT_MEMORY_H
#define HW_SELECT_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

enum {                                        /* bytes of one statement, */
       SELECT_MEMORY_MAX = 64 * 1024 * 1024,  /* while it runs */
       PREPARE_MEMORY_MAX = 16 * 1024 * 1024, /* and to prepare it */
       PREPARE_BLOCKS_MAX = 200 * 1000        /* that may be taken for that:
                                                 some 50 ms */
};

struct select_memory {
    int64_t used;    /* bytes */
    uint32_t blocks; /* taken since its preparing began */
    bool preparing;
    bool exceeded;                /* an allocation was refused */
    const atomic_bool *cancelled; /* of a preparing */
};

/* Once, before SQLite is used at all. */
void select_memory_count(void);

/* sqlite3_prepare_v3, counted.  The time that SQLite takes to prepare doubles
 * with each level of views, and grows with the square of the number of windows;
 * only its allocations can stop it.  A limit in seconds would make a
 * statement's answer depend on how busy the node is.  SQLITE_INTERRUPT: it was
 * cancelled. */
int select_memory_prepare(struct select_memory *memory, sqlite3 *db,
                          const char *sql, size_t size, unsigned flags,
                          sqlite3_stmt **out);
/* sqlite3_step, counted. */
int select_memory_step(struct select_memory *memory, sqlite3_stmt *statement);
/* The statement was reset or finalized: what it took is free again. */
void select_memory_forget(struct select_memory *memory);

#endif
