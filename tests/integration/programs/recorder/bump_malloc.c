/*
 * bump_malloc.c - an allocator for signals' handlers: to be preloaded.
 *
 * It takes from the end of one area and gives nothing back: no lock, so that a
 * handler may interrupt it, call it, and leave by longjmp.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

enum { AREA = 1 << 30, ALIGN = 64 };

static char area[AREA] __attribute__((aligned(4096)));
static atomic_size_t used;

EXPORTED void *malloc(size_t size);
EXPORTED void *calloc(size_t count, size_t size);
EXPORTED void *realloc(void *block, size_t size);
EXPORTED void free(void *block);
EXPORTED void *_Znwm(size_t size);
EXPORTED void _ZdlPv(void *block);

EXPORTED void *
malloc(size_t size)
{
    size_t room = (size + 2 * ALIGN - 1) / ALIGN * ALIGN, at;

    if (size > AREA / 2)
        return NULL;
    at = atomic_fetch_add_explicit(&used, room, memory_order_relaxed);
    if (at > AREA - room) {
        errno = ENOMEM;
        return NULL;
    }
    *(size_t *)(area + at) = size;
    return area + at + ALIGN;
}

EXPORTED void *
calloc(size_t count, size_t size)
{
    return size && count > AREA / size ? NULL : malloc(count * size);
}

EXPORTED void *
realloc(void *block, size_t size)
{
    void *moved = malloc(size);
    size_t old = block ? *(size_t *)((char *)block - ALIGN) : 0;

    if (moved && block)
        memcpy(moved, block, old < size ? old : size);
    return moved;
}

EXPORTED void
free(void *block)
{
    (void)block;
}

/* operator new and delete, as some allocators have them: by malloc's name. */
EXPORTED void *
_Znwm(size_t size)
{
    return malloc(size);
}

EXPORTED void
_ZdlPv(void *block)
{
    free(block);
}
