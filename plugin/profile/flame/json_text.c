/* json_text.c - see json_text.h. */
#include "json_text.h"

#include <string.h>

#include "buffer.h"
#include "clean_text.h"

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

static void
add_escaped(const char *text, size_t size, struct buffer *out)
{
    size_t from = 0, i = 0, bytes;

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
}

static void
add_cleaned(struct span text, struct buffer *out)
{
    struct buffer clean;
    char *to;

    buffer_init(&clean, text.size + 1);
    to = buffer_reserve(&clean, text.size + 1);
    if (to) {
        clean_text(text, to);
        add_escaped(to, text.size, out);
    }
    out->failed |= clean.failed;
    buffer_fini(&clean);
}

void
json_text(const char *text, size_t size, struct buffer *out)
{
    struct span whole = {text, size};

    buffer_char(out, '"');
    if (text_is_utf8(whole))
        add_escaped(text, size, out);
    else
        add_cleaned(whole, out);
    buffer_char(out, '"');
}
