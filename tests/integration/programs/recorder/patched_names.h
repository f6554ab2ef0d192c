/*
 * patched_names.h - included before all else: a program calls the jemalloc that
 * is linked into it by the names of Redis.
 */
#ifndef HW_PATCHED_NAMES_H
#define HW_PATCHED_NAMES_H

#include <malloc.h>
#include <stdlib.h>

extern void *je_malloc(size_t size);
extern void *je_calloc(size_t count, size_t size);
extern void *je_realloc(void *block, size_t size);
extern void je_free(void *block);
extern void *je_aligned_alloc(size_t align, size_t size);
extern int je_posix_memalign(void **block, size_t align, size_t size);
extern void *je_memalign(size_t align, size_t size);
extern void *je_valloc(size_t size);

#define malloc         je_malloc
#define calloc         je_calloc
#define realloc        je_realloc
#define free           je_free
#define aligned_alloc  je_aligned_alloc
#define posix_memalign je_posix_memalign
#define memalign       je_memalign
#define valloc         je_valloc
#define mallocx        je_mallocx
#define rallocx        je_rallocx
#define xallocx        je_xallocx
#define dallocx        je_dallocx
#define sdallocx       je_sdallocx
/* libc's would call libc's. */
#define reallocarray(block, count, size) je_realloc(block, (count) * (size))

#endif
