/* collate.c - see collate.h. */
#include "collate.h"

#include <string.h>

#include "buffer.h"

enum {
    WEIGHT_SUPPLEMENTARY = 0xfffd,
    WEIGHT_BROKEN = 0xd800 /* plus the byte; no character has it */
};

/* Decodes the character; 0: it is no UTF-8. */
static size_t
decode(const unsigned char *p, size_t size, unsigned *out)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t bytes = *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
    unsigned c = *p & (0x7fU >> bytes);

    if (bytes == 0 || *p > 0xf4 || bytes > size)
        return 0;
    for (size_t i = 1; i < bytes; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    if (c < least[bytes] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
        return 0;
    *out = c;
    return bytes;
}

unsigned
collate_take(struct span *text)
{
    const unsigned char *p = (const unsigned char *)text->data;
    unsigned c = *p, weight = c;
    size_t size = 1;

    if (c >= 'a' && c <= 'z') {
        weight = c - ('a' - 'A');
    } else if (c >= 0x80) {
        size = decode(p, text->size, &c);
        if (size == 0)
            weight = WEIGHT_BROKEN + c;
        else
            weight = c > 0xffff ? WEIGHT_SUPPLEMENTARY : collate_weight(c);
        size += size == 0;
    }
    text->data += size;
    text->size -= size;
    return weight;
}

struct span
collate_trimmed(struct span text)
{
    while (text.size > 0 && text.data[text.size - 1] == ' ')
        text.size--;
    return text;
}

int
collate_compare(struct span a, struct span b)
{
    struct span rest;

    while (a.size > 0 && b.size > 0) {
        unsigned x, y;

        if (collate_is_ascii(*a.data, *b.data)) {
            x = collate_ascii(*a.data++);
            y = collate_ascii(*b.data++);
            a.size--;
            b.size--;
        } else {
            x = collate_take(&a);
            y = collate_take(&b);
        }
        if (x != y)
            return x < y ? -1 : 1;
    }
    rest = a.size > 0 ? a : b;
    while (rest.size > 0) {
        unsigned x = collate_take(&rest);

        if (x != ' ')
            return (x < ' ') == (a.size > 0) ? -1 : 1;
    }
    return 0;
}

int
collate_compare_bin(struct span a, struct span b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size > 0 ? memcmp(a.data, b.data, size) : 0;
    struct span rest = a.size > b.size ? a : b;

    if (order)
        return order;
    for (size_t i = size; i < rest.size; i++)
        if (rest.data[i] != ' ')
            return ((unsigned char)rest.data[i] < ' ') == (a.size > b.size) ? -1
                                                                            : 1;
    return 0;
}

void
collate_add_weights(struct buffer *out, struct span text)
{
    while (text.size > 0) {
        unsigned weight = collate_take(&text);

        buffer_char(out, (char)(weight >> 8));
        buffer_char(out, (char)weight);
    }
}
