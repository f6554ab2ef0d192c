/*
 * grid.c - see grid.h.
 *
 * A row is an array of cells in one block, and texts lie in an arena with a
 * ceiling, so a node that answers far too much costs a known amount of memory.
 * Rows of two polls are matched by their key columns: the older grid gets a
 * sorted index, which makes a comparison n log n where 5000 rows compared
 * pairwise would be felt at each refresh.  Figures that the node does not tell
 * (share, load, growth) are derived here.
 */
#include "grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "arena.h"
#include "memory.h"

enum { GRID_BYTES_MAX = 64 << 20, GRID_TEXT_MAX = 1024 /* of a cell */ };

struct grid *
grid_new(enum top_number number)
{
    struct grid *grid = mem_zalloc(1, sizeof(*grid));

    if (!grid)
        return NULL;
    grid->number = number;
    grid->view = &top_views[number];
    grid->arena = arena_new(GRID_BYTES_MAX);
    if (!grid->arena) {
        mem_free(grid);
        return NULL;
    }
    return grid;
}

void
grid_free(struct grid *grid)
{
    if (!grid)
        return;
    arena_free(grid->arena);
    mem_free(grid->cells);
    mem_free(grid->order);
    mem_free(grid->by_key);
    mem_free(grid);
}

static bool
grow_grid(struct grid *grid)
{
    size_t room = grid->capacity ? grid->capacity * 2 : 256,
           count = grid->view->count;
    unsigned *order, *by_key;
    struct grid_cell *cells;

    if (grid->rows < grid->capacity)
        return true;
    if (room > 2 * (size_t)TOP_ROWS_MAX)
        return false;
    cells = mem_realloc(grid->cells, room * count * sizeof(*cells));
    grid->cells = cells ? cells : grid->cells;
    order = mem_realloc(grid->order, room * sizeof(*order));
    grid->order = order ? order : grid->order;
    by_key = mem_realloc(grid->by_key, room * sizeof(*by_key));
    grid->by_key = by_key ? by_key : grid->by_key;
    if (!cells || !order || !by_key)
        return false;
    grid->capacity = room;
    return true;
}

void
grid_add(struct grid *grid, const struct span *cells, size_t count)
{
    const struct top_view *view = grid->view;
    struct grid_cell *row;
    size_t from = 0, size;

    if (!grow_grid(grid)) {
        grid->cut = true;
        return;
    }
    row = grid->cells + grid->rows * view->count;
    for (unsigned i = 0; i < view->count; i++) {
        row[i] = (struct grid_cell){{NULL, 0}, 0};
        if (!view->columns[i].sql || from >= count || !cells[from++].data)
            continue;
        size = cells[from - 1].size;
        size = size < GRID_TEXT_MAX ? size : GRID_TEXT_MAX;
        row[i].text.data =
            arena_strndup(grid->arena, cells[from - 1].data, size);
        row[i].text.size = row[i].text.data ? size : 0;
        if (!row[i].text.data) {
            grid->cut = true;
            return;
        }
        row[i].number = strtod(row[i].text.data, NULL);
        if (!isfinite(row[i].number))
            row[i].number = 0;
    }
    grid->rows++;
    grid->cut = grid->cut || grid->rows == TOP_ROWS_MAX;
}

const struct grid_cell *
grid_at(const struct grid *grid, size_t row, unsigned column)
{
    return &grid->cells[row * grid->view->count + column];
}

static int
compare_spans(struct span a, struct span b)
{
    int c = memcmp(a.data ? a.data : "", b.data ? b.data : "",
                   a.size < b.size ? a.size : b.size);

    return c ? c : (a.size > b.size) - (a.size < b.size);
}

static int
compare_keys(const struct grid *a, size_t row_a, const struct grid *b,
             size_t row_b)
{
    int c = 0;

    for (unsigned i = 0; i < a->view->keys && c == 0; i++)
        c = compare_spans(grid_at(a, row_a, a->view->key[i])->text,
                          grid_at(b, row_b, b->view->key[i])->text);
    return c;
}

static int
order_keys(const void *a, const void *b, void *grid)
{
    return compare_keys(grid, *(const unsigned *)a, grid, *(const unsigned *)b);
}

/* Sorts row numbers by key for seek_same_row(). */
static void
index_grid(struct grid *grid)
{
    for (unsigned i = 0; i < grid->rows; i++)
        grid->by_key[i] = i;
    if (grid->rows > 0)
        qsort_r(grid->by_key, grid->rows, sizeof(*grid->by_key), order_keys,
                grid);
}

/* Answers the row of in, which index_grid() has indexed, with the same key; -1
 * if there is none. */
static ptrdiff_t
seek_same_row(const struct grid *grid, size_t row, const struct grid *in)
{
    size_t low = 0, high = in->rows, middle;
    int c;

    while (low < high) {
        middle = low + (high - low) / 2;
        c = compare_keys(grid, row, in, in->by_key[middle]);
        if (c == 0)
            return in->by_key[middle];
        if (c < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

/* not NULL, which would mean an unknown figure */
static const char derived[] = "";

static void
derive_against(struct grid *grid, size_t row, unsigned column,
               const struct grid *other)
{
    const struct top_column *c = &grid->view->columns[column];
    struct grid_cell *cell = &grid->cells[row * grid->view->count + column];
    const struct grid_cell *now = grid_at(grid, row, c->of), *then = NULL;
    ptrdiff_t same = other ? seek_same_row(grid, row, other) : -1;
    double before, s;

    if (same >= 0)
        then = grid_at(other, (size_t)same, c->of);
    /* A row that the other grid lacks had nothing then, unless rows were cut.
     */
    if (!other || !now->text.data || (same < 0 && other->cut) ||
        (then && !then->text.data) || (same < 0 && c->kind == TOP_LOAD))
        return;
    before = then ? then->number : 0;
    s = (double)(grid->taken_ms - other->taken_ms);
    if (c->kind == TOP_GROWN)
        cell->number = now->number - before;
    else if (c->kind == TOP_GROWN_ERROR)
        cell->number = hypot(now->number, before);
    else if (s > 0)
        cell->number = (now->number - before) / s * 100;
    else
        return;
    cell->text.data = derived;
}

void
grid_derive(struct grid *grid, struct grid *before, struct grid *base)
{
    const struct top_view *view = grid->view;

    if (before)
        index_grid(before);
    if (base)
        index_grid(base);
    for (unsigned i = 0; i < view->count; i++) {
        const struct top_column *c = &view->columns[i];
        double sum = 0;

        if (c->sql)
            continue;
        for (size_t row = 0; row < grid->rows; row++)
            sum += grid_at(grid, row, c->of)->number;
        for (size_t row = 0; row < grid->rows; row++) {
            struct grid_cell *cell = &grid->cells[row * view->count + i];

            if (c->kind == TOP_LOAD) {
                derive_against(grid, row, i, before);
            } else if (c->kind != TOP_SHARE) {
                derive_against(grid, row, i, base);
            } else if (sum > 0 && grid_at(grid, row, c->of)->text.data) {
                cell->number = 100 * grid_at(grid, row, c->of)->number / sum;
                cell->text.data = derived;
            }
        }
    }
}

struct grid_sort {
    const struct grid *grid;
    unsigned column;
    bool text, ascending;
};

static int
order_rows(const void *a, const void *b, void *sort)
{
    const struct grid_sort *s = sort;
    unsigned row_a = *(const unsigned *)a, row_b = *(const unsigned *)b;
    const struct grid_cell *x = grid_at(s->grid, row_a, s->column),
                           *y = grid_at(s->grid, row_b, s->column);
    int c = (y->text.data != NULL) - (x->text.data != NULL);

    if (c)
        return c;
    c = s->text ? compare_spans(y->text, x->text)
                : (x->number < y->number) - (x->number > y->number);
    if (s->ascending)
        c = -c;
    return c ? c : (row_a > row_b) - (row_a < row_b);
}

bool
grid_row_has(const struct grid *grid, size_t row, const char *part)
{
    size_t size = strlen(part);

    for (unsigned i = 0; i < grid->view->count; i++) {
        const struct span text = grid_at(grid, row, i)->text;

        if (grid->view->columns[i].kind != TOP_TEXT)
            continue;
        for (size_t at = 0; at + size <= text.size; at++)
            if (strncasecmp(text.data + at, part, size) == 0)
                return true;
    }
    return false;
}

void
grid_arrange(struct grid *grid, unsigned column, bool ascending,
             const char *filter)
{
    const struct top_column *c = &grid->view->columns[column];
    struct grid_sort sort = {grid, column, c->kind == TOP_TEXT, ascending};

    grid->shown = 0;
    for (unsigned i = 0; i < grid->rows; i++)
        if (!*filter || grid_row_has(grid, i, filter))
            grid->order[grid->shown++] = i;
    if (grid->shown > 0)
        qsort_r(grid->order, grid->shown, sizeof(*grid->order), order_rows,
                &sort);
}

uint64_t
grid_row_key(const struct grid *grid, size_t row)
{
    /* FNV-1a, with 0xff between texts */
    uint64_t hash = 0xcbf29ce484222325ULL;

    for (unsigned i = 0; i < grid->view->keys; i++) {
        const struct span text = grid_at(grid, row, grid->view->key[i])->text;

        for (size_t k = 0; k < text.size; k++)
            hash = (hash ^ (unsigned char)text.data[k]) * 0x100000001b3ULL;
        hash = (hash ^ 0xff) * 0x100000001b3ULL;
    }
    return hash ? hash : 1;
}
