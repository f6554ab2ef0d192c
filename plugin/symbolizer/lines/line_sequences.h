/*
 * line_sequences.h - puts the sequences of a line program in order.
 */
#ifndef HW_LINE_SEQUENCES_H
#define HW_LINE_SEQUENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "line_table.h"

struct line_sequence {
    uint64_t low, high;
    size_t first, count; /* rows, without the end row behind them */
    size_t order;        /* position in the program */
};

static inline bool
line_row_same(const struct line_row *a, const struct line_row *b)
{
    return a->file == b->file && a->line == b->line;
}

/* Whether they ascend without overlaps: nearly all do, and need no sorting. */
bool line_sequences_in_order(const struct line_sequence *list, size_t count);

/* Sorts the sequences, and cuts them so that none overlap, as binutils does;
 * returns how many are left. */
size_t line_sequences_sort(struct line_sequence *list, size_t count);

/* A bound on the number of rows, with end rows. */
size_t line_sequences_rows(const struct line_sequence *list, size_t count);

/* Copies the rows to out, which may be rows itself if the sequences were in
 * order; returns their number. */
size_t line_sequences_join(const struct line_sequence *list, size_t count,
                           const struct line_row *rows, struct line_row *out);

#endif
