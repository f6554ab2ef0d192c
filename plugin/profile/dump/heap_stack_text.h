/*
 * heap_stack_text.h - the stacks in the text of a heap profile, line by line:
 * nearly all of the text is their addresses.
 */
#ifndef HW_HEAP_STACK_TEXT_H
#define HW_HEAP_STACK_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap_dump.h"
#include "reader.h"

struct arena;
struct error;
struct heap_address_slot;

/* A text repeats thousands of addresses in hundreds of thousands of places. */
struct heap_addresses {
    uint64_t *list; /* in the order of first use */
    size_t count, capacity;
    struct heap_address_slot *slots; /* by hash; twice the capacity */
    uint64_t seed;
    struct arena *index_arena;
};

struct heap_stack_text {
    struct error *err;
    size_t line;      /* for messages */
    struct span last; /* the line of the last stack; kept by the caller */
    struct arena *stack_arena; /* for the stacks' indices */
    struct heap_addresses addresses;
    /* each stack so far follows the one before in jemalloc's order */
    bool sorted;
    uint32_t *stack; /* the last one's indices; NULL: none was read */
    uint32_t depth;
    /* Where each address ends in its line: ends[current] for the last stack,
     * the other for the stack being read. */
    uint32_t ends[2][HEAP_DUMP_DEPTH_MAX];
    unsigned current;
    /* The stack being read.  A member rather than a local, which would be
     * zeroed for each line. */
    uint64_t words[HEAP_DUMP_DEPTH_MAX];
    uint32_t indices[HEAP_DUMP_DEPTH_MAX];
};

/* t must be zeroed.  -1: no memory. */
int heap_stack_text_init(struct heap_stack_text *t, struct arena *holder,
                         struct arena *addresses, struct error *err);
void heap_stack_text_fini(struct heap_stack_text *t);

/* "@ 0x7f01 0x7f02 ..." after the '@'.  -1 with *err. */
int heap_stack_text_read(struct heap_stack_text *t, struct reader r);

/* Whether stack follows last in jemalloc's order, which compares the bytes in
 * memory.  Both begin with at least common equal addresses, as indices into
 * list.  If all stacks follow the one before, no two are equal. */
bool heap_stack_is_behind(const uint64_t *list, const struct heap_stack *stack,
                          const struct heap_stack *last, uint32_t common);

/* Fills *err with what is wrong in the line, and returns -1. */
int heap_stack_text_fail(const struct heap_stack_text *t, const char *what);

#endif
