/*
 * claim_segment.h - finds the segment that this process records into.
 *
 * The environment's HEAPWIRE_RECORDER is the number of its descriptor.  The
 * first process that finds the segment unclaimed has it; so has the program
 * that this process executes after that, with an empty table.  All others are
 * inert: what it forks, and what these execute.
 */
#ifndef HW_CLAIM_SEGMENT_H
#define HW_CLAIM_SEGMENT_H

#define RECORDER_ENV "HEAPWIRE_RECORDER"

/* Before main, on the only thread. */
void claim_segment(char *const *envp);

#endif
