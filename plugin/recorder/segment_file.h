/*
 * segment_file.h - the last copies of a segment, in a file that outlives all.
 *
 * Two copies take turns, each with a head that is written last, so that one is
 * whole whenever its writer is killed.  Only pages that differ from what a copy
 * has are written, in place: the kernel brings those to the disk that it finds
 * changed after some seconds.  It costs a copy of what is used of the segment,
 * a page at a time, and 8 bytes of memory a page.
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

/* Whose samples they are: one more execution is another table. */
struct segment_owner {
    uint64_t pid; /* 0: nobody's yet */
    uint64_t started;
    uint64_t forked_from; /* the owner before, if this is its daemon; or 0 */
    uint32_t executions;
    bool active, sampled; /* now; ever */
    uint64_t mean_bytes;  /* between samples, as it is wished */
};

/* False: it is no segment. */
bool segment_owner_read(int segment, struct segment_owner *owner);
bool segment_owner_same(const struct segment_owner *a,
                        const struct segment_owner *b);

/* For an empty file, of which it becomes the owner.  NULL without memory; then
 * fd is the caller's still. */
struct segment_file *segment_file_new(int fd);
void segment_file_free(struct segment_file *file); /* closes; NULL is fine */
int segment_file_fd(const struct segment_file *file);

enum { SEGMENT_FILE_NOTE_MAX = 3584 };

/* Copies the segment, with a note, if anything changed since the last copy.
 * The bytes that were written; -1 with errno: ESTALE where the segment is not,
 * or not any more, that owner's; the copy before this one is still there. */
int64_t segment_file_write(struct segment_file *file, int segment,
                           const struct segment_owner *owner, const void *note,
                           size_t note_size);

/* The newest copy that is whole, as a file in memory; its note is added to
 * note.  -1: there is none. */
int segment_file_read(int fd, struct buffer *note);

/* The segment as it is now, likewise; -1 with errno as above. */
int segment_clone(int segment, const struct segment_owner *owner);

/* Estimated: what was allocated less what was freed.  It says how these change,
 * not how many there are exactly. */
uint64_t segment_live_bytes(int segment);

#endif
