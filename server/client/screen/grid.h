/*
 * grid.h - the rows of a view: kept, compared with earlier ones, sorted and
 * filtered.  Pure.  Its memory has a ceiling; what does not fit is left out,
 * and grid.cut says so.
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
    struct span text; /* data NULL: NULL */
    double number;    /* of what is no TOP_TEXT, unless NULL */
};

struct grid {
    const struct top_view *view;
    enum top_number number;
    uint64_t node; /* 0: of all */
    struct arena *arena;
    struct grid_cell *cells; /* rows * view->count */
    size_t rows, capacity;
    unsigned *order; /* rows to show, in their order */
    size_t shown;
    unsigned *by_key;
    bool cut;          /* there are more rows than were kept */
    uint64_t taken_ms; /* clock_ms() */
    int64_t wall_ms;
};

struct grid *grid_new(enum top_number number); /* NULL: no memory */
void grid_free(struct grid *grid);             /* NULL is fine */

/* Copies the cells of the columns that have SQL. */
void grid_add(struct grid *grid, const struct span *cells, size_t count);

const struct grid_cell *grid_at(const struct grid *grid, size_t row,
                                unsigned column);

/* All rows are added: fills the derived columns.  before, base: of the same
 * view, or NULL.  What has nothing to be compared with is NULL. */
void grid_derive(struct grid *grid, struct grid *before, struct grid *base);

/* Fills order and shown; filter "": all rows.  Unknown figures are last. */
void grid_arrange(struct grid *grid, unsigned column, bool ascending,
                  const char *filter);

/* Whether a text of the row has this part, whatever its case. */
bool grid_row_has(const struct grid *grid, size_t row, const char *part);

uint64_t grid_row_key(const struct grid *grid, size_t row); /* never 0 */

#endif
