/*
 * weights.h - what each function of a profile weighs: what graph and text
 * agree upon.
 *
 * In the measure and granularity that were asked for, so "function" may be a
 * line, a file or an address; only stacks in focus count.
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
    double flat;       /* allocated by it */
    double cumulative; /* by it and whatever it called */
    /* Of both, by profile_stack's: 0 unless the measure is inuse_space. */
    double flat_variance, cumulative_variance;
};

struct weights {
    struct stack_names names;
    struct weight *list; /* by number in the texts */
    uint32_t count;
    double focus;     /* of the stacks that have any frame left */
    uint32_t *frames; /* room for the names of a stack's */
};

/* Weighs all.  Names last as long as the profile and the weights do.  -1 with
 * *err (see stack_names_init): fini it nevertheless. */
int weights_init(struct weights *weights, const struct profile *profile,
                 const struct view_options *options, struct arena *arena,
                 struct error *err);
void weights_fini(struct weights *weights); /* zeroed is fine */

#endif
