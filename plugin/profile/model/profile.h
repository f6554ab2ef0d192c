/*
 * profile.h - a heap profile with its names: what every renderer reads.
 *
 * Immutable, owns all it points to but for the names, which it shares, and does
 * not need the dump any more.  Counts are estimates of what is really in use,
 * made from the samples as jeprof makes them.
 */
#ifndef HW_PROFILE_H
#define HW_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names.h"
#include "view_options.h"

struct arena;
struct error;
struct heap_dump;
struct texts;

/* Where a live profile came from; an offline one does not know. */
struct profile_origin {
    bool live;
    int64_t taken_ms;        /* wall clock */
    int64_t active_since_ms; /* wall clock; 0: profiling was not active */
};

/* Objects and bytes. */
struct profile_sampled {
    uint64_t objects, bytes;
};

struct profile_stack {
    const uint32_t *locations; /* indices into the profile's; leaf first */
    uint32_t depth;
    double objects, bytes; /* in use, estimated; of a difference signed */
    double objects_ever, bytes_ever; /* allocated; 0 without prof_accum */
    /* Of bytes, the square of their standard error: of what happened to be
     * sampled.  Of a difference that of what came and went (diff.c). */
    double variance;
    struct profile_sampled in_use, ever; /* as the dump had them; of a
                                            difference 0 */
};

/* A file that was mapped, for those who read the profile elsewhere. */
struct profile_module {
    uint64_t start, end, offset; /* as struct mapping */
    const char *path;
    const char *build_id; /* hexadecimal; "" unknown */
};

struct profile {
    const char *program;
    struct profile_origin origin;
    const struct location *locations; /* ascending by address */
    size_t location_count;
    const struct profile_stack *stacks; /* distinct, in the dump's order */
    size_t stack_count;
    double objects, bytes; /* of all stacks */
    double objects_ever, bytes_ever;
    uint64_t samples; /* the objects that were seen */
    uint64_t rate;    /* mean bytes between two samples */
    bool truncated;   /* the dump was cut off */
    bool accumulated; /* the dump counted what was ever allocated */
    bool difference;  /* made by diff_make, or the sum of such */
    size_t nodes;     /* that it is the sum of (merge.h); 0: it is none */
    const struct profile_module *modules; /* executable ones, ascending */
    size_t module_count;
    const char *note; /* what could not be named, and why; "" */
    /* What the allocator, the kernel and the profile say of the memory, in
     * one line (reconciliation.h); "" offline. */
    const char *memory;
    struct names *names; /* what locations point to; NULL: it is in arena */
    struct arena *arena;
};

/* Takes dump's stacks, which are gone then.  Shares names, which change no
 * more; where they lack an address it is called 0x<address>.  origin NULL:
 * offline.  NULL with *err without memory or past the ceiling: the stacks are
 * gone, too. */
struct profile *profile_new(struct heap_dump *dump, struct names *names,
                            const char *program,
                            const struct profile_origin *origin,
                            struct error *err);
/* The same in two steps, for who names dump's addresses at the same time, on
 * another thread.  The first one touches dump's stacks alone, and answers a
 * profile that only the second one, or profile_free, may be given; NULL: no
 * memory, which the second one tells.  It frees what it was given when it
 * fails. */
struct profile *profile_begin(struct heap_dump *dump);
struct profile *profile_finish(struct profile *profile,
                               const struct heap_dump *dump,
                               struct names *names, const char *program,
                               const struct profile_origin *origin,
                               struct error *err);
void profile_free(struct profile *profile); /* NULL is fine */

/* What it holds of memory, with the names. */
size_t profile_bytes(const struct profile *profile);

/* The module that holds address, or NULL. */
const struct profile_module *profile_module_find(const struct profile *profile,
                                                 uint64_t address);

/* What one stack, and all of them, weigh. */
double profile_value(const struct profile_stack *stack, enum measure measure);
double profile_total(const struct profile *profile, enum measure measure);

/* How far the truth is from the estimate of all bytes in use, or nearer, in 95
 * of 100 profiles: of what happened to be sampled, not of what was allocated
 * while profiling was off. */
#define PROFILE_95 1.96 /* standard errors */
double profile_margin(const struct profile *profile);

/* For those who make profiles: fills the totals, which were 0; copies a
 * location with its names, which texts keeps in arena.  -1: no memory. */
void profile_add_up(struct profile *profile);
int location_copy(struct arena *arena, struct texts *texts,
                  const struct location *from, struct location *to);

/*
 * What count samples of bytes in all stand for, when each byte allocated had
 * a chance of 1/rate to be the one that is sampled.  Multiply both by it.
 */
double profile_scale(uint64_t count, uint64_t bytes, uint64_t rate);

#endif
