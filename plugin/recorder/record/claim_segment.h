/*
 * claim_segment.h - finds the segment that this process records into.
 *
 * The environment's HEAPWIRE_RECORDER is the number of its descriptor.  A
 * process has the segment that finds it unclaimed, or its owner ended, where
 * HEAPWIRE_EXE is its executable or unset.  Only where it is unset do programs
 * find the descriptor that this process executes later: each begins with an
 * empty table; and what the owner forks to be a daemon, once its agent says so.
 * All others are inert: what else the owner forks, and what these execute.
 */
#ifndef HW_CLAIM_SEGMENT_H
#define HW_CLAIM_SEGMENT_H

#define RECORDER_ENV "HEAPWIRE_RECORDER"
#define EXE_ENV      "HEAPWIRE_EXE"

#include <stdbool.h>
#include <sys/types.h>

struct segment_header;

/* For the agent in the same process; NULL without a segment. */
__attribute__((visibility("default"))) struct segment_header *
heapwire_recorder_segment(void);
/* Called by the agent in a forked child, on the only thread: forgets the
 * thread's slot. */
__attribute__((visibility("default"))) void heapwire_recorder_forked(void);
/* Called in that child, on any thread, once the owner, one of its elders, has
 * ended: the segment is now the child's, and empty. */
__attribute__((visibility("default"))) void
heapwire_recorder_adopt(const pid_t elders[2]);

/* A seccomp filter will kill for the system calls of a sample: stop ends
 * sampling on all threads, spare_thread on the calling one.  Frees are still
 * followed. */
__attribute__((visibility("default"))) void
heapwire_recorder_stop(bool stopped);
__attribute__((visibility("default"))) void
heapwire_recorder_spare_thread(void);

/* The value of an environment variable; NULL: not set. */
const char *find_variable(char *const *envp, const char *name);

/* To be called before main, on the only thread. */
void claim_segment(char *const *envp);

#endif
