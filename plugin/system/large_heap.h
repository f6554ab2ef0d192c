/*
 * large_heap.h - a heap for a program that lives for one answer.
 *
 * Such a program fills tens of megabytes once: a quarter of its time can be the
 * kernel finding page after page.
 */
#ifndef HW_LARGE_HEAP_H
#define HW_LARGE_HEAP_H

#include <stddef.h>

/* Makes malloc's memory grow by so many bytes at a time, and never shrink; the
 * first of them are huge pages if the kernel has some.  Where that fails,
 * malloc stays as it is.  All threads share it.  Before there are other
 * threads. */
void large_heap(size_t bytes);

#endif
