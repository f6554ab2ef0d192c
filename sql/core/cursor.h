/*
 * cursor.h - a statement's result, which its sender pulls row by row.
 *
 * The same cursor feeds a text result set, a peer's reply and a test.  A
 * cursor belongs to one thread at a time; only cancel may come from another.
 */
#ifndef HW_CURSOR_H
#define HW_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor;
struct error;

enum value_type { VALUE_NULL, VALUE_TEXT, VALUE_INT, VALUE_DOUBLE, VALUE_BLOB };

struct value {
    enum value_type type;
    const char *data; /* TEXT (UTF-8) and BLOB: borrowed */
    size_t size;
    int64_t integer;
    double real;
};

/* What a column is declared to be, as MySQL has it.  A value of another kind is
 * converted where it is sent; temporal and decimal values are texts. */
enum column_type {
    COLUMN_NULL, /* nothing but NULL */
    COLUMN_TEXT, /* varchar */
    COLUMN_LONGTEXT,
    COLUMN_BLOB,    /* longblob */
    COLUMN_TINYINT, /* of width 1: a truth value, to clients */
    COLUMN_INT,
    COLUMN_BIGINT,
    COLUMN_DOUBLE,
    COLUMN_DECIMAL,
    COLUMN_DATE,     /* 2026-11-21 */
    COLUMN_TIME,     /* [-]hhh:mm:ss[.ffffff] */
    COLUMN_DATETIME, /* 2026-11-21 12:00:00[.ffffff] */
    COLUMN_TIMESTAMP
};

enum column_flag { /* as in a column definition */
                   COLUMN_NOT_NULL = 0x01,
                   COLUMN_PRI_KEY = 0x02,
                   COLUMN_UNSIGNED = 0x20,
                   COLUMN_PART_KEY = 0x4000
};

struct column {
    const char *name;     /* the label */
    const char *table;    /* "" when it is an expression */
    const char *database; /* "" likewise */
    enum column_type type;
    uint32_t width;     /* characters, for the client's display */
    uint16_t flags;     /* enum column_flag */
    uint8_t decimals;   /* of DECIMAL, TIME, DATETIME, TIMESTAMP */
    const char *origin; /* its name in the table; NULL: as the label */
};

/* How far a slow statement is, in stages of its own. */
struct progress {
    unsigned stage, stages; /* from 1 */
    unsigned percent;       /* of the stage; 0: not known */
    const char *text;       /* static */
};

enum {
    CURSOR_COLUMNS_MAX = 256,
    CURSOR_BATCH = 256,       /* rows of one step, */
    CURSOR_BATCH_SMALL = 16,  /* of one on the loop: as a rule there is one */
    CURSOR_VALUES_MAX = 16384 /* values, but for one row */
};

/* Where a step puts its rows.  Values are borrowed until the next step; where
 * there is room for one row only, its producer may lend them uncopied. */
struct rows {
    struct value *values;   /* count rows of the cursor's column_count */
    size_t count, capacity; /* rows */
};

enum step {
    STEP_MORE, /* rows may have been added; go on */
    STEP_DONE, /* rows may have been added; that was all */
    STEP_WAIT, /* the waker is called when it can go on */
    STEP_FAIL  /* *err says why; nothing more will come */
};

struct cursor_ops {
    enum step (*step)(struct cursor *cursor, struct rows *out,
                      struct error *err);
    void (*cancel)(struct cursor *cursor); /* any thread, any time, twice */
    void (*free)(struct cursor *cursor);
    /* Or NULL.  False: no figure yet.  Any thread, as cancel. */
    bool (*progress)(struct cursor *cursor, struct progress *out);
};

struct cursor {
    const struct cursor_ops *ops; /* first member of every cursor */
    const struct column *columns; /* known once opened, and then fixed */
    size_t column_count; /* 0: an OK with the figures below, when DONE */
    bool instant;        /* steps never block: run on the loop */
    bool timed;          /* max_execution_time holds for it: a SELECT */
    uint32_t timeout_ms; /* that it may take; 0: what the server says */
    uint64_t affected_rows;
    const char *info; /* "" or text of the OK */
};

/* A cancelled cursor's next step fails with ER_QUERY_INTERRUPTED. */

static inline void
cursor_free(struct cursor *cursor)
{
    if (cursor)
        cursor->ops->free(cursor);
}

#endif
