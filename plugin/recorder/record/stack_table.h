/* stack_table.h - the stacks of samples, each kept once, with rare exceptions.
 */
#ifndef HW_STACK_TABLE_H
#define HW_STACK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct segment_sample;

/* Finds or adds a stack; returns its index, or SEGMENT_STACK_LOST if there is
 * no room.  *fresh: it was not found, so modules were looked up. */
uint32_t stack_find(const uint64_t *frames, uint32_t depth, bool *fresh);

/* Counts a sample of SEGMENT_STACK_LOST. */
void stack_count_lost(void);

/* Adds a sample, by its weight, to the allocated or freed sums of its stack. */
void stack_add_allocated(const struct segment_sample *sample);
void stack_add_freed(const struct segment_sample *sample);

#endif
