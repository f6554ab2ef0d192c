/*
 * heap_walk.h - rows of a heap_* table, straight from a pinned snapshot.
 *
 * A snapshot may have 20,000 stacks of 30 frames: they are walked where they
 * lie, not made into rows first.
 */
#ifndef HW_HEAP_WALK_H
#define HW_HEAP_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

struct select_pin;
struct stack_frame;
struct value;

enum heap_row { HEAP_FUNCTIONS, HEAP_STACKS, HEAP_FRAMES };

struct heap_place {
    const struct heap_walk *walk;
    const struct select_pin *pin;
    uint32_t at, end;           /* functions or stacks */
    const uint32_t *order;      /* of functions found by name, or NULL */
    struct stack_frame *frames; /* of the stack, leaf first; owned */
    size_t frame_count, frame;
    struct buffer text; /* of the last cell */
};

/* A table's first column is the snapshot; then comes, in one of differences,
 * the base; then a key: the function's name or the stack's number. */
struct heap_walk {
    enum heap_row row;
    uint32_t rows, rows_of_key; /* a guess, for the planner */
    /* *out is NULL as it comes.  Texts are borrowed until the next cell. */
    void (*cell)(struct heap_place *place, size_t column, struct value *out);
    bool compares; /* there is a base */
};

/* Before the first row (of key: NULL: of all).  place is zeroed or was opened
 * before.  -1 without memory. */
int heap_place_open(struct heap_place *place, const struct heap_walk *walk,
                    const struct select_pin *pin, const struct value *key);
void heap_place_fini(struct heap_place *place); /* zeroed is fine */

bool heap_place_done(const struct heap_place *place);
void heap_place_next(struct heap_place *place);
/* The function's or the stack's index. */
uint32_t heap_place_index(const struct heap_place *place);

#endif
