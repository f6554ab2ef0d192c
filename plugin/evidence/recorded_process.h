/*
 * recorded_process.h - what is known of a recorded process (plugin/recorder)
 * that has never greeted,
 * and the note beside its segment.
 */
#ifndef HW_RECORDED_PROCESS_H
#define HW_RECORDED_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

struct agent_hello;
struct buffer;
struct recording;
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

/* What must be known of a recording beside its segment, as bytes: all fields
 * but the segment and ended.  False: no memory. */
bool recording_note_write(const struct recording *recording,
                          struct buffer *out);
/* False: they are damaged; *out may have changed then. */
bool recording_note_read(const struct buffer *note, struct recording *out);

#endif
