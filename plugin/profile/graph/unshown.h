/*
 * unshown.h - what the allocator has in use and the profile does not show.
 *
 * Pictures show it as a grey block beside the profile, texts as a line.  It is
 * never a frame of the profile, nor part of its percentages.
 */
#ifndef HW_UNSHOWN_H
#define HW_UNSHOWN_H

struct buffer;
struct profile;
struct view_options;

#define UNSHOWN_NAME  "[not in the profile]"
#define UNSHOWN_COLOR "#d9d9d9"

/* Bytes; 0: none, not known, or the options choose what it cannot be beside:
 * objects, all that was ever allocated, a part of the profile. */
double unshown_bytes(const struct profile *profile,
                     const struct view_options *options);

/* Appends "[not in the profile]: 12.0 MB, 20.0% of the 60.0 MB that are in
 * use: why" and end, or nothing. */
void unshown_add(struct buffer *out, const struct profile *profile,
                 const struct view_options *options, const char *end);

#endif
