/*
 * snapshot_body.h - the profile of a snapshot file, not packed.
 *
 * Its layout stands in snapshot_file.c.
 */
#ifndef HW_SNAPSHOT_BODY_H
#define HW_SNAPSHOT_BODY_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct error;
struct profile;

enum { SNAPSHOT_BODY_MAX = 256 << 20 /* bytes, unpacked */ };

/* wrappers is the node's list of allocator functions, in addition to the known
 * ones (NULL: neither is marked).  *wrapped is set if some location has frames
 * of these. */
int snapshot_body_encode(const struct profile *profile, const char *wrappers,
                         bool *wrapped, struct buffer *out, struct error *err);
/* Fills all but what the head has: rate, samples, bytes, objects, truncated.
 * foreign: the file comes from outside, so its texts are cleaned
 * (clean_text.h).  NULL with *err. */
struct profile *snapshot_body_decode(const void *bytes, size_t size,
                                     bool foreign, struct error *err);

#endif
