/* xml_text.h - text for XML. */
#ifndef HW_XML_TEXT_H
#define HW_XML_TEXT_H

#include <stddef.h>

struct buffer;

/* Appends clean UTF-8 (shown_name.h), escaped for an element or an attribute.
 */
void xml_text(const char *text, size_t size, struct buffer *out);

#endif
