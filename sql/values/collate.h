/*
 * collate.h - how texts compare: MySQL's utf8mb4_general_ci.
 *
 * Each character has one weight, which is that of its letter without case and
 * accent; characters past U+FFFF share one.  Blanks at the end do not count.
 */
#ifndef HW_COLLATE_H
#define HW_COLLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"

struct buffer;

/* Takes the first character of a text that is not empty; returns its weight.
 * A byte that is no UTF-8 has a weight that no character has. */
unsigned collate_take(struct span *text);
/* The same for a pair of bytes if both are ASCII, as most are. */
static inline bool
collate_is_ascii(char a, char b)
{
    return (unsigned char)(a | b) < 0x80;
}
static inline unsigned
collate_ascii(char c)
{
    return (unsigned)(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
}
int collate_compare(struct span a, struct span b);
/* utf8mb4_bin: by code points; here, too, without the blanks at the end. */
int collate_compare_bin(struct span a, struct span b);
/* Appends the weights, each in two bytes, of all characters. */
void collate_add_weights(struct buffer *out, struct span text);
/* The text without the blanks at its end. */
struct span collate_trimmed(struct span text);

/* Bytes of the first n characters, at most all. */
size_t utf8_prefix(struct span text, int64_t n);
int64_t utf8_length(struct span text); /* number of characters */

/* Appends one character in upper or lower case. */
void utf8_add_case(struct buffer *out, const char *bytes, size_t size, bool up);

enum { LIKE_PATTERN_MAX = 256 }; /* bytes; a longer one matches nothing */

/* _ is one UTF-8 character.  No recursion: at worst text times pattern. */
bool like_match(struct span text, struct span pattern, char escape);
/* The same for bytes; case counts. */
bool like_match_binary(struct span text, struct span pattern, char escape);

#endif
