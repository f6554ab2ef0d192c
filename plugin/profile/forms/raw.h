/*
 * raw.h - a profile as jemalloc's text (heap_dump.h), which jeprof reads.
 *
 * It has the samples of all threads as one, and the mappings with code.  A
 * difference has no samples of its own, so it gives an error.
 */
#ifndef HW_RAW_H
#define HW_RAW_H

struct buffer;
struct error;
struct profile;
struct view_options;

/* Appends the text.  Fails as dot_write does; the only option it obeys is
 * cancelled. */
int raw_write(const struct profile *profile, const struct view_options *options,
              struct buffer *out, struct error *err);

#endif
