/*
 * wrappers.h - functions that a user counts among the allocator's: a program's
 * own malloc (zmalloc_usable, my_malloc).
 *
 * A list is one text: "my_malloc,db::Pool::*".  Names are those that the form
 * text shows (function_name.h), whole; with a '*' at its end one stands for all
 * that begin so.
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

/* Adds the names of value, with commas between and blanks around, to list,
 * which has WRAPPERS_TEXT_BYTES.  -1 with what is allowed in *err, and list is
 * as it was. */
int wrappers_add(char *list, const char *value, struct error *err);

/* Whether name, a short or a plain one, is in list (NULL: none is).  scratch is
 * written to. */
bool wrappers_have(const char *list, struct span name, struct buffer *scratch);

/* How many frames of location, innermost first, list, or its node's (see
 * names.h), says are the allocator's. */
uint16_t wrappers_count(const char *list, const struct location *location,
                        struct buffer *scratch);

#endif
