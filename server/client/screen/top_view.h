/*
 * top_view.h - what heapwire top shows: a row of the table for each view.
 *
 * A view is one SELECT over one table of all nodes.  Pure.
 */
#ifndef HW_TOP_VIEW_H
#define HW_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

enum {
    TOP_COLUMNS_MAX = 12,
    TOP_ROWS_MAX = 5000, /* of a SELECT */
    TOP_BASE_MAX = 64    /* bytes of a snapshot's name */
};

enum top_kind {
    TOP_TEXT,
    TOP_BYTES,
    TOP_COUNT,
    TOP_PERCENT,
    TOP_TIME,       /* milliseconds */
    TOP_SHARE,      /* derived: of the column's sum over all rows, percent */
    TOP_LOAD,       /* derived: milliseconds since the last time, percent */
    TOP_GROWN,      /* derived: bytes since the base */
    TOP_GROWN_ERROR /* derived: of both errors */
};

struct top_column {
    const char *title;
    const char *sql; /* NULL: derived from the column number `of` */
    unsigned char kind, of;
    unsigned char width; /* columns; 0: what is left */
    unsigned char rank;  /* the highest is left out first */
};

enum top_number {
    TOP_FUNCTIONS,
    TOP_THREADS,
    TOP_RUNNING,
    TOP_WASTE,
    TOP_DIFF,
    TOP_DIAGNOSIS,
    TOP_DIFF_KEPT, /* no key's: TOP_DIFF with a base that the node keeps */
    TOP_NUMBERS
};

struct top_view {
    const char *name; /* as the second line has it */
    const char *table; /* of the database heapwire; cluster_… is of all nodes */
    const char *group, *where;
    const char *missing; /* what to say where the node has no such table */
    const char *empty;   /* what to say of no rows, where there is `instead` */
    const struct top_column *columns;
    unsigned char count, keys; /* the first `keys` of key[] name a row */
    unsigned char key[3];
    unsigned char sort;  /* column, the largest first */
    signed char instead; /* the view to show where this has nothing */
    bool alone;          /* has no cluster_… */
};

extern const struct top_view top_views[TOP_NUMBERS];

struct top_scope {
    uint64_t node;    /* the only one; 0: all */
    uint64_t self;    /* the node that is asked */
    bool alone;       /* the account may not ask others */
    const char *base; /* of TOP_DIFF_KEPT */
    bool kept;        /* the newest kept snapshot, not the heap as it is */
};

/* Appends the statement. */
void top_view_statement(enum top_number number, const struct top_scope *scope,
                        struct buffer *out);

/* Of all nodes' states, and of their memory: fixed columns. */
enum { NODES_ID, NODES_STATE, NODES_ERROR, NODES_PROFILING, NODES_COLUMNS };
enum {
    MEMORY_NODE,
    MEMORY_RSS,
    MEMORY_LIMIT,
    MEMORY_ALLOCATED,
    MEMORY_ACTIVE,
    MEMORY_RESIDENT,
    MEMORY_COLUMNS
};
void top_view_nodes_statement(const struct top_scope *scope,
                              struct buffer *out);
void top_view_memory_statement(const struct top_scope *scope,
                               struct buffer *out);

#endif
