/* arena.c - see arena.h. */
#include "arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "memory.h"

enum { ARENA_BLOCK = 8192 };

struct block {
    struct block *next;
    size_t size, used; /* of bytes[] */
    alignas(max_align_t) unsigned char bytes[];
};

struct arena {
    struct block *blocks; /* the newest first */
    size_t limit, used;
};

struct arena *
arena_new(size_t limit_bytes)
{
    struct arena *arena = mem_zalloc(1, sizeof(*arena));

    if (arena)
        arena->limit = limit_bytes;
    return arena;
}

void
arena_free(struct arena *arena)
{
    struct block *next;

    if (!arena)
        return;
    for (struct block *b = arena->blocks; b; b = next) {
        next = b->next;
        mem_free(b);
    }
    mem_free(arena);
}

static struct block *
block_with_room(struct arena *arena, size_t size)
{
    struct block *b = arena->blocks;
    size_t room;

    if (b && b->size - b->used >= size)
        return b;
    room = size > ARENA_BLOCK ? size : ARENA_BLOCK;
    b = mem_alloc(sizeof(*b) + room);
    if (!b)
        return NULL;
    b->size = room;
    b->used = 0;
    b->next = arena->blocks;
    arena->blocks = b;
    return b;
}

void *
arena_alloc(struct arena *arena, size_t size)
{
    struct block *b;
    void *place;

    if (size > SIZE_MAX - alignof(max_align_t))
        return NULL;
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (size > arena->limit - arena->used)
        return NULL;
    b = block_with_room(arena, size);
    if (!b)
        return NULL;
    place = b->bytes + b->used;
    b->used += size;
    arena->used += size;
    memset(place, 0, size);
    return place;
}

char *
arena_strndup(struct arena *arena, const char *text, size_t size)
{
    char *copy = size < SIZE_MAX ? arena_alloc(arena, size + 1) : NULL;

    if (copy && size)
        memcpy(copy, text, size);
    return copy;
}

size_t
arena_used(const struct arena *arena)
{
    return arena->used;
}
