/*
 * interpose_new.c - C++'s operators, where they are the allocator's own.
 *
 * Some allocators' operators call malloc by its name, which is ours and counts.
 * An exception of theirs passes through these frames.
 */
#include "interpose_new.h"

#include "interpose.h"
#include "take_sample.h"

/* Whether operator new is to be counted here. */
static bool new_counts;

void
interpose_new_begin(void)
{
    uint64_t left = SAMPLER_LOOK;
    void *block;

    if (!real_new_is_allocators)
        return;
    recorder_local.sampler.left = left;
    block = real._Znwm(1);
    new_counts = recorder_local.sampler.left == left;
    real._ZdlPv(block);
}

#define INTERPOSE_NEW(result, name, parameters, arguments, missing)            \
    INTERPOSED void *name parameters                                           \
    {                                                                          \
        if (!new_counts || likely(sample_passes(size)))                        \
            return real.name arguments;                                        \
        return sample_block(real.name arguments, size);                        \
    }
REAL_NEW(INTERPOSE_NEW)

#define INTERPOSE_DELETE(result, name, parameters, arguments, missing)         \
    INTERPOSED void name parameters                                            \
    {                                                                          \
        if (real_new_is_allocators && unlikely(block_filter_hits(block)))      \
            sample_forget(block);                                              \
        real.name arguments;                                                   \
    }
REAL_DELETE(INTERPOSE_DELETE)
