/* limits.h - what keeps the helper from hurting the machine it runs on. */
#ifndef HW_LIMITS_H
#define HW_LIMITS_H

#include <stdint.h>
#include <sys/types.h>

/* First to be killed, low priority, no core, no files, at most memory_bytes of
 * address space, and dead when parent is.  -1 when the parent died already. */
int limits_apply(uint64_t memory_bytes, pid_t parent);

/* From now on at most so many seconds of processor time, of each of the
 * processors that it may use. */
void limits_cpu(uint32_t seconds);

#endif
