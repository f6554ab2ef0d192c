/* memory.c - see memory.h. */
#include "memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { TCACHE_BYTES_MAX = 1024 /* about the largest that tcache keeps */ };

static atomic_size_t failures; /* a counter: relaxed */

static void *
count_allocation_failure(void *block)
{
    if (!block)
        atomic_fetch_add_explicit(&failures, 1, memory_order_relaxed);
    return block;
}

size_t
mem_failures(void)
{
    return atomic_load_explicit(&failures, memory_order_relaxed);
}

/* malloc(0) may return NULL, which callers take for a lack of memory: so an
 * empty request asks for one byte. */
void *
mem_alloc_unset(size_t size)
{
    return count_allocation_failure(malloc(size ? size : 1));
}

/* glibc's calloc did not use, before 2.41, the thread's cache (tcache) of small
 * blocks: for those, malloc and memset are several times faster.  For large
 * blocks calloc is better, which need not zero the pages that the kernel has
 * just mapped. */
void *
mem_alloc(size_t size)
{
    void *block;

    if (size > TCACHE_BYTES_MAX)
        return count_allocation_failure(calloc(1, size));
    block = mem_alloc_unset(size);
    if (block)
        memset(block, 0, size);
    return block;
}

void *
mem_zalloc(size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        return count_allocation_failure(NULL);
    return mem_alloc(bytes);
}

void *
mem_realloc(void *old, size_t size)
{
    return count_allocation_failure(realloc(old, size ? size : 1));
}

char *
mem_strndup(const char *text, size_t size)
{
    char *copy = mem_alloc_unset(size + 1);

    if (copy) {
        if (size)
            memcpy(copy, text, size);
        copy[size] = '\0';
    }
    return copy;
}

char *
mem_strdup(const char *text)
{
    return mem_strndup(text, strlen(text));
}

void
mem_free(void *block)
{
    free(block);
}
