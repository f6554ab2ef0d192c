/*
 * function_name.c - see function_name.h.
 *
 * jeprof deletes innermost brackets until none is left.  Cutting the output
 * back to the opening bracket whenever one closes gives the same in one pass:
 * what the brackets held has lost its own by then.  So does leaving out what
 * the outermost hold, if none lacks its other one.
 */
#include "function_name.h"

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "buffer.h"

enum {
    NESTING_MAX = 1024, /* what is deeper pairs wrongly, harmlessly */
    EIGHT = sizeof(uint64_t)
};

static bool
is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool
is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

#define ONES 0x0101010101010101ULL

/* A kind of brackets, which differ in one bit. */
struct brackets {
    char open, close;
    bool and_const; /* what they are deleted with, where it follows */
    uint64_t bit, both;
};

#define BRACKETS(open, close, and_const)                                       \
    {                                                                          \
        open, close, and_const, ONES *((open) ^ (close)),                      \
            ONES *((open) | (close))                                           \
    }

static const struct brackets parentheses = BRACKETS('(', ')', true);
static const struct brackets angles = BRACKETS('<', '>', false);

/* The top bits of those of eight bytes that are brackets. */
static uint64_t
places(uint64_t eight, uint64_t bit, uint64_t both)
{
    uint64_t other = (eight | bit) ^ both;

    /* Exact: no byte carries into the next. */
    return ~(((other & ONES * 0x7f) + ONES * 0x7f) | other) & ONES << 7;
}

/* Where text goes on after brackets that close at i. */
static size_t
behind(const char *text, size_t size, size_t i, const struct brackets *b)
{
    size_t at = i + 1;

    if (!b->and_const)
        return at;
    while (at < size && is_blank(text[at]))
        at++;
    return size - at >= 5 && memcmp(text + at, "const", 5) == 0 ? at + 5
                                                                : i + 1;
}

/* Whatever the brackets: those that have no other stay. */
static size_t
delete_any(const char *text, size_t size, const struct brackets *b, char *out)
{
    size_t opened[NESTING_MAX], depth = 0, kept = 0;

    for (size_t i = 0; i < size;) {
        if (text[i] == b->close && depth > 0) {
            kept = opened[--depth];
            i = behind(text, size, i, b);
            continue;
        }
        if (text[i] == b->open && depth < NESTING_MAX)
            opened[depth++] = kept;
        out[kept++] = text[i++];
    }
    return kept;
}

/*
 * Copies text to out without balanced pairs of brackets and what they hold.
 * Nearly always each has its other one: then nothing within the outermost has
 * to be copied.  Of text may be read, not looked at, EIGHT bytes more.
 */
static size_t
delete_pairs(const char *text, size_t size, const struct brackets *b, char *out)
{
    const uint64_t bit = b->bit, both = b->both;
    size_t depth = 0, kept = 0, from = 0, at;
    uint64_t eight, found;

    for (size_t i = 0; i < size; i += EIGHT) {
        memcpy(&eight, text + i, EIGHT);
        found = places(le64toh(eight), bit, both);
        for (; found; found &= found - 1) {
            at = i + (size_t)__builtin_ctzll(found) / 8;
            if (at >= size)
                break;
            if (text[at] == b->open) {
                if (depth++ == 0) {
                    memcpy(out + kept, text + from, at - from);
                    kept += at - from;
                    from = at;
                }
                if (depth > NESTING_MAX)
                    return delete_any(text, size, b, out);
            } else if (depth > 0 && --depth == 0) {
                from = behind(text, size, at, b);
            }
        }
    }
    if (depth > 0)
        return delete_any(text, size, b, out);
    memcpy(out + kept, text + from, size - from);
    return kept + size - from;
}

/* The last "<blank>word::": what stands before the word is a type. */
static size_t
type_size(const char *text, size_t size)
{
    size_t word;

    for (size_t i = size; i-- > 0;) {
        if (!is_blank(text[i]))
            continue;
        for (word = i + 1; word < size && is_word(text[word]);)
            word++;
        if (word > i + 1 && size - word >= 2 && text[word] == ':' &&
            text[word + 1] == ':')
            return i + 1;
    }
    return 0;
}

void
function_name_shorten(const char *name, struct buffer *out)
{
    size_t size = strlen(name), type;
    char *text = buffer_reserve(out, 2 * (size + EIGHT)), *first;

    if (!text)
        return;
    first = text + size + EIGHT;
    memcpy(text, name, size);
    memset(text + size, 0, EIGHT);
    size = delete_pairs(text, size, &parentheses, first);
    memset(first + size, 0, EIGHT);
    size = delete_pairs(first, size, &angles, text);
    type = type_size(text, size);
    memmove(text, text + type, size - type);
    buffer_claim(out, size - type);
}
