/* shown_name.h - makes a function's name safe to show. */
#ifndef HW_SHOWN_NAME_H
#define HW_SHOWN_NAME_H

#include <stddef.h>

struct buffer;

/*
 * Appends name; control characters, broken UTF-8 and characters that change the
 * direction of writing become '?'.  A name longer than max bytes is cut between
 * characters and ends in "…".
 */
void shown_name(const char *name, size_t max, struct buffer *out);

/* The columns that text, from shown_name, takes in a terminal: two for East
 * Asian characters and emoji. */
size_t shown_columns(const char *text, size_t size);

/* The bytes of the longest prefix of text that takes at most columns. */
size_t shown_fit(const char *text, size_t size, size_t columns);

/* Appends text; if it takes more than columns (at least 3), with "…" in place
 * of its middle. */
void shown_middle(const char *text, size_t size, size_t columns,
                  struct buffer *out);

/* As shown_fit, but ends behind a blank if there is one: for lines of a longer
 * text. */
size_t shown_line(const char *text, size_t size, size_t columns);

#endif
