/*
 * decimal.h - DECIMAL: a whole number of 38 digits and a power of ten.
 *
 * Pure arithmetic, exact or refused: false means that the result has more
 * digits than there are.
 */
#ifndef HW_DECIMAL_H
#define HW_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

#include "reader.h"

enum {
    DECIMAL_DIGITS = 38,
    DECIMAL_SCALE_MAX = 30, /* decimals of a column, as in MySQL */
    DECIMAL_TEXT = 80,      /* bytes of decimal_text */
    DECIMAL_KEY = 32
};

__extension__ typedef __int128 decimal_integer;

struct decimal {
    decimal_integer digits; /* less than 10^38 */
    int scale;              /* number of them behind the point, 0 to 38 */
};

/* Reads the number that a text begins with, with a sign, a point and an
 * exponent; blanks may precede. *used: its bytes; 0: there is no number.
 * Decimals that do not fit are rounded.  False: the number is too large. */
bool decimal_read(struct span text, struct decimal *out, size_t *used);
/* Reads a text that is nothing but a number. *decimals: how many it is written
 * with, zeros included, at most DECIMAL_SCALE_MAX.  False: a digit would be
 * lost, or there are more than DECIMAL_SCALE_MAX decimals. */
bool decimal_read_exact(struct span text, struct decimal *out, int *decimals);
/* Gives x by 16 digits, or by 17 if 16 do not identify it.  False: it is too
 * large. */
bool decimal_of_real(double x, struct decimal *out);
double decimal_real(struct decimal d);
/* Writes that many decimals, rounded half away from zero; returns the bytes. */
size_t decimal_text(struct decimal d, int scale, char out[DECIMAL_TEXT]);
/* Bytes that compare as the numbers do; returns how many. */
size_t decimal_key(struct decimal d, unsigned char out[DECIMAL_KEY]);
bool decimal_of_key(struct span key, struct decimal *out);

/* Removes zeros at the end, so that equal numbers are the same. */
struct decimal decimal_short(struct decimal d);
int decimal_compare(struct decimal a, struct decimal b);
bool decimal_add(struct decimal a, struct decimal b, struct decimal *out);
bool decimal_multiply(struct decimal a, struct decimal b, struct decimal *out);
/* Divides; b is not 0.  The quotient has the decimals of a and `more`, and
 * then further ones by nines, as in MySQL, while there are digits; it is cut
 * and not rounded.  False: not even the first ones fit. */
bool decimal_divide(struct decimal a, struct decimal b, int more,
                    struct decimal *out);
/* Adds zeros until there are that many decimals. */
bool decimal_widen(struct decimal *d, int scale);
/* The integer part of a quotient, and the rest, which has the sign of a. */
bool decimal_split(struct decimal a, struct decimal b,
                   decimal_integer *quotient, struct decimal *rest);
/* Keeps places decimals, or sets the digits before the point to 0. */
enum decimal_end { DECIMAL_ROUND, DECIMAL_CUT, DECIMAL_FLOOR, DECIMAL_CEIL };
bool decimal_shorten(struct decimal d, int places, enum decimal_end end,
                     struct decimal *out);
/* The largest number of that many digits. */
struct decimal decimal_most(int digits, int scale);

#endif
