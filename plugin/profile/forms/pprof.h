/*
 * pprof.h - a profile as gzipped profile.proto, for "go tool pprof" and others.
 *
 * https://github.com/google/pprof/blob/main/proto/profile.proto
 *
 * Sample types: inuse_objects/count, inuse_space/bytes and, if they were
 * counted, alloc_objects and alloc_space.  Values are rounded estimates; in a
 * difference they are signed.  A function's name is the call graph's, which
 * readers show unchanged; its system name is the symbol.
 */
#ifndef HW_PPROF_H
#define HW_PPROF_H

struct buffer;
struct error;
struct profile;
struct view_options;

enum { PPROF_NAME_MAX = 16384 }; /* longer names are cut */

/* Appends the file.  Fails as dot_write does. */
int pprof_write(const struct profile *profile,
                const struct view_options *options, struct buffer *out,
                struct error *err);

#endif
