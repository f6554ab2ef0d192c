/*
 * heap_stacks.h - the stacks of a heap profile's text, or of one part of it.
 *
 * They stay where they are as more come: what two threads read, each a part,
 * is one dump with nothing copied.
 */
#ifndef HW_HEAP_STACKS_H
#define HW_HEAP_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

/* A piece that is given back has room for an arena's block, of 64 kB. */
enum { HEAP_STACKS_PIECE = 1400 };

struct heap_stack {
    uint32_t *addresses;     /* indices, see below; leaf first */
    uint32_t depth;          /* may be 0: the unwinder found nothing */
    uint64_t objects, bytes; /* in use */
    uint64_t objects_ever, bytes_ever;
};

struct heap_piece {
    struct heap_piece *next;
    size_t count;
    struct heap_stack stacks[HEAP_STACKS_PIECE];
};

struct heap_stacks {
    struct heap_piece *first, *last;
    struct arena *indices; /* what stacks point to: see heap_join.h */
    /* While a text is read its addresses are numbered as they come.  Where each
     * is in the dump's list; NULL: the stacks have those numbers already. */
    uint32_t *places;
    size_t place_count;
};

/* -1: no memory. */
int heap_stacks_init(struct heap_stacks *stacks, size_t limit_bytes);
void heap_stacks_fini(struct heap_stacks *stacks); /* zeroed is fine */

/* A new one at the end, which is not set.  NULL: no memory. */
struct heap_stack *heap_stacks_add(struct heap_stacks *stacks);

/* The stacks' indices are those into the dump's list from now on. */
void heap_stacks_place(struct heap_stacks *stacks);

/* Whether a stack, which begins with at least common addresses of the last one,
 * is behind it by jemalloc's order: of the bytes in its memory.  Where all are,
 * no two are the same.  Both are indices into list. */
bool heap_stack_is_behind(const uint64_t *list, const struct heap_stack *stack,
                          const struct heap_stack *last, uint32_t common);

#endif
