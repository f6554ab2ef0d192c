/* memory_left.h - how much memory is free, of the machine's or of our cgroup's.
 */
#ifndef HW_MEMORY_LEFT_H
#define HW_MEMORY_LEFT_H

#include <stddef.h>
#include <stdint.h>

/* Bytes, file pages that the kernel can take back included; UINT64_MAX:
 * unknown. */
uint64_t memory_left(void);

/* The machine's: MemAvailable of a text as /proc/meminfo has it. */
uint64_t memory_left_of(const char *meminfo, size_t size);

#endif
