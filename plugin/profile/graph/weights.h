/*
 * weights.h - the weight of each function of a profile, for graph and text.
 *
 * In the measure and granularity of the options, so a "function" may be a line,
 * a file or an address; only stacks in focus count.
 */
#ifndef HW_WEIGHTS_H
#define HW_WEIGHTS_H

#include "stack_names.h"

struct arena;
struct error;
struct profile;
struct view_options;

struct weight {
    const char *name;  /* NULL: no stack has it */
    double flat;       /* allocated by itself */
    double cumulative; /* by itself and all it called */
    /* Sums of struct profile_stack's: 0 unless the measure is inuse_space. */
    double flat_variance, cumulative_variance;
    uint32_t seen; /* while weighing: 1 + the last stack with the name */
};

struct weights {
    struct stack_names names;
    struct weight *list; /* by number in the texts */
    uint32_t count;
    double focus;     /* of the stacks that have a frame left */
    uint32_t *frames; /* room for the names of one stack */
};

/* Names last as long as both profile and weights.  -1 with *err (see
 * stack_names_init): weights_fini is still needed. */
int weights_init(struct weights *weights, const struct profile *profile,
                 const struct view_options *options, struct arena *arena,
                 struct error *err);
void weights_fini(struct weights *weights); /* zeroed is fine */

#endif
