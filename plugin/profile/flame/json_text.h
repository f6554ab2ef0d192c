/* json_text.h - text for JSON. */
#ifndef HW_JSON_TEXT_H
#define HW_JSON_TEXT_H

#include <stddef.h>

struct buffer;

/* Appends a string, which may stand within XML or HTML.  A text that is no
 * UTF-8 is cleaned (clean_text.h). */
void json_text(const char *text, size_t size, struct buffer *out);

#endif
