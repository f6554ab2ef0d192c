/* like.c - see like.h. */
#include "like.h"

#include <stddef.h>

#include "collate.h"

/* Bytes of the character at p. */
static size_t
character(const char *p, const char *end)
{
    size_t size = 1;

    while (p + size < end && ((unsigned char)p[size] & 0xc0) == 0x80)
        size++;
    return size;
}

/* Matches one character of the pattern; false leaves both positions
 * unchanged. */
static bool
match_one(const char **text, const char *text_end, const char **pattern,
          const char *pattern_end, char escape, bool binary)
{
    const char *p = *pattern;
    struct span left, right;

    if (*p == '_') {
        *text += character(*text, text_end);
        *pattern = p + 1;
        return true;
    }
    if (*p == escape && p + 1 < pattern_end)
        p++;
    if (binary || collate_is_ascii(*p, **text)) {
        if (binary ? *p != **text : collate_ascii(*p) != collate_ascii(**text))
            return false;
        *text += 1;
        *pattern = p + 1;
        return true;
    }
    left = (struct span){*text, (size_t)(text_end - *text)};
    right = (struct span){p, (size_t)(pattern_end - p)};
    if (collate_take(&left) != collate_take(&right))
        return false;
    *text = left.data;
    *pattern = right.data;
    return true;
}

static bool
match(struct span text, struct span pattern, char escape, bool binary)
{
    const char *t = text.data, *t_end = t + text.size;
    const char *p = pattern.data, *p_end = p + pattern.size;
    const char *retry_t = NULL,
               *retry_p = NULL; /* positions behind the last % */

    if (pattern.size > LIKE_PATTERN_MAX)
        return false;
    while (t < t_end) {
        if (p < p_end && *p == '%') {
            retry_p = ++p;
            retry_t = t;
            continue;
        }
        if (p < p_end && match_one(&t, t_end, &p, p_end, escape, binary))
            continue;
        if (!retry_p)
            return false;
        retry_t += character(retry_t, t_end);
        t = retry_t;
        p = retry_p;
    }
    while (p < p_end && *p == '%')
        p++;
    return p == p_end;
}

bool
like_match(struct span text, struct span pattern, char escape)
{
    return match(text, pattern, escape, false);
}

bool
like_match_binary(struct span text, struct span pattern, char escape)
{
    return match(text, pattern, escape, true);
}
