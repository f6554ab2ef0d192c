/*
 * large_heap.c - see large_heap.h.
 *
 * heapwire-symbolizer and heapwire-prof fill a heap of tens to hundreds of MB
 * once and exit.  glibc grows the heap by 128 KB at a time, and the kernel
 * finds and zeroes each page of 4 KB at its first use: up to a quarter of the
 * run.  With a large M_TOP_PAD the heap grows in one step, and madvise() makes
 * the kernel hand it out in huge pages.  Under another malloc, or a limit of
 * address space, nothing changes.
 */
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
    HEADS = 64,        /* bytes of malloc's headers around two blocks, rounded
                        * up */
    SHARE = 4          /* a heap above a quarter of a limit leaves too little
                        * for the rest */
};

static bool
is_limited(int resource, size_t bytes)
{
    struct rlimit limit;

    return getrlimit(resource, &limit) == 0 &&
           limit.rlim_cur / SHARE < (rlim_t)bytes;
}

/* A block that is never used nor freed: it fills the heap up to the first
 * boundary of a huge page, so that the memory behind it is untouched when
 * madvise() is called.  volatile keeps the compiler from removing the
 * malloc(). */
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
    /* Should the heap be used up, it grows in steps of a huge page. */
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
