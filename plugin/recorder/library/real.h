/*
 * real.h - the allocator's own functions, behind ours.
 *
 * Each is found at its first call, or all at once: in the objects that the
 * loader has after our own, by their symbol tables.  dlsym would take the
 * loader's lock, and allocate.
 */
#ifndef HW_REAL_H
#define HW_REAL_H

#include <stdbool.h>
#include <stddef.h>

/* X(result, name, parameters, arguments, result where nothing has it) */
#define REAL_FUNCTIONS(X)                                                      \
    X(void *, malloc, (size_t size), (size), NULL)                             \
    X(void *, calloc, (size_t count, size_t size), (count, size), NULL)        \
    X(void *, realloc, (void *block, size_t size), (block, size), NULL)        \
    X(void, free, (void *block), (block), (void)0)                             \
    X(void *, aligned_alloc, (size_t align, size_t size), (align, size), NULL) \
    X(void *, memalign, (size_t align, size_t size), (align, size), NULL)      \
    X(int, posix_memalign, (void **block, size_t align, size_t size),          \
      (block, align, size), ENOMEM)                                            \
    X(void *, valloc, (size_t size), (size), NULL)                             \
    X(void *, pvalloc, (size_t size), (size), NULL)

struct real_functions {
#define REAL_MEMBER(result, name, parameters, arguments, missing)              \
    result(*name) parameters;
    REAL_FUNCTIONS(REAL_MEMBER)
#undef REAL_MEMBER
};

extern struct real_functions real;

/* Finds those that were not called yet. */
void real_find(void);

#endif
