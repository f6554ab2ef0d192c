/* stack_table.h - the stacks that samples name, each kept once, or nearly. */
#ifndef HW_STACK_TABLE_H
#define HW_STACK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct segment_sample;

/* The stack's index; SEGMENT_STACK_LOST where it finds no room.  *fresh: it is
 * new, and has cost what a new one costs. */
uint32_t stack_find(const uint64_t *frames, uint32_t depth, bool *fresh);

/* A sample of SEGMENT_STACK_LOST. */
void stack_count_lost(void);

/* Adds a sample, by its weight, to what its stack allocated, or freed. */
void stack_add_allocated(const struct segment_sample *sample);
void stack_add_freed(const struct segment_sample *sample);

#endif
