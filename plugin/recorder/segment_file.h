/*
 * segment_file.h - the last copies of a segment, in a file that outlives the
 * database, heapwired and, mostly, the machine.
 *
 * Two copies take turns, each with a head that is written last, so that one is
 * whole whenever its writer is killed.  Only pages that differ from what a copy
 * has are written, in place; the kernel writes them to disk after some seconds.
 * Each write reads what is used of the segment, a page at a time; it takes 8
 * bytes of memory for each page.
 *
 * The writer is one thread; it may wait for the disk.
 */
#ifndef HW_SEGMENT_FILE_H
#define HW_SEGMENT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct segment_file;

/* Whose samples they are.  A change of executions means that the table was
 * emptied. */
struct segment_owner {
    uint64_t pid; /* 0: no owner yet */
    uint64_t started;
    uint64_t forked_from; /* the owner before, if this is its daemon; or 0 */
    uint32_t executions;
    bool active, sampled; /* recording now; has ever sampled */
    uint64_t mean_bytes;  /* between samples, as requested */
};

/* False: it is no segment. */
bool segment_owner_read(int segment, struct segment_owner *owner);
bool segment_owner_same(const struct segment_owner *a,
                        const struct segment_owner *b);

/* For an empty file, whose descriptor it owns from here on.  NULL without
 * memory; then fd stays the caller's. */
struct segment_file *segment_file_new(int fd);
void segment_file_free(struct segment_file *file); /* closes; NULL is fine */
int segment_file_fd(const struct segment_file *file);

enum { SEGMENT_FILE_NOTE_MAX = 3584 };

/* Copies the segment, with a note, if anything changed since the last copy.
 * Returns the bytes written, or -1 with errno: ESTALE if the segment is not, or
 * no longer, that owner's.  The previous copy is then still there. */
int64_t segment_file_write(struct segment_file *file, int segment,
                           const struct segment_owner *owner, const void *note,
                           size_t note_size);

/* Returns the newest whole copy as a file in memory, and appends its note to
 * note.  -1: there is none. */
int segment_file_read(int fd, struct buffer *note);

/* Returns the segment as it is now as a file in memory; -1 with errno as
 * above. */
int segment_clone(int segment, const struct segment_owner *owner);

/* An estimate: what was allocated less what was freed.  Good for how live bytes
 * change, not for how many there are. */
uint64_t segment_live_bytes(int segment);

#endif
