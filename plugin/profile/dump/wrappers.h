/*
 * wrappers.h - a program's own allocation functions (zmalloc_usable,
 * my_malloc), which the user or known_wrappers.h counts as the allocator's.
 *
 * A list is one text: "my_malloc,db::Pool::*".  Names are whole, as the form
 * text shows them (function_name.h); a '*' at the end stands for any ending.
 */
#ifndef HW_WRAPPERS_H
#define HW_WRAPPERS_H

#include <stdbool.h>
#include <stddef.h>

#include "reader.h"

struct buffer;
struct error;
struct location;

enum {
    WRAPPERS_MAX = 32,         /* names */
    WRAPPERS_TEXT_BYTES = 1024 /* of a list, with the NUL */
};

/* Adds the names of value, separated by commas and blanks, to list, which has
 * WRAPPERS_TEXT_BYTES.  On -1 *err says what is allowed, and list is unchanged.
 */
int wrappers_add(char *list, const char *value, struct error *err);

/* Whether list (NULL: empty) has name, a short or plain one.  Writes to
 * scratch. */
bool wrappers_have(const char *list, struct span name, struct buffer *scratch);

/* How many frames of location, innermost first, are the allocator's by list, or
 * by the list of its own node (see names.h). */
uint16_t wrappers_count(const char *list, const struct location *location,
                        struct buffer *scratch);

#endif
