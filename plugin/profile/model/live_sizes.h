/*
 * live_sizes.h - the live bytes of a profile's stacks, by size class.
 *
 * Of a recorder's samples alone, whose sizes are exact.
 */
#ifndef HW_LIVE_SIZES_H
#define HW_LIVE_SIZES_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct heap_dump;
struct heap_stack;

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
void live_sizes_end(struct live_sizes *sizes);

#endif
