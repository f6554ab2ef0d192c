/*
 * reader.h - bounded reading of untrusted bytes; failure sticks.
 *
 * Little-endian, as the MySQL protocol and our own messages are.  A read past
 * the end gives zero and sets failed: decode straight through, check once.
 */
#ifndef HW_READER_H
#define HW_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reader {
    const uint8_t *pos, *end;
    bool failed; /* sticky: later reads give zero */
};

/* A run of borrowed bytes, not NUL-terminated. */
struct span {
    const char *data;
    size_t size;
};

struct reader reader_of(const void *data, size_t size);
size_t reader_left(const struct reader *r);
bool reader_done(const struct reader *r); /* nothing failed or left */

uint8_t reader_u8(struct reader *r);
uint16_t reader_u16(struct reader *r);
uint32_t reader_u24(struct reader *r);
uint32_t reader_u32(struct reader *r);
uint64_t reader_u64(struct reader *r);

/* MySQL's length-encoded integer; 0xfb and 0xff (NULL, error) fail. */
uint64_t reader_lenenc(struct reader *r);

struct span reader_bytes(struct reader *r, size_t size);
struct span reader_rest(struct reader *r);
struct span reader_lenenc_bytes(struct reader *r);
struct span reader_text(struct reader *r); /* up to a NUL, which is eaten */

/* One line without its '\n'; false at the end. */
bool reader_line(struct reader *r, struct span *line);

/* Skips blanks, tabs and returns.  Dumps have one blank in millions of places,
 * so that case is tested first. */
static inline void
reader_skip_blanks(struct reader *r)
{
    if (r->pos < r->end && *r->pos == ' ')
        r->pos++;
    while (r->pos < r->end && *r->pos <= ' ' &&
           (*r->pos == ' ' || *r->pos == '\t' || *r->pos == '\r'))
        r->pos++;
}

static inline struct span
span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

bool span_is(struct span s, const char *text);        /* exact */
bool span_is_nocase(struct span s, const char *text); /* ASCII case */
bool span_same_nocase(struct span a, struct span b);
/* Whether s is one of words, which single blanks separate, in any case. */
bool span_is_any(struct span s, const char *words);
/* Below 0, 0 or above 0, as strcmp of both in lower case. */
int span_compare_nocase(struct span s, const char *text);
/* s without the blanks, tabs and line ends around it. */
struct span span_trim(struct span s);

static inline bool
span_starts_with(struct span s, const char *text)
{
    size_t size = strlen(text);

    return s.size >= size && memcmp(s.data, text, size) == 0;
}

/* Bytes of a name or word that an error shows, for "%.*s". */
enum { SPAN_SHOWN = 64 };

static inline int
span_shown(struct span s)
{
    return s.size < SPAN_SHOWN ? (int)s.size : SPAN_SHOWN;
}

static inline bool
text_starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* The last part of a path: points into it, and all of it without a slash. */
static inline const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

#endif
