/* large_heap.c - see large_heap.h. */
#include "large_heap.h"

#include <limits.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    HUGE = 2 << 20,
    MAPPED = 32 << 20, /* the largest that glibc takes */
    HEADS = 64,        /* what malloc has around two blocks, and some more */
    SHARE = 4          /* of a limit: what is larger leaves too little */
};

static bool
is_limited(int resource, size_t bytes)
{
    struct rlimit limit;

    return getrlimit(resource, &limit) == 0 &&
           limit.rlim_cur / SHARE < (rlim_t)bytes;
}

/* Never used nor freed: what is behind it was not touched when it was said to
 * be of huge pages.  Volatile, or no compiler asks for it. */
static void *volatile gap;

void
large_heap(size_t bytes)
{
    uintptr_t start, huge, end;
    void *volatile first;

    /* NOLINTBEGIN(concurrency-mt-unsafe): there is no other thread yet */
    mallopt(M_ARENA_MAX, 1);
    if (is_limited(RLIMIT_AS, bytes) || is_limited(RLIMIT_DATA, bytes))
        return;
    mallopt(M_TOP_PAD, bytes < INT_MAX ? (int)bytes : INT_MAX);
    mallopt(M_MMAP_THRESHOLD, MAPPED);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    /* NOLINTEND(concurrency-mt-unsafe) */
    start = (uintptr_t)sbrk(0);
    first = malloc(1);
    /* Beyond that heap, or where there is no room for it, in steps that fit. */
    mallopt(M_TOP_PAD, HUGE); /* NOLINT(concurrency-mt-unsafe): likewise */
    end = (uintptr_t)sbrk(0);
    huge =
        ((uintptr_t)first + (uintptr_t)2 * HUGE - 1) & ~((uintptr_t)HUGE - 1);
    if ((uintptr_t)first >= start && huge < end) { /* it is glibc's malloc */
        gap = malloc(huge - (uintptr_t)first - HEADS);
        (void)madvise((void *)huge, end - huge, MADV_HUGEPAGE);
    }
    free(first);
}
