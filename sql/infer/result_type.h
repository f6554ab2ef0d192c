/* result_type.h - what a column of a SELECT, or an expression, is declared to
 * be. */
#ifndef HW_RESULT_TYPE_H
#define HW_RESULT_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cursor.h"

enum {
    /* A DECIMAL is a double of SQLite, which has so many digits: a number with
     * more, or with more of them behind the point, is a DOUBLE. */
    EXACT_DIGITS_MAX = 15
};

struct result_type {
    enum column_type type;
    uint32_t width;
    uint16_t flags;
    uint8_t decimals;
    bool past;    /* an integer that may be past 63 bits */
    bool unknown; /* text for want of a better one */
};

/* A type with its usual width. */
struct result_type result_type_of(enum column_type type);
struct result_type result_type_unknown(void);
/* The type that holds both: of the branches of an IF. */
struct result_type result_type_widened(struct result_type a,
                                       struct result_type b);
bool result_type_is_integer(struct result_type t);
/* An integer, or a DECIMAL: arithmetic on it gives a DECIMAL. */
bool result_type_is_exact(struct result_type t);
/* A DECIMAL; DOUBLE where a double has no digits for so many decimals. */
struct result_type result_type_decimal(size_t decimals);

#endif
