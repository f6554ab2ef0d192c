/*
 * recorded_process.h - what is known of a recorded process (plugin/recorder)
 * that has never greeted.
 */
#ifndef HW_RECORDED_PROCESS_H
#define HW_RECORDED_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

struct agent_hello;
struct segment_owner;

/* Whether the segment is of the process that sent this greeting. */
bool recorded_process_is(const struct agent_hello *hello,
                         const struct segment_owner *owner);

/* Fills the greeting that its agent would send.  Where the process has ended,
 * its executable is the first module that is not a library. */
void recorded_process_hello(int segment, const struct segment_owner *owner,
                            struct agent_hello *hello);

/* The id of the machine's boot, or "". */
void recorded_process_boot(char *out, size_t size);

#endif
