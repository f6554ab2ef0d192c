/*
 * memory.h - the one pair through which heapwire allocates.
 *
 * NULL when there is no memory: callers answer their client, nothing aborts.
 * Tests make the n-th call fail by wrapping these at link time.
 */
#ifndef HW_MEMORY_H
#define HW_MEMORY_H

#include <stddef.h>

void *mem_alloc(size_t size);
void *mem_zalloc(size_t count, size_t size); /* zeroed, overflow-checked */
void *mem_realloc(void *old, size_t size);
char *mem_strndup(const char *text, size_t size); /* NUL-terminated copy */
char *mem_strdup(const char *text);
void mem_free(void *block); /* NULL is fine */

/* How often there was none, ever: for what is made of many pieces, each of
 * which does without. */
size_t mem_failures(void);

#endif
