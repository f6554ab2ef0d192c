/*
 * heap_walk.h - the rows of a heap_* table, read from a source.
 *
 * A snapshot may have 20,000 stacks of 30 frames: the walk reads them in place
 * and makes no rows of them first.
 */
#ifndef HW_HEAP_WALK_H
#define HW_HEAP_WALK_H

#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "buffer.h"
#include "cursor.h"

struct catalog_table;
struct handle;
struct select_source;
struct stack_frame;
struct value;

enum heap_row {
    HEAP_FUNCTIONS,
    HEAP_STACKS,
    HEAP_FRAMES,
    HEAP_CALLS, /* the source's calls: see select_source_calls */
    /* Rows that only a recorder's snapshot has: see select_source_parts. */
    HEAP_THREADS,
    HEAP_AGES,  /* stacks by age */
    HEAP_WASTE, /* see select_source_waste */
    HEAP_CHURN, /* stacks that have allocated */
    HEAP_POOLS, /* of differences: see select_source_pools */
};

struct heap_position {
    const struct heap_walk *walk;
    const struct select_source *source;
    uint32_t at, end; /* indices of the rows */
    const uint32_t
        *order; /* of functions found by name; NULL: in the profile's order */
    struct stack_frame *frames; /* of the present stack, leaf first; owned */
    size_t frame_count, frame;
    struct buffer text; /* of the last cell */
};

/* The columns of a table: the snapshot; for differences the base; then the key,
 * which is a function's name, or the number of a stack or of a call; a table of
 * threads has none. */
struct heap_walk {
    enum heap_row row;
    uint32_t rows, rows_of_key; /* estimates for the planner */
    /* The caller sets *out to NULL.  A text is valid until the next cell. */
    void (*cell)(struct heap_position *position, size_t column,
                 struct value *out);
    bool compares; /* the table has a base */
    bool keyless;
    bool observed; /* a profile of time: only kept ones, or one that is named */
};

/* The function's or the stack's index. */
uint32_t heap_position_index(const struct heap_position *position);

/* SQLite's cursor in such a table; zeroed at first. */
struct heap_cursor {
    struct heap_position position;
    struct select_source *source; /* the one that position is in, or NULL */
    bool walks; /* one snapshot after the other, with the members below */
    size_t next;
    sqlite3_value *base_name, *key; /* owned; NULL: none */
};

/* Whether, by xFilter's number, no name but some condition says which kept
 * snapshots are read. */
bool heap_names_kept(const struct handle *handle, int number);
/* Moves before the first row, as select_vtab_plan chose.  These return SQLite's
 * codes. */
int heap_filter(struct heap_cursor *cursor, struct handle *handle,
                const struct heap_walk *walk, int number, sqlite3_value **argv);
int heap_next(struct heap_cursor *cursor, struct handle *handle);
bool heap_done(const struct heap_cursor *cursor);
int64_t heap_row_number(const struct heap_cursor *cursor);
void heap_cursor_fini(struct heap_cursor *cursor);

/* How xFilter finds its rows; the values arrive in this order. */
enum {
    BY_SNAPSHOT = 1,
    BY_BASE = 2,
    BY_KEY = 4,
    BY_NODE = 8,
    READS_SNAPSHOT =
        16, /* no value: the statement mentions the column of snapshots */
    NAMES_SNAPSHOT =
        32,          /* no value: a condition on that column gives no name */
    BY_SINCE = 64,   /* the least of a column of times: */
    SINCE_SHIFT = 8, /* the column's index stands from this bit on */
};

/* Fills info for xBestIndex. */
void select_vtab_plan(const struct catalog_table *table,
                      sqlite3_index_info *info);

#define HEAP_SNAPSHOT_COMMENT                                                  \
    "The kept snapshot that snapshot = '...' asks for; without a condition "   \
    "on it a fresh one, now"

/* Borrows text. */
static inline void
cell_text(struct value *out, const char *text)
{
    out->type = VALUE_TEXT;
    out->data = text;
    out->size = strlen(text);
}

static inline void
cell_int(struct value *out, uint64_t number)
{
    out->type = VALUE_INT;
    out->integer = number < INT64_MAX ? (int64_t)number : INT64_MAX;
}

/* An unknown text is NULL. */
static inline void
cell_known(struct value *out, const char *text)
{
    if (*text)
        cell_text(out, text);
}

static inline void
cell_estimate(struct value *out, double estimate)
{
    out->type = VALUE_INT;
    out->integer = estimate >= 0x1p63    ? INT64_MAX
                   : estimate <= -0x1p63 ? INT64_MIN
                                         : (int64_t)llround(estimate);
}

#endif
