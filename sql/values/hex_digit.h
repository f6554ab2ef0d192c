/* hex_digit.h - the value of a hexadecimal digit. */
#ifndef HW_HEX_DIGIT_H
#define HW_HEX_DIGIT_H

/* -1: it is none. */
static inline int
hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
