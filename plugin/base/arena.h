/*
 * arena.h - many small allocations, one ceiling, one release.
 *
 * One arena per statement, script or profile; not thread-safe.
 */
#ifndef HW_ARENA_H
#define HW_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena;

/* A ceiling that several arenas share: take is asked before memory is taken. */
struct arena_meter {
    bool (*take)(size_t bytes); /* false: over the ceiling */
    void (*give)(size_t bytes);
};

struct arena *arena_new(size_t limit_bytes); /* NULL: out of memory */
void arena_free(struct arena *arena);        /* NULL is fine */

/* Empties the arena but keeps its memory for reuse. */
void arena_clear(struct arena *arena);

/* Zeroed, aligned for any type; NULL at the ceiling or out of memory. */
void *arena_alloc(struct arena *arena, size_t size);
/* A copy of size bytes, aligned for any type. */
void *arena_copy(struct arena *arena, const void *bytes, size_t size);
char *arena_strndup(struct arena *arena, const char *text, size_t size);

/* Moves all allocations of from, which has the same meter, into arena.  -1 if
 * they exceed the limit; nothing is moved then. */
int arena_adopt(struct arena *arena, struct arena *from);

/* Sets the meter that counts the arena's memory until it is freed; NULL: none.
 */
void arena_set_meter(struct arena *arena, const struct arena_meter *meter);
const struct arena_meter *arena_meter(const struct arena *arena);
/* Counts bytes that the owner holds outside of the arena, which is not cleared
 * while they are held: that would give them back.  False if the meter refuses
 * them. */
bool arena_charge(struct arena *arena, size_t bytes);

size_t arena_used(const struct arena *arena); /* bytes taken so far */

#endif
