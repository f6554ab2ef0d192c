/* result_type.h - the declared type of a column of a SELECT, or an
 * expression. */
#ifndef HW_RESULT_TYPE_H
#define HW_RESULT_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cursor.h"

enum {
    /* Digits of a DECIMAL, which is a double in SQLite: a number with more of
     * them, before or behind the point, is a DOUBLE. */
    EXACT_DIGITS_MAX = 15
};

struct result_type {
    enum column_type type;
    uint32_t width;
    uint16_t flags;
    uint8_t decimals;
    bool past;    /* an integer that may exceed 63 bits */
    bool hex;     /* 0x1f: bytes, but an integer beside a number */
    bool unknown; /* text, because the type was not found */
    /* A moment whose text has no one form: it may have a fraction, or no time
     * of day. */
    bool loose;
};

/* A type with its usual width. */
struct result_type result_type_of(enum column_type type);
struct result_type result_type_unknown(void);
/* The type that holds both, as for the branches of an IF. */
struct result_type result_type_widened(struct result_type a,
                                       struct result_type b);
bool result_type_is_integer(struct result_type t);
bool result_type_is_number(struct result_type t);
/* An unsigned integer, which may exceed 63 bits. */
struct result_type result_type_unsigned(void);
/* Whether it is an integer or a DECIMAL, so that arithmetic gives a DECIMAL. */
bool result_type_is_exact(struct result_type t);
bool result_type_is_moment(enum column_type type);
/* What it is beside numbers: 20260131101112. */
struct result_type result_type_number(struct result_type t);
/* A DECIMAL; or DOUBLE if a double cannot hold so many decimals. */
struct result_type result_type_decimal(size_t decimals);

#endif
