/* sql_cursor.h - what cursors of sql/ share: rows, the await, the opening. */
#ifndef HW_SQL_CURSOR_H
#define HW_SQL_CURSOR_H

#include <stdbool.h>
#include <stddef.h>

#include "await.h"
#include "cursor.h"
#include "sql.h"

struct arena;
struct await;
struct catalog_table;
struct error;
struct sql_statement;

/* ---- rows in memory ---- */

enum {
    ROWSET_ROWS_MAX = 100000,
    ROWSET_BYTES_MAX = 16 * 1024 * 1024, /* bytes of texts */
    ROWSET_TEXT = 64
};

/* Filled cell by cell from left to right.  A failure (out of memory, past a
 * ceiling) sticks: fill all cells, then check rowset_done once. */
struct rowset {
    struct arena *arena; /* holds texts */
    struct value *values;
    size_t columns;
    size_t filled, capacity; /* cells */
    bool failed;
    struct error *why; /* owned; NULL: out of memory or past a ceiling */
    /* Set by rowset_take, instead of values. */
    void *taken; /* owned */
    size_t taken_rows;
    void (*cell)(const void *taken, size_t row, size_t column,
                 struct value *out, char text[ROWSET_TEXT]);
};

void rowset_init(struct rowset *set, size_t columns);
void rowset_fini(struct rowset *set); /* zeroed struct is fine */

void rowset_null(struct rowset *set);
void rowset_nulls(struct rowset *set, size_t count);
/* Adds a wall-clock time in milliseconds; 0 and less are unknown: NULL. */
void rowset_time(struct rowset *set, int64_t wall_ms);
void rowset_int(struct rowset *set, int64_t value);
/* Adds NULL if the value is not known. */
void rowset_int_if(struct rowset *set, bool known, int64_t value);
void rowset_double(struct rowset *set, double value);
void rowset_text(struct rowset *set,
                 const char *text); /* copied; may be NULL */
void rowset_texts(struct rowset *set, const char *const *texts, size_t count);
#define ROWSET_TEXTS(set, ...)                                                 \
    rowset_texts(set, (const char *const[]){__VA_ARGS__},                      \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
void rowset_bytes(struct rowset *set, const char *text, size_t size);
void rowset_value(struct rowset *set, const struct value *value);
/* Adds the same value as that of a row before: texts are kept once. */
void rowset_repeat_cell(struct rowset *set, size_t row, size_t column);
/* Fails the set: rowset_done reports this error. */
void rowset_fail(struct rowset *set, const struct error *why);

/* For many rows: makes each cell from taken when it is read.  The set owns
 * taken and frees it with mem_free.  The caller sets *out to NULL; its text may
 * lie in text. */
void rowset_take(struct rowset *set, void *taken, size_t rows,
                 void (*cell)(const void *taken, size_t row, size_t column,
                              struct value *out, char text[ROWSET_TEXT]));

size_t rowset_rows(const struct rowset *set);
/* For a set without rowset_take. */
const struct value *rowset_row(const struct rowset *set, size_t row);
/* For either kind of set; a text may be valid until the next cell only. */
void rowset_cell(const struct rowset *set, size_t row, size_t column,
                 struct value *out, char text[ROWSET_TEXT]);

/* -1 with *err if the set failed. */
int rowset_done(const struct rowset *set, struct error *err);

/* ---- cursors ---- */

struct sql_cursor {
    struct cursor base;  /* first */
    struct await *await; /* NULL: it never waits, and is never cancelled */
};

void sql_cursor_init(struct sql_cursor *cursor, const struct cursor_ops *ops,
                     struct await *await);

/* Call it at the start of a step: -1 with 1317 if cancelled. */
int sql_cursor_check(struct sql_cursor *cursor, struct error *err);

/* Copies the columns into arena, where they outlive the cursor; NULL: out of
 * memory. */
const struct column *sql_cursor_copy_columns(const struct cursor *cursor,
                                             struct arena *arena);

/* A cursor that answers OK. */
struct cursor *sql_cursor_ok(struct error *err);
/* A cursor with table's columns over rows (NULL: none), which it takes, also on
 * failure. label replaces the first column's name, unless it is NULL. */
struct cursor *sql_cursor_rows(const struct catalog_table *table,
                               struct rowset *rows, const char *label,
                               struct error *err);

/* The statement and the session that a cursor is opened for. */
struct opening {
    struct sql_session *session;
    const struct sql_statement *statement;
    const struct sql_parameters
        *parameters;     /* NULL: the statement has no values for its ? */
    struct await *await; /* NULL: it never waits */
    struct arena
        *arena; /* the statement's; a cursor that takes it sets it to NULL */
    bool describing; /* gives only the columns and does nothing else */
    bool constant;   /* set if it is a SELECT without tables or assignments */
};

/* Says that the statement computes for long from now on (await_compute).  -1
 * with *err: it is over. */
int opening_compute(const struct opening *opening, struct error *err);

/* The values of the ?, in order; NULL: none. */
static inline const struct value *
opening_parameters(const struct opening *opening)
{
    return opening->parameters ? opening->parameters->values : NULL;
}

#endif
