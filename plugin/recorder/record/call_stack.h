/*
 * call_stack.h - the return addresses of the calls that led here.
 *
 * By the unwind tables that the agent has brought, else by libgcc's unwinder,
 * which is linked in statically.
 */
#ifndef HW_CALL_STACK_H
#define HW_CALL_STACK_H

#include <stdint.h>

#include "segment.h"

struct given_tables;

/* To be called before the first call_stack_take(), on a thread with enough
 * stack: the unwinder's first call needs three times the stack of later
 * ones. */
void call_stack_warm_up(void);

/* Fills in return addresses, innermost first, without those of this library;
 * returns their number. */
uint32_t call_stack_take(uint64_t frames[SEGMENT_DEPTH_MAX]);

/* Called by the agent in the same process: from now on stacks are walked by
 * these tables, which must stay; NULL: by none. */
__attribute__((visibility("default"))) void
heapwire_recorder_tables(const struct given_tables *given);

#endif
