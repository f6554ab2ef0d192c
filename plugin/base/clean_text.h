/* clean_text.h - makes a text from outside fit for logs, rows and terminals;
 * and for XML and JSON. */
#ifndef HW_CLEAN_TEXT_H
#define HW_CLEAN_TEXT_H

#include <stdbool.h>

#include "reader.h"

struct buffer;

/* True if text has only ' ' to '~', which clean_text keeps. */
bool text_is_plain(struct span text);

/* True for well-formed UTF-8; control characters are allowed. */
bool text_is_utf8(struct span text);

/* Copies text to out, which has room for text.size + 1 bytes: every byte of a
 * control character or of broken UTF-8 becomes '?'. */
void clean_text(struct span text, char *out);

/* Appends a text that is UTF-8 without control characters, escaped for an
 * element or an attribute. */
void xml_text(const char *text, size_t size, struct buffer *out);

/* Appends a quoted string, which may stand within XML or HTML, so it escapes
 * <, > and &, too, unlike json_quote() of sql/values.  A text that is
 * not UTF-8 is cleaned first. */
void json_append_string(const char *text, size_t size, struct buffer *out);

/* Whether text may stand in JSON without quotes.  is_double: any number may.
 * Otherwise only a number that a reader with doubles alone, such as JavaScript,
 * reads exactly: at most 15 digits, or an integer below 2^53 (RFC 7493).
 * Larger ones must become strings. */
bool json_is_number(struct span text, bool is_double);

#endif
