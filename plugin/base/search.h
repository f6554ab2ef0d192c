/*
 * search.h - binary search in arrays that ascend by a number.
 *
 * Inline: look-ups of addresses are on hot paths.
 */
#ifndef HW_SEARCH_H
#define HW_SEARCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The index of the first of count items whose uint64_t at offset field is above
 * key; count if there is none. */
static inline size_t
search_above(const void *items, size_t count, size_t item_size, size_t field,
             uint64_t key)
{
    size_t low = 0, high = count;
    uint64_t value;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        memcpy(&value, (const char *)items + middle * item_size + field,
               sizeof(value));
        if (value <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* For qsort and bsearch of uint64_t. */
static inline int
compare_u64(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* As search_above, by the name of a member of an array of structs. */
#define SEARCH_ABOVE(items, count, member, key)                                \
    search_above((items), (count), sizeof(*(items)),                           \
                 offsetof(__typeof__(*(items)), member), (key))

#endif
