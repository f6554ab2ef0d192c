/*
 * own_stack.h - how far the calling thread may read its own stack.
 *
 * No lock and no memory: callable anywhere.
 */
#ifndef HW_OWN_STACK_H
#define HW_OWN_STACK_H

#include <stdint.h>

/*
 * An end below which all that lies above here is the thread's stack, and can be
 * read; 0: here is on another stack (a signal's, a coroutine's), or it is not
 * known yet.  Calls the kernel where the thread is deeper than before.
 */
uint64_t own_stack_end(uint64_t here);

#endif
