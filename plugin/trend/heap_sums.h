/*
 * heap_sums.h - a heap profile as sums by function and by stack, in few bytes.
 *
 * Names are hashes, the same in all sums of one seed.  Immutable, and shared by
 * reference count (atomic).
 */
#ifndef HW_HEAP_SUMS_H
#define HW_HEAP_SUMS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "view_options.h"

struct arena;
struct error;
struct profile;

struct heap_sum {
    uint64_t name;
    double bytes, variance;
};

struct heap_sums {
    struct heap_sum *functions, *stacks; /* in order of their names' hashes; the
                                          * largest ones only */
    size_t function_count, stack_count;
    double bytes; /* of the whole profile */
    atomic_int references;
};

/* What the sums leave out, of the profile that rows are made of. */
struct heap_named {
    const char **functions; /* the name of each function of the sums */
    uint32_t *leaves; /* of each stack of the profile: the function's index, or
                       * UINT32_MAX */
    uint64_t *stacks; /* the hash of each stack of the profile */
};

/* named is filled from arena; both may be NULL.  NULL with *err. */
struct heap_sums *heap_sums_new(const struct profile *profile,
                                const struct view_options *options,
                                uint64_t seed, struct arena *arena,
                                struct heap_named *named, struct error *err);
struct heap_sums *heap_sums_ref(struct heap_sums *sums);
void heap_sums_unref(struct heap_sums *sums); /* NULL is fine */

/* The sum of that name, or NULL.  By binary search. */
const struct heap_sum *heap_sum_find(const struct heap_sum *list, size_t count,
                                     uint64_t name);

#endif
