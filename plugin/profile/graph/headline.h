/* headline.h - describes a profile in a line. */
#ifndef HW_HEADLINE_H
#define HW_HEADLINE_H

#include <stddef.h>

struct buffer;
struct profile;
struct view_options;

enum { HEADLINE_FEW = 10 }; /* samples, of which it says how few they are */

/* Appends "mariadbd, 2026-11-21 15:30:07 UTC: 123.4 MB in use", clean
 * (shown_name.h); the program takes at most max bytes. */
void headline_add(struct buffer *out, const struct profile *profile,
                  const struct view_options *options, size_t max);

#endif
