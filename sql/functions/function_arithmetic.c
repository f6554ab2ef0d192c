/*
 * function_arithmetic.c - + - * / DIV %, the sign, SUM and AVG, as MySQL
 * computes them.
 *
 * SQLite computes with 64-bit integers that overflow into doubles, and with
 * doubles: 0.1 + 0.2 would show 0.30000000000000004 where MySQL has 0.3.  Here
 * integers are checked (64 bits, unsigned if an operand exceeds the signed
 * range), and decimals are exact, of 38 digits; only doubles and texts are
 * computed as doubles.  A quotient keeps further digits than it shows, as
 * MySQL's do; they are given up one by one when a result would not fit
 * otherwise.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "function.h"
#include "function_table.h"
#include "kind.h"

enum { QUOTIENT_DECIMALS = 4 };

struct number {
    struct decimal exact; /* unless it is a double */
    double real;          /* if it is one, or is beside one */
    int decimals;         /* decimals that it shows; -1: it is a double */
    bool is_integer, is_quotient;
};

static struct number
read_number_operand(sqlite3_value *value)
{
    struct number n = {.decimals = -1, .real = 0};
    enum kind kind = kind_of(value);

    if (kind == KIND_HEX) {
        n.exact.digits = (decimal_integer)function_natural(value);
        n.decimals = 0;
    } else if (kind_to_decimal(value, &n.exact)) {
        n.decimals = kind_decimals(value);
        if (n.decimals < 0) /* a date or a time */
            n.decimals = n.exact.scale;
    } else {
        n.real = function_real(value);
        return n;
    }
    n.is_integer = kind < KIND_EXACT && n.decimals == 0;
    n.is_quotient = kind >= KIND_QUOTIENT;
    return n;
}

/* The number as a double, for an operation with a double. */
static double
real_of(const struct number *n)
{
    return n->decimals < 0 ? n->real : decimal_real(n->exact);
}

static bool
is_zero(const struct number *n)
{
    return n->decimals < 0 ? n->real == 0 : n->exact.digits == 0;
}

static void
fail_range(sqlite3_context *c, const char *type, sqlite3_value **argv,
           const char *op)
{
    char text[200];

    snprintf(text, sizeof(text), "%s value is out of range in '%.60s %s %.60s'",
             type, function_argument(argv[0]).data, op,
             function_argument(argv[1]).data);
    sqlite3_result_error(c, text, -1);
}

/* Sets an integer result, which is unsigned only if an operand was. */
static void
return_checked_integer(sqlite3_context *c, sqlite3_value **argv, const char *op,
                       decimal_integer whole, bool past)
{
    if (whole < INT64_MIN ||
        whole > (past ? (decimal_integer)UINT64_MAX : INT64_MAX))
        fail_range(c, past ? "BIGINT UNSIGNED" : "BIGINT", argv, op);
    else if (whole < 0)
        sqlite3_result_int64(c, (int64_t)whole);
    else
        function_unsigned(c, (uint64_t)whole);
}

static void
return_decimal(sqlite3_context *c, struct decimal d, int decimals,
               bool is_quotient)
{
    if (is_quotient)
        kind_result_quotient(c, d, decimals);
    else
        kind_result_exact(c, d, decimals);
}

static void
return_arithmetic_real(sqlite3_context *c, sqlite3_value **argv, const char *op,
                       double real)
{
    if (isfinite(real))
        sqlite3_result_double(c, real);
    else
        fail_range(c, "DOUBLE", argv, op);
}

/* hw_number(x): a date or a time as a number.  SQLite drops subtypes of a
 * derived table's columns, so the text's form must tell there. */
static void
call_number(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct decimal d;

    (void)argc;
    if (kind_of(argv[0]) != KIND_PLAIN || !kind_reads_temporal(argv[0], &d))
        sqlite3_result_value(c, argv[0]);
    else if (d.scale == 0)
        sqlite3_result_int64(c, (int64_t)d.digits);
    else
        kind_result_exact(c, d, d.scale);
}

/* hw_real(x): a double, where SQLite compares numbers with texts. */
static void
call_real(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        sqlite3_result_double(c, function_real(argv[0]));
}

/* Drops a digit of a quotient that it does not show. */
static bool
drop_digit(struct number *n)
{
    return n->is_quotient && n->exact.scale > n->decimals &&
           decimal_shorten(n->exact, n->exact.scale - 1, DECIMAL_ROUND,
                           &n->exact);
}

static bool
calculate_exact(struct number a, struct number b, char op, struct decimal *out)
{
    if (op == '-')
        b.exact.digits = -b.exact.digits;
    /* Each round gives up one hidden digit, first of the operand that has more
     * decimals. */
    while (!(op == '*' ? decimal_multiply : decimal_add)(a.exact, b.exact, out))
        if (!drop_digit(a.exact.scale > b.exact.scale ? &a : &b) &&
            !drop_digit(&a) && !drop_digit(&b))
            return false;
    return true;
}

/* Adds, subtracts or multiplies. */
static void
calculate_arithmetic(sqlite3_context *c, int argc, sqlite3_value **argv,
                     const char *op)
{
    struct number a, b;
    struct decimal d;
    double x, y;

    if (function_any_null(argc, argv))
        return;
    a = read_number_operand(argv[0]);
    b = read_number_operand(argv[1]);
    if (a.decimals >= 0 && b.decimals >= 0) {
        bool integers = a.is_integer && b.is_integer;
        bool past = a.exact.digits > INT64_MAX || b.exact.digits > INT64_MAX;
        int least = a.decimals < b.decimals ? a.decimals : b.decimals;
        int sum = a.decimals + b.decimals;

        if (!calculate_exact(a, b, *op, &d))
            fail_range(c,
                       !integers ? "DECIMAL"
                       : past    ? "BIGINT UNSIGNED"
                                 : "BIGINT",
                       argv, op);
        else if (integers)
            return_checked_integer(c, argv, op, d.digits, past);
        else
            return_decimal(c, d, *op == '*' ? sum : sum - least,
                           a.is_quotient || b.is_quotient);
        return;
    }
    x = real_of(&a);
    y = real_of(&b);
    return_arithmetic_real(c, argv, op,
                           *op == '+'   ? x + y
                           : *op == '-' ? x - y
                                        : x * y);
}

static void
call_plus(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    calculate_arithmetic(c, argc, argv, "+");
}

static void
call_minus(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    calculate_arithmetic(c, argc, argv, "-");
}

static void
call_times(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    calculate_arithmetic(c, argc, argv, "*");
}

/* Decimals of a quotient, behind those of the number that is divided. */
static int
further_decimals(int decimals, struct decimal of)
{
    return QUOTIENT_DECIMALS + (decimals > of.scale ? decimals - of.scale : 0);
}

static void
call_divide(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct number a, b;
    struct decimal d;

    if (function_any_null(argc, argv))
        return;
    a = read_number_operand(argv[0]);
    b = read_number_operand(argv[1]);
    if (is_zero(&b))
        return;
    if (a.decimals < 0 || b.decimals < 0) {
        return_arithmetic_real(c, argv, "/", real_of(&a) / real_of(&b));
        return;
    }
    /* A quotient has four decimals more than the dividend shows, so the
     * dividend gets back the zeros that decimal_short() took. */
    decimal_widen(&a.exact, a.decimals);
    while (!decimal_divide(a.exact, b.exact,
                           further_decimals(a.decimals, a.exact), &d))
        if (!drop_digit(&a) && !drop_digit(&b)) {
            fail_range(c, "DECIMAL", argv, "/");
            return;
        }
    kind_result_quotient(c, d, a.decimals + QUOTIENT_DECIMALS);
}

static void
call_div(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct number a, b;
    struct decimal rest;
    decimal_integer whole = (decimal_integer)UINT64_MAX + 1;
    bool known;

    if (function_any_null(argc, argv))
        return;
    a = read_number_operand(argv[0]);
    b = read_number_operand(argv[1]);
    if (is_zero(&b))
        return;
    /* whole stays out of range, and is refused below, if a is larger than any
     * DECIMAL. */
    known = a.decimals >= 0 || decimal_of_real(a.real, &a.exact);
    if (known && b.decimals < 0 && !decimal_of_real(b.real, &b.exact))
        whole = 0; /* b is larger than any DECIMAL */
    else if (known && b.exact.digits != 0)
        (void)decimal_split(a.exact, b.exact, &whole, &rest);
    return_checked_integer(c, argv, "DIV", whole,
                           a.exact.digits > INT64_MAX ||
                               b.exact.digits > INT64_MAX);
}

static void
call_mod(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct number a, b;
    struct decimal rest;
    decimal_integer whole;

    if (function_any_null(argc, argv))
        return;
    a = read_number_operand(argv[0]);
    b = read_number_operand(argv[1]);
    if (is_zero(&b))
        return;
    if (a.decimals < 0 || b.decimals < 0)
        /* fmod(-4, 2) is -0.0, which clients would show as -0; adding 0 makes
         * it 0. */
        sqlite3_result_double(c, fmod(real_of(&a), real_of(&b)) + 0.0);
    else if (!decimal_split(a.exact, b.exact, &whole, &rest))
        fail_range(c, "DECIMAL", argv, "%");
    else if (a.is_integer && b.is_integer)
        return_checked_integer(c, argv, "%", rest.digits,
                               a.exact.digits > INT64_MAX);
    else
        return_decimal(c, rest,
                       a.decimals > b.decimals ? a.decimals : b.decimals,
                       a.is_quotient || b.is_quotient);
}

static void
call_negative(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct number n;

    if (function_any_null(argc, argv))
        return;
    n = read_number_operand(argv[0]);
    n.exact.digits = -n.exact.digits;
    if (n.decimals < 0)
        sqlite3_result_double(c, -n.real);
    else if (!n.is_integer || n.exact.digits < INT64_MIN)
        return_decimal(c, n.exact, n.decimals, n.is_quotient);
    else if (n.exact.digits > INT64_MAX)
        function_unsigned(c, (uint64_t)n.exact.digits);
    else
        sqlite3_result_int64(c, (int64_t)n.exact.digits);
}

static void
call_abs(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct number n;

    if (function_any_null(argc, argv))
        return;
    n = read_number_operand(argv[0]);
    if (n.decimals < 0)
        sqlite3_result_double(c, fabs(n.real));
    else if (n.is_integer && n.exact.digits == INT64_MIN)
        sqlite3_result_error(c, "BIGINT value is out of range in abs()", -1);
    else {
        if (n.exact.digits < 0)
            n.exact.digits = -n.exact.digits;
        if (n.is_integer)
            function_unsigned(c, (uint64_t)n.exact.digits);
        else
            return_decimal(c, n.exact, n.decimals, n.is_quotient);
    }
}

/* ---- SUM and AVG ---- */

/* SQLite aligns an aggregate's memory to 8 bytes; __int128 alone would demand
 * 16. */
typedef decimal_integer stored __attribute__((aligned(8)));

struct sum {
    int64_t count;
    stored digits; /* of the exact numbers */
    int scale;
    int decimals; /* that these show */
    double real;  /* of the others */
    double lost;  /* what rounding took from it */
    bool has_real, is_quotient, is_large;
    bool moved; /* a row was taken back */
};

/* Adds, and keeps what rounding lost (Neumaier's summation), because a window
 * takes rows back: 1e20 + 1 - 1e20 must be 1 then. */
static void
add_real(struct sum *s, double x)
{
    double sum = s->real + x;

    s->lost += fabs(s->real) >= fabs(x) ? s->real - sum + x : x - sum + s->real;
    s->real = sum;
}

/* Adds a row, or takes it back (sign -1), as a window moves. */
static void
accumulate_sum(sqlite3_context *c, sqlite3_value *value, int sign)
{
    struct sum *s = sqlite3_aggregate_context(c, sizeof(*s));
    struct number n, total;
    struct decimal sum;

    if (!s || sqlite3_value_type(value) == SQLITE_NULL)
        return;
    n = read_number_operand(value);
    s->count += sign;
    if (n.decimals < 0) {
        add_real(s, sign * n.real);
        s->has_real = true;
        s->moved |= sign < 0;
        return;
    }
    n.exact.digits *= sign;
    total = (struct number){.exact = {s->digits, s->scale},
                            .decimals = s->decimals,
                            .is_quotient = s->is_quotient};
    if (!calculate_exact(total, n, '+', &sum)) {
        /* It stays so: the sum without this row is no sum, whatever follows. */
        s->is_large = true;
        return;
    }
    s->digits = sum.digits;
    s->scale = sum.scale;
    s->is_quotient |= n.is_quotient;
    if (n.decimals > s->decimals)
        s->decimals = n.decimals;
}

static void
step_sum(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    accumulate_sum(c, argv[0], 1);
}

static void
take_sum(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    accumulate_sum(c, argv[0], -1);
}

static void
fail_sum(sqlite3_context *c, const char *type)
{
    char text[80];

    snprintf(text, sizeof(text), "%s value is out of range in %s()", type,
             function_name(c));
    sqlite3_result_error(c, text, -1);
}

/* Sets the result if the sum is a double or an error; false: it is a
 * DECIMAL. */
static bool
return_sum(sqlite3_context *c, const struct sum *s, double count)
{
    struct decimal exact = {s->digits, s->scale};
    /* Without a window the plain sum is given, as MySQL computes it. */
    double lost = s->moved ? s->lost : 0;
    double real = (s->real + lost + decimal_real(exact)) / count;

    if (s->is_large)
        fail_sum(c, "DECIMAL");
    else if (s->has_real && isfinite(real))
        sqlite3_result_double(c, real);
    else if (s->has_real)
        fail_sum(c, "DOUBLE");
    return s->has_real || s->is_large;
}

static void
finish_sum(sqlite3_context *c)
{
    const struct sum *s = sqlite3_aggregate_context(c, 0);

    if (s && s->count > 0 && !return_sum(c, s, 1))
        return_decimal(c, (struct decimal){s->digits, s->scale}, s->decimals,
                       s->is_quotient);
}

static void
finish_average(sqlite3_context *c)
{
    const struct sum *s = sqlite3_aggregate_context(c, 0);
    struct decimal d, count;

    if (!s || s->count == 0 || return_sum(c, s, (double)s->count))
        return;
    count = (struct decimal){s->count, 0};
    d = (struct decimal){s->digits, s->scale};
    decimal_widen(&d, s->decimals);
    if (decimal_divide(d, count, further_decimals(s->decimals, d), &d))
        kind_result_quotient(c, d, s->decimals + QUOTIENT_DECIMALS);
    else
        fail_sum(c, "DECIMAL");
}

const struct function arithmetic_functions[] = {
    {"hw_number", 1, 1, call_number, RETURNS_NUMBER},
    {"hw_real", 1, 1, call_real, RETURNS_DOUBLE},
    {"hw_plus", 2, 2, call_plus, RETURNS_NUMBER},
    {"hw_minus", 2, 2, call_minus, RETURNS_NUMBER},
    {"hw_times", 2, 2, call_times, RETURNS_NUMBER},
    {"hw_divide", 2, 2, call_divide, RETURNS_DOUBLE},
    {"hw_div", 2, 2, call_div, RETURNS_BIGINT},
    {"hw_negative", 1, 1, call_negative, RETURNS_NUMBER},
    {"mod", 2, 2, call_mod, RETURNS_NUMBER},
    {"abs", 1, 1, call_abs, RETURNS_NUMBER},
    {"sum", 1, 1, step_sum, RETURNS_SUM, finish_sum, take_sum},
    {"avg", 1, 1, step_sum, RETURNS_AVERAGE, finish_average, take_sum},
    {NULL},
};
