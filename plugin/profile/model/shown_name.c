/* shown_name.c - see shown_name.h. */
#include "shown_name.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "buffer.h"
#include "clean_text.h"

static const char ellipsis[] = "\xe2\x80\xa6";

static bool
continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* U+200E, U+200F, U+202A..U+202E, U+2028, U+2029, U+2066..U+2069. */
static bool
turns_writing(const char *s, const char *end)
{
    const unsigned char *c = (const unsigned char *)s;

    if (end - s < 3 || c[0] != 0xe2)
        return false;
    return (c[1] == 0x80 &&
            (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xa8 && c[2] <= 0xae))) ||
           (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9);
}

void
shown_name(const char *name, size_t max, struct buffer *out)
{
    size_t size = strnlen(name, max + 1), kept = size;
    char *to;

    if (size > max) {
        kept = max > sizeof(ellipsis) ? max - (sizeof(ellipsis) - 1) : 0;
        for (int i = 0; i < 3 && kept > 0 && continues(name[kept]); i++)
            kept--;
    }
    to = buffer_reserve(out, kept + 1);
    if (!to)
        return;
    clean_text((struct span){name, kept}, to);
    for (char *s = to; s < to + kept; s++)
        if (turns_writing(s, to + kept))
            memset(s, '?', 3);
    buffer_claim(out, kept);
    if (kept < size)
        buffer_text(out, ellipsis);
}

/* The character at s, in well-formed UTF-8. */
static uint32_t
character(const char *s, size_t left, size_t *size)
{
    const unsigned char *c = (const unsigned char *)s;
    uint32_t code;

    *size = c[0] < 0xc0 ? 1 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    if (*size > left)
        *size = left;
    code = *size == 1 ? c[0] : c[0] & (0x7fU >> *size);
    for (size_t i = 1; i < *size; i++)
        code = code << 6 | (c[i] & 0x3f);
    return code;
}

static bool
is_wide(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } wide[] = {{0x1100, 0x115f},   {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
                {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                {0x1f300, 0x1faff}, {0x20000, 0x3ffff}, {0xffe0, 0xffe6}};

    for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
        if (code >= wide[i].first && code <= wide[i].last)
            return true;
    return false;
}

size_t
shown_fit(const char *text, size_t size, size_t columns)
{
    size_t at = 0, bytes, used = 0;

    while (at < size) {
        used += is_wide(character(text + at, size - at, &bytes)) ? 2 : 1;
        if (used > columns)
            break;
        at += bytes;
    }
    return at;
}

size_t
shown_columns(const char *text, size_t size)
{
    size_t columns = 0, bytes;

    for (size_t at = 0; at < size; at += bytes)
        columns += is_wide(character(text + at, size - at, &bytes)) ? 2 : 1;
    return columns;
}

size_t
shown_line(const char *text, size_t size, size_t columns)
{
    size_t fits = shown_fit(text, size, columns);
    const char *blank = NULL;

    if (fits < size)
        blank = memrchr(text, ' ', fits);
    return blank && blank > text ? (size_t)(blank - text) + 1 : fits;
}

void
shown_middle(const char *text, size_t size, size_t columns, struct buffer *out)
{
    size_t all = shown_columns(text, size), rest, tail;

    if (all <= columns) {
        buffer_add(out, text, size);
        return;
    }
    rest = columns - 1 - columns / 2; /* behind the "…" */
    tail = shown_fit(text, size, all - rest);
    if (shown_columns(text + tail, size - tail) > rest)
        tail = shown_fit(text, size, all - rest + 1);
    buffer_add(out, text, shown_fit(text, size, columns / 2));
    buffer_text(out, ellipsis);
    buffer_add(out, text + tail, size - tail);
}
