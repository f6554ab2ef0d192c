/*
 * filter.h - selects stacks: jeprof's --focus and --ignore.
 *
 * A stack is shown if focus matches one of its frames and ignore none.  A frame
 * matches by its function's short name (see function_name.h), by "file:line",
 * or by its address in sixteen digits.
 */
#ifndef HW_FILTER_H
#define HW_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct profile;
struct symbols;
struct texts;
struct view_options;

enum { FILTER_FOCUS = 1, FILTER_IGNORE = 2 };

struct filter {
    uint8_t
        *marks;   /* per frame of the symbols: FILTER_* bits; NULL: no filter */
    bool focused; /* a frame must match focus */
};

/* Matches all frames at once.  After -1 with *err, filter_fini is still needed.
 */
int filter_init(struct filter *filter, const struct profile *profile,
                const struct symbols *symbols, const struct texts *texts,
                const struct view_options *options, struct error *err);
void filter_fini(struct filter *filter); /* zeroed is fine */

/* marks: those of the stack's frames, or-ed. */
bool filter_shows(const struct filter *filter, unsigned marks);

#endif
