/* arena.c - see arena.h. */
#include "arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "memory.h"

/* The first block is small: most statements need no other, and malloc has one
 * of that size at hand.  From the second on they double. */
enum {
    ARENA_FIRST = 960,
    ARENA_BLOCK = 8192,
    ARENA_BLOCK_MAX = 64 * 1024, /* below what malloc has mapped */
    ARENA_KEPT_MAX = 1024 * 1024 /* by arena_clear */
};

struct block {
    struct block *next;
    size_t size, used; /* of bytes[] */
    alignas(max_align_t) unsigned char bytes[];
};

struct arena {
    struct block *blocks; /* the newest first */
    size_t limit, used;
    size_t coming;                   /* size of the next block, at least */
    const struct arena_meter *meter; /* or NULL; has given: */
    size_t metered;
};

struct arena *
arena_new(size_t limit_bytes)
{
    struct arena *arena = mem_zalloc(1, sizeof(*arena));

    if (arena)
        arena->limit = limit_bytes;
    if (arena)
        arena->coming = ARENA_FIRST;
    return arena;
}

static void
free_blocks(struct arena *arena)
{
    struct block *next;

    for (struct block *b = arena->blocks; b; b = next) {
        next = b->next;
        mem_free(b);
    }
    arena->blocks = NULL;
    if (arena->metered)
        arena->meter->give(arena->metered);
    arena->metered = 0;
}

void
arena_count(struct arena *arena, const struct arena_meter *meter)
{
    arena->meter = meter;
}

const struct arena_meter *
arena_meter(const struct arena *arena)
{
    return arena->meter;
}

bool
arena_charge(struct arena *arena, size_t bytes)
{
    if (!arena->meter)
        return true;
    if (!arena->meter->take(bytes))
        return false;
    arena->metered += bytes;
    return true;
}

/* NULL: no memory, or the meter says no.  arena_alloc zeroes what it gives. */
static struct block *
new_block(struct arena *arena, size_t room)
{
    size_t size = sizeof(struct block) + room;

    return arena_charge(arena, size) ? mem_alloc_unset(size) : NULL;
}

void
arena_free(struct arena *arena)
{
    if (!arena)
        return;
    free_blocks(arena);
    mem_free(arena);
}

/* One block is used again; several become one of their size. */
void
arena_clear(struct arena *arena)
{
    struct block *b = arena->blocks;

    if (b && (b->next || b->size > ARENA_KEPT_MAX)) {
        free_blocks(arena);
        arena->coming = arena->used > ARENA_BLOCK ? arena->used : ARENA_BLOCK;
        if (arena->coming > ARENA_KEPT_MAX)
            arena->coming = ARENA_KEPT_MAX;
    } else if (b) {
        b->used = 0;
    }
    arena->used = 0;
}

static struct block *
find_block_for(struct arena *arena, size_t size)
{
    struct block *b = arena->blocks;
    size_t room;

    if (b && b->size - b->used >= size)
        return b;
    room = size > arena->coming ? size : arena->coming;
    b = new_block(arena, room);
    if (!b)
        return NULL;
    b->size = room;
    b->used = 0;
    b->next = arena->blocks;
    arena->blocks = b;
    if (arena->coming < ARENA_BLOCK)
        arena->coming = ARENA_BLOCK;
    else
        arena->coming = arena->coming < ARENA_BLOCK_MAX / 2 ? arena->coming * 2
                                                            : ARENA_BLOCK_MAX;
    return b;
}

/* Not zeroed. */
static void *
allocate_arena_bytes(struct arena *arena, size_t size)
{
    struct block *b;
    void *place;

    if (size > SIZE_MAX - alignof(max_align_t))
        return NULL;
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (size > arena->limit - arena->used)
        return NULL;
    b = find_block_for(arena, size);
    if (!b)
        return NULL;
    place = b->bytes + b->used;
    b->used += size;
    arena->used += size;
    return place;
}

void *
arena_alloc(struct arena *arena, size_t size)
{
    void *place = allocate_arena_bytes(arena, size);

    if (place)
        memset(place, 0, size);
    return place;
}

void *
arena_copy(struct arena *arena, const void *bytes, size_t size)
{
    void *place = allocate_arena_bytes(arena, size);

    if (place && size)
        memcpy(place, bytes, size);
    return place;
}

char *
arena_strndup(struct arena *arena, const char *text, size_t size)
{
    char *copy = size < SIZE_MAX ? allocate_arena_bytes(arena, size + 1) : NULL;

    if (!copy)
        return NULL;
    if (size)
        memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

/* Behind the newest block, which has room left. */
int
arena_adopt(struct arena *arena, struct arena *from)
{
    struct block **end = &arena->blocks;

    if (from->used > arena->limit - arena->used)
        return -1;
    if (*end)
        end = &(*end)->next;
    for (struct block *b = from->blocks, *next; b; b = next) {
        next = b->next;
        b->next = *end;
        *end = b;
    }
    arena->used += from->used;
    arena->metered += from->metered;
    from->blocks = NULL;
    from->used = from->metered = 0;
    return 0;
}

size_t
arena_used(const struct arena *arena)
{
    return arena->used;
}
