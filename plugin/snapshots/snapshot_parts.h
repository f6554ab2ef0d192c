/*
 * snapshot_parts.h - the threads and ages of a snapshot's profile, in its body.
 *
 * The layout stands in snapshot_file.c.
 */
#ifndef HW_SNAPSHOT_PARTS_H
#define HW_SNAPSHOT_PARTS_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct profile;
struct reader;

/* profile->parts must not be NULL. */
void snapshot_parts_encode(const struct profile *profile, struct buffer *out);
/* Decodes into a profile whose stacks have been read, and its arena; r is set
 * to failed where values make no sense.  foreign is as in snapshot_body.h;
 * numbered: the threads are jemalloc's.  -1: no memory. */
int snapshot_parts_decode(struct reader *r, bool foreign, bool numbered,
                          struct profile *profile);

/* ---- for all parts of a body: r is set to failed where a value is none ----
 */

/* An estimate: from 0 on, finite, and small enough to be added up. */
double snapshot_read_real(struct reader *r);
/* A count of items that take at least `least` bytes each, at most max. */
size_t snapshot_read_count(struct reader *r, size_t least, size_t max);

#endif
