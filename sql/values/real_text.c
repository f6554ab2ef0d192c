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

/* 1.50000000000000e+20.  Returns how many digits that is. */
static int
write_shortest_real(double x, char out[REAL_TEXT])
{
    int precision = DIGITS_SURE;

    do
        snprintf(out, REAL_TEXT, "%.*e", precision - 1, x);
    while (strtod(out, NULL) != x && precision++ < DIGITS_MAX);
    return precision;
}

void
real_text_fixed(double x, int places, char *out, size_t size)
{
    char text[REAL_TEXT];
    const int behind = write_shortest_real(x, text) - 1;
    const int decimals = behind - (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    const int zeros = places - (decimals > 0 ? decimals : 0);
    const char *point = strchr(text, '.');
    size_t used;

    if (decimals < 0) /* 123e+5 */
        used = (size_t)snprintf(out, size, "%.*s%.*s%0*d", (int)(point - text),
                                text, behind, point + 1, -decimals, 0);
    else
        used = (size_t)snprintf(out, size, "%.*f",
                                decimals < places ? decimals : places, x);
    if (zeros > 0)
        snprintf(out + used, size - used, "%s%0*d", decimals > 0 ? "" : ".",
                 zeros, 0);
}

size_t
real_text(double x, char out[REAL_TEXT])
{
    char text[REAL_TEXT], *end;
    int exponent, decimals;

    write_shortest_real(x, text);
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
