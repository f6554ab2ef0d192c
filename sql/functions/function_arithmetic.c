/*
 * function_arithmetic.c - + - * / DIV %, the sign, SUM and AVG.
 *
 * Integers are checked: 64 bits, signed, or unsigned if an operand exceeds the
 * signed range.  Decimals are doubles that are rounded to their digits, so that
 * 0.1 + 0.2 is 0.3; a quotient keeps further digits, as MySQL keeps some.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "function.h"
#include "function_table.h"
#include "kind.h"

enum { QUOTIENT_DECIMALS = 4, SCALED_MAX = 15 };

__extension__ typedef __int128 wide;

struct number {
    wide whole; /* the value of an integer */
    double real;
    int decimals; /* -1: a double */
    bool is_integer, is_quotient;
};

static struct number
integer_of(wide whole)
{
    return (struct number){whole, (double)whole, 0, true, false};
}

static struct number
number_of(sqlite3_value *value)
{
    struct number n = {.real = function_real(value), .decimals = -1};
    enum kind kind = kind_of(value);

    if (kind_is_integer(value))
        return kind == KIND_UNSIGNED ? integer_of((wide)function_natural(value))
                                     : integer_of(sqlite3_value_int64(value));
    if (kind == KIND_HEX)
        return integer_of((wide)function_natural(value));
    if (kind != KIND_PLAIN && kind < KIND_EXACT) { /* a moment */
        if (n.real == trunc(n.real))
            return integer_of((wide)n.real);
        n.decimals = 6;
    } else {
        n.decimals = kind_decimals(value);
    }
    n.is_quotient = kind >= KIND_QUOTIENT;
    return n;
}

/* By the value that is divided by: of a long X'..' only eight bytes are. */
static bool
is_zero(const struct number *n)
{
    return n->is_integer ? n->whole == 0 : n->real == 0;
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
return_whole(sqlite3_context *c, sqlite3_value **argv, const char *op,
             wide whole, bool past)
{
    if (whole < INT64_MIN || whole > (past ? (wide)UINT64_MAX : INT64_MAX))
        fail_range(c, past ? "BIGINT UNSIGNED" : "BIGINT", argv, op);
    else if (whole < 0)
        sqlite3_result_int64(c, (int64_t)whole);
    else
        function_unsigned(c, (uint64_t)whole);
}

static void
return_decimal(sqlite3_context *c, double real, int decimals, bool is_quotient)
{
    if (is_quotient)
        kind_quotient(c, real, decimals);
    else
        kind_exact(c, real, decimals);
}

static void
return_real(sqlite3_context *c, sqlite3_value **argv, const char *op,
            double real, int decimals, bool is_quotient)
{
    if (isfinite(real))
        return_decimal(c, real, decimals, is_quotient);
    else
        fail_range(c, "DOUBLE", argv, op);
}

/* hw_number(x): a date or a time as a number.  From a column of a derived table
 * it has lost its kind, but its text is still one. */
static void
call_number(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    double real;

    (void)argc;
    if (kind_of(argv[0]) != KIND_PLAIN || !kind_reads_moment(argv[0], &real))
        sqlite3_result_value(c, argv[0]);
    else if (real == trunc(real))
        sqlite3_result_int64(c, (int64_t)real);
    else
        kind_exact(c, real, 6);
}

/* Adds, subtracts or multiplies. */
static void
calculate(sqlite3_context *c, int argc, sqlite3_value **argv, const char *op)
{
    struct number a, b;
    int decimals = -1;
    wide whole = 0;
    double real;
    bool lost;

    if (function_any_null(argc, argv))
        return;
    a = number_of(argv[0]);
    b = number_of(argv[1]);
    lost = *op == '+'   ? __builtin_add_overflow(a.whole, b.whole, &whole)
           : *op == '-' ? __builtin_sub_overflow(a.whole, b.whole, &whole)
                        : __builtin_mul_overflow(a.whole, b.whole, &whole);
    if (a.is_integer && b.is_integer) {
        return_whole(c, argv, op, lost ? (wide)UINT64_MAX + 1 : whole,
                     a.whole > INT64_MAX || b.whole > INT64_MAX);
        return;
    }
    real = *op == '+'   ? a.real + b.real
           : *op == '-' ? a.real - b.real
                        : a.real * b.real;
    if (a.decimals >= 0 && b.decimals >= 0)
        decimals = *op == '*'                ? a.decimals + b.decimals
                   : a.decimals > b.decimals ? a.decimals
                                             : b.decimals;
    return_real(c, argv, op, real, decimals, a.is_quotient || b.is_quotient);
}

static void
call_plus(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    calculate(c, argc, argv, "+");
}

static void
call_minus(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    calculate(c, argc, argv, "-");
}

static void
call_times(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    calculate(c, argc, argv, "*");
}

static void
call_divide(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct number a, b;

    if (function_any_null(argc, argv))
        return;
    a = number_of(argv[0]);
    b = number_of(argv[1]);
    if (is_zero(&b))
        return;
    return_real(
        c, argv, "/", a.real / b.real,
        a.decimals < 0 || b.decimals < 0 ? -1 : a.decimals + QUOTIENT_DECIMALS,
        true);
}

/* Works on decimals as integers of their smallest digit, for an exact
 * remainder. */
static void
scale(struct number *a, struct number *b)
{
    int decimals = a->decimals > b->decimals ? a->decimals : b->decimals;
    double factor = pow(10, decimals);

    if (a->decimals < 0 || b->decimals < 0 || decimals > SCALED_MAX)
        return;
    a->real = round(a->real * factor);
    b->real = round(b->real * factor);
}

static void
call_div(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct number a, b;
    double quotient;

    if (function_any_null(argc, argv))
        return;
    a = number_of(argv[0]);
    b = number_of(argv[1]);
    if (is_zero(&b))
        return;
    if (a.is_integer && b.is_integer) {
        return_whole(c, argv, "DIV", a.whole / b.whole,
                     a.whole > INT64_MAX || b.whole > INT64_MAX);
        return;
    }
    scale(&a, &b);
    quotient = b.real == 0 ? INFINITY : trunc(a.real / b.real);
    if (fabs(quotient) < 9.2e18)
        sqlite3_result_int64(c, (int64_t)quotient);
    else
        fail_range(c, "BIGINT", argv, "DIV");
}

static void
call_mod(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct number a, b;
    int decimals;

    if (function_any_null(argc, argv))
        return;
    a = number_of(argv[0]);
    b = number_of(argv[1]);
    if (is_zero(&b))
        return;
    if (a.is_integer && b.is_integer) {
        return_whole(c, argv, "%", a.whole % b.whole, a.whole > INT64_MAX);
        return;
    }
    decimals = a.decimals > b.decimals ? a.decimals : b.decimals;
    if (a.decimals < 0 || b.decimals < 0 || decimals > SCALED_MAX) {
        sqlite3_result_double(c, fmod(a.real, b.real));
        return;
    }
    scale(&a, &b);
    kind_exact(c, fmod(a.real, b.real) / pow(10, decimals), decimals);
}

static void
call_negative(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct number n;
    char text[32];

    if (function_any_null(argc, argv))
        return;
    n = number_of(argv[0]);
    if (n.is_integer && n.whole == INT64_MIN)
        function_unsigned(c, (uint64_t)-n.whole);
    else if (n.is_integer && -n.whole >= INT64_MIN)
        sqlite3_result_int64(c, (int64_t)-n.whole);
    else if (n.is_integer) {
        snprintf(text, sizeof(text), "-%" PRIu64, (uint64_t)n.whole);
        function_text(c, text, strlen(text));
    } else
        return_decimal(c, -n.real, n.decimals, n.is_quotient);
}

static void
call_abs(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct number n;

    if (function_any_null(argc, argv))
        return;
    n = number_of(argv[0]);
    if (!n.is_integer)
        return_decimal(c, fabs(n.real), n.decimals, n.is_quotient);
    else if (n.whole == INT64_MIN)
        sqlite3_result_error(c, "BIGINT value is out of range in abs()", -1);
    else
        function_unsigned(c, (uint64_t)(n.whole < 0 ? -n.whole : n.whole));
}

/* ---- SUM and AVG ---- */

typedef wide stored __attribute__((aligned(8))); /* as SQLite allocates */

struct sum {
    int64_t count;
    stored whole; /* of the integers */
    double real;  /* of the others */
    int decimals; /* of these; -1: one is a double */
    bool has_real, is_quotient;
};

/* Adds a row, or takes it back. */
static void
add(sqlite3_context *c, sqlite3_value *value, int sign)
{
    struct sum *s = sqlite3_aggregate_context(c, sizeof(*s));
    struct number n;

    if (!s || sqlite3_value_type(value) == SQLITE_NULL)
        return;
    n = number_of(value);
    s->count += sign;
    if (n.is_integer) {
        s->whole += sign * n.whole;
        return;
    }
    s->real += sign * n.real;
    s->has_real = true;
    s->is_quotient |= n.is_quotient;
    if (n.decimals < 0 || s->decimals < 0)
        s->decimals = -1;
    else if (n.decimals > s->decimals)
        s->decimals = n.decimals;
}

static void
step_sum(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    add(c, argv[0], 1);
}

static void
take_sum(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    add(c, argv[0], -1);
}

static void
finish_sum(sqlite3_context *c)
{
    const struct sum *s = sqlite3_aggregate_context(c, 0);
    double real;

    if (!s || s->count == 0)
        return;
    real = s->real + (double)s->whole;
    if (s->has_real && isfinite(real))
        return_decimal(c, real, s->decimals, s->is_quotient);
    else if (s->has_real)
        sqlite3_result_error(c, "DOUBLE value is out of range in sum()", -1);
    else if (s->whole < INT64_MIN || s->whole > (wide)UINT64_MAX)
        sqlite3_result_error(c, "BIGINT value is out of range in sum()", -1);
    else if (s->whole < 0)
        sqlite3_result_int64(c, (int64_t)s->whole);
    else
        function_unsigned(c, (uint64_t)s->whole);
}

static void
finish_average(sqlite3_context *c)
{
    const struct sum *s = sqlite3_aggregate_context(c, 0);
    double real;

    if (!s || s->count == 0)
        return;
    real = (s->real + (double)s->whole) / (double)s->count;
    if (isfinite(real))
        return_decimal(c, real,
                       s->decimals < 0 ? -1 : s->decimals + QUOTIENT_DECIMALS,
                       true);
    else
        sqlite3_result_error(c, "DOUBLE value is out of range in avg()", -1);
}

const struct function arithmetic_functions[] = {
    {"hw_number", 1, 1, call_number, RETURNS_NUMBER},
    {"hw_plus", 2, 2, call_plus, RETURNS_NUMBER},
    {"hw_minus", 2, 2, call_minus, RETURNS_NUMBER},
    {"hw_times", 2, 2, call_times, RETURNS_NUMBER},
    {"hw_divide", 2, 2, call_divide, RETURNS_DOUBLE},
    {"hw_div", 2, 2, call_div, RETURNS_BIGINT},
    {"hw_negative", 1, 1, call_negative, RETURNS_NUMBER},
    {"mod", 2, 2, call_mod, RETURNS_NUMBER},
    {"abs", 1, 1, call_abs, RETURNS_NUMBER},
    {"sum", 1, 1, step_sum, RETURNS_NUMBER, finish_sum, take_sum},
    {"avg", 1, 1, step_sum, RETURNS_AVERAGE, finish_average, take_sum},
    {NULL},
};
