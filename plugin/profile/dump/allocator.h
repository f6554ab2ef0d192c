/*
 * allocator.h - where in a stack the allocator ends and its caller begins.
 *
 * Sampled stacks begin inside jemalloc.  Two ways to leave that out:
 *
 * ours     The leafward end of a stack is the allocator's up to its rootmost
 *          allocator frame that is at most ALLOCATOR_REACH locations away from
 *          the leaf, not counting those at the leaf that lie in jemalloc's own
 *          shared object.  An allocator frame is a function that everybody
 *          allocates by (malloc, operator new, Rust's alloc::alloc, ..., also
 *          with jemalloc's prefixes), or one that has such a symbol besides its
 *          own name, or anything in that object.  Wrappers between two of them
 *          go too, so an operator new of the program's own is not where memory
 *          is charged to.  What lies farther away allocates for itself,
 *          whatever its callers are named.
 * jeprof's Everything up to the rootmost function of its list goes, however
 *          far away it is; without such a name nothing goes.
 */
#ifndef HW_ALLOCATOR_H
#define HW_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

enum { ALLOCATOR_REACH = 16 };

/* Names are short ones, or plain ones: see function_name.h. */
bool allocator_is_entry(const char *name);
/* An ELF symbol, as nm -C prints it: one of those that libraries call. */
bool allocator_is_symbol(const char *symbol);
bool allocator_is_skipped_by_jeprof(const char *name);

/* What a location is to the allocator; small, for it is looked at for every
 * stack. */
struct allocator_part {
    uint16_t frames; /* how many of its frames go, innermost first; 0: none */
    bool whole;      /* all of them do */
    bool in_object;  /* it lies in jemalloc's shared object */
};

/* Where a stack begins that has lost its allocator frames. */
struct allocator_cut {
    uint32_t location; /* of the stack; its depth when nothing is left */
    uint32_t frame;    /* of that location */
};

/* parts are those of all locations, stack the indices of its depth ones.
 * reach is ALLOCATOR_REACH, or UINT32_MAX as jeprof does. */
struct allocator_cut allocator_cut(const struct allocator_part *parts,
                                   const uint32_t *stack, uint32_t depth,
                                   uint32_t reach);

#endif
