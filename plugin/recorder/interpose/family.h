/*
 * family.h - the replacement of each function of an allocator: of libc's or
 * whatever else the loader has (interpose.c), and of one that is linked into
 * the program (patch_program.c).
 *
 * Most calls count bytes or look at a filter, and end in a jump to the real
 * function.  r is a constant where these are inlined.
 */
#ifndef HW_FAMILY_H
#define HW_FAMILY_H

#include <stdint.h>

#include "real.h"
#include "take_sample.h"

#define FAMILY static inline __attribute__((always_inline))
#define COLD   static __attribute__((noinline, cold, unused))

/* Expands (a, b) to further arguments. */
#define FAMILY_AND(...) , __VA_ARGS__

FAMILY void *
family_malloc(const struct real_functions *r, size_t size)
{
    if (likely(sample_passes(size)))
        return r->malloc(size);
    return sample_block(r->malloc(size), size);
}

COLD void
untrack_and_free(const struct real_functions *r, void *block)
{
    sample_untrack(block);
    r->free(block);
}

FAMILY void
family_free(const struct real_functions *r, void *block)
{
    if (unlikely(block_filter_hits(block)))
        untrack_and_free(r, block);
    else
        r->free(block);
}

/* count * size, or SIZE_MAX if that overflows: the allocator fails then. */
FAMILY size_t
family_product(size_t count, size_t size)
{
    size_t bytes;

    return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

FAMILY void *
family_calloc(const struct real_functions *r, size_t count, size_t size)
{
    size_t bytes = family_product(count, size);

    if (likely(sample_passes(bytes)))
        return r->calloc(count, size);
    return sample_block(r->calloc(count, size), bytes);
}

COLD void *
realloc_sampled(const struct real_functions *r, void *block, size_t size)
{
    struct realloc_sample claimed;
    void *moved;

    sample_realloc_begin(block, &claimed);
    moved = r->realloc(block, size);
    if (!moved && size != 0) {
        sample_realloc_failed(block, &claimed);
        return NULL;
    }
    sample_realloc_done(&claimed);
    return sample_passes(size) ? moved : sample_block(moved, size);
}

FAMILY void *
family_realloc(const struct real_functions *r, void *block, size_t size)
{
    if (unlikely(block_filter_hits(block)))
        return realloc_sampled(r, block, size);
    if (likely(sample_passes(size)))
        return r->realloc(block, size);
    return sample_block(r->realloc(block, size), size);
}

FAMILY void *
family_aligned_alloc(const struct real_functions *r, size_t align, size_t size)
{
    if (likely(sample_passes(size)))
        return r->aligned_alloc(align, size);
    return sample_block(r->aligned_alloc(align, size), size);
}

FAMILY void *
family_memalign(const struct real_functions *r, size_t align, size_t size)
{
    if (likely(sample_passes(size)))
        return r->memalign(align, size);
    return sample_block(r->memalign(align, size), size);
}

FAMILY int
family_posix_memalign(const struct real_functions *r, void **block,
                      size_t align, size_t size)
{
    int error;

    if (likely(sample_passes(size)))
        return r->posix_memalign(block, align, size);
    error = r->posix_memalign(block, align, size);
    if (error == 0)
        sample_block(*block, size);
    return error;
}

FAMILY void *
family_valloc(const struct real_functions *r, size_t size)
{
    if (likely(sample_passes(size)))
        return r->valloc(size);
    return sample_block(r->valloc(size), size);
}

FAMILY void *
family_pvalloc(const struct real_functions *r, size_t size)
{
    if (likely(sample_passes(size)))
        return r->pvalloc(size);
    return sample_block(r->pvalloc(size), size);
}

FAMILY void *
family_mallocx(const struct real_functions *r, size_t size, int flags)
{
    if (likely(sample_passes(size)))
        return r->mallocx(size, flags);
    return sample_block(r->mallocx(size, flags), size);
}

FAMILY void *
family_rallocx(const struct real_functions *r, void *block, size_t size,
               int flags)
{
    struct realloc_sample claimed = {.slot = 0};
    void *moved;

    if (unlikely(block_filter_hits(block)))
        sample_realloc_begin(block, &claimed);
    moved = r->rallocx(block, size, flags);
    if (!moved) {
        sample_realloc_failed(block, &claimed);
        return NULL;
    }
    sample_realloc_done(&claimed);
    return likely(sample_passes(size)) ? moved : sample_block(moved, size);
}

/* If it succeeds, this counts as the end of the old block and the start of one
 * of the new size. */
FAMILY size_t
family_xallocx(const struct real_functions *r, void *block, size_t size,
               size_t extra, int flags)
{
    struct realloc_sample claimed = {.slot = 0};
    size_t now;

    if (unlikely(block_filter_hits(block)))
        sample_realloc_begin(block, &claimed);
    now = r->xallocx(block, size, extra, flags);
    if (now < size) {
        sample_realloc_failed(block, &claimed);
        return now;
    }
    sample_realloc_done(&claimed);
    if (unlikely(!sample_passes(size)))
        sample_block(block, size);
    return now;
}

FAMILY void
family_dallocx(const struct real_functions *r, void *block, int flags)
{
    if (unlikely(block_filter_hits(block)))
        sample_untrack(block);
    r->dallocx(block, flags);
}

FAMILY void
family_sdallocx(const struct real_functions *r, void *block, size_t size,
                int flags)
{
    if (unlikely(block_filter_hits(block)))
        sample_untrack(block);
    r->sdallocx(block, size, flags);
}

#endif
