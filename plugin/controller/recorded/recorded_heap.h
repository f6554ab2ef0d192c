/* recorded_heap.h - a recorder's segment as a heap dump. */
#ifndef HW_RECORDED_HEAP_H
#define HW_RECORDED_HEAP_H

#include <stdint.h>

struct error;
struct heap_dump;
struct segment_copy;

/* Makes a dump of the live samples since the last reset, each with its own
 * weight, its thread and its age at at_ms, of clock_ms().  NULL with *err. */
struct heap_dump *recorded_heap(const struct segment_copy *copy, uint64_t at_ms,
                                struct error *err);

#endif
