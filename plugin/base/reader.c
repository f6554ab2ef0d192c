/*
 * reader.c - the bounds check behind every parser of untrusted bytes, and
 * comparisons of spans.
 *
 * A check after each field would be forgotten sooner or later; here a read past
 * the end gives zero and marks the reader failed for good, so a decoder reads
 * straight down and checks once at its end.  No byte outside [pos, end) is ever
 * read.  Case is ASCII's alone: the locale is the host's.
 */
#include "reader.h"

#include <endian.h>
#include <string.h>

#include "ascii.h"

struct reader
reader_of(const void *data, size_t size)
{
    struct reader r = {data, (const uint8_t *)data + size, false};

    return r;
}

size_t
reader_left(const struct reader *r)
{
    return r->failed ? 0 : (size_t)(r->end - r->pos);
}

bool
reader_done(const struct reader *r)
{
    return !r->failed && r->pos == r->end;
}

static inline bool
require_reader_bytes(struct reader *r, size_t n)
{
    if (r->failed || n > (size_t)(r->end - r->pos))
        r->failed = true;
    return !r->failed;
}

/* Inlined with a constant n, it becomes one load of that size. */
static inline uint64_t
read_little_endian(struct reader *r, size_t n)
{
    uint64_t v = 0;

    if (require_reader_bytes(r, n)) {
        memcpy(&v, r->pos, n);
        r->pos += n;
    }
    return le64toh(v);
}

uint8_t
reader_u8(struct reader *r)
{
    return (uint8_t)read_little_endian(r, 1);
}

uint16_t
reader_u16(struct reader *r)
{
    return (uint16_t)read_little_endian(r, 2);
}

uint32_t
reader_u24(struct reader *r)
{
    return (uint32_t)read_little_endian(r, 3);
}

uint32_t
reader_u32(struct reader *r)
{
    return (uint32_t)read_little_endian(r, 4);
}

uint64_t
reader_u64(struct reader *r)
{
    return read_little_endian(r, 8);
}

uint64_t
reader_lenenc(struct reader *r)
{
    uint8_t first = reader_u8(r);

    switch (first) {
    case 0xfc:
        return reader_u16(r);
    case 0xfd:
        return reader_u24(r);
    case 0xfe:
        return reader_u64(r);
    /* NULL in a row, and the first byte of an error packet: no lengths */
    case 0xfb:
    case 0xff:
        r->failed = true;
        return 0;
    default:
        return first;
    }
}

struct span
reader_bytes(struct reader *r, size_t size)
{
    struct span s = {"", 0};

    if (require_reader_bytes(r, size)) {
        s.data = (const char *)r->pos;
        s.size = size;
        r->pos += size;
    }
    return s;
}

struct span
reader_rest(struct reader *r)
{
    return reader_bytes(r, reader_left(r));
}

/* A length above what is left fails before it is cut to size_t. */
struct span
reader_lenenc_bytes(struct reader *r)
{
    uint64_t size = reader_lenenc(r);

    if (size > reader_left(r)) {
        r->failed = true;
        size = 0;
    }
    return reader_bytes(r, (size_t)size);
}

struct span
reader_text(struct reader *r)
{
    struct span s = {"", 0};
    const uint8_t *nul;

    if (r->failed)
        return s;
    nul = memchr(r->pos, 0, (size_t)(r->end - r->pos));
    if (!nul) {
        r->failed = true;
        return s;
    }
    s = reader_bytes(r, (size_t)(nul - r->pos));
    r->pos++;
    return s;
}

/* The last line need not end in '\n'. */
bool
reader_line(struct reader *r, struct span *line)
{
    const uint8_t *newline;

    if (r->failed || r->pos == r->end)
        return false;
    newline = memchr(r->pos, '\n', (size_t)(r->end - r->pos));
    *line = reader_bytes(r, (size_t)((newline ? newline : r->end) - r->pos));
    if (newline)
        r->pos++;
    return true;
}

/* Stops at the first NUL of text, so that no more of it is read than there
 * is. */
bool
span_is(struct span s, const char *text)
{
    size_t i = 0;

    while (i < s.size && text[i] != '\0' && s.data[i] == text[i])
        i++;
    return i == s.size && text[i] == '\0';
}

bool
span_is_nocase(struct span s, const char *text)
{
    size_t i = 0;

    while (i < s.size && text[i] != '\0' &&
           to_lower(s.data[i]) == to_lower(text[i]))
        i++;
    return i == s.size && text[i] == '\0';
}

bool
span_same_nocase(struct span a, struct span b)
{
    size_t i = 0;

    while (i < a.size && i < b.size &&
           to_lower(a.data[i]) == to_lower(b.data[i]))
        i++;
    return i == a.size && i == b.size;
}

bool
span_is_any(struct span s, const char *words)
{
    for (size_t size; *words; words += size + (words[size] == ' ')) {
        size = strcspn(words, " ");
        if (size == s.size && span_same_nocase(s, (struct span){words, size}))
            return true;
    }
    return false;
}

int
span_compare_nocase(struct span s, const char *text)
{
    size_t i = 0;

    while (i < s.size && text[i] != '\0' &&
           to_lower(s.data[i]) == to_lower(text[i]))
        i++;
    if (i == s.size)
        return text[i] == '\0' ? 0 : -1;
    return (unsigned char)to_lower(s.data[i]) -
           (unsigned char)to_lower(text[i]);
}

static bool
is_span_whitespace(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct span
span_trim(struct span s)
{
    while (s.size > 0 && is_span_whitespace(*s.data)) {
        s.data++;
        s.size--;
    }
    while (s.size > 0 && is_span_whitespace(s.data[s.size - 1]))
        s.size--;
    return s;
}
