/*
 * arena.c - a list of blocks from which allocations are cut off one by one.
 *
 * A statement makes thousands of small allocations that end together: one
 * pointer bump each is several times cheaper than malloc, and none can leak.
 * The first block has 960 bytes, later ones double from 8 KB to 64 KB, so that
 * a large result costs few calls and a small one wastes little.  The limit
 * counts what was handed out; the meter, if there is one, counts whole blocks,
 * since that is what the process holds. An arena belongs to one thread at a
 * time and has no lock; only the meter is shared, and must be atomic.
 */
#include "arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "memory.h"

/* The first block is small: most statements need no other, and with its header
 * it fits malloc's thread cache.  Later blocks double. */
enum {
    ARENA_FIRST = 960,
    ARENA_BLOCK = 8192,
    ARENA_BLOCK_MAX = 64 * 1024, /* below malloc's threshold for mmap */
    ARENA_KEPT_MAX = 1024 * 1024 /* by arena_clear */
};

struct block {
    struct block *next;
    size_t size, used; /* of bytes[] */
    alignas(max_align_t) unsigned char bytes[];
};

struct arena {
    struct block *blocks; /* the newest first: allocations come from it */
    size_t limit, used;
    size_t next_size;                /* of the next block, at least */
    const struct arena_meter *meter; /* or NULL */
    size_t metered;                  /* bytes that the meter has granted */
};

struct arena *
arena_new(size_t limit_bytes)
{
    struct arena *arena = mem_zalloc(1, sizeof(*arena));

    if (!arena)
        return NULL;
    arena->limit = limit_bytes;
    arena->next_size = ARENA_FIRST;
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
arena_set_meter(struct arena *arena, const struct arena_meter *meter)
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

/* NULL: no memory, or the meter refuses.  Not zeroed: arena_alloc zeroes what
 * it hands out, and copies need no zeroes. */
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

/* A single block is kept and used again.  Several are freed, and the next one
 * will be as large as all of them: a cursor that clears its arena for each
 * batch then allocates once and never again. */
void
arena_clear(struct arena *arena)
{
    struct block *b = arena->blocks;

    if (b && (b->next || b->size > ARENA_KEPT_MAX)) {
        free_blocks(arena);
        arena->next_size =
            arena->used > ARENA_BLOCK ? arena->used : ARENA_BLOCK;
        if (arena->next_size > ARENA_KEPT_MAX)
            arena->next_size = ARENA_KEPT_MAX;
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
    room = size > arena->next_size ? size : arena->next_size;
    b = new_block(arena, room);
    if (!b)
        return NULL;
    b->size = room;
    b->used = 0;
    b->next = arena->blocks;
    arena->blocks = b;
    if (arena->next_size < ARENA_BLOCK)
        arena->next_size = ARENA_BLOCK;
    else
        arena->next_size = arena->next_size < ARENA_BLOCK_MAX / 2
                               ? arena->next_size * 2
                               : ARENA_BLOCK_MAX;
    return b;
}

/* Not zeroed. */
static void *
allocate_arena_bytes(struct arena *arena, size_t size)
{
    struct block *b;
    void *place;

    /* rounding up must not wrap */
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

/* The adopted blocks go behind the newest one, which has room left and goes
 * on being used.  They stay counted by the meter: both arenas have the same
 * one. */
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
