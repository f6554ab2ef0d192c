/* json_text.h - text for JSON. */
#ifndef HW_JSON_TEXT_H
#define HW_JSON_TEXT_H

#include <stddef.h>

struct buffer;

/* Appends clean UTF-8 (shown_name.h) as a string, which may stand within XML or
 * HTML. */
void json_text(const char *text, size_t size, struct buffer *out);

#endif
