/* clean_text.h - makes a text from outside fit for logs, rows and terminals. */
#ifndef HW_CLEAN_TEXT_H
#define HW_CLEAN_TEXT_H

#include "reader.h"

/* Copies text to out, which has room for text.size + 1 bytes: every byte of a
 * control character or of broken UTF-8 becomes '?'. */
void clean_text(struct span text, char *out);

#endif
