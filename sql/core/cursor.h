/*
 * cursor.h - a statement's result, which its sender pulls row by row.
 *
 * The same cursor feeds a text result set, a peer's reply and a test.  Any
 * thread may use a cursor, but one at a time.  A step may wait for the node;
 * the statement's await (await.h) cancels it and reports its progress.
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
    uint8_t kind; /* of a variable's or parameter's number: enum kind of
                     sql/sqlite */
};

enum {
    VALUE_KIND_UNSIGNED = 1,
    VALUE_KIND_DECIMAL = 128 /* and its number of decimals */
};

/* The declared type of a column, in MySQL's terms.  The sender converts values
 * of another kind; temporal and decimal values are texts. */
enum column_type {
    COLUMN_NULL, /* every value is NULL */
    COLUMN_TEXT, /* varchar */
    COLUMN_LONGTEXT,
    COLUMN_BLOB,    /* longblob */
    COLUMN_TINYINT, /* width 1: clients read it as a truth value */
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
    const char *table;    /* "" for an expression */
    const char *database; /* "" for an expression */
    enum column_type type;
    uint32_t width;     /* characters, for the client's display */
    uint16_t flags;     /* enum column_flag */
    uint8_t decimals;   /* of DECIMAL, TIME, DATETIME, TIMESTAMP */
    const char *origin; /* the column's name in its table; NULL: as name */
};

enum {
    CURSOR_COLUMNS_MAX = 256,
    CURSOR_BATCH = 256 /* rows of a step, for a sender that takes many */
};

/* Where a step puts its rows.  Values are borrowed until the next step; if
 * there is room for one row only, they may be borrowed uncopied. */
struct rows {
    struct value *values;   /* count rows of column_count values each */
    size_t count, capacity; /* rows */
};

enum step {
    STEP_MORE, /* rows may have been added; go on */
    STEP_DONE, /* rows may have been added; the last ones */
    STEP_FAIL  /* *err says why; nothing more will come */
};

struct cursor_ops {
    enum step (*step)(struct cursor *cursor, struct rows *out,
                      struct error *err);
    void (*free)(struct cursor *cursor);
};

struct cursor {
    const struct cursor_ops *ops; /* first in every cursor */
    const struct column *columns; /* known and fixed once the cursor is open */
    size_t column_count; /* 0: an OK with the figures below, when DONE */
    bool timed;          /* max_execution_time applies to it: a SELECT */
    uint32_t timeout_ms; /* its own time limit; 0: the server's */
    uint64_t affected_rows;
    const char *info; /* "" or text of the OK */
};

static inline void
cursor_free(struct cursor *cursor)
{
    if (cursor)
        cursor->ops->free(cursor);
}

#endif
