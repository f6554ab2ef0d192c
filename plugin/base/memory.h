/*
 * memory.h - all of heapwire's allocations go through here.
 *
 * Blocks are zeroed: a faulty early read finds no old data, and an unset
 * pointer is NULL.
 *
 * NULL when there is no memory: callers answer their client, nothing aborts.
 * Tests make the n-th call fail by wrapping these at link time.
 */
#ifndef HW_MEMORY_H
#define HW_MEMORY_H

#include <stddef.h>

/* The compiler zeroes locals, too; this exempts a large one that is written
 * before it is read. */
#ifdef __has_attribute
#if __has_attribute(uninitialized)
#define MEM_UNSET __attribute__((uninitialized))
#endif
#endif
#ifndef MEM_UNSET
#define MEM_UNSET
#endif

void *mem_alloc(size_t size); /* zeroed */
/* Not zeroed: for large blocks that are written as a whole before they are
 * read.  Each such call says why. */
void *mem_alloc_unset(size_t size);
void *mem_zalloc(size_t count, size_t size);      /* overflow-checked */
void *mem_realloc(void *old, size_t size);        /* what is added is unset */
char *mem_strndup(const char *text, size_t size); /* NUL-terminated copy */
char *mem_strdup(const char *text);
void mem_free(void *block); /* NULL is fine */

/* Number of failed allocations so far: lets a long computation see that one of
 * its pieces failed. */
size_t mem_failures(void);

#endif
