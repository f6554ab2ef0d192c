/* select_numbers.c - functions of numbers. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "select_functions.h"
#include "select_handle.h"

enum {
    BASE_MIN = 2,
    BASE_MAX = 36,
    BITS = 64,
    DECIMALS_MAX = 30,
    FORMAT_SIZE = 512 /* of a double with DECIMALS_MAX and its commas */
};

static const double pi = 3.14159265358979323846;

/* A function of one number; NULL where it has no value. */
#define REAL_FUNCTION(name, expression)                                        \
    static void call_##name(sqlite3_context *c, int argc,                      \
                            sqlite3_value **argv)                              \
    {                                                                          \
        double x = function_real(argv[0]), y;                                  \
                                                                               \
        if (function_any_null(argc, argv))                                     \
            return;                                                            \
        y = (expression);                                                      \
        if (isfinite(y))                                                       \
            sqlite3_result_double(c, y);                                       \
    }

REAL_FUNCTION(sqrt, sqrt(x))
REAL_FUNCTION(exp, exp(x))
REAL_FUNCTION(ln, x > 0 ? log(x) : NAN)
REAL_FUNCTION(log2, x > 0 ? log2(x) : NAN)
REAL_FUNCTION(log10, x > 0 ? log10(x) : NAN)
REAL_FUNCTION(sin, sin(x))
REAL_FUNCTION(cos, cos(x))
REAL_FUNCTION(tan, tan(x))
REAL_FUNCTION(cot, 1 / tan(x))
REAL_FUNCTION(asin, asin(x))
REAL_FUNCTION(acos, acos(x))
REAL_FUNCTION(degrees, x * 180 / pi)
REAL_FUNCTION(radians, x *pi / 180)

static void
call_pi(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_double(c, pi);
}

static void
call_atan(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        sqlite3_result_double(c, argc == 1 ? atan(function_real(argv[0]))
                                           : atan2(function_real(argv[0]),
                                                   function_real(argv[1])));
}

static void
call_pow(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    double power;

    if (function_any_null(argc, argv))
        return;
    power = pow(function_real(argv[0]), function_real(argv[1]));
    if (isfinite(power))
        sqlite3_result_double(c, power);
    else
        sqlite3_result_error(c, "DOUBLE value is out of range in 'pow'", -1);
}

/* LOG(x), LOG(base, x) */
static void
call_log(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    double x = function_real(argv[argc - 1]);
    double base = argc == 2 ? function_real(argv[0]) : M_E;

    if (!function_any_null(argc, argv) && x > 0 && base > 0 && base != 1)
        sqlite3_result_double(c, argc == 2 ? log(x) / log(base) : log(x));
}

static bool
is_integer(sqlite3_value *value)
{
    return sqlite3_value_type(value) == SQLITE_INTEGER;
}

static void
call_abs(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int64_t i = sqlite3_value_int64(argv[0]);

    if (function_any_null(argc, argv))
        return;
    if (is_integer(argv[0]))
        function_unsigned(c, i < 0 ? 0 - (uint64_t)i : (uint64_t)i);
    else
        sqlite3_result_double(c, fabs(function_real(argv[0])));
}

static void
call_sign(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    double x = function_real(argv[0]);

    if (!function_any_null(argc, argv))
        sqlite3_result_int(c, x < 0 ? -1 : x > 0);
}

static void
whole(sqlite3_context *c, double value)
{
    if (value > -9.2e18 && value < 9.2e18)
        sqlite3_result_int64(c, (int64_t)value);
    else
        sqlite3_result_double(c, value);
}

static void
call_ceil(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (function_any_null(argc, argv))
        return;
    if (is_integer(argv[0]))
        sqlite3_result_value(c, argv[0]);
    else
        whole(c, ceil(function_real(argv[0])));
}

static void
call_floor(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (function_any_null(argc, argv))
        return;
    if (is_integer(argv[0]))
        sqlite3_result_value(c, argv[0]);
    else
        whole(c, floor(function_real(argv[0])));
}

static int
decimals(int argc, sqlite3_value **argv)
{
    int64_t n = argc > 1 ? function_integer(argv[1]) : 0;

    return n > DECIMALS_MAX    ? DECIMALS_MAX
           : n < -DECIMALS_MAX ? -DECIMALS_MAX
                               : (int)n;
}

double
function_round(double x, int places)
{
    double scale = pow(10, abs(places)), scaled, rounded;
    char text[40];

    scaled = places >= 0 ? x * scale : x / scale;
    if (!isfinite(scaled) || fabs(scaled) > 1e15)
        return x;
    snprintf(text, sizeof(text), "%.15g", scaled);
    rounded = round(strtod(text, NULL));
    return places >= 0 ? rounded / scale : rounded * scale;
}

static void
call_round(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int places = decimals(argc, argv);
    double y;

    if (function_any_null(argc, argv))
        return;
    if (is_integer(argv[0]) && places >= 0) {
        sqlite3_result_value(c, argv[0]);
        return;
    }
    y = function_round(function_real(argv[0]), places);
    if (is_integer(argv[0]))
        whole(c, y);
    else
        sqlite3_result_double(c, y);
}

static void
call_truncate(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int places = decimals(argc, argv);
    double scale = pow(10, abs(places)), x = function_real(argv[0]), y;
    char text[40];

    if (function_any_null(argc, argv))
        return;
    if (is_integer(argv[0]) && places >= 0) {
        sqlite3_result_value(c, argv[0]);
        return;
    }
    snprintf(text, sizeof(text), "%.15g", places >= 0 ? x * scale : x / scale);
    y = trunc(strtod(text, NULL));
    y = places >= 0 ? y / scale : y * scale;
    if (is_integer(argv[0]))
        whole(c, y);
    else
        sqlite3_result_double(c, y);
}

/* RAND([seed]): with a seed, the same number again. */
static void
call_rand(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    uint64_t bits;

    if (argc > 0) {
        bits = (uint64_t)function_integer(argv[0]) + 0x9e3779b97f4a7c15u;
        bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
        bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
        bits ^= bits >> 31;
    } else {
        sqlite3_randomness(sizeof(bits), &bits);
    }
    sqlite3_result_double(c, (double)(bits >> 11) * 0x1p-53);
}

/* ---- bases ---- */

static void
return_digits(sqlite3_context *c, uint64_t value, unsigned base, bool negative)
{
    char text[BITS + 2], *p = text + sizeof(text);

    do {
        *--p = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[value % base];
        value /= base;
    } while (value > 0);
    if (negative)
        *--p = '-';
    function_text(c, p, (size_t)(text + sizeof(text) - p));
}

static void
call_conv(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    int64_t from = function_integer(argv[1]), to = function_integer(argv[2]);
    bool negative;
    uint64_t value;

    if (function_any_null(argc, argv) || llabs(from) < BASE_MIN ||
        llabs(from) > BASE_MAX || llabs(to) < BASE_MIN || llabs(to) > BASE_MAX)
        return;
    negative = *text.data == '-';
    value = strtoull(text.data + negative, NULL, (int)llabs(from));
    if (negative)
        value = 0 - value;
    negative = to < 0 && (int64_t)value < 0;
    return_digits(c, negative ? 0 - value : value, (unsigned)llabs(to),
                  negative);
}

static void
call_bin(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        return_digits(c, (uint64_t)function_integer(argv[0]), 2, false);
}

static void
call_oct(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        return_digits(c, (uint64_t)function_integer(argv[0]), 8, false);
}

/* ---- texts of numbers ---- */

/* FORMAT(1234.5, 2): 1,234.50 */
static void
call_format(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    char digits[FORMAT_SIZE], text[FORMAT_SIZE * 2];
    size_t whole_size, at = 0;
    int places = decimals(2, argv);
    const char *p = digits;

    if (function_any_null(2, argv))
        return;
    (void)argc;
    places = places < 0 ? 0 : places;
    snprintf(digits, sizeof(digits), "%.*f", places,
             function_round(function_real(argv[0]), places));
    if (*p == '-')
        text[at++] = *p++;
    whole_size = strcspn(p, ".");
    for (size_t i = 0; p[i]; i++) {
        if (i > 0 && i < whole_size && (whole_size - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = p[i];
    }
    function_text(c, text, at);
}

/* FORMAT_BYTES(n): 512 bytes, 1.50 KiB */
static void
call_format_bytes(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB",
                                        "TiB",   "PiB", "EiB"};
    double bytes = function_real(argv[0]);
    size_t unit = 0;
    char text[64];

    if (function_any_null(argc, argv))
        return;
    while (fabs(bytes) >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        bytes /= 1024;
        unit++;
    }
    if (unit == 0)
        snprintf(text, sizeof(text), "%.0f bytes", bytes);
    else if (fabs(bytes) < 1e5)
        snprintf(text, sizeof(text), "%.2f %s", bytes, units[unit]);
    else
        snprintf(text, sizeof(text), "%.2e %s", bytes, units[unit]);
    function_text(c, text, strlen(text));
}

const struct function number_functions[] = {
    {"abs", 1, 1, call_abs, RETURNS_NUMBER},
    {"sign", 1, 1, call_sign, RETURNS_BIGINT},
    {"ceil", 1, 1, call_ceil, RETURNS_BIGINT},
    {"ceiling", 1, 1, call_ceil, RETURNS_BIGINT},
    {"floor", 1, 1, call_floor, RETURNS_BIGINT},
    {"round", 1, 2, call_round, RETURNS_ROUNDED},
    {"truncate", 2, 2, call_truncate, RETURNS_ROUNDED},
    {"sqrt", 1, 1, call_sqrt, RETURNS_DOUBLE},
    {"exp", 1, 1, call_exp, RETURNS_DOUBLE},
    {"ln", 1, 1, call_ln, RETURNS_DOUBLE},
    {"log", 1, 2, call_log, RETURNS_DOUBLE},
    {"log2", 1, 1, call_log2, RETURNS_DOUBLE},
    {"log10", 1, 1, call_log10, RETURNS_DOUBLE},
    {"pi", 0, 0, call_pi, RETURNS_DOUBLE},
    {"pow", 2, 2, call_pow, RETURNS_DOUBLE},
    {"power", 2, 2, call_pow, RETURNS_DOUBLE},
    {"sin", 1, 1, call_sin, RETURNS_DOUBLE},
    {"cos", 1, 1, call_cos, RETURNS_DOUBLE},
    {"tan", 1, 1, call_tan, RETURNS_DOUBLE},
    {"cot", 1, 1, call_cot, RETURNS_DOUBLE},
    {"asin", 1, 1, call_asin, RETURNS_DOUBLE},
    {"acos", 1, 1, call_acos, RETURNS_DOUBLE},
    {"atan", 1, 2, call_atan, RETURNS_DOUBLE},
    {"atan2", 2, 2, call_atan, RETURNS_DOUBLE},
    {"degrees", 1, 1, call_degrees, RETURNS_DOUBLE},
    {"radians", 1, 1, call_radians, RETURNS_DOUBLE},
    {"rand", 0, 1, call_rand, RETURNS_DOUBLE},
    {"conv", 3, 3, call_conv, RETURNS_TEXT},
    {"bin", 1, 1, call_bin, RETURNS_TEXT},
    {"oct", 1, 1, call_oct, RETURNS_TEXT},
    {"format_bytes", 1, 1, call_format_bytes, RETURNS_TEXT},
    {"format", 2, 3, call_format, RETURNS_TEXT},
    {NULL},
};
