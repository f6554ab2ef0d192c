/*
 * interpose_new.c - C++'s operators, where they are the allocator's own.
 *
 * An operator that calls malloc by its name comes to our malloc, which counts;
 * counting it here as well would count it twice.  In one allocator some do and
 * some do not: of jemalloc's, those that align do.  So each is called once
 * before main, to see whether the count of bytes changes.  An exception that an
 * operator throws passes through these frames (-fexceptions).
 */
#include "interpose.h"

#include "take_sample.h"

/* Whether an operator is to be counted here, as its malloc is not ours. */
#define NEW_COUNTS(result, name, parameters, arguments, missing)               \
    static bool counts_##name;
REAL_NEW(NEW_COUNTS)

void
interpose_new_begin(void)
{
    const size_t size = 1, align = 64;
    const struct nothrow *tag = NULL;
    void *block;

    if (!real_new_is_allocators)
        return;
#define TRY_NEW(result, name, parameters, arguments, missing)                  \
    recorder_local.sampler.left = SAMPLER_POLL_BYTES;                          \
    block = real.name arguments;                                               \
    counts_##name =                                                            \
        block && recorder_local.sampler.left == SAMPLER_POLL_BYTES;            \
    real._ZdlPv(block);
    REAL_NEW(TRY_NEW)
}

#define INTERPOSE_NEW(result, name, parameters, arguments, missing)            \
    INTERPOSED void *name parameters                                           \
    {                                                                          \
        if (!counts_##name || likely(sample_passes(size)))                     \
            return real.name arguments;                                        \
        return sample_block(real.name arguments, size);                        \
    }
REAL_NEW(INTERPOSE_NEW)

#define INTERPOSE_DELETE(result, name, parameters, arguments, missing)         \
    INTERPOSED void name parameters                                            \
    {                                                                          \
        if (real_new_is_allocators && unlikely(block_filter_hits(block)))      \
            sample_untrack(block);                                             \
        real.name arguments;                                                   \
    }
REAL_DELETE(INTERPOSE_DELETE)
