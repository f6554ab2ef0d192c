/*
 * stack_names.h - the named frames of a stack, without the allocator's.
 *
 * Call graph, function table and flame graph share it.  The same stacks in the
 * same order give the same names.
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
struct symbols_kept;
struct texts;

struct stack_frame {
    uint32_t name;     /* number in the texts; its text may be "" */
    uint32_t location; /* of the profile */
    uint32_t frame;    /* of the location */
};

/* The names that a location shows, innermost first: a range of
 * symbols.names. */
struct shown_frames {
    uint32_t first, count; /* indices of symbols.names */
};

struct stack_names {
    const struct profile *profile; /* borrowed */
    struct texts *texts;
    struct symbols_kept *kept; /* if not NULL, it owns texts and symbols */
    bool owns_kept;
    struct symbols symbols;
    struct shown_frames *shown; /* by location */
    struct filter filter;
    enum granularity granularity;
    /* by location, with a last one for "none": the number, from 1, of the Run
     * that calls it */
    uint32_t *runs;
    uint32_t run_count;
    struct buffer scratch;
    /* ALLOCATOR_REACH, or none: see allocator_cut() */
    uint32_t reach;
    uint32_t texts_max;         /* a bound on the number of texts */
    size_t longest;             /* a bound on the frames of a stack */
    struct stack_frame *frames; /* room for as many */
    bool hidden;                /* the last stack is not in focus */
};

/* options NULL: view_defaults.  Names live in arena.  -1 with *err (no memory,
 * a bad focus or ignore, a measure that the profile lacks, cancelled):
 * stack_names_fini is still needed. */
int stack_names_init(struct stack_names *names, const struct profile *profile,
                     const struct view_options *options, struct arena *arena,
                     struct error *err);
/* The same for callers that neither add nor keep texts, which may then be
 * shared with other views of the same names. */
int stack_names_share(struct stack_names *names, const struct profile *profile,
                      const struct view_options *options, struct arena *arena,
                      struct error *err);
void stack_names_fini(struct stack_names *names); /* the texts stay in arena */

/*
 * The frames of a stack, leaf first: at most names->longest; none of a stack
 * that is not in focus, which sets hidden.  -1 without memory, of which a
 * repeated stack needs none.
 */
int stack_names_get(struct stack_names *names,
                    const struct profile_stack *stack, struct stack_frame *out,
                    size_t *count);

/* The same, with the frames' names only. */
int stack_names_list(struct stack_names *names,
                     const struct profile_stack *stack, uint32_t *out,
                     size_t *count);

#endif
