/*
 * real_text.c - writes a double as MySQL does: the fewest digits that read
 * back as the same number.  15 always identify what was typed with 15; the
 * loop adds up to two more.
 */
#include "real_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIGITS_SURE = 15,
    DIGITS_MAX = 17,
    EXPONENT_MIN = -15,
    EXPONENT_MAX = 14
};

size_t
real_text(double x, char out[REAL_TEXT])
{
    char text[REAL_TEXT], *end;
    int precision = DIGITS_SURE, exponent, decimals;

    do
        snprintf(text, sizeof(text), "%.*e", precision - 1, x);
    while (strtod(text, NULL) != x && precision++ < DIGITS_MAX);
    end = strchr(text, 'e');
    if (!end)
        return (size_t)snprintf(out, REAL_TEXT, "%s", text);
    exponent = (int)strtol(end + 1, NULL, 10);
    while (end[-1] == '0' && end[-2] != '-' && end - 1 > text)
        end--;
    end -= end[-1] == '.';
    *end = '\0';
    if (exponent < EXPONENT_MIN || exponent > EXPONENT_MAX)
        return (size_t)snprintf(out, REAL_TEXT, "%se%d", text, exponent);
    end = strchr(text, '.');
    decimals = (end ? (int)strlen(end) - 1 : 0) - exponent;
    return (size_t)snprintf(out, REAL_TEXT, "%.*f", decimals > 0 ? decimals : 0,
                            x);
}
