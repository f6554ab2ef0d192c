/*
 * profile.h - a profile with its names: what every form is made from.
 *
 * Immutable.  It owns all it points to except the names, which it shares, and
 * does not need the dump.  Counts are estimates of what is really in use, made
 * from the samples as jeprof makes them; in a profile of time (profile_kind.h)
 * each sample stands for itself.
 */
#ifndef HW_PROFILE_H
#define HW_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap_dump.h"
#include "names.h"
#include "view_options.h"

struct arena;
struct error;
struct heap_dump;
struct heap_estimate;
struct live_parts;
struct live_sizes;
struct waste;
struct texts;

/* Where a live profile comes from; a profile from a file has no origin. */
struct profile_origin {
    bool live;
    int64_t taken_ms;        /* wall clock; for a profile of time, its end */
    int64_t active_since_ms; /* wall clock; 0: profiling was not active */
};

/* Objects and bytes. */
struct profile_sampled {
    uint64_t objects, bytes;
};

struct profile_stack {
    const uint32_t *locations; /* indices into the profile's; leaf first */
    uint32_t depth;
    double objects, bytes; /* in use, estimated; signed in a difference */
    double objects_ever, bytes_ever; /* allocated; 0 without prof_accum */
    /* The square of the standard error of bytes due to sampling.  In a
     * difference, that of the bytes that came and went (diff.c). */
    double variance;
    /* the class, in bytes, that most of bytes are of; 0: not known */
    uint64_t size_class;
    double waste; /* free bytes of slabs that its objects keep (waste.h) */
    struct profile_sampled in_use, ever; /* as in the dump; 0 in a difference */
};

/* A mapped file, for readers of the profile on other hosts. */
struct profile_module {
    uint64_t start, end, offset; /* as struct mapping */
    const char *path;
    const char *build_id; /* hexadecimal; "" unknown */
};

/* What is allocated and in no sample: snapshots/reconciliation.h fills it. */
struct profile_unseen {
    double bytes;    /* more than chance explains; 0: none, or not known */
    const char *why; /* "allocated while profiling was off", ... */
};

/* Parts of the memory text of a profile of time. */
#define PROFILE_WITH_KERNEL ", with the kernel's functions"
#define PROFILE_CHANCE      "; by chance alone " /* last: of this profile alone */

/* What the outermost frames of all stacks are: profile_root.h. */
enum { PROFILE_BY_THREAD = 1, PROFILE_BY_POOL = 2 };

struct profile {
    enum profile_kind kind;
    const char *program;
    struct profile_origin origin;
    const struct location *locations; /* ascending by address */
    size_t location_count;
    const struct profile_stack *stacks; /* distinct, in the dump's order */
    size_t stack_count;
    double objects, bytes; /* of all stacks */
    double objects_ever, bytes_ever;
    uint64_t samples;     /* sampled objects */
    uint64_t rate;        /* mean bytes, or nanoseconds, between two samples */
    uint64_t duration_ms; /* how long the program was sampled; 0 for the heap */
    bool truncated;       /* the dump was cut off */
    bool accumulated;     /* the dump counted what was ever allocated */
    /* samples have weights, which the rate does not tell */
    bool weighted;
    bool difference; /* made by diff_make, or a sum of such */
    unsigned roots;  /* PROFILE_BY_*: what its stacks are rooted at */
    size_t nodes;    /* how many nodes it sums up (merge.h); 0: not a sum */
    /* By thread and age; NULL: not known, as only a recorder notes them. */
    const struct live_parts *parts;
    /* By size class; NULL: not known, as only a recorder notes them. */
    const struct live_sizes *sizes;
    /* What waste_fill has found; NULL: not known, or a sum or difference. */
    const struct waste *waste;
    double waste_bytes; /* of all stacks */
    bool wasted;        /* waste is known */
    /* over which time the sums "ever" were counted; 0: not known */
    uint64_t counted_ms;
    const struct profile_module *modules; /* those with code, ascending */
    size_t module_count;
    const char *note; /* what could not be named, and why; "" */
    /* What the allocator, the kernel and the profile report of the memory, in
     * one line (reconciliation.h); "" offline.  In a profile of time: how it
     * was taken. */
    const char *memory;
    /* a sum has its nodes'; a difference has none */
    struct profile_unseen unseen;
    struct names *names; /* owns what locations point to; NULL: arena does */
    struct arena *arena;
};

/* Takes dump's stacks, also on failure.  Shares names, which must not change
 * any more; an address that names lacks is named 0x<address>.  origin NULL:
 * from a file.  NULL with *err: no memory or past the ceiling. */
struct profile *profile_new(struct heap_dump *dump, struct names *names,
                            const char *program,
                            const struct profile_origin *origin,
                            struct error *err);
void profile_free(struct profile *profile); /* NULL is fine */

/* The bytes of memory that it holds, with the names. */
size_t profile_bytes(const struct profile *profile);

/* The module that holds address, or NULL. */
const struct profile_module *profile_module_find(const struct profile *profile,
                                                 uint64_t address);

/* "the heap", "the processor", "the clock". */
const char *profile_kind_name(enum profile_kind kind);
/* heap, cpu or wall. */
const char *profile_kind_keyword(enum profile_kind kind);

/* The options that a form of profile takes: options, or view_defaults if it is
 * NULL, with the measure of the profile's kind. */
struct view_options profile_view(const struct profile *profile,
                                 const struct view_options *options);

/* The weight of one stack, and of all. */
double profile_value(const struct profile_stack *stack, enum measure measure);
double profile_total(const struct profile *profile, enum measure measure);

/* Frames of the mean stack; 0: it has no stack. */
double profile_mean_depth(const struct profile *profile);

/* Half the width of the 95 % confidence interval of the bytes in use, or of the
 * time.  It covers the chance of sampling, not what was allocated while
 * profiling was off. */
#define PROFILE_95 1.96 /* standard errors */
double profile_margin(const struct profile *profile);

/* For makers of profiles.  profile_add_up fills the totals, which must be 0.
 * location_copy copies a location with its names, which texts keeps in arena;
 * -1: no memory. */
void profile_add_up(struct profile *profile);
int location_copy(struct arena *arena, struct texts *texts,
                  const struct location *from, struct location *to);

/*
 * The factor from samples to an estimate: count objects with bytes in all were
 * sampled, and each allocated byte had a chance of 1/rate.
 */
double profile_scale(uint64_t count, uint64_t bytes, uint64_t rate);
/* Adds samples of equal size with such a factor to an estimate. */
void profile_add_estimate(struct heap_estimate *to, uint64_t objects,
                          uint64_t bytes, double scale);

static inline void
profile_add_saturated(uint64_t *to, uint64_t n)
{
    if (__builtin_add_overflow(*to, n, to))
        *to = UINT64_MAX;
}

#endif
