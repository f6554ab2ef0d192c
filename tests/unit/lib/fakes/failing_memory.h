/*
 * failing_memory.h - the failing-th allocation fails.
 *
 * Included by one file of a test that is linked with hw_failing_memory().
 */
#ifndef HW_FAILING_MEMORY_H
#define HW_FAILING_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "memory.h"

void *__wrap_mem_alloc(size_t size);
void *__wrap_mem_alloc_unset(size_t size);
void *__wrap_mem_zalloc(size_t count, size_t size);
void *__wrap_mem_realloc(void *old, size_t size);
void *__real_mem_alloc(size_t size);
void *__real_mem_alloc_unset(size_t size);
void *__real_mem_zalloc(size_t count, size_t size);
void *__real_mem_realloc(void *old, size_t size);

static atomic_uint allocations;
static unsigned failing; /* failing 0: none does */

static bool
fails(void)
{
    return atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed) +
               1 ==
           failing;
}

void *
__wrap_mem_alloc(size_t size)
{
    return fails() ? NULL : __real_mem_alloc(size);
}

void *
__wrap_mem_alloc_unset(size_t size)
{
    return fails() ? NULL : __real_mem_alloc_unset(size);
}

void *
__wrap_mem_zalloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_mem_zalloc(count, size);
}

void *
__wrap_mem_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_mem_realloc(old, size);
}

#endif
