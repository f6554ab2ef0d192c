/* test_names.c - the table of named addresses. */
#include <stdio.h>
#include <string.h>

#include "names.h"
#include "suite.h"

START_TEST(thousands_of_names_are_found_again)
{
    struct names *names = names_new(16 << 20);
    const struct location *location;
    char text[32];

    for (uint64_t i = 0; i < 5000; i++) {
        struct frame frames[2] = {{text, "a.c", (uint32_t)i}, {"main", "", 0}};

        snprintf(text, sizeof(text), "f%d", (int)(i % 1000));
        ck_assert_int_eq(names_add(names, i * 16, frames, 2, i % 2), 0);
    }
    ck_assert_uint_eq(names_count(names), 5000);
    location = names_find(names, 4321 * 16);
    ck_assert_ptr_nonnull(location);
    ck_assert_str_eq(location->frames[0].function, "f321");
    ck_assert_str_eq(location->frames[0].file, "a.c");
    ck_assert_uint_eq(location->frames[0].line, 4321);
    ck_assert_str_eq(location->frames[1].function, "main");
    ck_assert(location->in_allocator);
    ck_assert_ptr_eq(location->frames[0].function,
                     names_find(names, 321 * 16)->frames[0].function);
    ck_assert_ptr_null(names_find(names, 8));
    names_free(names);
}
END_TEST

START_TEST(the_first_answer_stays_and_limits_hold)
{
    struct names *names = names_new(4096);
    struct frame one = {"one", "", 0}, two = {"two", "", 0};
    uint64_t i;

    ck_assert_int_eq(names_add(names, 1, &one, 1, false), 0);
    ck_assert_int_eq(names_add(names, 1, &two, 1, false), 0);
    ck_assert_str_eq(names_find(names, 1)->frames[0].function, "one");
    ck_assert_int_eq(names_add(names, 2, &one, 0, false), -1);
    ck_assert_int_eq(names_add(names, 2, &one, NAMES_INLINE_MAX + 1, false),
                     -1);
    for (i = 2; i < 1000; i++)
        if (names_add(names, i, &two, 1, false) != 0)
            break;
    ck_assert_uint_lt(i, 1000);
    names_free(names);
}
END_TEST

START_TEST(a_symbol_belongs_to_an_address_that_is_known)
{
    struct names *names = names_new(1 << 20);
    struct frame one = {"f", "", 0};
    const struct location *location;

    ck_assert_int_eq(names_set_symbol(names, 1, "f(int)", 16), -1);
    ck_assert_int_eq(names_add(names, 1, &one, 1, false), 0);
    location = names_find(names, 1);
    ck_assert_ptr_null(location->symbol);
    ck_assert_int_eq(names_set_symbol(names, 1, "f(int)", 16), 0);
    ck_assert_int_eq(names_set_symbol(names, 1, "g", 32), 0);
    ck_assert_str_eq(location->symbol, "f(int)");
    ck_assert_uint_eq(location->symbol_start, 16);
    names_free(names);
}
END_TEST

/* The other table's places are used again for other texts. */
START_TEST(what_another_table_knows_is_copied)
{
    struct names *names = names_new(1 << 20), *held = names_ref(names);
    char text[8] = "f", symbol[8] = "f(int)";
    struct frame frames[2] = {{text, "a.c", 7}, {text, NULL, 0}};
    struct location known = {.frames = frames,
                             .frame_count = 2,
                             .symbol = symbol,
                             .symbol_start = 16};
    const struct location *f, *g;

    ck_assert_int_eq(names_add_known(names, 1, &known, true), 0);
    ck_assert_int_eq(names_add_known(names, 2, &known, false), 0);
    names_clear_addresses(names);
    memcpy(text, "g", 2);
    memcpy(symbol, "g()", 4);
    ck_assert_int_eq(names_add_known(names, 1, &known, false), 0);
    ck_assert_int_eq(names_add_known(names, 3, &known, false), 0);
    memset(text, 'x', sizeof(text) - 1);
    names_free(names);
    f = names_find(held, 1);
    g = names_find(held, 3);
    ck_assert_str_eq(f->frames[0].function, "f");
    ck_assert_str_eq(f->symbol, "f(int)");
    ck_assert(f->in_allocator);
    ck_assert_str_eq(f->frames[1].file, "");
    ck_assert_uint_eq(f->frames[0].line, 7);
    ck_assert_ptr_eq(f->symbol, names_find(held, 2)->symbol);
    ck_assert_str_eq(g->frames[1].function, "g");
    ck_assert_str_eq(g->symbol, "g()");
    ck_assert_uint_eq(g->symbol_start, 16);
    names_free(held);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("names");
    TCase *tc = tcase_create("names");

    tcase_add_test(tc, thousands_of_names_are_found_again);
    tcase_add_test(tc, the_first_answer_stays_and_limits_hold);
    tcase_add_test(tc, a_symbol_belongs_to_an_address_that_is_known);
    tcase_add_test(tc, what_another_table_knows_is_copied);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
