/* recording_note.h - what must be known of a recording beside its segment, as
 * bytes. */
#ifndef HW_RECORDING_NOTE_H
#define HW_RECORDING_NOTE_H

#include <stdbool.h>

struct buffer;
struct recording;

/* Writes all fields but the segment and ended.  False: no memory. */
bool recording_note_write(const struct recording *recording,
                          struct buffer *out);
/* False: they are damaged; *out may have changed then. */
bool recording_note_read(const struct buffer *note, struct recording *out);

#endif
