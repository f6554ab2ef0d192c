/*
 * shown_name.h - a function's name made harmless to show.
 */
#ifndef HW_SHOWN_NAME_H
#define HW_SHOWN_NAME_H

#include <stddef.h>

struct buffer;

/*
 * Appends name: control characters, broken UTF-8 and what turns the direction
 * of writing become '?'.  Longer than max bytes: it is cut between characters
 * and ends in "…".
 */
void shown_name(const char *name, size_t max, struct buffer *out);

/* The columns that text, which must be such a name, takes in a terminal: two
 * for East Asian characters and emoji. */
size_t shown_columns(const char *text, size_t size);

/* The bytes of the longest beginning of text that takes at most columns. */
size_t shown_fit(const char *text, size_t size, size_t columns);

/* Appends text, with "…" in place of its middle where it takes more than
 * columns, which are at least 3. */
void shown_middle(const char *text, size_t size, size_t columns,
                  struct buffer *out);

/* As shown_fit, broken after a blank where there is one: a line of a longer
 * text.
 */
size_t shown_line(const char *text, size_t size, size_t columns);

#endif
