/*
 * line_sequences.h - the sequences of a line program, put in order: what
 * line_table.c leaves to others.
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
    size_t order;        /* of the program */
};

static inline bool
line_row_same(const struct line_row *a, const struct line_row *b)
{
    return a->file == b->file && a->line == b->line;
}

/* Nearly all are, and then they need not be sorted. */
bool line_sequences_in_order(const struct line_sequence *list, size_t count);

/* Sorts them, and cuts them so that none overlap, as binutils chooses: how many
 * are left. */
size_t line_sequences_sort(struct line_sequence *list, size_t count);

/* At most so many rows they have, with the end rows. */
size_t line_sequences_rows(const struct line_sequence *list, size_t count);

/* Copies their rows to out, which may be rows when they were in order before;
 * how many they are now. */
size_t line_sequences_join(const struct line_sequence *list, size_t count,
                           const struct line_row *rows, struct line_row *out);

#endif
