/*
 * clean_text.c - makes bytes of the database, of clients and of files harmless.
 *
 * Names and texts from outside reach terminals, logs, XML and JSON: an escape
 * sequence in one would act on a terminal, broken UTF-8 would make a document
 * unreadable.  Each byte of a control character, or of what is not well-formed
 * UTF-8, becomes '?', so that the length stays and the rest stays readable.
 * Nearly all texts are printable ASCII: whole blocks of them are recognised at
 * once (SSE2, or eight bytes in a word), and only the others are taken apart by
 * the table of the Unicode standard.  Pure functions.
 */
#include "clean_text.h"

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "buffer.h"
#include "ascii.h"

/* The size of the well-formed character at p (Unicode, table 3-7), or 0.  The
 * forms leave out control characters (C0, DEL, C1: 0xc2 0x80 to 0x9f), overlong
 * forms, surrogates, and what is above U+10FFFF. */
static size_t
character_size(const unsigned char *p, size_t left)
{
    static const struct {
        unsigned char first, last; /* of the lead byte */
        unsigned char low, high;   /* of the byte after it */
        unsigned char size;
    } forms[] = {
        {0x20, 0x7e, 0x00, 0x00, 1}, {0xc2, 0xc2, 0xa0, 0xbf, 2},
        {0xc3, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
        {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        size_t size = forms[i].size;

        if (p[0] < forms[i].first || p[0] > forms[i].last)
            continue;
        if (size > left ||
            (size > 1 && (p[1] < forms[i].low || p[1] > forms[i].high)))
            return 0;
        for (size_t j = 2; j < size; j++)
            if ((p[j] & 0xc0) != 0x80)
                return 0;
        return size;
    }
    return 0;
}

#ifdef __SSE2__

enum { BLOCK = 16 };

/* Has the block only ' ' to '~'? */
static inline bool
is_plain_ascii_block(const unsigned char *block)
{
    __m128i bytes;

    /* Compared as signed bytes, those above 0x7f are negative. */
    memcpy(&bytes, block, sizeof(bytes));
    return _mm_movemask_epi8(_mm_and_si128(
               _mm_cmpgt_epi8(bytes, _mm_set1_epi8(' ' - 1)),
               _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x7f)))) == 0xffff;
}

#else

enum { BLOCK = 8 };

/* Has the block only ' ' to '~'? */
static inline bool
is_plain_ascii_block(const unsigned char *block)
{
    const uint64_t ones = 0x0101010101010101ULL, tops = ones << 7;
    uint64_t bytes;

    /* Adding 1 to each byte sets the top bit of 0x7f; subtracting ' ' from
     * each, with its top bit set against borrows, clears that of what is below
     * ' '. */
    memcpy(&bytes, block, sizeof(bytes));
    return ((bytes | (bytes + ones) | ~((bytes | tops) - ones * ' ')) & tops) ==
           0;
}

#endif

bool
text_is_plain(struct span text)
{
    const unsigned char *p = (const unsigned char *)text.data;
    unsigned char last[BLOCK];
    size_t i = 0;

    for (; text.size - i >= BLOCK; i += BLOCK)
        if (!is_plain_ascii_block(p + i))
            return false;
    if (i == text.size)
        return true;
    /* the last, shorter block is filled up with plain bytes */
    memset(last, ' ', sizeof(last));
    memcpy(last, p + i, text.size - i);
    return is_plain_ascii_block(last);
}

/* The number of ASCII bytes from i on. */
static size_t
ascii_size(struct span text, size_t i)
{
    const uint64_t tops = 0x8080808080808080ULL;
    size_t start = i;
    uint64_t bytes;

    for (; text.size - i >= sizeof(bytes); i += sizeof(bytes)) {
        memcpy(&bytes, text.data + i, sizeof(bytes));
        if (bytes & tops)
            break;
    }
    while (i < text.size && !(text.data[i] & 0x80))
        i++;
    return i - start;
}

bool
text_is_utf8(struct span text)
{
    const unsigned char *p = (const unsigned char *)text.data;
    size_t i = ascii_size(text, 0), size;

    for (; i < text.size; i += ascii_size(text, i)) {
        /* U+0080 to U+009F are well-formed, but character_size refuses them as
         * control characters */
        if (p[i] == 0xc2 && text.size - i > 1 && (p[i + 1] & 0xe0) == 0x80)
            size = 2;
        else
            size = character_size(p + i, text.size - i);
        if (size == 0)
            return false;
        i += size;
    }
    return true;
}

void
clean_text(struct span text, char *out)
{
    const unsigned char *p = (const unsigned char *)text.data;
    size_t i = 0, size;

    while (i < text.size) {
        while (text.size - i >= BLOCK && is_plain_ascii_block(p + i)) {
            memcpy(out + i, p + i, BLOCK);
            i += BLOCK;
        }
        if (i == text.size)
            break;
        size = character_size(p + i, text.size - i);
        if (size)
            memcpy(out + i, p + i, size);
        else
            out[i] = '?';
        i += size ? size : 1;
    }
    out[i] = '\0';
}

/* ---- XML and JSON ---- */

/* U+FFFE and U+FFFF are well-formed UTF-8, but XML 1.0 has no such
 * characters. */
static bool
is_noncharacter(const char *s, size_t left)
{
    return left >= 3 && memcmp(s, "\xef\xbf", 2) == 0 &&
           ((unsigned char)s[2] | 1) == 0xbf;
}

static const char *
xml_entity_text(char c)
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

void
xml_text(const char *text, size_t size, struct buffer *out)
{
    size_t from = 0;

    for (size_t i = 0; i < size; i++) {
        const char *escaped = xml_entity_text(text[i]);
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

/* The size of the character at s if it must be escaped, or 0.  <, > and & are
 * escaped because the JSON may stand in a <script> of a page; U+FFFE and U+FFFF
 * because it may stand in XML, which does not allow them. */
static size_t
json_escaped_size(const char *s, size_t left)
{
    if ((unsigned char)*s < ' ' || strchr("\"\\<>&", *s))
        return 1;
    return is_noncharacter(s, left) ? 3 : 0;
}

static void
append_escaped_json(const char *text, size_t size, struct buffer *out)
{
    size_t from = 0, i = 0, bytes;

    while (i < size) {
        bytes = json_escaped_size(text + i, size - i);
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

/* A copy is needed, as the cleaned text is escaped in a second pass. */
static void
add_cleaned(struct span text, struct buffer *out)
{
    struct buffer clean;
    char *to;

    buffer_init(&clean, text.size + 1);
    to = buffer_reserve(&clean, text.size + 1);
    if (to) {
        clean_text(text, to);
        append_escaped_json(to, text.size, out);
    }
    out->failed |= clean.failed;
    buffer_fini(&clean);
}

void
json_append_string(const char *text, size_t size, struct buffer *out)
{
    struct span whole = {text, size};

    buffer_char(out, '"');
    if (text_is_utf8(whole))
        append_escaped_json(text, size, out);
    else
        add_cleaned(whole, out);
    buffer_char(out, '"');
}

static size_t
skip_digits(struct span text, size_t at)
{
    while (at < text.size && is_digit(text.data[at]))
        at++;
    return at;
}

/* The grammar of RFC 8259, without an exponent unless is_double. */
bool
json_is_number(struct span text, bool is_double)
{
    static const char largest[] = "9007199254740991"; /* 2^53 - 1 */
    size_t begin = text.size > 0 && text.data[0] == '-', at, digits;
    size_t whole = skip_digits(text, begin);

    if (whole == begin || (text.data[begin] == '0' && whole > begin + 1))
        return false;
    at = whole;
    digits = whole - begin;
    if (at < text.size && text.data[at] == '.') {
        at = skip_digits(text, whole + 1);
        if (at == whole + 1)
            return false;
        digits += at - whole - 1;
    }
    if (is_double && at < text.size && text.data[at] == 'e') {
        size_t power = at + 1 +
                       (at + 1 < text.size &&
                        (text.data[at + 1] == '-' || text.data[at + 1] == '+'));

        at = skip_digits(text, power);
        if (at == power)
            return false;
    }
    if (at != text.size)
        return false;
    return is_double || digits < sizeof(largest) - 1 ||
           (digits == sizeof(largest) - 1 && at == whole &&
            memcmp(text.data + begin, largest, digits) <= 0);
}
