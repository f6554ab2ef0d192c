/*
 * profile.h - a heap profile with its names: what every renderer reads.
 *
 * Immutable, owns all it points to, and needs neither the dump nor the table
 * of names any more.  Counts are estimates of what is really in use, made from
 * the samples as jeprof makes them.
 */
#ifndef HW_PROFILE_H
#define HW_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names.h"

struct arena;
struct error;
struct heap_dump;

/* Where a live profile came from; an offline one does not know. */
struct profile_origin {
    bool live;
    int64_t taken_ms;        /* wall clock */
    int64_t active_since_ms; /* wall clock; 0: profiling was not active */
};

struct profile_stack {
    const uint32_t *locations; /* indices into the profile's; leaf first */
    uint32_t depth;
    double objects, bytes; /* in use, estimated */
};

struct profile {
    const char *program;
    struct profile_origin origin;
    const struct location *locations; /* ascending by address */
    size_t location_count;
    const struct profile_stack *stacks; /* distinct, in the dump's order */
    size_t stack_count;
    double objects, bytes; /* of all stacks */
    uint64_t samples;      /* the objects that were seen */
    uint64_t rate;         /* mean bytes between two samples */
    bool truncated;        /* the dump was cut off */
    const char *note;      /* what could not be named, and why; "" */
    struct arena *arena;
};

/* names lacks an address: it is called 0x<address>.  origin NULL: offline.
 * NULL with *err without memory or past the ceiling. */
struct profile *profile_new(const struct heap_dump *dump,
                            const struct names *names, const char *program,
                            const struct profile_origin *origin,
                            struct error *err);
void profile_free(struct profile *profile); /* NULL is fine */

/*
 * What count samples of bytes in all stand for, when each byte allocated had
 * a chance of 1/rate to be the one that is sampled.  Multiply both by it.
 */
double profile_scale(uint64_t count, uint64_t bytes, uint64_t rate);

#endif
