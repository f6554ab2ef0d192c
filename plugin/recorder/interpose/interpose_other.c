/* interpose_other.c - jemalloc's own functions, and glibc's second names. */
#include "family.h"
#include "interpose.h"

#define INTERPOSE(result, name, parameters, arguments, missing)                \
    INTERPOSED result name parameters                                          \
    {                                                                          \
        return family_##name(&real FAMILY_AND arguments);                      \
    }
REAL_JEMALLOC(INTERPOSE)
#undef INTERPOSE

INTERPOSED void *
__libc_malloc(size_t size)
{
    if (likely(sample_passes(size)))
        return real.__libc_malloc(size);
    return sample_block(real.__libc_malloc(size), size);
}

INTERPOSED void *
__libc_calloc(size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        return real.__libc_calloc(count, size);
    if (likely(sample_passes(bytes)))
        return real.__libc_calloc(count, size);
    return sample_block(real.__libc_calloc(count, size), bytes);
}

INTERPOSED void *
__libc_realloc(void *block, size_t size)
{
    struct realloc_sample claimed = {.slot = 0};
    void *moved;

    if (unlikely(block_filter_hits(block)))
        sample_realloc_begin(block, &claimed);
    moved = real.__libc_realloc(block, size);
    if (!moved && size != 0) {
        sample_realloc_failed(block, &claimed);
        return NULL;
    }
    sample_realloc_done(&claimed);
    return likely(sample_passes(size)) ? moved : sample_block(moved, size);
}

INTERPOSED void
__libc_free(void *block)
{
    if (unlikely(block_filter_hits(block)))
        sample_untrack(block);
    real.__libc_free(block);
}

INTERPOSED void *
__libc_memalign(size_t align, size_t size)
{
    if (likely(sample_passes(size)))
        return real.__libc_memalign(align, size);
    return sample_block(real.__libc_memalign(align, size), size);
}

INTERPOSED void *
__libc_valloc(size_t size)
{
    if (likely(sample_passes(size)))
        return real.__libc_valloc(size);
    return sample_block(real.__libc_valloc(size), size);
}

INTERPOSED void *
__libc_pvalloc(size_t size)
{
    if (likely(sample_passes(size)))
        return real.__libc_pvalloc(size);
    return sample_block(real.__libc_pvalloc(size), size);
}
