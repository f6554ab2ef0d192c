/* hex_digit.h - the value of a hexadecimal digit. */
#ifndef HW_HEX_DIGIT_H
#define HW_HEX_DIGIT_H

#include "digit.h"

/* -1: it is none. */
static inline int
hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
