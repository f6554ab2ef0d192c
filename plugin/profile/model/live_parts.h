/*
 * live_parts.h - the live bytes of a profile's stacks: by thread and age, and
 * by size class.
 *
 * A part is what one thread allocated by one stack and is of one class of age.
 * So there are at most as many parts as live samples, and the parts of a stack
 * add up to its bytes and objects in use exactly.  Parts of jemalloc's dumps
 * have no age: all ages are 0 (threads.numbered).  Sizes are of a recorder's
 * samples alone, which have them exactly.
 */
#ifndef HW_LIVE_PARTS_H
#define HW_LIVE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap_threads.h"

struct arena;
struct heap_dump;
struct heap_stack;

struct live_part {
    uint32_t stack, thread, age; /* thread: an index into the threads */
    uint64_t samples;
    double objects, bytes; /* in use, estimated */
};

struct live_parts {
    struct heap_threads threads;
    const struct live_part *list; /* distinct, by stack, thread, age */
    size_t count;
};

/* Whether parts are those of jemalloc's dump, with numbers instead of tids, and
 * without ages.  NULL is not. */
static inline bool
live_parts_numbered(const struct live_parts *parts)
{
    return parts && parts->threads.numbered;
}

/* A list in arena without parts yet.  It has room for each of dump's samples;
 * or for its shares, and for a rest of each stack.  NULL: no memory. */
struct live_parts *live_parts_new(struct arena *arena,
                                  const struct heap_dump *dump);
/* Appends a part.  There is room. */
void live_parts_add(struct live_parts *parts, const struct live_part *part);
/* Sorts the parts, and adds equal ones up. */
void live_parts_finish(struct live_parts *parts);

/* ---- by size class ---- */

struct live_size {
    uint32_t stack, number; /* number: of size_class.h */
    double objects, bytes;  /* in use, estimated; bytes as they were asked */
    double variance;        /* of objects */
};

struct live_sizes {
    const struct live_size *list; /* distinct, by stack and number */
    size_t count;
};

/* A list in arena without sizes yet, with room for all of dump's.  NULL: no
 * memory. */
struct live_sizes *live_sizes_new(struct arena *arena,
                                  const struct heap_dump *dump);
/* Appends the sizes of an entry of the dump, which belongs to stack.  There is
 * room. */
void live_sizes_add(struct live_sizes *sizes, uint32_t stack,
                    const struct heap_stack *from);
/* Sorts the sizes, and adds equal ones up. */
void live_sizes_finish(struct live_sizes *sizes);

#endif
