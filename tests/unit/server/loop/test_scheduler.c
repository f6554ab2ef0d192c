/* test_scheduler.c - few that compute, many that wait, and more that want to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "scheduler.h"

enum { MANY = 3 * PLACES };

static struct turns turns;
static struct turn all[MANY];
static unsigned granted[MANY], placed[MANY];

static void
count(void *arg)
{
    ++*(unsigned *)arg;
}

static void
setup(void)
{
    scheduler_init(&turns);
    memset(all, 0, sizeof(all));
    memset(granted, 0, sizeof(granted));
    memset(placed, 0, sizeof(placed));
}

static void
teardown(void)
{
    for (int i = 0; i < MANY; i++)
        scheduler_release_slots(&turns, &all[i]);
    ck_assert_ptr_null(turns.placed);
    ck_assert_ptr_null(turns.awaiting);
    ck_assert_ptr_null(turns.queue);
    scheduler_fini(&turns);
}

static bool
take(int i, const char *owner)
{
    all[i].owner = owner;
    all[i].granted = (struct waker){count, &granted[i]};
    all[i].place = (struct waker){count, &placed[i]};
    return scheduler_take_thread_slot(&turns, &all[i]);
}

/* How many get a place; the rest await one. */
static int
take_all(int first, int end, const char *owner)
{
    int taken = 0;

    for (int i = first; i < end; i++)
        taken += take(i, owner);
    return taken;
}

START_TEST(one_user_gets_half_of_the_slots_and_the_next_half_of_the_rest)
{
    ck_assert_int_eq(take_all(0, PLACES, "ann"), PLACES / 2);
    ck_assert_int_eq(take_all(PLACES, 2 * PLACES, "bob"), PLACES / 4);
}
END_TEST

START_TEST(statements_of_nodes_have_slots_of_their_own)
{
    ck_assert_int_eq(take_all(0, PLACES, "ann"), PLACES / 2);
    for (int i = PLACES; i < 2 * PLACES; i++)
        all[i].forwarded = true;
    ck_assert_int_eq(take_all(PLACES, 2 * PLACES, "ann"), PLACES / 2);
}
END_TEST

START_TEST(a_slot_is_given_to_whoever_waits_longest_and_may_have_it)
{
    take_all(0, PLACES, "ann");
    scheduler_release_slots(&turns, &all[0]);
    ck_assert_uint_eq(placed[PLACES / 2], 1);
    ck_assert_uint_eq(placed[PLACES / 2 + 1], 0);
    ck_assert(all[PLACES / 2].placed);
    scheduler_release_slots(&turns, &all[PLACES / 2 + 1]); /* it waits no longer */
    scheduler_release_slots(&turns, &all[1]);
    ck_assert_uint_eq(placed[PLACES / 2 + 1], 0);
    ck_assert_uint_eq(placed[PLACES / 2 + 2], 1);
}
END_TEST

START_TEST(one_that_waits_may_ask_again_and_waits_once)
{
    take_all(0, PLACES, "ann");
    ck_assert(!scheduler_take_thread_slot(&turns, &all[PLACES / 2]));
    scheduler_release_slots(&turns, &all[0]);
    scheduler_release_slots(&turns, &all[1]);
    ck_assert_uint_eq(placed[PLACES / 2], 1);
    ck_assert_uint_eq(placed[PLACES / 2 + 1], 1);
    ck_assert(scheduler_take_thread_slot(&turns, &all[PLACES / 2]));
}
END_TEST

static int came[MANY]; /* 0: it does not wait */

/* That a user's come in their order, whoever of them leaves. */
static void
note_given(void *arg)
{
    struct turn *turn = arg;

    for (int i = 0; i < MANY; i++)
        if (came[i] && strcmp(all[i].owner, turn->owner) == 0)
            ck_assert_int_ge(came[i], came[turn - all]);
    came[turn - all] = 0;
}

static bool
has_waiting(void)
{
    for (int i = 0; i < MANY; i++)
        if (came[i])
            return true;
    return false;
}

START_TEST(a_users_statements_get_their_slots_in_order)
{
    static const char *const users[] = {"ann", "bob", "cy"};
    unsigned seed = 1;
    int i;

    memset(came, 0, sizeof(came));
    for (int step = 1; step < 20000; step++) {
        i = rand_r(&seed) % MANY;
        if (all[i].placed || came[i]) {
            came[i] = 0;
            scheduler_release_slots(&turns, &all[i]);
            continue;
        }
        all[i].owner = users[i % 3];
        all[i].place = (struct waker){note_given, &all[i]};
        if (!scheduler_take_thread_slot(&turns, &all[i]))
            came[i] = step;
    }
    ck_assert(has_waiting());
    for (i = 0; i < MANY; i++)
        if (all[i].placed)
            scheduler_release_slots(&turns, &all[i]);
    for (i = 0; i < MANY && has_waiting(); i++)
        if (all[i].placed)
            scheduler_release_slots(&turns, &all[i]);
    ck_assert(!has_waiting());
}
END_TEST

START_TEST(few_compute_and_the_next_user_always_may)
{
    for (int i = 0; i < TURNS; i++) {
        ck_assert(take(i, "ann"));
        ck_assert_int_eq(scheduler_request_compute(&turns, &all[i], false), i < TURNS / 2);
        ck_assert_int_eq(scheduler_awaits_compute(&turns, &all[i]), i >= TURNS / 2);
    }
    ck_assert(take(TURNS, "bob"));
    ck_assert(scheduler_request_compute(&turns, &all[TURNS], false));
    scheduler_release_slots(&turns, &all[TURNS]);
    scheduler_yield_compute(&turns, &all[0]);
    ck_assert_uint_eq(granted[TURNS / 2], 1);
    ck_assert_uint_eq(granted[TURNS / 2 + 1], 0);
    ck_assert(!scheduler_awaits_compute(&turns, &all[TURNS / 2]));
    ck_assert(scheduler_request_compute(&turns, &all[TURNS / 2], false));
    scheduler_release_slots(&turns, &all[1]);
    ck_assert_uint_eq(granted[TURNS / 2 + 1], 1);
}
END_TEST

START_TEST(a_long_turn_is_over_once_another_waits)
{
    for (int i = 0; i <= TURNS / 2; i++) {
        ck_assert(take(i, "ann"));
        (void)scheduler_request_compute(&turns, &all[i], false);
    }
    ck_assert(scheduler_request_compute(&turns, &all[0], false)); /* not yet */
    ck_assert_uint_eq(granted[TURNS / 2], 0);
    all[0].until_ms = 1;
    ck_assert(!scheduler_request_compute(&turns, &all[0], false));
    ck_assert(scheduler_awaits_compute(&turns, &all[0]));
    ck_assert_uint_eq(granted[TURNS / 2], 1);
    scheduler_release_slots(&turns, &all[1]);
    ck_assert_uint_eq(granted[0], 1);
    all[0].until_ms = 1;
    ck_assert(scheduler_request_compute(&turns, &all[0], false)); /* nobody waits */
    ck_assert(scheduler_request_compute(&turns, &all[0], false));
}
END_TEST

START_TEST(a_turn_goes_on_where_who_waits_may_have_none)
{
    ck_assert(take(TURNS, "bob"));
    ck_assert(scheduler_request_compute(&turns, &all[TURNS], false));
    for (int i = 0; i <= TURNS / 2; i++) {
        ck_assert(take(i, "ann"));
        (void)scheduler_request_compute(&turns, &all[i], false);
    }
    ck_assert(scheduler_awaits_compute(&turns, &all[TURNS / 2]));
    all[TURNS].until_ms = 1;
    ck_assert(scheduler_request_compute(&turns, &all[TURNS], false));
    ck_assert(scheduler_awaits_compute(&turns, &all[TURNS / 2]));
}
END_TEST

START_TEST(a_users_own_wait_for_its_long_turns_whoever_else_computes)
{
    int first = 0; /* that waits */

    for (int i = TURNS; i < TURNS + 2; i++) {
        ck_assert(take(i, "bob"));
        ck_assert(scheduler_request_compute(&turns, &all[i], false));
    }
    do {
        ck_assert(take(first, "ann"));
    } while (scheduler_request_compute(&turns, &all[first], false) && ++first < TURNS);
    ck_assert(scheduler_awaits_compute(&turns, &all[first]));
    ck_assert(!scheduler_is_slice_over(&turns, &all[0]));
    all[0].until_ms = 1;
    ck_assert(scheduler_is_slice_over(&turns, &all[0]));
    ck_assert(!scheduler_request_compute(&turns, &all[0], false));
    ck_assert(scheduler_awaits_compute(&turns, &all[0]));
    ck_assert_uint_eq(granted[first], 1);
}
END_TEST

START_TEST(what_is_about_to_end_computes_at_once)
{
    for (int i = 0; i < 2 * TURNS; i++) {
        ck_assert(take(i, "ann"));
        (void)scheduler_request_compute(&turns, &all[i], false);
    }
    ck_assert(scheduler_awaits_compute(&turns, &all[TURNS]));
    ck_assert(scheduler_request_compute(&turns, &all[TURNS], true));
    ck_assert(!scheduler_awaits_compute(&turns, &all[TURNS]));
    ck_assert(scheduler_request_compute(&turns, &all[TURNS], false)); /* still */
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("turns");
    TCase *tc = tcase_create("turns");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(
        tc, one_user_gets_half_of_the_slots_and_the_next_half_of_the_rest);
    tcase_add_test(tc, statements_of_nodes_have_slots_of_their_own);
    tcase_add_test(tc,
                   a_slot_is_given_to_whoever_waits_longest_and_may_have_it);
    tcase_add_test(tc, one_that_waits_may_ask_again_and_waits_once);
    tcase_add_test(tc, a_users_statements_get_their_slots_in_order);
    tcase_add_test(tc, few_compute_and_the_next_user_always_may);
    tcase_add_test(tc, a_long_turn_is_over_once_another_waits);
    tcase_add_test(tc, a_turn_goes_on_where_who_waits_may_have_none);
    tcase_add_test(tc,
                   a_users_own_wait_for_its_long_turns_whoever_else_computes);
    tcase_add_test(tc, what_is_about_to_end_computes_at_once);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
