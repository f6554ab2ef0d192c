/*
 * pattern.h - a regular expression that cannot run away.
 *
 * PCRE2's syntax, which is Perl's; texts are UTF-8, and bytes that are not
 * match nothing.  Case matters unless it begins with (?i).  Not thread-safe.
 */
#ifndef HW_PATTERN_H
#define HW_PATTERN_H

#include <stdatomic.h>

struct error;
struct pattern;

enum {
    PATTERN_SIZE_MAX = 4096,
    PATTERN_TEXT_MAX = 16384,    /* what is behind is not looked at */
    PATTERN_STEPS_MAX = 1000000, /* of PCRE2, from one place in a text */
    PATTERN_MS_MAX = 5000        /* to match all texts */
};

/* what it is for, for messages, and cancelled (or NULL) are not copied.  NULL
 * with *err: malformed, too long, or no memory. */
struct pattern *pattern_new(const char *what, const char *text,
                            const atomic_bool *cancelled, struct error *err);
void pattern_free(struct pattern *pattern); /* NULL is fine */

/* 1: it is somewhere in text, 0: it is not, -1 with *err: that would take too
 * long, or is cancelled. */
int pattern_match(struct pattern *pattern, const char *text, struct error *err);

#endif
