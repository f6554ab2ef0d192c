/* emptiness.h - explains an empty report, for which jeprof prints nothing. */
#ifndef HW_EMPTINESS_H
#define HW_EMPTINESS_H

#include <stdbool.h>

struct profile;
struct view_options;

enum { EMPTINESS_TEXT = 128 };

/* Why profile shows nothing, in a few words: nothing was sampled, or (shown is
 * false: no function was left) nothing matches.  "": it shows something.
 * Returns out. */
const char *emptiness_text(const struct profile *profile,
                           const struct view_options *options, bool shown,
                           char out[EMPTINESS_TEXT]);

#endif
