/*
 * collapsed.h - a profile as collapsed stacks, as "jeprof --collapsed" and what
 * reads it (flamegraph.pl, inferno, speedscope) have them.
 *
 *     main;run(int);std::string::reserve(unsigned long)[inline] 4096
 *
 * The root first, then the value: whole bytes or objects, cut as jeprof cuts
 * them.  Unlike jeprof's, stacks of equal names are one line; the heaviest
 * comes first.  In names, ';' becomes ':', control characters and broken
 * UTF-8 '?'.
 */
#ifndef HW_COLLAPSED_H
#define HW_COLLAPSED_H

struct buffer;
struct error;
struct profile;
struct view_options;

/* Appends a line per stack.  As dot_write fails. */
int collapsed_write(const struct profile *profile,
                    const struct view_options *options, struct buffer *out,
                    struct error *err);

#endif
