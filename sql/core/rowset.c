/* rowset.c - see rowset.h. */
#include "rowset.h"

#include <string.h>

#include "arena.h"
#include "clock.h"
#include "errors.h"
#include "memory.h"

enum { ROWSET_FIRST = 64 }; /* cells */

void
rowset_init(struct rowset *set, size_t columns)
{
    memset(set, 0, sizeof(*set));
    set->columns = columns;
    set->arena = arena_new(ROWSET_BYTES_MAX);
    set->failed = !set->arena;
}

void
rowset_fini(struct rowset *set)
{
    arena_free(set->arena);
    mem_free(set->values);
    mem_free(set->why);
    mem_free(set->taken);
    memset(set, 0, sizeof(*set));
}

/* The next cell, set to the value NULL; NULL without memory. */
static struct value *
next_cell(struct rowset *set)
{
    size_t capacity = set->capacity ? set->capacity * 2 : ROWSET_FIRST;
    struct value *grown, *cell;

    if (set->failed || set->filled / set->columns >= ROWSET_ROWS_MAX) {
        set->failed = true;
        return NULL;
    }
    if (set->filled == set->capacity) {
        grown = mem_realloc(set->values, capacity * sizeof(*grown));
        if (!grown) {
            set->failed = true;
            return NULL;
        }
        set->values = grown;
        set->capacity = capacity;
    }
    cell = &set->values[set->filled++];
    memset(cell, 0, sizeof(*cell));
    return cell;
}

void
rowset_null(struct rowset *set)
{
    next_cell(set);
}

void
rowset_nulls(struct rowset *set, size_t count)
{
    while (count-- > 0)
        rowset_null(set);
}

void
rowset_time(struct rowset *set, int64_t wall_ms)
{
    char text[CLOCK_TEXT];

    if (wall_ms <= 0) {
        rowset_null(set);
        return;
    }
    clock_text(wall_ms, text, sizeof(text));
    rowset_text(set, text);
}

void
rowset_int(struct rowset *set, int64_t value)
{
    struct value *cell = next_cell(set);

    if (!cell)
        return;
    cell->type = VALUE_INT;
    cell->integer = value;
}

void
rowset_int_if(struct rowset *set, bool known, int64_t value)
{
    if (known)
        rowset_int(set, value);
    else
        rowset_null(set);
}

void
rowset_double(struct rowset *set, double value)
{
    struct value *cell = next_cell(set);

    if (!cell)
        return;
    cell->type = VALUE_DOUBLE;
    cell->real = value;
}

void
rowset_text(struct rowset *set, const char *text)
{
    if (text)
        rowset_bytes(set, text, strlen(text));
    else
        rowset_null(set);
}

void
rowset_texts(struct rowset *set, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rowset_text(set, texts[i]);
}

void
rowset_bytes(struct rowset *set, const char *text, size_t size)
{
    struct value *cell = next_cell(set);

    if (!cell)
        return;
    cell->type = VALUE_TEXT;
    cell->data = arena_strndup(set->arena, text, size);
    cell->size = size;
    if (!cell->data) {
        cell->type = VALUE_NULL;
        set->failed = true;
    }
}

void
rowset_value(struct rowset *set, const struct value *value)
{
    struct value *cell;

    if (value->type == VALUE_TEXT || value->type == VALUE_BLOB) {
        rowset_bytes(set, value->data, value->size);
        return;
    }
    cell = next_cell(set);
    if (cell)
        *cell = *value;
}

void
rowset_fail(struct rowset *set, const struct error *why)
{
    set->failed = true;
    if (!set->why)
        set->why = mem_alloc(sizeof(*why));
    if (set->why)
        *set->why = *why;
}

void
rowset_take(struct rowset *set, void *taken, size_t rows,
            void (*cell)(const void *taken, size_t row, size_t column,
                         struct value *out, char text[ROWSET_TEXT]))
{
    set->taken = taken;
    set->taken_rows = rows;
    set->cell = cell;
}

size_t
rowset_rows(const struct rowset *set)
{
    if (set->cell)
        return set->taken_rows;
    return set->columns ? set->filled / set->columns : 0;
}

const struct value *
rowset_row(const struct rowset *set, size_t row)
{
    return set->values + row * set->columns;
}

void
rowset_cell(const struct rowset *set, size_t row, size_t column,
            struct value *out, char text[ROWSET_TEXT])
{
    if (!set->cell) {
        *out = rowset_row(set, row)[column];
        return;
    }
    memset(out, 0, sizeof(*out));
    set->cell(set->taken, row, column, out, text);
}

int
rowset_done(const struct rowset *set, struct error *err)
{
    if (!set->failed)
        return 0;
    if (set->why && err)
        *err = *set->why;
    else
        error_memory(err, "the rows of a table");
    return -1;
}
