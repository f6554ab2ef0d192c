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

/* On a thread with stack enough, before the first: the unwinder's own first
 * call takes three times the stack of others. */
void call_stack_warm_up(void);

/* Innermost first, without those of this library.  The number. */
uint32_t call_stack_take(uint64_t frames[SEGMENT_DEPTH_MAX]);

/* For the agent in the same process: from now on by these, which stay; NULL: by
 * none. */
__attribute__((visibility("default"))) void
heapwire_recorder_tables(const struct given_tables *given);

#endif
