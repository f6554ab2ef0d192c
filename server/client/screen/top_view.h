/*
 * top_view.h - what heapwire top shows: a row of top_views for each view.
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
    TOP_ROWS_MAX = 5000, /* rows that a SELECT asks for */
    TOP_BASE_MAX = 64    /* bytes of a snapshot's name */
};

enum top_kind {
    TOP_TEXT,
    TOP_BYTES,
    TOP_COUNT,
    TOP_PERCENT,
    TOP_TIME,       /* milliseconds */
    TOP_SHARE,      /* derived: percent of the column's sum over all rows */
    TOP_LOAD,       /* derived: processor time since the last poll, percent */
    TOP_GROWN,      /* derived: bytes since the base */
    TOP_GROWN_ERROR /* derived: from both errors */
};

struct top_column {
    const char *title;
    const char *sql; /* NULL: derived from column number `of` */
    unsigned char kind, of;
    unsigned char width; /* columns of the terminal; 0 takes what is left */
    unsigned char rank;  /* the highest is left out first */
};

enum top_number {
    TOP_FUNCTIONS,
    TOP_THREADS,
    TOP_RUNNING,
    TOP_WASTE,
    TOP_DIFF,
    TOP_DIAGNOSIS,
    /* TOP_DIFF compared to a snapshot that the node keeps; no key chooses it */
    TOP_DIFF_KEPT,
    TOP_NUMBERS
};

struct top_view {
    const char *name; /* as the line of the view shows it */
    /* of the database heapwire; with cluster_ before it, of all nodes */
    const char *table;
    const char *group, *where;
    const char *missing; /* what to say if the node has no such table */
    /* what to say if there are no rows, for a view with `instead` */
    const char *empty;
    const struct top_column *columns;
    unsigned char count, keys; /* the first `keys` of key[] name a row */
    unsigned char key[3];
    unsigned char sort;  /* the column to sort by, the largest first */
    signed char instead; /* the view to show if this one has nothing, or -1 */
    bool alone;          /* has no cluster_ table */
};

extern const struct top_view top_views[TOP_NUMBERS];

struct top_scope {
    uint64_t node;    /* the only node; 0 means all */
    uint64_t self;    /* the node that is asked */
    bool alone;       /* the account may not ask other nodes */
    const char *base; /* the base of TOP_DIFF_KEPT */
    bool kept;        /* the newest kept snapshot, not the heap as it is */
};

/* Appends the statement. */
void top_view_statement(enum top_number number, const struct top_scope *scope,
                        struct buffer *out);

/* Append statements for the states and the memory of nodes.  These enums number
 * their columns. */
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
