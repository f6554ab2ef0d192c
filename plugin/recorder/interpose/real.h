/*
 * real.h - the allocator's own functions, which ours call.
 *
 * They are found before main, or at the first call if that comes earlier, by
 * the symbol tables of the objects that the loader has after our own
 * (elf_lookup.h).
 */
#ifndef HW_REAL_H
#define HW_REAL_H

#include <stdbool.h>
#include <stddef.h>

struct nothrow; /* C++'s std::nothrow_t */

/* X(result, name, parameters, arguments, result where nothing has it) */
#define REAL_MALLOC(X)                                                         \
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

/* jemalloc's. */
#define REAL_JEMALLOC(X)                                                       \
    X(void *, mallocx, (size_t size, int flags), (size, flags), NULL)          \
    X(void *, rallocx, (void *block, size_t size, int flags),                  \
      (block, size, flags), NULL)                                              \
    X(size_t, xallocx, (void *block, size_t size, size_t extra, int flags),    \
      (block, size, extra, flags), 0)                                          \
    X(void, dallocx, (void *block, int flags), (block, flags),                 \
      real.free(block))                                                        \
    X(void, sdallocx, (void *block, size_t size, int flags),                   \
      (block, size, flags), real.free(block))

/* Further names by which glibc exports its own functions. */
#define REAL_LIBC(X)                                                           \
    X(void *, __libc_malloc, (size_t size), (size), NULL)                      \
    X(void *, __libc_calloc, (size_t count, size_t size), (count, size), NULL) \
    X(void *, __libc_realloc, (void *block, size_t size), (block, size), NULL) \
    X(void, __libc_free, (void *block), (block), (void)0)                      \
    X(void *, __libc_memalign, (size_t align, size_t size), (align, size),     \
      NULL)                                                                    \
    X(void *, __libc_valloc, (size_t size), (size), NULL)                      \
    X(void *, __libc_pvalloc, (size_t size), (size), NULL)

/* operator new, new[]: plain, nothrow, aligned, both; by their mangled names
 * where size_t is unsigned long. */
#define REAL_NEW(X)                                                            \
    X(void *, _Znwm, (size_t size), (size), malloc(size))                      \
    X(void *, _Znam, (size_t size), (size), malloc(size))                      \
    X(void *, _ZnwmRKSt9nothrow_t, (size_t size, const struct nothrow *tag),   \
      (size, tag), malloc(size))                                               \
    X(void *, _ZnamRKSt9nothrow_t, (size_t size, const struct nothrow *tag),   \
      (size, tag), malloc(size))                                               \
    X(void *, _ZnwmSt11align_val_t, (size_t size, size_t align),               \
      (size, align), memalign(align, size))                                    \
    X(void *, _ZnamSt11align_val_t, (size_t size, size_t align),               \
      (size, align), memalign(align, size))                                    \
    X(void *, _ZnwmSt11align_val_tRKSt9nothrow_t,                              \
      (size_t size, size_t align, const struct nothrow *tag),                  \
      (size, align, tag), memalign(align, size))                               \
    X(void *, _ZnamSt11align_val_tRKSt9nothrow_t,                              \
      (size_t size, size_t align, const struct nothrow *tag),                  \
      (size, align, tag), memalign(align, size))

/* operator delete, delete[]: plain, nothrow, with size, aligned, and so on. */
#define REAL_DELETE(X)                                                         \
    X(void, _ZdlPv, (void *block), (block), free(block))                       \
    X(void, _ZdaPv, (void *block), (block), free(block))                       \
    X(void, _ZdlPvm, (void *block, size_t size), (block, size), free(block))   \
    X(void, _ZdaPvm, (void *block, size_t size), (block, size), free(block))   \
    X(void, _ZdlPvRKSt9nothrow_t, (void *block, const struct nothrow *tag),    \
      (block, tag), free(block))                                               \
    X(void, _ZdaPvRKSt9nothrow_t, (void *block, const struct nothrow *tag),    \
      (block, tag), free(block))                                               \
    X(void, _ZdlPvSt11align_val_t, (void *block, size_t align),                \
      (block, align), free(block))                                             \
    X(void, _ZdaPvSt11align_val_t, (void *block, size_t align),                \
      (block, align), free(block))                                             \
    X(void, _ZdlPvmSt11align_val_t, (void *block, size_t size, size_t align),  \
      (block, size, align), free(block))                                       \
    X(void, _ZdaPvmSt11align_val_t, (void *block, size_t size, size_t align),  \
      (block, size, align), free(block))                                       \
    X(void, _ZdlPvSt11align_val_tRKSt9nothrow_t,                               \
      (void *block, size_t align, const struct nothrow *tag),                  \
      (block, align, tag), free(block))                                        \
    X(void, _ZdaPvSt11align_val_tRKSt9nothrow_t,                               \
      (void *block, size_t align, const struct nothrow *tag),                  \
      (block, align, tag), free(block))

#define REAL_FUNCTIONS(X)                                                      \
    REAL_MALLOC(X)                                                             \
    REAL_JEMALLOC(X) REAL_LIBC(X) REAL_NEW(X) REAL_DELETE(X)

struct real_functions {
/* NOLINTBEGIN(bugprone-macro-parentheses): these declare. */
#define REAL_MEMBER(result, name, parameters, arguments, missing)              \
    result(*name) parameters;
    REAL_FUNCTIONS(REAL_MEMBER)
#undef REAL_MEMBER
    /* NOLINTEND(bugprone-macro-parentheses) */
};

extern struct real_functions real;

/* Whether operator new lives in the object that malloc lives in.  libstdc++'s
 * calls malloc, which counts. */
extern bool real_new_is_allocators;

/* To be called before main, while the program has one thread. */
void real_find(void);

#endif
