/*
 * filter.h - which stacks are wanted: jeprof's --focus and --ignore.
 *
 * A stack is shown when focus matches one of its frames and ignore none: the
 * short name of the function (see function_name.h), "file:line" or the
 * address in sixteen digits.
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
    uint8_t *marks; /* per frame of the symbols: what matches; NULL: no
                       filter */
    bool focused;   /* one must match */
};

/* Matches all frames at once.  -1 with *err: fini it nevertheless. */
int filter_init(struct filter *filter, const struct profile *profile,
                const struct symbols *symbols, const struct texts *texts,
                const struct view_options *options, struct error *err);
void filter_fini(struct filter *filter); /* zeroed is fine */

/* Of a stack whose frames' marks were or-ed. */
bool filter_shows(const struct filter *filter, unsigned marks);

#endif
