/* xml_text.c - see xml_text.h. */
#include "xml_text.h"

#include <stdbool.h>
#include <string.h>

#include "buffer.h"

static const char *
entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* U+FFFE and U+FFFF: well-formed UTF-8, but not allowed in XML. */
static bool
is_noncharacter(const char *s, size_t left)
{
    return left >= 3 && memcmp(s, "\xef\xbf", 2) == 0 &&
           ((unsigned char)s[2] | 1) == 0xbf;
}

void
xml_text(const char *text, size_t size, struct buffer *out)
{
    size_t from = 0;

    for (size_t i = 0; i < size; i++) {
        const char *escaped = entity(text[i]);
        size_t skip = 1;

        if (!escaped && is_noncharacter(text + i, size - i)) {
            escaped = "???";
            skip = 3;
        }
        if (!escaped)
            continue;
        buffer_add(out, text + from, i - from);
        buffer_text(out, escaped);
        from = i + skip;
        i = from - 1;
    }
    buffer_add(out, text + from, size - from);
}
