/*
 * function_name.c - see function_name.h.
 *
 * jeprof deletes innermost brackets until none is left.  Cutting the output
 * back to the opening bracket whenever one closes gives the same in one pass:
 * what the brackets held has lost its own by then.
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

/* The top bit of the first of eight bytes that is c, and of none before it. */
static uint64_t
places(uint64_t eight, char c)
{
    const uint64_t ones = 0x0101010101010101ULL;
    uint64_t zero = eight ^ ones * (unsigned char)c;

    return (zero - ones) & ~zero & ones << 7;
}

/* Copies text to out, which has EIGHT bytes more room, without balanced pairs
 * of open and close and what they hold; with and_const, without a "const" that
 * follows one. */
static size_t
delete_pairs(const char *text, size_t size, char open, char close,
             bool and_const, char *out)
{
    size_t opened[NESTING_MAX], depth = 0, kept = 0, at;
    uint64_t eight, found;
    size_t plain;

    for (size_t i = 0; i < size; i++) {
        while (size - i > EIGHT) {
            memcpy(&eight, text + i, EIGHT);
            memcpy(out + kept, &eight, EIGHT);
            eight = le64toh(eight);
            found = places(eight, open) | places(eight, close);
            plain = found ? (size_t)__builtin_ctzll(found) / 8 : EIGHT;
            kept += plain;
            i += plain;
            if (found)
                break;
        }
        if (text[i] == close && depth > 0) {
            kept = opened[--depth];
            for (at = i + 1; at < size && is_blank(text[at]);)
                at++;
            if (and_const && size - at >= 5 &&
                memcmp(text + at, "const", 5) == 0)
                i = at + 5 - 1;
            continue;
        }
        if (text[i] == open && depth < NESTING_MAX)
            opened[depth++] = kept;
        out[kept++] = text[i];
    }
    return kept;
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
    size = delete_pairs(name, size, '(', ')', true, first);
    size = delete_pairs(first, size, '<', '>', false, text);
    type = type_size(text, size);
    memmove(text, text + type, size - type);
    buffer_claim(out, size - type);
}
