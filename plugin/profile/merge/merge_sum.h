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
    struct location location; /* its address is the one in the sum, if */
    /* it is known already; else it gets one at the end */
    bool has_address;
    uint32_t build; /* the number of its build; equal for one build */
    uint32_t final; /* its index in the finished sum */
};

struct merge {
    bool by_node, difference;
    struct profile *out;
    struct arena *arena;   /* out's */
    struct arena *scratch; /* of the keys */
    struct texts *texts;   /* names of locations, in out's arena */
    struct texts *location_keys, *stack_keys, *module_keys, *builds;
    struct buffer key;
    struct merge_location *locations; /* by the number of their key */
    size_t location_count, location_capacity;
    struct profile_stack *stacks; /* by the number of their key */
    size_t stack_count, stack_capacity;
    /* with their addresses in the sum; by number, too */
    struct profile_module *modules;
    size_t module_count, module_capacity;
    uint64_t top; /* an address above all modules so far */
    struct merge_share *shares;
    size_t share_count, share_capacity;
    struct texts *notes, *programs; /* each once */
    /* each profile with stacks counts what was ever allocated */
    bool counts_ever;
    bool has_waste; /* each profile with stacks tells waste */
    /* the shortest time that a node was sampled; out has the longest */
    uint64_t shortest_ms;
    bool mixed_rates;
};

/* Room for one more item in a growing list; NULL without memory. */
void *merge_grow_list(void **list, size_t *room, size_t count, size_t item);
/* The number of merge->key; -1 without memory. */
int merge_number(struct merge *merge, struct texts *texts, uint32_t *number);

/* Writes the key of a location of the part-th profile to merge->key.  Fills
 * out's build; and has_address and the address, if the sum has a place for it.
 * -1 without memory. */
int merge_locate(struct merge *merge, const struct profile *profile,
                 size_t part, const struct location *location,
                 struct merge_location *out);

/* Gives functions of one name in different builds one symbol_start.  -1 without
 * memory. */
int merge_symbols(struct merge *merge);

#endif
