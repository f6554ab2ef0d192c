/*
 * symbols.h - what the frames of a profile are called in a graph.
 *
 * jeprof's naming: short function names, "(inline)" after inlined ones, and
 * "name@address" where functions of one short name have different symbols.
 */
#ifndef HW_SYMBOLS_H
#define HW_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator.h"

struct arena;
struct profile;
struct texts;

struct symbols {
    /* Frames of location i: first[i] up to first[i + 1], innermost first. */
    const uint32_t *first;
    const uint32_t *names; /* per frame: number in the texts */
    const bool *runs;      /* per frame: named after its callee instead */
    /* Per location, by the rule that was asked for. */
    const struct allocator_part *parts;
};

/* Names all frames of profile; everything lives in arena and texts.  -1
 * without memory. */
int symbols_make(const struct profile *profile, bool jeprof_allocator_rule,
                 struct arena *arena, struct texts *texts, struct symbols *out);

#endif
