/*
 * functions.h - a profile by function: what each allocated, by itself and with
 * all it called.
 *
 * Has the weights of "jeprof --functions" (see graph.h), for all functions, in
 * bytes and in objects.  A recursive function counts once per stack; the
 * allocator's own frames are left out.
 */
#ifndef HW_FUNCTIONS_H
#define HW_FUNCTIONS_H

#include "stack_names.h"

struct error;

struct function {
    const char *name;   /* as in the graph */
    const char *module; /* module of its first occurrence; "": unknown */
    double flat_bytes, flat_objects;
    double cumulative_bytes, cumulative_objects;
    /* Variances of the bytes, as in struct profile_stack. */
    double flat_variance, cumulative_variance;
};

struct functions {
    const struct function *list; /* the heaviest (cumulative) first */
    const uint32_t *by_name; /* indices of list, ascending regardless of case */
    uint32_t count;
    double bytes, objects; /* of the stacks that have a frame left */
    double errors;         /* standard errors from which a cumulative change is
                              significant */
    struct stack_names names; /* of all frames */
    struct arena *arena;
};

/* Borrows the profile.  options NULL: view_defaults.  NULL with *err without
 * memory. */
struct functions *functions_new(const struct profile *profile,
                                const struct view_options *options,
                                struct error *err);
void functions_free(struct functions *functions); /* NULL is fine */

/* Writes the frames of stack i, leaf first, without nameless ones, to out,
 * which has room for names.longest.  Returns how many. */
size_t functions_stack(struct functions *functions, size_t i,
                       struct stack_frame *out);

/* The range of by_name with the functions named name, regardless of case. */
void functions_find(const struct functions *functions, const char *name,
                    size_t size, uint32_t *first, uint32_t *end);

#endif
