/*
 * interpose.c - the malloc family, in front of the allocator's.
 *
 * Most calls count bytes, or look at a filter, and go on by a jump.
 */
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "claim_segment.h"
#include "interpose.h"
#include "interpose_new.h"
#include "take_sample.h"

static __attribute__((constructor)) void
begin_recorder(int argc, char **argv, char **envp)
{
    (void)argc, (void)argv;
    real_find();
    interpose_new_begin();
    claim_segment(envp);
}

INTERPOSED void *
malloc(size_t size)
{
    if (likely(sample_passes(size)))
        return real.malloc(size);
    return sample_block(real.malloc(size), size);
}

static COLD void
forget_and_free(void *block)
{
    sample_forget(block);
    real.free(block);
}

INTERPOSED void
free(void *block)
{
    if (unlikely(block_filter_hits(block)))
        forget_and_free(block);
    else
        real.free(block);
}

/* count * size, or what no allocator has. */
static size_t
product(size_t count, size_t size)
{
    size_t bytes;

    return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

INTERPOSED void *
calloc(size_t count, size_t size)
{
    size_t bytes = product(count, size);

    if (likely(sample_passes(bytes)))
        return real.calloc(count, size);
    return sample_block(real.calloc(count, size), bytes);
}

static COLD void *
realloc_sampled(void *block, size_t size)
{
    struct sample_held held;
    void *moved;

    sample_realloc_begin(block, &held);
    moved = real.realloc(block, size);
    if (!moved && size != 0) {
        sample_realloc_failed(block, &held);
        return NULL;
    }
    sample_realloc_done(&held);
    return sample_passes(size) ? moved : sample_block(moved, size);
}

INTERPOSED void *
realloc(void *block, size_t size)
{
    if (unlikely(block_filter_hits(block)))
        return realloc_sampled(block, size);
    if (likely(sample_passes(size)))
        return real.realloc(block, size);
    return sample_block(real.realloc(block, size), size);
}

/* glibc's calls realloc, through its table: ours. */
INTERPOSED void *
reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, bytes);
}

INTERPOSED void *
aligned_alloc(size_t align, size_t size)
{
    if (likely(sample_passes(size)))
        return real.aligned_alloc(align, size);
    return sample_block(real.aligned_alloc(align, size), size);
}

INTERPOSED void *
memalign(size_t align, size_t size)
{
    if (likely(sample_passes(size)))
        return real.memalign(align, size);
    return sample_block(real.memalign(align, size), size);
}

INTERPOSED int
posix_memalign(void **block, size_t align, size_t size)
{
    int error;

    if (likely(sample_passes(size)))
        return real.posix_memalign(block, align, size);
    error = real.posix_memalign(block, align, size);
    if (error == 0)
        sample_block(*block, size);
    return error;
}

INTERPOSED void *
valloc(size_t size)
{
    if (likely(sample_passes(size)))
        return real.valloc(size);
    return sample_block(real.valloc(size), size);
}

INTERPOSED void *
pvalloc(size_t size)
{
    if (likely(sample_passes(size)))
        return real.pvalloc(size);
    return sample_block(real.pvalloc(size), size);
}

INTERPOSED void
cfree(void *block)
{
    free(block);
}
