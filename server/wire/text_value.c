/*
 * text_value.c - see text_value.h.
 */
#include "text_value.h"

#include <math.h>

#include "buffer.h"
#include "cursor.h"
#include "real_text.h"

enum { TEXT_NULL = 0xfb };

/* MySQL has neither infinities nor NaN. */
static void
put_double(struct buffer *out, double real)
{
    char text[REAL_TEXT];

    if (isfinite(real))
        buffer_lenenc_bytes(out, text, real_text(real, text));
    else
        buffer_u8(out, TEXT_NULL);
}

/* Most values are integers, and printf takes ten times as long. */
static void
put_integer(struct buffer *out, int64_t integer)
{
    char text[24], *end = text + sizeof(text), *at = end;
    uint64_t rest = integer < 0 ? -(uint64_t)integer : (uint64_t)integer;

    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (integer < 0)
        *--at = '-';
    buffer_lenenc_bytes(out, at, (size_t)(end - at));
}

void
text_value_put(struct buffer *out, const struct value *value)
{
    switch (value->type) {
    case VALUE_NULL:
        buffer_u8(out, TEXT_NULL);
        break;
    case VALUE_INT:
        put_integer(out, value->integer);
        break;
    case VALUE_DOUBLE:
        put_double(out, value->real);
        break;
    case VALUE_TEXT:
    case VALUE_BLOB:
        buffer_lenenc_bytes(out, value->data, value->size);
        break;
    }
}
