/* test_memory_budget.c - one ceiling for all that clients make it take. */
#include "errors.h"
#include "memory_budget.h"
#include "suite.h"

enum { MB = 1 << 20, ALL = MEMORY_BUDGET_BYTES };

START_TEST(a_user_alone_has_half)
{
    struct memory_reservation one = {0}, other = {0};

    ck_assert(memory_reserve(&one, "ann", ALL / 4));
    ck_assert(memory_reserve(&other, "ann", ALL / 4));
    ck_assert(!memory_reserve(&other, "ann", ALL / 4 + MB));
    ck_assert_uint_eq(other.bytes, ALL / 4);
    ck_assert_uint_eq(memory_budget_used(), ALL / 2);
    ck_assert(memory_reserve(&one, "ann", 0));
    ck_assert(memory_reserve(&other, "ann", ALL / 2));
    ck_assert(memory_reserve(&other, "ann", 0));
    ck_assert_uint_eq(memory_budget_used(), 0);
}
END_TEST

START_TEST(others_still_get_some)
{
    struct memory_reservation held[4] = {{0}}, small = {0};
    struct error err;

    ck_assert(memory_reserve(&held[0], "ann", ALL / 2));
    ck_assert(memory_reserve(&held[1], "bob", ALL / 4));
    ck_assert(!memory_reserve(&held[2], "ann", MB));
    ck_assert(memory_reserve(&small, "ann", MEMORY_BUDGET_SMALL));
    ck_assert(memory_reserve(&held[2], "eve", ALL / 8));
    ck_assert(!memory_reserve(&held[3], NULL, MB));
    memory_budget_explain(&err, "a test");
    ck_assert_uint_eq(err.code, ER_OUT_OF_MEMORY);
    ck_assert_ptr_nonnull(strstr(err.text, "256 MB"));
}
END_TEST

START_TEST(decoding_leaves_users_some)
{
    struct memory_reservation decoded = {0}, held = {0};

    ck_assert(memory_reserve(&decoded, NULL, ALL - MEMORY_BUDGET_KEPT));
    ck_assert(!memory_reserve(&decoded, NULL, ALL - MEMORY_BUDGET_KEPT + MB));
    ck_assert(memory_reserve(&held, "ann", MEMORY_BUDGET_KEPT / 2));
    ck_assert(!memory_reserve(&held, "ann", MEMORY_BUDGET_KEPT / 2 + MB));
}
END_TEST

START_TEST(the_owner_is_who_took_the_first_byte)
{
    struct memory_reservation held = {0}, other = {0};

    ck_assert(memory_reserve(&held, "ann", ALL / 2));
    ck_assert(memory_reserve(&held, "bob", ALL / 2 - MB));
    ck_assert(memory_reserve(&other, "bob", ALL / 8));
    ck_assert(memory_reserve(&held, "bob", 0));
    ck_assert(memory_reserve(&other, "bob", 0));
    ck_assert_uint_eq(memory_budget_used(), 0);
}
END_TEST

START_TEST(more_users_than_slots_share_one)
{
    static struct memory_reservation held[200];
    char name[16];

    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "user%d", i);
        memory_charge(&held[i], name, 1000);
    }
    ck_assert_uint_eq(memory_budget_used(), 200 * 1000);
    for (int i = 0; i < 200; i++)
        memory_reserve(&held[i], "whoever", 0);
    ck_assert_uint_eq(memory_budget_used(), 0);
    ck_assert(memory_reserve(&held[0], "ann", ALL / 2));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("memory_budget");
    TCase *tc = tcase_create("memory_budget");

    tcase_add_test(tc, a_user_alone_has_half);
    tcase_add_test(tc, others_still_get_some);
    tcase_add_test(tc, decoding_leaves_users_some);
    tcase_add_test(tc, the_owner_is_who_took_the_first_byte);
    tcase_add_test(tc, more_users_than_slots_share_one);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
