/* test_collate.c - the order of texts; dialect.py has every weight. */
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "collate.h"
#include "suite.h"

static int
sign(int order)
{
    return order < 0 ? -1 : order > 0;
}

/* order and bin: of the first to the second, by both collations. */
static const struct {
    const char *a, *b;
    int order, bin;
} cases[] = {
    {"", "", 0, 0},
    {"", "  ", 0, 0},
    {"a", "A", 0, 1},
    {"a", "a ", 0, 0},
    {"a", "a\t", 1, 1},
    {"a ", "a\t", 1, 1},
    {"a", "a!", -1, -1},
    {"ab", "a ", 1, 1},
    {"Z", "_", -1, -1},
    {"z", "_", -1, 1},
    {"\xc3\xa4", "A", 0, 1},
    {"\xc3\xa4", "\xc3\x84", 0, 1},
    {"\xc3\x9f", "s", 0, 1},
    {"\xd1\x8f", "\xd0\xaf", 0, 1},
    {"\xcf\x82", "\xce\xa3", 0, 1},
    {"\xef\xbd\x81", "\xef\xbc\xa1", 0, 1},
    {"\xe4\xb8\xad", "\xe6\x96\x87", -1, -1},
    {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x81", 0, -1},
    {"z", "\xc3\xa9", 1, -1},
    /* no UTF-8: each byte for itself, as long as it differs */
    {"\xc3", "\xc3", 0, 0},
    {"\xc3", "\xc4", -1, -1},
    {"\xe4\xb8", "\xe4\xb8\xad", 1, -1},
    {"\xc0\x80", "\xc0\x81", -1, -1},
    {"\xff", "a", 1, 1},
    {"\xe2\x82", "\x82\x82", 1, 1},
    {"\xe2\x82z", "\x82\x82z", 1, 1},
    {"\xf4\xbf\xbfz", "\xf4\xbf\xbfZ", 0, 1},
    /* a longer form than the shortest, a surrogate, past the last character */
    {"\xe0\x80\xa0", "", 1, 1},
    {"\xe0\x81\x81", "A", 1, 1},
    {"\xed\xa3\xbf", "\xff", -1, -1},
    {"\xed\xbf\xbf", "\xed\xbf\xbe", 1, 1},
    {"\xf4\x90\x80\x80", "\xf0\x9f\x98\x80", -1, 1},
};

START_TEST(texts_compare_by_weights_and_by_code_points)
{
    struct span a = span_of(cases[_i].a), b = span_of(cases[_i].b);

    ck_assert_int_eq(sign(collate_compare(a, b)), cases[_i].order);
    ck_assert_int_eq(sign(collate_compare(b, a)), -cases[_i].order);
    ck_assert_int_eq(sign(collate_compare_bin(a, b)), cases[_i].bin);
    ck_assert_int_eq(sign(collate_compare_bin(b, a)), -cases[_i].bin);
}
END_TEST

/* The comparison is that of the weights as bytes, which others store. */
START_TEST(weights_as_bytes_are_equal_where_texts_are)
{
    struct buffer x, y;

    buffer_init(&x, 100);
    buffer_init(&y, 100);
    collate_add_weights(&x, collate_trimmed(span_of(cases[_i].a)));
    collate_add_weights(&y, collate_trimmed(span_of(cases[_i].b)));
    ck_assert(!x.failed && !y.failed);
    ck_assert_int_eq(x.size == y.size &&
                         (!x.size || memcmp(x.data, y.data, x.size) == 0),
                     cases[_i].order == 0);
    buffer_fini(&x);
    buffer_fini(&y);
}
END_TEST

/* A text that ends within a character is read no further. */
START_TEST(every_cut_of_a_text_is_read_to_its_end)
{
    static const char text[] = "a\xc3\xa4\xe4\xb8\xad\xf0\x9f\x98\x80";

    for (size_t size = 1; size < sizeof(text); size++) {
        char *copy = malloc(size); /* a sanitizer sees its end */
        struct span rest = {copy, size};

        ck_assert_ptr_nonnull(copy);
        memcpy(copy, text, size);
        while (rest.size > 0)
            collate_take(&rest);
        ck_assert_ptr_eq(rest.data, copy + size);
        free(copy);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("collate");
    TCase *tc = tcase_create("collate");
    int count = (int)(sizeof(cases) / sizeof(cases[0]));

    tcase_add_loop_test(tc, texts_compare_by_weights_and_by_code_points, 0,
                        count);
    tcase_add_loop_test(tc, weights_as_bytes_are_equal_where_texts_are, 0,
                        count);
    tcase_add_test(tc, every_cut_of_a_text_is_read_to_its_end);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
