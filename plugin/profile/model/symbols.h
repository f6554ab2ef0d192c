/*
 * symbols.h - the names of a profile's frames in a graph.
 *
 * As jeprof names them: short function names (or, unless jeprof_names, those
 * with template arguments), "(inline)" after inlined ones, and "name@address"
 * for functions of one short name with different symbols; at the options'
 * granularity (view_options.h).
 */
#ifndef HW_SYMBOLS_H
#define HW_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator.h"

struct arena;
struct profile;
struct texts;
struct view_options;

struct symbols {
    /* Frames of location i: first[i] up to first[i + 1], innermost first. */
    const uint32_t *first;
    const uint32_t *names; /* by frame: number in the texts */
    /* by frame: that of the function's short name alone */
    const uint32_t *short_names;
    /* by frame: it is named after its callee instead (a Run) */
    const bool *runs;
    bool has_runs; /* any of runs is set */
    /* By location, by the options' rule. */
    const struct allocator_part *parts;
};

/* Names all frames of profile, in arena and texts.  -1 without memory. */
int symbols_make(const struct profile *profile,
                 const struct view_options *options, struct arena *arena,
                 struct texts *texts, struct symbols *out);

/* Recomputes which frames are the allocator's, by other options.  -1 without
 * memory. */
int symbols_part(const struct profile *profile,
                 const struct view_options *options, struct arena *arena,
                 struct texts *texts, struct symbols *symbols);

#endif
