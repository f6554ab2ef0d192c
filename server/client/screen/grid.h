/*
 * grid.h - the rows of a view: kept, compared with earlier ones, sorted and
 * filtered.
 *
 * Pure.  Memory has a ceiling; what does not fit is left out, and grid.cut is
 * set.
 */
#ifndef HW_GRID_H
#define HW_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"
#include "top_view.h"

struct arena;

struct grid_cell {
    struct span text; /* data NULL means SQL's NULL */
    double number;    /* unless the column is TOP_TEXT or the cell NULL */
};

struct grid {
    const struct top_view *view;
    enum top_number number;
    uint64_t node; /* 0 means all */
    struct arena *arena;
    struct grid_cell *cells; /* rows * view->count */
    size_t rows, capacity;
    unsigned *order; /* rows to show, in the order they are shown in */
    size_t shown;
    /* row numbers sorted by key */
    unsigned *by_key;
    bool cut;          /* rows were left out */
    uint64_t taken_ms; /* clock_ms() */
    int64_t wall_ms;
};

struct grid *grid_new(enum top_number number); /* NULL: no memory */
void grid_free(struct grid *grid);             /* NULL is fine */

/* Adds a row.  cells are those of the columns that have SQL, and are copied. */
void grid_add(struct grid *grid, const struct span *cells, size_t count);

const struct grid_cell *grid_at(const struct grid *grid, size_t row,
                                unsigned column);

/* Fills the derived columns once all rows are added.  before and base are grids
 * of the same view, or NULL. Figures with nothing to compare to stay NULL. */
void grid_derive(struct grid *grid, struct grid *before, struct grid *base);

/* Fills order and shown.  filter "" takes all rows.  Unknown figures come last.
 */
void grid_arrange(struct grid *grid, unsigned column, bool ascending,
                  const char *filter);

/* Answers whether a text of the row contains part, in upper or lower case. */
bool grid_row_has(const struct grid *grid, size_t row, const char *part);

uint64_t grid_row_key(const struct grid *grid, size_t row); /* never 0 */

#endif
