/* real_text.h - a double as MySQL writes it. */
#ifndef HW_REAL_TEXT_H
#define HW_REAL_TEXT_H

#include <stddef.h>

enum { REAL_TEXT = 48 };

/* The fewest digits that read back as x, with an exponent from 1e15 on and
 * below 1e-15: 1e20, 0.00001.  Finite.  Ends in a NUL; its length. */
size_t real_text(double x, char out[REAL_TEXT]);

/* With so many decimals and no exponent: zeros behind these digits.  Finite;
 * size: room for 310 characters and the decimals. */
void real_text_fixed(double x, int places, char *out, size_t size);

#endif
