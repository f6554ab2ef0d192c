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

/* wrappers: the node's list, besides the known ones (NULL: neither); *wrapped:
 * some location has frames of these. */
int snapshot_body_encode(const struct profile *profile, const char *wrappers,
                         bool *wrapped, struct buffer *out, struct error *err);
/* All but what the head has: rate, samples, bytes, objects, truncated.
 * foreign: it comes from outside, so its texts are cleaned (clean_text.h). NULL
 * with *err. */
struct profile *snapshot_body_decode(const void *bytes, size_t size,
                                     bool foreign, struct error *err);

#endif
