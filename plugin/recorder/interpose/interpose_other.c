/* interpose_other.c - jemalloc's own functions, and glibc's second names. */
#include <stdint.h>

#include "interpose.h"
#include "take_sample.h"

INTERPOSED void *
mallocx(size_t size, int flags)
{
    if (likely(sample_passes(size)))
        return real.mallocx(size, flags);
    return sample_block(real.mallocx(size, flags), size);
}

INTERPOSED void *
rallocx(void *block, size_t size, int flags)
{
    struct sample_held held = {.place = 0};
    void *moved;

    if (unlikely(block_filter_hits(block)))
        sample_realloc_begin(block, &held);
    moved = real.rallocx(block, size, flags);
    if (!moved) {
        sample_realloc_failed(block, &held);
        return NULL;
    }
    sample_realloc_done(&held);
    return likely(sample_passes(size)) ? moved : sample_block(moved, size);
}

/* Where it succeeds, a block of another size begins its life here. */
INTERPOSED size_t
xallocx(void *block, size_t size, size_t extra, int flags)
{
    struct sample_held held = {.place = 0};
    size_t now;

    if (unlikely(block_filter_hits(block)))
        sample_realloc_begin(block, &held);
    now = real.xallocx(block, size, extra, flags);
    if (now < size) {
        sample_realloc_failed(block, &held);
        return now;
    }
    sample_realloc_done(&held);
    if (unlikely(!sample_passes(size)))
        sample_block(block, size);
    return now;
}

INTERPOSED void
dallocx(void *block, int flags)
{
    if (unlikely(block_filter_hits(block)))
        sample_forget(block);
    real.dallocx(block, flags);
}

INTERPOSED void
sdallocx(void *block, size_t size, int flags)
{
    if (unlikely(block_filter_hits(block)))
        sample_forget(block);
    real.sdallocx(block, size, flags);
}

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
    struct sample_held held = {.place = 0};
    void *moved;

    if (unlikely(block_filter_hits(block)))
        sample_realloc_begin(block, &held);
    moved = real.__libc_realloc(block, size);
    if (!moved && size != 0) {
        sample_realloc_failed(block, &held);
        return NULL;
    }
    sample_realloc_done(&held);
    return likely(sample_passes(size)) ? moved : sample_block(moved, size);
}

INTERPOSED void
__libc_free(void *block)
{
    if (unlikely(block_filter_hits(block)))
        sample_forget(block);
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
