/*
 * line_sequences.c - see line_sequences.h.  A sequence is a run of code, mostly
 * a function's section; link-time optimisation and discarded duplicates make
 * them overlap.  Which one an address belongs to is decided as in binutils, so
 * that names agree with addr2line's.
 */
#include "line_sequences.h"

#include <stdlib.h>
#include <string.h>

/* By start; of those the longer first, then the later, as in binutils. */
static int
compare_sequences(const void *left, const void *right)
{
    const struct line_sequence *a = left, *b = right;

    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->high != b->high)
        return a->high > b->high ? -1 : 1;
    return a->order > b->order ? -1 : 1;
}

bool
line_sequences_in_order(const struct line_sequence *list, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (list[i].low < list[i - 1].high)
            return false;
    return true;
}

/* Drops sequences inside another one, and cuts those that overlap. */
static size_t
cut_overlapping_sequences(struct line_sequence *list, size_t count)
{
    uint64_t high = 0;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct line_sequence s = list[i];

        if (kept > 0 && s.high <= high)
            continue;
        if (kept > 0 && s.low < high)
            s.low = high;
        high = s.high;
        list[kept++] = s;
    }
    return kept;
}

size_t
line_sequences_sort(struct line_sequence *list, size_t count)
{
    qsort(list, count, sizeof(*list), compare_sequences);
    return cut_overlapping_sequences(list, count);
}

size_t
line_sequences_rows(const struct line_sequence *list, size_t count)
{
    size_t rows = 0;

    for (size_t i = 0; i < count; i++)
        rows += list[i].count + 1;
    return rows;
}

/* Appends a sequence's rows from low on to the count rows of out.  Both arrays
 * may be one: rows only move towards the front. */
static size_t
copy_rows(const struct line_row *rows, const struct line_sequence *s,
          struct line_row *out, size_t count)
{
    size_t from = s->first, left = s->count;
    struct line_row *first;

    while (left > 1 && rows[from + 1].address <= s->low) {
        from++;
        left--;
    }
    if (count > 0 && out[count - 1].address == s->low)
        count--; /* adjacent sequences need no end row between them */
    first = &out[count];
    memmove(first, &rows[from], left * sizeof(*rows));
    first->address = s->low;
    if (count > 0 && line_row_same(first - 1, first)) {
        memmove(first, first + 1, (left - 1) * sizeof(*rows));
        left--;
    }
    count += left;
    out[count++] = (struct line_row){s->high, LINE_END, 0};
    return count;
}

size_t
line_sequences_join(const struct line_sequence *list, size_t count,
                    const struct line_row *rows, struct line_row *out)
{
    size_t used = 0;

    for (size_t i = 0; i < count; i++)
        used = copy_rows(rows, &list[i], out, used);
    return used;
}
