/*
 * rowset.h - rows in memory, filled cell by cell from left to right.
 *
 * Failure (no memory, past a ceiling) sticks: fill straight through, check
 * rowset_done once.
 */
#ifndef HW_ROWSET_H
#define HW_ROWSET_H

#include "cursor.h"

struct arena;
struct error;

enum {
    ROWSET_ROWS_MAX = 100000,
    ROWSET_BYTES_MAX = 16 * 1024 * 1024 /* of texts */
};

enum { ROWSET_TEXT = 64 };

struct rowset {
    struct arena *arena; /* of texts */
    struct value *values;
    size_t columns;
    size_t filled, capacity; /* cells */
    bool failed;
    struct error *why; /* owned; NULL: it did not fit */
    /* Instead of values: see rowset_take. */
    void *taken; /* owned */
    size_t taken_rows;
    void (*cell)(const void *taken, size_t row, size_t column,
                 struct value *out, char text[ROWSET_TEXT]);
};

void rowset_init(struct rowset *set, size_t columns);
void rowset_fini(struct rowset *set); /* zeroed struct is fine */

void rowset_null(struct rowset *set);
void rowset_nulls(struct rowset *set, size_t count);
/* Milliseconds of the wall clock; 0 and less, not known: NULL. */
void rowset_time(struct rowset *set, int64_t wall_ms);
void rowset_int(struct rowset *set, int64_t value);
void rowset_double(struct rowset *set, double value);
void rowset_text(struct rowset *set, const char *text); /* copied */
void rowset_bytes(struct rowset *set, const char *text, size_t size);
void rowset_value(struct rowset *set, const struct value *value);
/* Fails the set: rowset_done reports this error. */
void rowset_fail(struct rowset *set, const struct error *why);

/* For many rows: each cell is made when it is read, from taken, which the set
 * now owns and frees with mem_free.  The callback gets *out as NULL; its text
 * may lie in text. */
void rowset_take(struct rowset *set, void *taken, size_t rows,
                 void (*cell)(const void *taken, size_t row, size_t column,
                              struct value *out, char text[ROWSET_TEXT]));

size_t rowset_rows(const struct rowset *set);
/* Not of a set that was taken. */
const struct value *rowset_row(const struct rowset *set, size_t row);
/* Of either kind: text may be the cell's, until the next. */
void rowset_cell(const struct rowset *set, size_t row, size_t column,
                 struct value *out, char text[ROWSET_TEXT]);

/* -1 with *err when something did not fit. */
int rowset_done(const struct rowset *set, struct error *err);

#endif
