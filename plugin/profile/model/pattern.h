/*
 * pattern.h - a regular expression with limits on its time.
 *
 * The syntax is PCRE2's, which is Perl's.  Texts are UTF-8; invalid bytes match
 * nothing.  Case matters unless the pattern begins with (?i).  Not thread-safe.
 */
#ifndef HW_PATTERN_H
#define HW_PATTERN_H

#include <stdatomic.h>

struct error;
struct pattern;

enum {
    PATTERN_SIZE_MAX = 4096,
    PATTERN_TEXT_MAX = 16384,    /* the rest of a text is not searched */
    PATTERN_STEPS_MAX = 1000000, /* PCRE2's, from one place in a text */
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

#endif
