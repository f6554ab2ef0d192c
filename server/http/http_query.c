/* http_query.c - see http_query.h. */
#include "http_query.h"

#include <string.h>

/* The next "name=value" of *rest; false at the end. */
static bool
next(struct span *rest, struct span *name, struct span *value)
{
    const char *end, *equal;
    struct span pair = *rest;

    if (rest->size == 0)
        return false;
    end = memchr(rest->data, '&', rest->size);
    if (end)
        pair.size = (size_t)(end - rest->data);
    rest->data += pair.size + (end != NULL);
    rest->size -= pair.size + (end != NULL);
    equal = memchr(pair.data, '=', pair.size);
    *name = pair;
    *value = (struct span){pair.data, 0};
    if (!equal)
        return true;
    name->size = (size_t)(equal - pair.data);
    *value = (struct span){equal + 1, pair.size - name->size - 1};
    return true;
}

static int
digit(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* http_request_read has checked the %xx. */
static int
decode(struct span from, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < from.size; i++) {
        char c = from.data[i];

        if (c == '+') {
            c = ' ';
        } else if (c == '%') {
            if (from.size - i < 3)
                return -1;
            c = (char)(digit(from.data[i + 1]) << 4 | digit(from.data[i + 2]));
            i += 2;
        }
        if (n + 1 >= size || (unsigned char)c < ' ' || c == 0x7f)
            return -1;
        out[n++] = c;
    }
    out[n] = '\0';
    return 0;
}

int
http_query_get(struct span query, const char *name, char *out, size_t size)
{
    struct span key, value;
    bool found = false;

    *out = '\0';
    while (next(&query, &key, &value)) {
        if (!span_is(key, name))
            continue;
        if (found || decode(value, out, size) != 0)
            return -1;
        found = true;
    }
    return 0;
}

struct span
http_query_unknown(struct span query, const char *words)
{
    struct span key, value;

    while (next(&query, &key, &value))
        if (key.size > 0 && !span_is_any(key, words))
            return key;
    return (struct span){"", 0};
}
