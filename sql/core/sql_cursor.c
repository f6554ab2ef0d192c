/*
 * sql_cursor.c - rows that a table produces, and the cursor that gives them to
 * a client.
 *
 * A table's produce() fills a rowset cell by cell.  No call reports an error:
 * a failure sticks and rowset_done() reports it once, so that a table of 40
 * columns is 40 plain lines.  Texts go into one arena and are freed together.
 * Rows and bytes have ceilings, since a table over a hostile or huge process
 * could otherwise fill the memory.  Where even copying is too much (the
 * samples of memory_history), rowset_take() keeps the producer's own array and
 * makes each cell when it is read.
 *
 * A rowset belongs to one statement and is used by its thread alone.
 */
#include "sql_cursor.h"

#include <string.h>

#include "arena.h"
#include "catalog.h"
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

    /* Checked per cell: a row that passes the ceiling is refused before its
     * first cell, so no half row remains. */
    if (set->failed || set->filled / set->columns >= ROWSET_ROWS_MAX) {
        set->failed = true;
        return NULL;
    }
    if (set->filled == set->capacity) {
        /* Doubling: a cell is copied at most twice on average, whatever the
         * number of rows.  The cells move, so a pointer from rowset_row() is
         * valid only once the set is complete. */
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
rowset_repeat_cell(struct rowset *set, size_t row, size_t column)
{
    struct value *cell = next_cell(set);

    if (cell)
        /* The text is shared, not copied: it lies in the arena, which lives as
         * long as the set. */
        *cell = set->values[row * set->columns + column];
}

void
rowset_fail(struct rowset *set, const struct error *why)
{
    set->failed = true;
    /* The last error wins.  Without memory for it the set still fails, with
     * rowset_done()'s general text. */
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

void
sql_cursor_init(struct sql_cursor *cursor, const struct cursor_ops *ops,
                struct await *await)
{
    cursor->base.ops = ops;
    cursor->base.info = "";
    cursor->await = await;
}

int
sql_cursor_check(struct sql_cursor *cursor, struct error *err)
{
    return cursor->await ? await_check(cursor->await, err) : 0;
}

int
opening_compute(const struct opening *opening, struct error *err)
{
    await_compute(opening->await);
    return opening->await ? await_check(opening->await, err) : 0;
}

static const char *
copy_column_text(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

const struct column *
sql_cursor_copy_columns(const struct cursor *cursor, struct arena *arena)
{
    size_t count = cursor->column_count;
    struct column *columns = arena_alloc(arena, count * sizeof(*columns));

    for (size_t i = 0; columns && i < count; i++) {
        /* The texts point into the cursor, so they are copied, too. */
        columns[i] = cursor->columns[i];
        columns[i].name = copy_column_text(arena, columns[i].name);
        columns[i].table = copy_column_text(arena, columns[i].table);
        columns[i].database = copy_column_text(arena, columns[i].database);
        if (columns[i].origin)
            columns[i].origin = copy_column_text(arena, columns[i].origin);
        if (!columns[i].name || !columns[i].table || !columns[i].database ||
            !columns[i].origin != !cursor->columns[i].origin)
            return NULL;
    }
    return columns;
}

/* ---- rows in memory, or an OK ---- */

/* The cursor of SHOW, CHECK TABLE and the like: all rows exist when it is
 * opened, and a step only hands them out.  No columns at all make it an OK. */
struct rows_cursor {
    struct sql_cursor cursor;
    struct rowset rows;
    size_t next; /* index of the next row */
    char *label;
    struct column columns[];
};

static enum step
rows_step(struct cursor *base, struct rows *out, struct error *err)
{
    struct rows_cursor *c = (struct rows_cursor *)base;
    size_t columns = base->column_count;
    size_t left = rowset_rows(&c->rows) - c->next;
    size_t count = left < out->capacity ? left : out->capacity;

    if (sql_cursor_check(&c->cursor, err) != 0)
        return STEP_FAIL;
    if (count > 0)
        /* Copies cells, not texts: these stay valid until the cursor is
         * freed. */
        memcpy(out->values, rowset_row(&c->rows, c->next),
               count * columns * sizeof(*out->values));
    out->count = count;
    c->next += count;
    return count == left ? STEP_DONE : STEP_MORE;
}

static void
rows_free(struct cursor *base)
{
    struct rows_cursor *c = (struct rows_cursor *)base;

    rowset_fini(&c->rows);
    mem_free(c->label);
    mem_free(c);
}

static const struct cursor_ops rows_ops = {rows_step, rows_free};

static struct rows_cursor *
rows_new(size_t columns, struct error *err)
{
    struct rows_cursor *c =
        mem_zalloc(1, sizeof(*c) + columns * sizeof(c->columns[0]));

    if (!c) {
        error_memory(err, "a result");
        return NULL;
    }
    /* No await: the rows are there, so there is nothing to cancel. */
    sql_cursor_init(&c->cursor, &rows_ops, NULL);
    c->cursor.base.columns = c->columns;
    c->cursor.base.column_count = columns;
    return c;
}

struct cursor *
sql_cursor_ok(struct error *err)
{
    struct rows_cursor *c = rows_new(0, err);

    return c ? &c->cursor.base : NULL;
}

static void
describe_catalog_column(struct column *out, const struct catalog_table *table,
                        size_t i)
{
    /* The tables behind SHOW are not real ones; MySQL gives no table name
     * there either. */
    bool hidden = strcmp(table->database, CATALOG_HIDDEN) == 0;

    out->name = table->columns[i].name;
    out->table = hidden ? "" : table->name;
    out->database = hidden ? "" : table->database;
    out->type = table->columns[i].type->type;
    out->width = table->columns[i].type->width;
    out->flags = catalog_flags(table, i);
}

struct cursor *
sql_cursor_rows(const struct catalog_table *table, struct rowset *rows,
                const char *label, struct error *err)
{
    struct rows_cursor *c = rows_new(table->column_count, err);

    if (!c)
        goto fail;
    for (size_t i = 0; i < table->column_count; i++)
        describe_catalog_column(&c->columns[i], table, i);
    if (label) {
        c->label = mem_strdup(label);
        c->columns[0].name = c->label;
        if (!c->label) {
            error_memory(err, "a result");
            goto fail;
        }
    }
    if (rows)
        c->rows = *rows;
    return &c->cursor.base;
fail:
    if (rows)
        rowset_fini(rows);
    if (c)
        rows_free(&c->cursor.base);
    return NULL;
}
