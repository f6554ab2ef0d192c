/* test_decimal.c - exact numbers, at the ends of their digits. */
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "decimal.h"
#include "suite.h"

#define NINES "99999999999999999999999999999999999999" /* 38 */

static struct decimal
number(const char *text)
{
    struct decimal out;
    size_t used;

    ck_assert_msg(decimal_read(span_of(text), &out, &used), "%s", text);
    ck_assert_uint_eq(used, strlen(text));
    return out;
}

static const char *
text_of(struct decimal d)
{
    static char text[DECIMAL_TEXT];

    text[decimal_text(d, d.scale, text)] = '\0';
    return text;
}

static const struct {
    const char *text, *read; /* NULL: too large */
    size_t used;
} texts[] = {
    {"", "0", 0},
    {"abc", "0", 0},
    {"-", "0", 0},
    {".", "0", 0},
    {" -1.50x", "-1.50", 6},
    {"+.5", "0.5", 3},
    {"5.", "5", 2},
    {"1.2.3", "1.2", 3},
    {"1e3", "1000", 3},
    {"1.5e-2", "0.015", 6},
    {"1e", "1", 1},
    {"1e+", "1", 1},
    {"00012", "12", 5},
    {"1e-99999999999999999999", "0", 23},
    {"1e99999999999999999999", NULL, 0},
    {"0e99999999999999999999", "0", 22},
    {NINES, NINES, 38},
    {"-" NINES, "-" NINES, 39},
    {"1" NINES, NULL, 0},
    {NINES ".4", NINES, 40},
    {NINES ".5", NULL, 0},
    {"0." NINES "9", "1.0000000000000000000000000000000000000", 41},
    {"1.000000000000000000000000000000000000049",
     "1.0000000000000000000000000000000000000", 41},
};

START_TEST(a_text_is_read_to_its_last_digit)
{
    struct decimal out = {7, 0};
    size_t used;
    bool fits = decimal_read(span_of(texts[_i].text), &out, &used);

    ck_assert_int_eq(fits, texts[_i].read != NULL);
    if (!fits)
        return;
    ck_assert_str_eq(text_of(out), texts[_i].read);
    ck_assert_uint_eq(used, texts[_i].used);
}
END_TEST

/* a, op, b, and what it is: NULL for more digits than there are. */
static const struct {
    const char *a, *b, *result;
    char op;
} sums[] = {
    {"1.10", "2", "3.10", '+'},
    {"-0.5", "0.5", "0.0", '+'},
    {NINES, "1", NULL, '+'},
    {"-" NINES, "-1", NULL, '+'},
    {NINES, "-" NINES, "0", '+'},
    {NINES, "0.1", NULL, '+'},
    {"1.10", "-3", "-3.3", '*'},
    {"9999999999999999999", "9999999999999999999",
     "99999999999999999980000000000000000001", '*'},
    {"99999999999999999999", "9999999999999999999", NULL, '*'},
    {"0.0000000000000000001", "0.0000000000000000001",
     "0.00000000000000000000000000000000000001", '*'},
    {"1", "3", "0.333333333", '/'},
    {"-2", "3", "-0.666666666", '/'},
    {"1.0", "0.7", "1.428571428571428571", '/'},
    {NINES, "3", NULL, '/'},
    {"1", NINES, "0", '/'},
    {"7", "0.000000000000002", "3500000000000000.0000000000000000000000", '/'},
    {"9999999999", "0.0000000000000000001",
     "99999999990000000000000000000."
     "000000000",
     '/'},
    {"7.5", "-2", "1.5", '%'},
    {"-7.5", "0.4", "-0.3", '%'},
    {"5", NINES, "5", '%'},
    {"0.1", NINES, "0.1", '%'},
    {NINES, "0.7", NULL, '%'},
};

START_TEST(sums_are_exact_or_refused)
{
    struct decimal a = number(sums[_i].a), b = number(sums[_i].b), out;
    decimal_integer whole;
    bool fits = sums[_i].op == '+'   ? decimal_add(a, b, &out)
                : sums[_i].op == '*' ? decimal_multiply(a, b, &out)
                : sums[_i].op == '/' ? decimal_divide(a, b, 4, &out)
                                     : decimal_split(a, b, &whole, &out);

    ck_assert_msg(fits == (sums[_i].result != NULL), "%s %c %s", sums[_i].a,
                  sums[_i].op, sums[_i].b);
    if (fits)
        ck_assert_str_eq(text_of(out), sums[_i].result);
}
END_TEST

static const struct {
    const char *text;
    int places;
    enum decimal_end end;
    const char *result;
} shortened[] = {
    {"1.005", 2, DECIMAL_ROUND, "1.01"},
    {"-1.005", 2, DECIMAL_ROUND, "-1.01"},
    {"-1.005", 2, DECIMAL_CUT, "-1.00"},
    {"-1.5", 0, DECIMAL_FLOOR, "-2"},
    {"-1.5", 0, DECIMAL_CEIL, "-1"},
    {"1.5", 0, DECIMAL_CEIL, "2"},
    {"1.5", 3, DECIMAL_ROUND, "1.5"},
    {"155", -1, DECIMAL_ROUND, "160"},
    {"155", -9, DECIMAL_ROUND, "0"},
    {NINES, -30, DECIMAL_CUT, "99999999000000000000000000000000000000"},
    {NINES, -1, DECIMAL_ROUND, NULL},
};

START_TEST(digits_end_as_asked)
{
    struct decimal out;
    bool fits = decimal_shorten(number(shortened[_i].text),
                                shortened[_i].places, shortened[_i].end, &out);

    ck_assert_int_eq(fits, shortened[_i].result != NULL);
    if (fits)
        ck_assert_str_eq(text_of(out), shortened[_i].result);
}
END_TEST

static const char *const ascending[] = {
    ("-" NINES),
    "-18446744073709551616",
    "-1.5",
    "-1.49",
    "-1",
    ("-0." NINES),
    "-0.5",
    "0",
    "0.00000000000000000000000000000000000001",
    "0.5",
    "0.50000000000000000001",
    "1",
    "1.0000000001",
    "9223372036854775808",
    NINES};

START_TEST(keys_compare_as_numbers_and_are_read_again)
{
    unsigned char keys[2][DECIMAL_KEY];
    struct decimal a = number(ascending[_i]), b;

    for (int i = 0; i < (int)(sizeof(ascending) / sizeof(*ascending)); i++) {
        size_t sizes[2], least;
        int order, expected = _i < i ? -1 : _i > i;

        b = number(ascending[i]);
        sizes[0] = decimal_key(a, keys[0]);
        sizes[1] = decimal_key(b, keys[1]);
        least = sizes[0] < sizes[1] ? sizes[0] : sizes[1];
        order = memcmp(keys[0], keys[1], least);
        if (order == 0)
            order = (int)sizes[0] - (int)sizes[1];
        ck_assert_int_eq((order > 0) - (order < 0), expected);
        ck_assert_int_eq(decimal_compare(a, b), expected);
        ck_assert(
            decimal_of_key((struct span){(const char *)keys[1], sizes[1]}, &b));
        ck_assert_str_eq(text_of(b), ascending[i]);
    }
    for (size_t size = 0; size < 16; size++)
        ck_assert(
            !decimal_of_key((struct span){(const char *)keys[0], size}, &b));
    memset(keys[0], 0xff, DECIMAL_KEY);
    ck_assert(
        !decimal_of_key((struct span){(const char *)keys[0], DECIMAL_KEY}, &b));
}
END_TEST

START_TEST(doubles_become_decimals_and_come_back)
{
    static const double reals[] = {
        0, 1.5, -0.1, 1e15, 123456789.123456789, 1e-20, 9007199254740993.0};
    struct decimal d;

    for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++) {
        ck_assert(decimal_of_real(reals[i], &d));
        ck_assert(decimal_real(d) == reals[i]);
    }
    ck_assert(!decimal_of_real(1e39, &d));
    ck_assert(!decimal_of_real(DBL_MAX, &d));
    ck_assert(!decimal_of_real(DBL_MAX * 2, &d));
    ck_assert_str_eq(text_of(decimal_most(38, 30)),
                     "99999999.999999999999999999999999999999");
}
END_TEST

START_TEST(no_digit_is_lost_unsaid)
{
    static const char z[] = "0000000000"; /* ten */
    static const struct {
        const char *text;
        int decimals;
    } right[] = {{NINES, 0}, {"-1.50", 2},  {"0.000", 3},  {".5", 1},
                 {"5.", 0},  {"1.5e10", 0}, {"1.5e-2", 3}, {"0", 0}};
    char text[100];
    struct decimal d;
    int decimals;

    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        ck_assert_msg(decimal_read_exact(span_of(right[i].text), &d, &decimals),
                      "%s", right[i].text);
        ck_assert_int_eq(decimals, right[i].decimals);
    }
    snprintf(text, sizeof(text), "1.%s%s%s%s%s", z, z, z, z, z);
    ck_assert(decimal_read_exact(span_of(text), &d, &decimals));
    ck_assert_str_eq(text_of(d), "1");
    ck_assert_int_eq(decimals, DECIMAL_SCALE_MAX);
    snprintf(text, sizeof(text), "1.%s%s%s1", z, z, z); /* 31 decimals */
    ck_assert(!decimal_read_exact(span_of(text), &d, &decimals));
    snprintf(text, sizeof(text), "0.%s%s%s%s%s%s%s%s1", z, z, z, z, z, z, z, z);
    ck_assert(!decimal_read_exact(span_of(text), &d, &decimals));
    ck_assert(!decimal_read_exact(span_of("1" NINES), &d, &decimals));
    ck_assert(!decimal_read_exact(span_of(NINES ".4"), &d, &decimals));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("decimal");
    TCase *tc = tcase_create("decimal");

    tcase_add_loop_test(tc, a_text_is_read_to_its_last_digit, 0,
                        (int)(sizeof(texts) / sizeof(*texts)));
    tcase_add_loop_test(tc, sums_are_exact_or_refused, 0,
                        (int)(sizeof(sums) / sizeof(*sums)));
    tcase_add_loop_test(tc, digits_end_as_asked, 0,
                        (int)(sizeof(shortened) / sizeof(*shortened)));
    tcase_add_loop_test(tc, keys_compare_as_numbers_and_are_read_again, 0,
                        (int)(sizeof(ascending) / sizeof(*ascending)));
    tcase_add_test(tc, no_digit_is_lost_unsaid);
    tcase_add_test(tc, doubles_become_decimals_and_come_back);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
