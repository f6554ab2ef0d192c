/*
 * filter.h - selects stacks: jeprof's --focus and --ignore.
 *
 * A stack is shown if focus matches one of its frames and ignore none.  A frame
 * matches by its function's short name (see function_name.h), by "file:line",
 * or by its address in sixteen digits.
 */
#ifndef HW_FILTER_H
#define HW_FILTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct error;
struct pattern;
struct profile;
struct symbols;
struct texts;
struct view_options;

/*
 * A regular expression with limits on its time.
 *
 * The syntax is PCRE2's, which is Perl's.  Texts are UTF-8; invalid bytes match
 * nothing.  Case matters unless the pattern begins with (?i).  Not thread-safe.
 */

enum {
    PATTERN_SIZE_MAX = 4096,
    PATTERN_TEXT_MAX = 16384,    /* the rest of a text is not searched */
    PATTERN_STEPS_MAX = 1000000, /* PCRE2's steps from one place in a text */
    PATTERN_MS_MAX = 5000        /* for all texts together */
};

/* what names the pattern in messages; it and cancelled (or NULL) are borrowed.
 * NULL with *err: malformed, too long, or no memory. */
struct pattern *pattern_new(const char *what, const char *text,
                            const atomic_bool *cancelled, struct error *err);
void pattern_free(struct pattern *pattern); /* NULL is fine */

/* Whether text contains a match: 1 or 0; -1 with *err: too slow, or cancelled.
 */
int pattern_match(struct pattern *pattern, const char *text, struct error *err);

enum { FILTER_FOCUS = 1, FILTER_IGNORE = 2 };

struct filter {
    uint8_t *marks; /* by frame of the symbols: FILTER_*; NULL: no filter */
    bool focused;   /* a frame must match focus */
};

/* Matches all frames at once.  After -1 with *err, filter_fini is still needed.
 */
int filter_init(struct filter *filter, const struct profile *profile,
                const struct symbols *symbols, const struct texts *texts,
                const struct view_options *options, struct error *err);
void filter_fini(struct filter *filter); /* zeroed is fine */

/* Whether a stack is shown whose frames have these marks, or-ed together. */
bool filter_shows(const struct filter *filter, unsigned marks);

#endif
