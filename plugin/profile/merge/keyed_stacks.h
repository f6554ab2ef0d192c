/*
 * keyed_stacks.h - the stacks of several profiles, brought together: what the
 * sum of profiles and the difference of two have in common.
 *
 * A key (bytes) says what makes locations equal; stacks are equal if their
 * locations are.  Sets number the keys in the order of arrival.
 */
#ifndef HW_KEYED_STACKS_H
#define HW_KEYED_STACKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "names.h"

struct arena;
struct profile;
struct profile_stack;
struct texts;

struct keyed_location {
    struct location location; /* with its address in the result, */
    bool has_address;         /* unless it gets one at the end */
    uint32_t build;           /* merge's: equal for locations of one build */
    uint32_t final;           /* its index, at the end */
};

struct keyed_stacks {
    struct arena *arena;   /* the result's */
    struct arena *scratch; /* of the keys */
    struct texts *names;   /* of locations, in arena */
    struct texts *location_keys, *stack_keys;
    struct buffer key;
    struct keyed_location *locations; /* by the numbers of their keys, */
    size_t location_count, location_capacity;
    struct profile_stack *stacks; /* likewise */
    size_t stack_count, stack_capacity;
    const atomic_bool *cancelled; /* or NULL */
    bool stopped;                 /* as it was cancelled */
};

/* How one profile is added. */
struct keyed_walk {
    const struct profile *profile;
    const uint32_t *root; /* number of a location below all stacks, or NULL */
    bool fuller_names;    /* of a location: of the profile that knows more */
    /* Writes a location's key to keyed->key, and fills *place, which has its
     * address in the profile.  -1 without memory. */
    int (*locate)(void *arg, const struct location *location,
                  struct keyed_location *place);
    /* Adds the counts of a stack to the number-th of the result. */
    void (*add)(void *arg, struct profile_stack *to, uint32_t number,
                const struct profile_stack *from);
    void *arg;
};

/* Room for one more item in a growing list; NULL without memory. */
void *keyed_stacks_grow(void **list, size_t *room, size_t count, size_t item);

/* keyed must be zeroed.  -1 without memory. */
int keyed_stacks_init(struct keyed_stacks *keyed, struct arena *arena,
                      size_t memory_max);
void keyed_stacks_fini(struct keyed_stacks *keyed); /* zeroed is fine */

void keyed_stacks_key_text(struct keyed_stacks *keyed, const char *text);
/* The number of keyed->key; -1 without memory. */
int keyed_stacks_number(struct keyed_stacks *keyed, struct texts *texts,
                        uint32_t *number);

/* The number of the location with keyed->key.  -1 without memory. */
int keyed_stacks_location(struct keyed_stacks *keyed,
                          const struct location *from,
                          const struct keyed_location *place, bool fuller_names,
                          uint32_t *number);

/* Adds all stacks of a profile.  -1 without memory, or if it was stopped. */
int keyed_stacks_add(struct keyed_stacks *keyed, const struct keyed_walk *walk);

/* Gives out the locations, ascending by address, and the stacks, with their
 * totals.  -1 without memory. */
int keyed_stacks_finish(struct keyed_stacks *keyed, struct profile *out);

#endif
