/*
 * snapshot_waste.h - what a snapshot's waste is counted from, in its body.
 *
 * The layout stands in snapshot_file.c.
 */
#ifndef HW_SNAPSHOT_WASTE_H
#define HW_SNAPSHOT_WASTE_H

struct buffer;
struct error;
struct profile;
struct reader;

/* profile->waste must not be NULL. */
void snapshot_waste_encode(const struct profile *profile, struct buffer *out);
/* Decodes into a profile whose stacks have been read, and its arena; r is set
 * to failed where values make no sense.  -1: no memory. */
int snapshot_waste_decode(struct reader *r, struct profile *profile);

#endif
