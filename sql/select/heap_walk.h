/*
 * heap_walk.h - the rows of a heap_* table, read from a pinned snapshot.
 *
 * A snapshot may have 20,000 stacks of 30 frames: the walk reads them in place
 * and makes no rows of them first.
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

enum heap_row {
    HEAP_FUNCTIONS,
    HEAP_STACKS,
    HEAP_FRAMES,
    HEAP_CALLS /* the pin's calls: see select_pin_calls */
};

struct heap_place {
    const struct heap_walk *walk;
    const struct select_pin *pin;
    uint32_t at, end; /* indices of functions, stacks or calls */
    const uint32_t
        *order; /* of functions found by name; NULL: in the profile's order */
    struct stack_frame *frames; /* of the present stack, leaf first; owned */
    size_t frame_count, frame;
    struct buffer text; /* of the last cell */
};

/* The columns of a table: the snapshot; for differences the base; then the key,
 * which is a function's name, or the number of a stack or of a call. */
struct heap_walk {
    enum heap_row row;
    uint32_t rows, rows_of_key; /* estimates for the planner */
    /* The caller sets *out to NULL.  A text is valid until the next cell. */
    void (*cell)(struct heap_place *place, size_t column, struct value *out);
    bool compares; /* the table has a base */
};

/* Moves before the first row with key (NULL: of all). place is zeroed or was
 * opened before.  -1: out of memory. */
int heap_place_open(struct heap_place *place, const struct heap_walk *walk,
                    const struct select_pin *pin, const struct value *key);
void heap_place_fini(struct heap_place *place); /* zeroed is fine */

bool heap_place_done(const struct heap_place *place);
void heap_place_next(struct heap_place *place);
/* The function's or the stack's index. */
uint32_t heap_place_index(const struct heap_place *place);

#endif
