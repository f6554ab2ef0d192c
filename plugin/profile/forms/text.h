/*
 * text.h - a profile as lines of text, as "jeprof --text" writes it.
 *
 *     Total: 114.7 MB
 *         80.1  69.8%  69.8%     80.1  69.8% grow
 *          ...
 *
 * The columns: what a function allocated itself (the largest first), its part
 * of the total, the sum of the parts so far; what it and all it called
 * allocated, and its part; the name.  text shows whole names; top cuts them in
 * the middle ("…") to a terminal's width.  Remarks about the profile (memory,
 * cut off, without names, why it is empty) come first; a whole profile from a
 * file has none.
 *
 * With options->by_growth, functions that grew equally are ordered by what they
 * and all they called grew.  In a difference of bytes in use, two more columns
 * mark figures that may be chance (significance.h) with a '~': perhaps only the
 * sampled objects differ.
 */
#ifndef HW_TEXT_H
#define HW_TEXT_H

struct buffer;
struct error;
struct profile;
struct view_options;

enum {
    TEXT_NAME_MAX = 1024, /* longer names end in "..." */
    TEXT_COLUMNS = 100    /* of the remarks, and of top's lines */
};

/* text: all functions; top: the first options->nodecount.  -1 with *err. */
int text_write(const struct profile *profile,
               const struct view_options *options, struct buffer *out,
               struct error *err);
int text_write_top(const struct profile *profile,
                   const struct view_options *options, struct buffer *out,
                   struct error *err);

#endif
