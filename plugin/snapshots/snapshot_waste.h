/*
 * snapshot_waste.h - what a snapshot's waste is counted from: taken from
 * jemalloc's statistics, and in its body.
 *
 * The layout stands in snapshot_file.c.
 */
#ifndef HW_SNAPSHOT_WASTE_H
#define HW_SNAPSHOT_WASTE_H

struct buffer;
struct error;
struct profile;
struct reader;
struct stats;
struct waste_heap;

/* out->at_ms is 0, and nothing is known, if the statistics are not jemalloc's
 * or lack its size classes. */
void waste_take(const struct stats *stats, struct waste_heap *out);

/* profile->waste must not be NULL. */
void snapshot_waste_encode(const struct profile *profile, struct buffer *out);
/* Decodes into a profile whose stacks have been read, and its arena; r is set
 * to failed where values make no sense.  -1: no memory. */
int snapshot_waste_decode(struct reader *r, struct profile *profile);

#endif
