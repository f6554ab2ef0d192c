/*
 * large_heap.h - a heap for a program that lives for one answer.
 *
 * Such a program fills tens of megabytes once: a quarter of its time can be the
 * kernel finding page after page.
 */
#ifndef HW_LARGE_HEAP_H
#define HW_LARGE_HEAP_H

#include <stddef.h>

/* Malloc's memory grows by so many bytes, and is never given back; the first of
 * them are of huge pages if the kernel has some.  Where it cannot be so, it is
 * as ever.  All threads share it.  Before there are other threads. */
void large_heap(size_t bytes);

#endif
