/* ascii.h - what kind of character a byte is, whatever the locale. */
#ifndef HW_ASCII_H
#define HW_ASCII_H

#include <stdbool.h>

static inline bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline char
to_lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static inline bool
is_letter(char c)
{
    return to_lower(c) >= 'a' && to_lower(c) <= 'z';
}

/* May it stand in an identifier of C? */
static inline bool
is_word_character(char c)
{
    return is_letter(c) || is_digit(c) || c == '_';
}

/* The characters that isspace() accepts in the C locale. */
static inline bool
is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The value of a hexadecimal digit; -1: it is none. */
static inline int
lower_hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static inline int
hex_digit(char c)
{
    return lower_hex_digit(to_lower(c));
}

#endif
