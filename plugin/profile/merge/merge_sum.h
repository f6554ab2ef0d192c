/*
 * merge_sum.h - a sum under way: what merge.c and merge_sum.c share.
 */
#ifndef HW_MERGE_SUM_H
#define HW_MERGE_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keyed_stacks.h"

struct arena;
struct profile;
struct profile_module;
struct texts;

struct merge_share {
    uint64_t node;
    double bytes;
};

struct merge {
    bool by_node, difference;
    struct profile *out;
    struct arena *arena; /* out's */
    struct keyed_stacks keyed;
    struct texts *module_keys, *builds;
    /* with their addresses in the sum; by the number of their key */
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

/* Writes the key of a location of the part-th profile to merge->keyed.key.
 * Fills out's build; and has_address and the address, if the sum has a place
 * for it.  -1 without memory. */
int merge_locate(struct merge *merge, const struct profile *profile,
                 size_t part, const struct location *location,
                 struct keyed_location *out);

/* Gives functions of one name in different builds one symbol_start.  -1 without
 * memory. */
int merge_symbols(struct merge *merge);

#endif
