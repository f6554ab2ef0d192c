/*
 * size_class.h - jemalloc's size classes: what an allocation is rounded up to.
 *
 * 8, 16, 24, ... 64, and from there on four to each doubling: 80, 96, 112, 128,
 * 160, ...  A jemalloc whose quantum is 16 bytes leaves out 24, 40 and 56, and
 * none has others; its page only says which of them lie in slabs.  So the class
 * of these that a size has, and then the next one that the jemalloc has, is the
 * size's own class in any.
 */
#ifndef HW_SIZE_CLASS_H
#define HW_SIZE_CLASS_H

#include <stdint.h>

enum { SIZE_CLASSES = 256 };

/* The number of the class that holds size, ascending from 0; the last one holds
 * all larger sizes. */
uint32_t size_class_of(uint64_t size);
/* The bytes of a class, below SIZE_CLASSES. */
uint64_t size_class_bytes(uint32_t number);

#endif
