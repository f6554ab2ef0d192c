/*
 * interpose_new.c - C++'s operators, where they are the allocator's own.
 *
 * Some allocators' operators call malloc by its name, which is ours and counts:
 * then the thread's count has changed, and it is not done again.  An exception
 * of theirs passes through these frames.
 */
#include "interpose.h"
#include "take_sample.h"

#define INTERPOSE_NEW(result, name, parameters, arguments, missing)            \
    INTERPOSED void *name parameters                                           \
    {                                                                          \
        uint64_t before = recorder_local.sampler.left;                         \
        void *block;                                                           \
                                                                               \
        if (!real_new_is_allocators)                                           \
            return real.name arguments;                                        \
        block = real.name arguments;                                           \
        if (unlikely(recorder_local.sampler.left != before) ||                 \
            likely(sample_passes(size)))                                       \
            return block;                                                      \
        return sample_block(block, size);                                      \
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
