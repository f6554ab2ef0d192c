/*
 * function_bits.c - bits of numbers (operators, BIT_COUNT, BIT_OR) and numbers
 * in other bases (CONV, BIN, OCT).
 *
 * Bits are 64 and unsigned in MySQL, while SQLite's operators are signed.
 * BIT_AND, BIT_OR and BIT_XOR count for each bit how many numbers have it, so
 * that a window can take a number back.
 */
#include <stdint.h>
#include <string.h>

#include "ascii.h"
#include "function.h"
#include "function_table.h"
#include "handle.h"
#include "kind.h"

enum { BITS = 64, BASE_MAX = 36 };

/* ---- operators ---- */

/* The bits of a number, in two's complement if it is negative. */
static bool
read_bit_operands(int argc, sqlite3_value **argv, uint64_t *a, uint64_t *b)
{
    if (function_any_null(argc, argv))
        return false;
    *a = (uint64_t)function_integer(argv[0]);
    *b = argc > 1 ? (uint64_t)function_integer(argv[1]) : 0;
    return true;
}

static void
call_bit_and(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    uint64_t a, b;

    if (read_bit_operands(argc, argv, &a, &b))
        function_unsigned(c, a & b);
}

static void
call_bit_or(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    uint64_t a, b;

    if (read_bit_operands(argc, argv, &a, &b))
        function_unsigned(c, a | b);
}

static void
call_bit_xor(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    uint64_t a, b;

    if (read_bit_operands(argc, argv, &a, &b))
        function_unsigned(c, a ^ b);
}

static void
call_bit_not(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    uint64_t a, b;

    if (read_bit_operands(argc, argv, &a, &b))
        function_unsigned(c, ~a);
}

static void
call_shift_left(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    uint64_t a, b;

    if (read_bit_operands(argc, argv, &a, &b))
        /* A shift by 64 or more is undefined in C; MySQL gives 0. */
        function_unsigned(c, b < 64 ? a << b : 0);
}

static void
call_shift_right(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    uint64_t a, b;

    if (read_bit_operands(argc, argv, &a, &b))
        function_unsigned(c, b < 64 ? a >> b : 0);
}

/* BIT_COUNT counts the bits of a number; of bytes, all their bits. */
static void
call_bit_count(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    bool number = sqlite3_value_type(argv[0]) != SQLITE_BLOB ||
                  kind_of(argv[0]) == KIND_HEX;
    struct span bytes = function_argument(argv[0]);
    int64_t count = 0;

    if (function_any_null(argc, argv))
        return;
    if (number)
        count = __builtin_popcountll((uint64_t)function_integer(argv[0]));
    else
        for (size_t i = 0; i < bytes.size; i++)
            count += __builtin_popcount((unsigned char)bytes.data[i]);
    sqlite3_result_int64(c, count);
}

/* ---- aggregates: how many of the numbers have each bit, so that a window can
 * take one back ---- */

struct bit_counts {
    uint64_t numbers, ones[BITS];
};

static void
count_bits(sqlite3_context *c, sqlite3_value *value, uint64_t by)
{
    struct bit_counts *counts = sqlite3_aggregate_context(c, sizeof(*counts));
    uint64_t number = (uint64_t)function_integer(value);

    if (!counts) {
        sqlite3_result_error_nomem(c);
        return;
    }
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return;
    counts->numbers += by;
    /* Visits the bits that are set alone. */
    for (; number; number &= number - 1)
        counts->ones[__builtin_ctzll(number)] += by;
}

static void
step_bits(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    count_bits(c, argv[0], 1);
}

static void
inverse_bits(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    count_bits(c, argv[0], UINT64_MAX); /* adds -1, modulo 2^64 */
}

/* Without a number BIT_AND has all bits, and the others have none. */
static void
finish_bits(sqlite3_context *c)
{
    /* SQLite gives no context for a group without rows. */
    static const struct bit_counts none;
    const struct bit_counts *counts = sqlite3_aggregate_context(c, 0);
    const char *name = function_name(c);
    uint64_t number = 0;

    counts = counts ? counts : &none;
    for (int i = 0; i < BITS; i++) {
        uint64_t ones = counts->ones[i];
        bool set = strcmp(name, "bit_and") == 0  ? ones == counts->numbers
                   : strcmp(name, "bit_or") == 0 ? ones > 0
                                                 : ones % 2 == 1;

        number |= (uint64_t)set << i;
    }
    function_unsigned(c, number);
}

/* ---- other bases ---- */

static int
digit_of(char c)
{
    if (is_digit(c))
        return c - '0';
    return is_letter(c) ? to_lower(c) - 'a' + 10 : BASE_MAX;
}

/* Reads the number that the text begins with: 64 bits, or with is_signed 63
 * and a sign; a larger one becomes the nearest. */
static uint64_t
parse_number_in_base(struct span text, int base, bool is_signed)
{
    bool negative = false, beyond = false;
    uint64_t number = 0, most;
    size_t i = 0;

    while (i < text.size && (text.data[i] == ' ' ||
                             (text.data[i] >= '\t' && text.data[i] <= '\r')))
        i++;
    if (i < text.size && (text.data[i] == '-' || text.data[i] == '+'))
        negative = text.data[i++] == '-';
    most = is_signed ? (uint64_t)INT64_MAX + negative : UINT64_MAX;
    for (; i < text.size && digit_of(text.data[i]) < base; i++) {
        uint64_t digit = (uint64_t)digit_of(text.data[i]);

        beyond = beyond || number > (most - digit) / (uint64_t)base;
        number = number * (uint64_t)base + digit;
    }
    if (beyond)
        return is_signed && negative ? -most : most;
    return negative ? -number : number;
}

static void
return_number_in_base(sqlite3_context *c, uint64_t number, int base,
                      bool is_signed)
{
    char text[BITS + 2], *p = text + sizeof(text);
    bool negative = is_signed && number > INT64_MAX;

    number = negative ? -number : number;
    do {
        *--p = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % (uint64_t)base];
        number /= (uint64_t)base;
    } while (number > 0);
    if (negative)
        *--p = '-';
    function_text(c, p, (size_t)(text + sizeof(text) - p));
}

/* Converts between bases from 2 to 36; a negative base has signed numbers.
 * NULL: there is no such base, or no text. */
static void
convert_base(sqlite3_context *c, sqlite3_value *value, int64_t from, int64_t to)
{
    struct span text = function_argument(value);
    bool from_signed = from < 0, to_signed = to < 0;

    if (from < -BASE_MAX || from > BASE_MAX || to < -BASE_MAX ||
        to > BASE_MAX || text.size == 0)
        return;
    from = from_signed ? -from : from;
    to = to_signed ? -to : to;
    if (from >= 2 && to >= 2)
        return_number_in_base(
            c, parse_number_in_base(text, (int)from, from_signed), (int)to,
            to_signed);
}

static void
call_conv(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        convert_base(c, argv[0], function_count(argv[1]),
                     function_count(argv[2]));
}

static void
call_bin(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        convert_base(c, argv[0], 10, 2);
}

static void
call_oct(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        convert_base(c, argv[0], 10, 8);
}

const struct function bit_functions[] = {
    {"hw_bit_and", 2, 2, call_bit_and, RETURNS_BIGINT},
    {"hw_bit_or", 2, 2, call_bit_or, RETURNS_BIGINT},
    {"hw_bit_xor", 2, 2, call_bit_xor, RETURNS_BIGINT},
    {"hw_bit_not", 1, 1, call_bit_not, RETURNS_BIGINT},
    {"hw_shift_left", 2, 2, call_shift_left, RETURNS_BIGINT},
    {"hw_shift_right", 2, 2, call_shift_right, RETURNS_BIGINT},
    {"bit_count", 1, 1, call_bit_count, RETURNS_BIGINT, .width = 2},
    {"bit_and", 1, 1, step_bits, RETURNS_UNSIGNED, finish_bits, inverse_bits},
    {"bit_or", 1, 1, step_bits, RETURNS_UNSIGNED, finish_bits, inverse_bits},
    {"bit_xor", 1, 1, step_bits, RETURNS_UNSIGNED, finish_bits, inverse_bits},
    {"conv", 3, 3, call_conv, RETURNS_TEXT, .width = 64},
    {"bin", 1, 1, call_bin, RETURNS_TEXT, .width = 64},
    {"oct", 1, 1, call_oct, RETURNS_TEXT, .width = 64},
    {NULL},
};
