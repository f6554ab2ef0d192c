/*
 * helper_limits.h - protects the machine, and its other processes, from the
 * helper.
 */
#ifndef HW_HELPER_LIMITS_H
#define HW_HELPER_LIMITS_H

#include <stdint.h>
#include <sys/types.h>

/* Makes this process the first to be killed: with low priority, without core
 * dumps or files, with at most memory_bytes of address space, with no system
 * calls but those of a short list, and ending with parent.  -1 if parent has
 * died already.  Call it before the first thread. */
int limits_apply(uint64_t memory_bytes, pid_t parent);

/* From now on, at most this many seconds of processor time for each available
 * processor. */
void limits_cpu(uint32_t seconds);

#endif
