/*
 * collapsed.h - a profile as collapsed stacks, the form of "jeprof --collapsed"
 * that flamegraph.pl, inferno and speedscope read.
 *
 *     main;run(int);std::string::reserve(unsigned long)[inline] 4096
 *
 * The root comes first, the value last: whole bytes or objects, truncated as
 * jeprof does.  Unlike jeprof's, stacks of equal names are one line, and the
 * heaviest line comes first.  In names, ';' becomes ':', control characters and
 * broken UTF-8 become '?'.
 */
#ifndef HW_COLLAPSED_H
#define HW_COLLAPSED_H

struct buffer;
struct error;
struct profile;
struct view_options;

/* Appends a line per stack.  Fails as dot_write does. */
int collapsed_write(const struct profile *profile,
                    const struct view_options *options, struct buffer *out,
                    struct error *err);

#endif
