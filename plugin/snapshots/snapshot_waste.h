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

/* The profile has waste. */
void snapshot_waste_encode(const struct profile *profile, struct buffer *out);
/* Into a profile whose stacks are read, and its arena; r fails where it makes
 * no sense.  -1: no memory. */
int snapshot_waste_decode(struct reader *r, struct profile *profile);

#endif
