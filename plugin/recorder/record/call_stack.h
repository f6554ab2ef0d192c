/*
 * call_stack.h - the return addresses of the calls that led here.
 *
 * The seam: unwinding is libgcc's today, linked in statically; what knows a
 * program's tables better goes behind the same function.
 */
#ifndef HW_CALL_STACK_H
#define HW_CALL_STACK_H

#include <stdint.h>

#include "segment.h"

/* On a thread with stack enough, before the first: the unwinder's own first
 * call takes three times the stack of others. */
void call_stack_warm_up(void);

/* Innermost first, without those of this library.  The number. */
uint32_t call_stack_take(uint64_t frames[SEGMENT_DEPTH_MAX]);

#endif
