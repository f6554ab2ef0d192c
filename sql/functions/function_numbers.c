/*
 * function_numbers.c - functions of numbers: rounding, logarithms, angles,
 * RAND, FORMAT.
 *
 * Exact numbers stay exact where MySQL keeps them so (ROUND, CEIL, TRUNCATE,
 * FORMAT); the rest is computed in doubles by libm, as MySQL does, so that
 * even the last digit agrees.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "function.h"
#include "function_table.h"
#include "kind.h"
#include "real_text.h"

enum {
    DECIMALS_MAX = 30,
    FORMAT_SIZE = 512 /* of a double with DECIMALS_MAX and its commas */
};

/* Sets a double, or fails with MySQL's 1690 if it is infinite. */
static void
return_finite_real(sqlite3_context *c, double real, int argc,
                   sqlite3_value **argv)
{
    char text[200];

    if (isfinite(real)) {
        sqlite3_result_double(c, real);
        return;
    }
    snprintf(text, sizeof(text),
             "DOUBLE value is out of range in '%s(%.60s%s%.60s)'",
             function_name(c), function_argument(argv[0]).data,
             argc > 1 ? "," : "",
             argc > 1 ? function_argument(argv[1]).data : "");
    sqlite3_result_error(c, text, -1);
}

static void
call_exp(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        return_finite_real(c, exp(function_real(argv[0])), argc, argv);
}

static void
call_pow(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        return_finite_real(
            c, pow(function_real(argv[0]), function_real(argv[1])), argc, argv);
}

static void
call_sqrt(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    double x = function_real(argv[0]);

    if (!function_any_null(argc, argv) && x >= 0)
        sqlite3_result_double(c, sqrt(x));
}

static void
call_sign(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    double x = function_real(argv[0]);

    if (!function_any_null(argc, argv))
        sqlite3_result_int(c, (x > 0) - (x < 0));
}

/* LN(x), LOG(x), LOG(base, x) */
static void
call_log(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    double x = function_real(argv[argc - 1]);
    double base = argc == 2 ? function_real(argv[0]) : M_E;

    if (!function_any_null(argc, argv) && x > 0 && base > 0 && base != 1)
        sqlite3_result_double(c, argc == 2 ? log(x) / log(base) : log(x));
}

/* Replaces SQLite's, which divide LNs: LOG10(1000) would be less than 3. */
static void
call_log10(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    double x = function_real(argv[0]);

    if (!function_any_null(argc, argv) && x > 0)
        sqlite3_result_double(c, log10(x));
}

static void
call_log2(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    double x = function_real(argv[0]);

    if (!function_any_null(argc, argv) && x > 0)
        sqlite3_result_double(c, log(x) / M_LN2); /* as MySQL does; log2()
                                                   * differs in the last
                                                   * digit */
}

/* ---- angles ---- */

#define ANGLE(name, function)                                                  \
    static void call_##name(sqlite3_context *c, int argc,                      \
                            sqlite3_value **argv)                              \
    {                                                                          \
        if (!function_any_null(argc, argv))                                    \
            return_finite_real(c, function(function_real(argv[0])), argc,      \
                               argv);                                          \
    }

static double
cotangent(double x)
{
    return 1 / tan(x);
}

static double
radians_to_degrees(double x)
{
    return x * (180 / M_PI);
}

static double
degrees_to_radians(double x)
{
    return x * (M_PI / 180);
}

ANGLE(sin, sin)
ANGLE(cos, cos)
ANGLE(tan, tan)
ANGLE(cot, cotangent)
ANGLE(degrees, radians_to_degrees)
ANGLE(radians, degrees_to_radians)

static void
call_asin(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    double x = function_real(argv[0]);

    if (!function_any_null(argc, argv) && fabs(x) <= 1)
        sqlite3_result_double(c, asin(x));
}

static void
call_acos(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    double x = function_real(argv[0]);

    if (!function_any_null(argc, argv) && fabs(x) <= 1)
        sqlite3_result_double(c, acos(x));
}

/* ATAN(x), ATAN(y, x) */
static void
call_atan(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        sqlite3_result_double(
            c, argc > 1 ? atan2(function_real(argv[0]), function_real(argv[1]))
                        : atan(function_real(argv[0])));
}

static void
call_pi(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_double(c, M_PI);
}

/* ---- rounding ---- */

static void
return_integral_value(sqlite3_context *c, double value)
{
    int64_t integer;

    if (kind_integer_part(value, &integer))
        sqlite3_result_int64(c, integer);
    else
        sqlite3_result_double(c, value);
}

/* Shortens an exact number to so many places.  False: it is not exact.  An
 * integer stays one. */
static bool
return_shortened(sqlite3_context *c, sqlite3_value *value, int places,
                 enum decimal_end end)
{
    struct decimal d;
    char text[80];

    if (kind_decimals(value) < 0 || !kind_to_decimal(value, &d))
        return false;
    if (kind_is_integer(value) && places >= 0) {
        sqlite3_result_value(c, value);
    } else if (!decimal_shorten(d, places, end, &d)) {
        snprintf(text, sizeof(text), "DECIMAL value is out of range in %s()",
                 function_name(c));
        sqlite3_result_error(c, text, -1);
    } else if (kind_of(value) == KIND_UNSIGNED && d.digits <= UINT64_MAX) {
        function_unsigned(c, (uint64_t)d.digits);
    } else {
        kind_result_exact(c, d, places < 0 ? 0 : places);
        if (kind_is_integer(value) && d.digits >= INT64_MIN &&
            d.digits <= INT64_MAX)
            sqlite3_result_subtype(c, KIND_PLAIN);
    }
    return true;
}

static void
call_ceil(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv) &&
        !return_shortened(c, argv[0], 0, DECIMAL_CEIL))
        return_integral_value(c, ceil(function_real(argv[0])));
}

static void
call_floor(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv) &&
        !return_shortened(c, argv[0], 0, DECIMAL_FLOOR))
        return_integral_value(c, floor(function_real(argv[0])));
}

/* The number of decimals, from -DECIMALS_MAX to DECIMALS_MAX. */
static int
read_decimal_places(int argc, sqlite3_value **argv)
{
    int64_t n = argc > 1 ? function_count(argv[1]) : 0;

    return n > DECIMALS_MAX    ? DECIMALS_MAX
           : n < -DECIMALS_MAX ? -DECIMALS_MAX
                               : (int)n;
}

static void
call_round(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int places = read_decimal_places(argc, argv);
    double x = function_real(argv[0]);

    if (!function_any_null(argc, argv) &&
        !return_shortened(c, argv[0], places, DECIMAL_ROUND))
        /* MySQL rounds a double's half to the even neighbour. */
        sqlite3_result_double(c, places == 0 ? rint(x) : kind_round(x, places));
}

static void
call_truncate(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int places = read_decimal_places(argc, argv);
    double scale = pow(10, places < 0 ? -places : places),
           x = function_real(argv[0]),
           scaled = places >= 0 ? x * scale : x / scale, y = x;
    char text[40];

    if (function_any_null(argc, argv) ||
        return_shortened(c, argv[0], places, DECIMAL_CUT))
        return;
    if (fabs(scaled) < 1e15) { /* a larger one has no digits behind these */
        snprintf(text, sizeof(text), "%.15g", scaled);
        y = trunc(strtod(text, NULL));
        y = places >= 0 ? y / scale : y * scale;
    }
    sqlite3_result_double(c, y);
}

/* MySQL's generator, which gives the same numbers for the same seed. */
struct seeded {
    uint32_t first, second;
};

enum { SEEDED_MAX = 0x3fffffff };

static double
next_seeded(struct seeded *s)
{
    s->first = (uint32_t)(((uint64_t)s->first * 3 + s->second) % SEEDED_MAX);
    s->second = (uint32_t)(((uint64_t)s->first + s->second + 33) % SEEDED_MAX);
    return (double)s->first / SEEDED_MAX;
}

/* RAND(seed): a constant seed begins a series, whose state SQLite keeps for
 * the statement (auxdata); a seed of each row gives the first number of each
 * series. */
static void
return_seeded(sqlite3_context *c, sqlite3_value *seed)
{
    struct seeded *kept = sqlite3_get_auxdata(c, 0), *s = kept;
    uint32_t bits = (uint32_t)function_integer(seed);

    if (!s)
        s = sqlite3_malloc(sizeof(*s));
    if (!s) {
        sqlite3_result_error_nomem(c);
        return;
    }
    if (!kept) {
        /* The constants of MySQL's Item_func_rand::seed_random(), in 32 bits
         * as there. */
        s->first = bits * 0x10001U + 55555555U;
        s->second = bits * 0x10000001U;
        s->first %= SEEDED_MAX;
        s->second %= SEEDED_MAX;
    }
    sqlite3_result_double(c, next_seeded(s));
    if (!kept)
        sqlite3_set_auxdata(c, 0, s, sqlite3_free);
}

static void
call_rand(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    uint64_t bits;

    if (argc > 0) {
        return_seeded(c, argv[0]);
        return;
    }
    sqlite3_randomness(sizeof(bits), &bits);
    /* 53 random bits, as many as a double has: from 0 to below 1. */
    sqlite3_result_double(c, (double)(bits >> 11) * 0x1p-53);
}

/* ---- texts of numbers ---- */

/* How MariaDB writes numbers in these locales.  The first form is en_US's,
 * which unknown locales have, too. */
static const struct number_form {
    char point, between; /* '\0': nothing */
    bool in_pairs;       /* all but the last three digits */
    const char *locales;
} number_forms[] = {
    {'.', ',', false,
     "ar_AE ar_BH ar_DZ ar_EG ar_IN ar_IQ ar_JO ar_KW ar_LB ar_LY ar_MA ar_OM "
     "ar_QA ar_SD ar_SY ar_TN ar_YE en_AU en_CA en_GB en_NZ en_PH en_US en_ZA "
     "en_ZW es_DO es_GT es_HN es_MX es_NI es_PA es_PE es_PR es_SV es_US gu_IN "
     "he_IL hi_IN ja_JP ko_KR ms_MY th_TH ur_PK zh_CN zh_HK zh_TW"},
    {',', '.', false,
     "be_BY da_DK de_BE de_DE de_LU es_AR es_BO es_CL es_CO es_EC es_ES es_PY "
     "es_UY es_VE fo_FO hu_HU id_ID is_IS lt_LT mn_MN nb_NO no_NO ro_RO ru_UA "
     "sq_AL tr_TR uk_UA vi_VN"},
    {',', '\0', false,
     "bg_BG ca_ES de_AT el_GR eu_ES fr_BE fr_CA fr_CH fr_FR fr_LU gl_ES hr_HR "
     "it_IT nl_BE nl_NL pl_PL pt_BR pt_PT sl_SI"},
    {',', ' ', false,
     "cs_CZ es_CR et_EE fi_FI ka_GE lv_LV mk_MK ru_RU sk_SK sv_FI sv_SE"},
    {'.', '\0', false, "ar_SA sr_RS sr_YU"},
    {'.', ',', true, "en_IN ta_IN te_IN"},
    {',', '\'', false, "it_CH rm_CH"},
    {'.', '\'', false, "de_CH"},
};

/* Finds the form of a locale; warns of an unknown one. */
static const struct number_form *
find_number_form(sqlite3_context *c, sqlite3_value *locale)
{
    struct span name = function_argument(locale);

    for (size_t i = 0; i < sizeof(number_forms) / sizeof(number_forms[0]); i++)
        if (span_is_any(name, number_forms[i].locales))
            return &number_forms[i];
    function_warn(c, ER_UNKNOWN_LOCALE, "Unknown locale: '%.64s'",
                  function_any_null(1, &locale) ? "NULL" : name.data);
    return &number_forms[0];
}

/* FORMAT(1234.5, 2): 1,234.50; FORMAT(1234.5, 2, 'de_DE') */
static void
call_format(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    char digits[FORMAT_SIZE], text[FORMAT_SIZE * 2];
    size_t integral_size, at = 0;
    int places = read_decimal_places(2, argv);
    double x = function_real(argv[0]);
    const struct number_form *form = number_forms;
    struct decimal d;
    const char *p = digits;

    if (function_any_null(2, argv) || !isfinite(x))
        return;
    if (argc > 2)
        form = find_number_form(c, argv[2]);
    places = places < 0 ? 0 : places;
    if (kind_decimals(argv[0]) >= 0 && kind_to_decimal(argv[0], &d))
        decimal_text(d, places, digits);
    else
        real_text_fixed(kind_round(x, places), places, digits, sizeof(digits));
    if (*p == '-')
        text[at++] = *p++;
    integral_size = strcspn(p, ".");
    for (size_t i = 0; p[i]; i++) {
        size_t left = i < integral_size ? integral_size - i : 0;

        if (i > 0 && left > 0 && form->between &&
            (form->in_pairs && left > 3 ? left % 2 == 1 : left % 3 == 0))
            text[at++] = form->between;
        text[at] = p[i];
        if (p[i] == '.')
            text[at] = form->point;
        at++;
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
    {"exp", 1, 1, call_exp, RETURNS_DOUBLE},
    {"pow", 2, 2, call_pow, RETURNS_DOUBLE},
    {"power", 2, 2, call_pow, RETURNS_DOUBLE},
    {"sqrt", 1, 1, call_sqrt, RETURNS_DOUBLE},
    {"sign", 1, 1, call_sign, RETURNS_BIGINT},
    {"ln", 1, 1, call_log, RETURNS_DOUBLE},
    {"ceil", 1, 1, call_ceil, RETURNS_INTEGER},
    {"ceiling", 1, 1, call_ceil, RETURNS_INTEGER},
    {"floor", 1, 1, call_floor, RETURNS_INTEGER},
    {"round", 1, 2, call_round, RETURNS_ROUNDED},
    {"truncate", 2, 2, call_truncate, RETURNS_ROUNDED},
    {"log10", 1, 1, call_log10, RETURNS_DOUBLE},
    {"log2", 1, 1, call_log2, RETURNS_DOUBLE},
    {"log", 1, 2, call_log, RETURNS_DOUBLE},
    {"sin", 1, 1, call_sin, RETURNS_DOUBLE},
    {"cos", 1, 1, call_cos, RETURNS_DOUBLE},
    {"tan", 1, 1, call_tan, RETURNS_DOUBLE},
    {"cot", 1, 1, call_cot, RETURNS_DOUBLE},
    {"asin", 1, 1, call_asin, RETURNS_DOUBLE},
    {"acos", 1, 1, call_acos, RETURNS_DOUBLE},
    {"atan", 1, 2, call_atan, RETURNS_DOUBLE},
    {"atan2", 1, 2, call_atan, RETURNS_DOUBLE},
    {"pi", 0, 0, call_pi, RETURNS_DOUBLE},
    {"degrees", 1, 1, call_degrees, RETURNS_DOUBLE},
    {"radians", 1, 1, call_radians, RETURNS_DOUBLE},
    {"rand", 0, 1, call_rand, RETURNS_DOUBLE},
    {"format_bytes", 1, 1, call_format_bytes, RETURNS_TEXT},
    {"format", 2, 3, call_format, RETURNS_TEXT},
    {NULL},
};
