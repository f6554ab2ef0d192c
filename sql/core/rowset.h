/*
 * rowset.h - rows in memory, filled cell by cell from left to right.
 *
 * A failure (out of memory, past a ceiling) sticks: fill all cells, then check
 * rowset_done once.
 */
#ifndef HW_ROWSET_H
#define HW_ROWSET_H

#include "cursor.h"

struct arena;
struct error;

enum {
    ROWSET_ROWS_MAX = 100000,
    ROWSET_BYTES_MAX = 16 * 1024 * 1024 /* bytes of texts */
};

enum { ROWSET_TEXT = 64 };

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

#endif
