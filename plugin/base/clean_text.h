/* clean_text.h - makes a text from outside fit for logs, rows and terminals. */
#ifndef HW_CLEAN_TEXT_H
#define HW_CLEAN_TEXT_H

#include <stdbool.h>

#include "reader.h"

/* True if text has only ' ' to '~', which clean_text keeps. */
bool text_is_plain(struct span text);

/* True for well-formed UTF-8; control characters are allowed. */
bool text_is_utf8(struct span text);

/* Copies text to out, which has room for text.size + 1 bytes: every byte of a
 * control character or of broken UTF-8 becomes '?'. */
void clean_text(struct span text, char *out);

#endif
