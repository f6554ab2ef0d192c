/* interpose.h - what each function that stands before the allocator's is. */
#ifndef HW_INTERPOSE_H
#define HW_INTERPOSE_H

#include <stddef.h>

#define INTERPOSED __attribute__((visibility("default")))
#define COLD       __attribute__((noinline, cold))

INTERPOSED void *malloc(size_t size);
INTERPOSED void *calloc(size_t count, size_t size);
INTERPOSED void *realloc(void *block, size_t size);
INTERPOSED void *reallocarray(void *block, size_t count, size_t size);
INTERPOSED void free(void *block);
INTERPOSED void cfree(void *block);
INTERPOSED void *aligned_alloc(size_t align, size_t size);
INTERPOSED int posix_memalign(void **block, size_t align, size_t size);
INTERPOSED void *memalign(size_t align, size_t size);
INTERPOSED void *valloc(size_t size);
INTERPOSED void *pvalloc(size_t size);

#endif
