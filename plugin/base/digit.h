/* digit.h - whether a byte is a decimal digit, whatever the locale. */
#ifndef HW_DIGIT_H
#define HW_DIGIT_H

#include <stdbool.h>

static inline bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

#endif
