/*
 * merge_sum.h - a sum under way: what merge.c and merge_sum.c share.
 */
#ifndef HW_MERGE_SUM_H
#define HW_MERGE_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "names.h"

struct arena;
struct profile;
struct profile_module;
struct profile_stack;
struct texts;

struct merge_share {
    uint64_t node;
    double bytes;
};

struct merge_location {
    struct location location; /* with its address in the sum, */
    bool has_address;         /* unless it gets one at the end */
    uint32_t build;           /* equal for locations of one build */
    uint32_t final;           /* its index, at the end */
};

struct merge {
    bool by_node, difference;
    struct profile *out;
    struct arena *arena;   /* out's */
    struct arena *scratch; /* of the keys */
    struct texts *texts;   /* names of locations, in out's arena */
    struct texts *location_keys, *stack_keys, *module_keys, *builds;
    struct buffer key;
    struct merge_location *locations; /* by the numbers of their keys, */
    size_t location_count, location_capacity;
    struct profile_stack *stacks; /* likewise */
    size_t stack_count, stack_capacity;
    struct profile_module *modules; /* where they are in the sum; likewise */
    size_t module_count, module_capacity;
    uint64_t top; /* above all modules so far */
    struct merge_share *shares;
    size_t share_count, share_capacity;
    struct texts *notes, *programs; /* each once */
    bool counts_ever;               /* each profile with stacks does */
    bool has_waste;                 /* likewise */
    uint64_t shortest_ms; /* that a node was sampled; the longest: out */
    bool mixed_rates;
};

/* Room for one more item in a growing list; NULL without memory. */
void *merge_grow_list(void **list, size_t *room, size_t count, size_t item);
/* The number of merge->key; -1 without memory. */
int merge_number(struct merge *merge, struct texts *texts, uint32_t *number);

/*
 * The index of a location of the part-th profile in the sum.
 * Writes its key to merge->key; sets placed and the address if it lies in a
 * module.  -1 without memory.
 */
int merge_locate(struct merge *merge, const struct profile *profile,
                 size_t part, const struct location *location,
                 struct merge_location *out);

/* Gives functions of one name in different builds one
 * symbol_start.  -1 without memory. */
int merge_symbols(struct merge *merge);

#endif
