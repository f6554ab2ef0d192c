/*
 * text.h - a profile as lines of text, as "jeprof --text" writes it.
 *
 *     Total: 114.7 MB
 *         80.1  69.8%  69.8%     80.1  69.8% grow
 *          ...
 *
 * The columns are what a function allocated itself (most first), its part of
 * the total, the sum of the parts so far, what it and all it called allocated,
 * its part, and the name: whole, or, in top, cut in the middle ("…") so that
 * the line is no wider than a terminal.  What the profile says of itself
 * (memory, that it was cut off, what has no names, why it is empty) stands
 * before; a whole one in a file says nothing.
 *
 * With options->by_growth, what grew equally itself is ordered by what it and
 * all it called grew.  Of a difference of bytes in use, two columns more mark
 * with a '~' what may be chance (significance.h):
 * perhaps other objects happened to be sampled, and nothing grew.
 */
#ifndef HW_TEXT_H
#define HW_TEXT_H

struct buffer;
struct error;
struct profile;
struct view_options;

enum {
    TEXT_NAME_MAX = 1024, /* longer names end in "..." */
    TEXT_COLUMNS = 100    /* of what stands before, and of top's lines */
};

/* All functions; or the first options->nodecount.  -1 with *err. */
int text_write(const struct profile *profile,
               const struct view_options *options, struct buffer *out,
               struct error *err);
int text_write_top(const struct profile *profile,
                   const struct view_options *options, struct buffer *out,
                   struct error *err);

#endif
