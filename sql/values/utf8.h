/* utf8.h - characters of UTF-8 texts; each invalid byte counts as a
 * character. */
#ifndef HW_UTF8_H
#define HW_UTF8_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"

struct buffer;

/* Bytes of the first n characters, at most all. */
size_t utf8_prefix(struct span text, int64_t n);
int64_t utf8_length(struct span text); /* number of characters */

/* Appends one character in upper or lower case. */
void utf8_add_case(struct buffer *out, const char *bytes, size_t size, bool up);

#endif
