/* sql_cursor.c - see sql_cursor.h. */
#include "sql_cursor.h"

#include <string.h>

#include "arena.h"
#include "catalog.h"
#include "errors.h"
#include "memory.h"
#include "opening.h"
#include "rowset.h"

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
copy(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

const struct column *
sql_cursor_copy_columns(const struct cursor *cursor, struct arena *arena)
{
    size_t count = cursor->column_count;
    struct column *columns = arena_alloc(arena, count * sizeof(*columns));

    for (size_t i = 0; columns && i < count; i++) {
        columns[i] = cursor->columns[i];
        columns[i].name = copy(arena, columns[i].name);
        columns[i].table = copy(arena, columns[i].table);
        columns[i].database = copy(arena, columns[i].database);
        if (columns[i].origin)
            columns[i].origin = copy(arena, columns[i].origin);
        if (!columns[i].name || !columns[i].table || !columns[i].database ||
            !columns[i].origin != !cursor->columns[i].origin)
            return NULL;
    }
    return columns;
}

/* ---- rows in memory, or an OK ---- */

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
describe(struct column *out, const struct catalog_table *table, size_t i)
{
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
        describe(&c->columns[i], table, i);
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
