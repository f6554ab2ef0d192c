/*
 * own_stack.h - how far the calling thread may read its own stack.
 *
 * No lock and no memory: callable anywhere.
 */
#ifndef HW_OWN_STACK_H
#define HW_OWN_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* The end of the thread's stack: everything from here up to it can be read. 0:
 * here is on another stack (a signal's, a coroutine's), or this call could not
 * prove it yet.  Asks the kernel only where the thread is deeper than ever
 * before. */
uint64_t own_stack_end(uint64_t here);

/* Whether a word there can be read: asks the kernel.  Sets errno. */
bool own_stack_is_readable(uint64_t address);

#endif
