/* heap_stacks.h - the stacks of a heap profile, as indices of addresses. */
#ifndef HW_HEAP_STACKS_H
#define HW_HEAP_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

/* Stacks are in pieces, for they never move.  Sized so that a freed piece fits
 * an arena's block of 64 kB. */
enum { HEAP_STACKS_PIECE = 1400 };

struct heap_stack {
    uint32_t *addresses; /* indices; leaf first */
    uint32_t depth;      /* may be 0: the unwinder found nothing */
    /* Where the dump has threads: of the objects in use. */
    uint32_t thread : 24, age : 8;
    uint64_t objects, bytes; /* in use */
    uint64_t objects_ever, bytes_ever;
    double weight; /* what a sampled object stands for; 0: by the rate */
};

struct heap_piece {
    struct heap_piece *next;
    size_t count;
    struct heap_stack stacks[HEAP_STACKS_PIECE];
};

struct heap_stacks {
    struct heap_piece *first, *last;
    struct arena *indices; /* the memory of the stacks' addresses */
};

/* -1: no memory. */
int heap_stacks_init(struct heap_stacks *stacks, size_t limit_bytes);
void heap_stacks_fini(struct heap_stacks *stacks);

/* Appends a stack, not initialized.  NULL: no memory. */
struct heap_stack *heap_stacks_add(struct heap_stacks *stacks);

/* Sorts the list of addresses, removes duplicates, and has the stacks' indices
 * follow.  Counts what that takes as holder's.  -1: no memory. */
int heap_stacks_sort(struct heap_stacks *stacks, uint64_t *list, size_t *count,
                     struct arena *holder);

/* Whether stack follows last in jemalloc's order, which compares the bytes in
 * memory.  Both begin with at least common equal addresses, as indices into
 * list.  If all stacks follow the one before, no two are equal. */
bool heap_stack_is_behind(const uint64_t *list, const struct heap_stack *stack,
                          const struct heap_stack *last, uint32_t common);

#endif
