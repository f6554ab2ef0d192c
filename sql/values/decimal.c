/*
 * decimal.c - MySQL's DECIMAL arithmetic, which SQLite lacks.
 *
 * SQLite has 64-bit integers and doubles, so 0.1 + 0.2 = 0.3 would be false
 * and SUM() of money inexact.  A DECIMAL is one 128-bit integer and a power of
 * ten here, not MySQL's array of nine-digit words: all that fits into 38
 * digits is exact and takes a few instructions; what does not is refused
 * (MySQL's 65 digits are not reached).  Every product is checked for overflow
 * before it is used.  Pure functions; SELECT's functions and the comparison of
 * values call them.
 */
#include "decimal.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ascii.h"

__extension__ typedef unsigned __int128 natural;

enum { GROUP = 9 /* decimals by which a quotient grows */ };

static decimal_integer
power_of_ten(int n)
{
    static const uint64_t powers[] = {1,
                                      10,
                                      100,
                                      1000,
                                      10000,
                                      100000,
                                      1000000,
                                      10000000,
                                      100000000,
                                      1000000000,
                                      10000000000,
                                      100000000000,
                                      1000000000000,
                                      10000000000000,
                                      100000000000000,
                                      1000000000000000,
                                      10000000000000000,
                                      100000000000000000,
                                      1000000000000000000,
                                      10000000000000000000U};

    /* 10^38 is the largest power below 2^127; n is at most DECIMAL_DIGITS. */
    return n < 20 ? (decimal_integer)powers[n]
                  : (decimal_integer)powers[19] * powers[n - 19];
}

static bool
is_too_long(decimal_integer digits)
{
    decimal_integer limit = power_of_ten(DECIMAL_DIGITS);

    return digits >= limit || digits <= -limit;
}

static bool
set_checked_decimal(decimal_integer digits, int scale, struct decimal *out)
{
    if (is_too_long(digits))
        return false;
    *out = (struct decimal){digits, scale};
    return true;
}

bool
decimal_widen(struct decimal *d, int scale)
{
    decimal_integer digits;

    if (d->scale >= scale)
        return true;
    if (scale - d->scale > DECIMAL_DIGITS)
        return d->digits == 0;
    if (__builtin_mul_overflow(d->digits, power_of_ten(scale - d->scale),
                               &digits))
        return false;
    return set_checked_decimal(digits, scale, d);
}

struct decimal
decimal_short(struct decimal d)
{
    if (d.digits == 0)
        d.scale = 0;
    /* 128-bit division is a call of a library function: eight zeros at a time
     * first. */
    while (d.scale >= 8 && d.digits % 100000000 == 0) {
        d.digits /= 100000000;
        d.scale -= 8;
    }
    while (d.scale > 0 && d.digits % 10 == 0) {
        d.digits /= 10;
        d.scale--;
    }
    return d;
}

/* ---- texts ---- */

struct digits {
    decimal_integer value;
    int count; /* from the first that is not 0 */
    int left_out, scale;
    bool rounds_up, behind_point;
};

/* Takes a digit while there is room; the first one that is left out rounds. */
static void
add_digit(struct digits *d, int digit)
{
    if (d->left_out > 0 || d->count == DECIMAL_DIGITS) {
        if (d->left_out++ == 0)
            d->rounds_up = digit >= 5;
        d->scale += d->behind_point;
        return;
    }
    d->value = d->value * 10 + digit;
    d->count += d->value != 0;
    d->scale += d->behind_point;
}

/* Reads an exponent, and moves *at behind it; without one *at stays.  Far
 * beyond any scale its size no longer matters, so it stops growing there. */
static int
read_exponent(struct span text, size_t *at)
{
    size_t i = *at + 1;
    bool negative;
    int exponent = 0;

    if (*at >= text.size || (text.data[*at] != 'e' && text.data[*at] != 'E'))
        return 0;
    negative = i < text.size && text.data[i] == '-';
    i += i < text.size && (text.data[i] == '-' || text.data[i] == '+');
    if (i >= text.size || !is_digit(text.data[i]))
        return 0;
    for (; i < text.size && is_digit(text.data[i]); i++)
        exponent =
            exponent > 100000 ? exponent : exponent * 10 + (text.data[i] - '0');
    *at = i;
    return negative ? -exponent : exponent;
}

/* Makes value / 10^scale, for any scale.  A negative scale appends zeros; more
 * decimals than there are digits are cut off. */
static bool
place_point(decimal_integer value, int scale, struct decimal *out)
{
    struct decimal d = {value, scale};

    if (value == 0)
        return set_checked_decimal(0, 0, out);
    if (scale < 0) {
        d.scale = 0;
        if (scale < -DECIMAL_DIGITS ||
            __builtin_mul_overflow(value, power_of_ten(-scale), &d.digits))
            return false;
        return set_checked_decimal(d.digits, 0, out);
    }
    if (scale <= DECIMAL_DIGITS)
        return set_checked_decimal(value, scale, out);
    if (scale > 2 * DECIMAL_DIGITS)
        return set_checked_decimal(0, 0, out);
    return set_checked_decimal(value / power_of_ten(scale - DECIMAL_DIGITS),
                               DECIMAL_DIGITS, out);
}

bool
decimal_read(struct span text, struct decimal *out, size_t *used)
{
    struct digits d = {0};
    size_t i = 0, digits = 0;
    bool negative;
    int exponent;

    *used = 0;
    while (i < text.size && (text.data[i] == ' ' || text.data[i] == '\t' ||
                             text.data[i] == '\n'))
        i++;
    negative = i < text.size && text.data[i] == '-';
    i += i < text.size && (text.data[i] == '-' || text.data[i] == '+');
    for (; i < text.size; i++) {
        if (text.data[i] == '.' && !d.behind_point)
            d.behind_point = true;
        else if (is_digit(text.data[i]) && ++digits)
            add_digit(&d, text.data[i] - '0');
        else
            break;
    }
    if (digits == 0) {
        *out = (struct decimal){0, 0};
        return true;
    }
    exponent = read_exponent(text, &i);
    *used = i;
    d.value += d.rounds_up;
    if (is_too_long(d.value)) { /* 999... was rounded up to 10^38 */
        d.value /= 10;
        d.left_out++;
    }
    d.scale -= d.left_out + exponent;
    return (d.left_out == 0 || d.scale >= 0) &&
           place_point(negative ? -d.value : d.value, d.scale, out);
}

bool
decimal_read_exact(struct span text, struct decimal *out, int *decimals)
{
    const char *end = text.data + text.size;
    const char *point = memchr(text.data, '.', text.size);
    size_t used;

    if (memchr(text.data, 'e', text.size) || memchr(text.data, 'E', text.size))
        point = NULL;
    while (point && text.data[text.size - 1] == '0')
        text.size--;
    if (!decimal_read(text, out, &used) || out->scale > DECIMAL_SCALE_MAX ||
        (point && out->scale != (int)(text.data + text.size - point) - 1))
        return false;
    *decimals = !point                            ? out->scale
                : end - point > DECIMAL_SCALE_MAX ? DECIMAL_SCALE_MAX
                                                  : (int)(end - point) - 1;
    return true;
}

bool
decimal_of_real(double x, struct decimal *out)
{
    char text[40];
    size_t used;

    if (!isfinite(x))
        return false;
    /* 16 digits give 0.1 for 0.1; only a double that these do not identify
     * shows its 17th. */
    snprintf(text, sizeof(text), "%.15e", x);
    if (strtod(text, NULL) != x)
        snprintf(text, sizeof(text), "%.16e", x);
    return decimal_read((struct span){text, strlen(text)}, out, &used);
}

double
decimal_real(struct decimal d)
{
    char text[DECIMAL_TEXT];

    d = decimal_short(d);
    /* both are exact then, and IEEE 754 rounds their quotient once */
    if (d.digits < (decimal_integer)1 << 53 &&
        d.digits > -((decimal_integer)1 << 53) && d.scale <= 22)
        return (double)d.digits / (double)power_of_ten(d.scale);
    decimal_text(d, d.scale, text);
    return strtod(text, NULL);
}

size_t
decimal_text(struct decimal d, int scale, char out[DECIMAL_TEXT])
{
    char text[DECIMAL_TEXT], *at = text + sizeof(text);
    bool negative = d.digits < 0;
    natural rest;
    int i;
    size_t size;

    if (scale < d.scale) /* rounding leaves fewer digits, so this cannot fail */
        decimal_shorten(d, scale, DECIMAL_ROUND, &d);
    rest = negative ? -(natural)d.digits : (natural)d.digits;
    for (i = scale; i > d.scale; i--)
        *--at = '0';
    for (; i > 0; i--, rest /= 10)
        *--at = (char)('0' + (int)(rest % 10));
    if (scale > 0)
        *--at = '.';
    do
        *--at = (char)('0' + (int)(rest % 10));
    while (rest /= 10);
    if (negative && d.digits != 0)
        *--at = '-';
    size = (size_t)(text + sizeof(text) - at);
    memcpy(out, at, size);
    if (size < DECIMAL_TEXT)
        out[size] = '\0';
    return size;
}

/* ---- comparing ---- */

/* Splits into the integer part, rounded down, and the rest in units of 10^-38,
 * which both fit where one number of the common scale would not. */
static void
split_at_point(struct decimal d, decimal_integer *whole, natural *rest)
{
    decimal_integer unit = power_of_ten(d.scale), behind = d.digits % unit;

    *whole = d.digits / unit;
    if (behind < 0) {
        behind += unit;
        --*whole;
    }
    *rest = (natural)behind * (natural)power_of_ten(DECIMAL_DIGITS - d.scale);
}

int
decimal_compare(struct decimal a, struct decimal b)
{
    decimal_integer x, y;
    natural more_x, more_y;

    if (a.scale == b.scale)
        return a.digits < b.digits ? -1 : a.digits > b.digits;
    split_at_point(a, &x, &more_x);
    split_at_point(b, &y, &more_y);
    if (x != y)
        return x < y ? -1 : 1;
    return more_x < more_y ? -1 : more_x > more_y;
}

static void
write_natural_bytes(natural x, unsigned char out[16])
{
    for (int i = 15; i >= 0; i--, x >>= 8)
        out[i] = (unsigned char)x;
}

size_t
decimal_key(struct decimal d, unsigned char out[DECIMAL_KEY])
{
    decimal_integer whole;
    natural rest;
    size_t size = DECIMAL_KEY;

    split_at_point(d, &whole, &rest);
    /* The sign bit is flipped, so that negative numbers come first when bytes
     * are compared; zeros at the end are left out, as a shorter key is less. */
    write_natural_bytes((natural)whole ^ (natural)1 << 127, out);
    write_natural_bytes(rest, out + 16);
    while (size > 16 && out[size - 1] == 0)
        size--;
    return size;
}

static natural
read_bytes(const char *bytes, size_t size)
{
    natural out = 0;

    for (size_t i = 0; i < 16; i++)
        out = out << 8 | (i < size ? (unsigned char)bytes[i] : 0);
    return out;
}

bool
decimal_of_key(struct span key, struct decimal *out)
{
    struct decimal rest = {0, DECIMAL_DIGITS};
    decimal_integer whole;

    if (key.size < 16 || key.size > DECIMAL_KEY)
        return false;
    whole = (decimal_integer)(read_bytes(key.data, 16) ^ (natural)1 << 127);
    rest.digits = (decimal_integer)read_bytes(key.data + 16, key.size - 16);
    if (is_too_long(rest.digits))
        return false;
    rest = decimal_short(rest);
    return !__builtin_mul_overflow(whole, power_of_ten(rest.scale), &whole) &&
           !__builtin_add_overflow(whole, rest.digits, &whole) &&
           set_checked_decimal(whole, rest.scale, out);
}

/* ---- arithmetic ---- */

bool
decimal_add(struct decimal a, struct decimal b, struct decimal *out)
{
    int scale = a.scale > b.scale ? a.scale : b.scale;

    /* both are below 10^38: their sum is no overflow of 127 bits */
    return decimal_widen(&a, scale) && decimal_widen(&b, scale) &&
           !__builtin_add_overflow(a.digits, b.digits, &a.digits) &&
           set_checked_decimal(a.digits, scale, out);
}

bool
decimal_multiply(struct decimal a, struct decimal b, struct decimal *out)
{
    decimal_integer digits;

    a = decimal_short(a);
    b = decimal_short(b);
    if (__builtin_mul_overflow(a.digits, b.digits, &digits) ||
        is_too_long(digits))
        return false;
    return place_point(digits, a.scale + b.scale, out);
}

static int
round_to_group(int decimals)
{
    return (decimals + GROUP - 1) / GROUP * GROUP;
}

/* Continues a division by as many digits at once as 128 bits allow, at most so
 * many; returns how many.  0: not one more fits. */
static int
divide_further(natural *quotient, natural *rest, natural by, int digits)
{
    natural limit = (natural)power_of_ten(DECIMAL_DIGITS);

    for (; digits > 0; digits--) {
        natural power = (natural)power_of_ten(digits), wide, next;

        if (__builtin_mul_overflow(*rest, power, &wide) ||
            __builtin_mul_overflow(*quotient, power, &next) ||
            __builtin_add_overflow(next, wide / by, &next) || next >= limit)
            continue;
        *quotient = next;
        *rest = wide % by;
        break;
    }
    return digits;
}

bool
decimal_divide(struct decimal a, struct decimal b, int more,
               struct decimal *out)
{
    /* MySQL counts decimals in words of nine digits, and a quotient has all
     * decimals of its words: 1/3 has four in a column, but nine when it is
     * multiplied.  The scale below is MySQL's do_div_mod(). */
    int left = round_to_group(a.scale), right = round_to_group(b.scale);
    int least = a.scale + more, scale, taken = 1;
    bool negative = (a.digits < 0) != (b.digits < 0);
    natural by, quotient, rest;

    if (least > DECIMAL_SCALE_MAX)
        least = DECIMAL_SCALE_MAX;
    more -= left - a.scale + right - b.scale;
    scale = round_to_group(left + right + (more > 0 ? more : 0));
    if (scale > DECIMAL_DIGITS)
        scale = DECIMAL_DIGITS;
    b = decimal_short(b);
    rest = (natural)(a.digits < 0 ? -a.digits : a.digits);
    by = (natural)(b.digits < 0 ? -b.digits : b.digits);
    quotient = rest / by;
    rest %= by;
    /* from here on, left is the scale of the quotient so far */
    for (left = a.scale - b.scale; left < scale && taken > 0; left += taken)
        taken = divide_further(&quotient, &rest, by,
                               scale - left < DECIMAL_DIGITS ? scale - left
                                                             : DECIMAL_DIGITS);
    if (left < least)
        return false;
    return place_point(negative ? -(decimal_integer)quotient
                                : (decimal_integer)quotient,
                       left, out);
}

bool
decimal_split(struct decimal a, struct decimal b, decimal_integer *quotient,
              struct decimal *rest)
{
    int scale;

    a = decimal_short(a);
    b = decimal_short(b);
    scale = a.scale > b.scale ? a.scale : b.scale;
    if (!decimal_widen(&a, scale))
        return false;
    if (!decimal_widen(&b, scale)) { /* b has too many digits at this scale:
                                      * it is larger than a */
        *quotient = 0;
        *rest = a;
        return true;
    }
    *quotient = a.digits / b.digits;
    *rest = (struct decimal){a.digits % b.digits, scale};
    return true;
}

bool
decimal_shorten(struct decimal d, int places, enum decimal_end end,
                struct decimal *out)
{
    decimal_integer unit, rest;
    int less = d.scale - places;

    if (less <= 0) {
        *out = d;
        return true;
    }
    if (less > DECIMAL_DIGITS)
        return set_checked_decimal(0, 0, out);
    unit = power_of_ten(less);
    rest = d.digits % unit;
    d.digits /= unit;
    /* Written so because 2 * rest could overflow. */
    if (end == DECIMAL_ROUND && rest >= unit - rest)
        d.digits++;
    else if (end == DECIMAL_ROUND && -rest >= unit + rest)
        d.digits--;
    else if (end == DECIMAL_FLOOR)
        d.digits -= rest < 0;
    else if (end == DECIMAL_CEIL)
        d.digits += rest > 0;
    return place_point(d.digits, places, out);
}

struct decimal
decimal_most(int digits, int scale)
{
    return (struct decimal){power_of_ten(digits) - 1, scale};
}
