/* sql_string.c - see sql_string.h. */
#include "sql_string.h"

#include "buffer.h"

void
sql_string(const char *text, struct buffer *out)
{
    buffer_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            buffer_char(out, '\\');
        buffer_char(out, *text);
    }
    buffer_char(out, '\'');
}
