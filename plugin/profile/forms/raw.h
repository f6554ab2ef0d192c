/*
 * raw.h - a profile as jemalloc's text again: what jeprof reads (heap_dump.h).
 *
 * As sampled, all threads in one, with the mappings that hold code.  A
 * difference has no samples of its own: an error.
 */
#ifndef HW_RAW_H
#define HW_RAW_H

struct buffer;
struct error;
struct profile;
struct view_options;

/* Appends the text.  As dot_write fails; of the options only cancelled
 * counts. */
int raw_write(const struct profile *profile, const struct view_options *options,
              struct buffer *out, struct error *err);

#endif
