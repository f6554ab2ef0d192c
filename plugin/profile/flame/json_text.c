/* json_text.c - see json_text.h. */
#include "json_text.h"

#include <string.h>

#include "buffer.h"

/* The bytes of the character at s that must be escaped, or 0.  U+FFFE and
 * U+FFFF may stand in JSON, but not in XML. */
static size_t
escaped(const char *s, size_t left)
{
    if ((unsigned char)*s < ' ' || strchr("\"\\<>&", *s))
        return 1;
    return left >= 3 && memcmp(s, "\xef\xbf", 2) == 0 &&
                   ((unsigned char)s[2] | 1) == 0xbf
               ? 3
               : 0;
}

void
json_text(const char *text, size_t size, struct buffer *out)
{
    size_t from = 0, i = 0, bytes;

    buffer_char(out, '"');
    while (i < size) {
        bytes = escaped(text + i, size - i);
        if (bytes) {
            buffer_add(out, text + from, i - from);
            if (bytes == 1)
                buffer_format(out, "\\u%04x", (unsigned)text[i]);
            else
                buffer_text(out, "\\ufffd");
            from = i + bytes;
        }
        i += bytes ? bytes : 1;
    }
    buffer_add(out, text + from, size - from);
    buffer_char(out, '"');
}
