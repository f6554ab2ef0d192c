/*
 * stack_names.h - the named frames of a stack, without the allocator's.
 *
 * What call graph, function table and flame graph agree upon.  The same stacks
 * in the same order give the same names.
 */
#ifndef HW_STACK_NAMES_H
#define HW_STACK_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "filter.h"
#include "symbols.h"
#include "view_options.h"

struct arena;
struct error;
struct profile;
struct profile_stack;
struct texts;

struct symbols_kept;

struct stack_frame {
    uint32_t name;     /* number in the texts; its text may be "" */
    uint32_t location; /* of the profile */
    uint32_t frame;    /* of the location */
};

/* What a location shows: numbers in the texts, innermost first. */
struct shown_frames {
    uint32_t first, count; /* of symbols.names */
};

struct stack_names {
    const struct profile *profile; /* borrowed */
    struct texts *texts;
    struct symbols_kept *kept; /* whose the texts and symbols are; NULL */
    bool owns_kept;
    struct symbols symbols;
    struct shown_frames *shown; /* per location */
    struct filter filter;
    enum granularity granularity;
    uint32_t *runs; /* per location, the last for none: the number of the Run
                       that calls it, from 1 */
    uint32_t run_count;
    struct buffer scratch;
    uint32_t reach;             /* of allocator.h */
    uint32_t texts_max;         /* no stack makes them more */
    size_t longest;             /* no stack has more frames */
    struct stack_frame *frames; /* room for them */
    bool hidden;                /* the last stack is not in focus */
};

/* options NULL: view_defaults.  Names live in arena.  -1 with *err (no memory,
 * a bad focus or ignore, a measure that the profile lacks, cancelled): fini it
 * nevertheless. */
int stack_names_init(struct stack_names *names, const struct profile *profile,
                     const struct view_options *options, struct arena *arena,
                     struct error *err);
/* Likewise for who adds no texts, and keeps none: they may be the profile's. */
int stack_names_share(struct stack_names *names, const struct profile *profile,
                      const struct view_options *options, struct arena *arena,
                      struct error *err);
void stack_names_fini(struct stack_names *names); /* the texts stay in arena */

/*
 * The frames of a stack, leaf first: at most names->longest, and none of a
 * stack that is not in focus, which is hidden then.  -1 without memory; a stack
 * that was named once needs none any more.
 */
int stack_names_get(struct stack_names *names,
                    const struct profile_stack *stack, struct stack_frame *out,
                    size_t *count);

/* Likewise, for who needs but the frames' names. */
int stack_names_list(struct stack_names *names,
                     const struct profile_stack *stack, uint32_t *out,
                     size_t *count);

/*
 * Whether every stack shows what its locations show, from a cut on: then a
 * walk may look at names->shown itself.
 */
bool stack_names_are_located(const struct stack_names *names);
struct allocator_cut stack_names_cut(const struct stack_names *names,
                                     const struct profile_stack *stack);

#endif
