/* test_scheduler.c - few that compute, many that wait, and more that want to.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "scheduler.h"

enum { MANY = 3 * THREAD_SLOTS };

static struct scheduler scheduler;
static struct scheduler_entry all[MANY];
static unsigned granted[MANY], placed[MANY];

static void
count(void *arg)
{
    ++*(unsigned *)arg;
}

static void
setup(void)
{
    scheduler_init(&scheduler);
    memset(all, 0, sizeof(all));
    memset(granted, 0, sizeof(granted));
    memset(placed, 0, sizeof(placed));
}

static void
teardown(void)
{
    for (int i = 0; i < MANY; i++)
        scheduler_release_slots(&scheduler, &all[i]);
    ck_assert_ptr_null(scheduler.with_slot);
    ck_assert_ptr_null(scheduler.awaiting);
    ck_assert_ptr_null(scheduler.queue);
    scheduler_fini(&scheduler);
}

static bool
take(int i, const char *owner)
{
    all[i].owner = owner;
    all[i].granted = (struct waker){count, &granted[i]};
    all[i].slot = (struct waker){count, &placed[i]};
    return scheduler_take_thread_slot(&scheduler, &all[i]);
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
    ck_assert_int_eq(take_all(0, THREAD_SLOTS, "ann"), THREAD_SLOTS / 2);
    ck_assert_int_eq(take_all(THREAD_SLOTS, 2 * THREAD_SLOTS, "bob"),
                     THREAD_SLOTS / 4);
}
END_TEST

START_TEST(statements_of_nodes_have_slots_of_their_own)
{
    ck_assert_int_eq(take_all(0, THREAD_SLOTS, "ann"), THREAD_SLOTS / 2);
    for (int i = THREAD_SLOTS; i < 2 * THREAD_SLOTS; i++)
        all[i].forwarded = true;
    ck_assert_int_eq(take_all(THREAD_SLOTS, 2 * THREAD_SLOTS, "ann"),
                     THREAD_SLOTS / 2);
}
END_TEST

START_TEST(a_slot_is_given_to_whoever_waits_longest_and_may_have_it)
{
    take_all(0, THREAD_SLOTS, "ann");
    scheduler_release_slots(&scheduler, &all[0]);
    ck_assert_uint_eq(placed[THREAD_SLOTS / 2], 1);
    ck_assert_uint_eq(placed[THREAD_SLOTS / 2 + 1], 0);
    ck_assert(all[THREAD_SLOTS / 2].has_slot);
    scheduler_release_slots(
        &scheduler, &all[THREAD_SLOTS / 2 + 1]); /* it waits no longer */
    scheduler_release_slots(&scheduler, &all[1]);
    ck_assert_uint_eq(placed[THREAD_SLOTS / 2 + 1], 0);
    ck_assert_uint_eq(placed[THREAD_SLOTS / 2 + 2], 1);
}
END_TEST

START_TEST(one_that_waits_may_ask_again_and_waits_once)
{
    take_all(0, THREAD_SLOTS, "ann");
    ck_assert(!scheduler_take_thread_slot(&scheduler, &all[THREAD_SLOTS / 2]));
    scheduler_release_slots(&scheduler, &all[0]);
    scheduler_release_slots(&scheduler, &all[1]);
    ck_assert_uint_eq(placed[THREAD_SLOTS / 2], 1);
    ck_assert_uint_eq(placed[THREAD_SLOTS / 2 + 1], 1);
    ck_assert(scheduler_take_thread_slot(&scheduler, &all[THREAD_SLOTS / 2]));
}
END_TEST

static int came[MANY]; /* 0: it does not wait */

/* That a user's come in their order, whoever of them leaves. */
static void
note_given(void *arg)
{
    struct scheduler_entry *entry = arg;

    for (int i = 0; i < MANY; i++)
        if (came[i] && strcmp(all[i].owner, entry->owner) == 0)
            ck_assert_int_ge(came[i], came[entry - all]);
    came[entry - all] = 0;
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
        if (all[i].has_slot || came[i]) {
            came[i] = 0;
            scheduler_release_slots(&scheduler, &all[i]);
            continue;
        }
        all[i].owner = users[i % 3];
        all[i].slot = (struct waker){note_given, &all[i]};
        if (!scheduler_take_thread_slot(&scheduler, &all[i]))
            came[i] = step;
    }
    ck_assert(has_waiting());
    for (i = 0; i < MANY; i++)
        if (all[i].has_slot)
            scheduler_release_slots(&scheduler, &all[i]);
    for (i = 0; i < MANY && has_waiting(); i++)
        if (all[i].has_slot)
            scheduler_release_slots(&scheduler, &all[i]);
    ck_assert(!has_waiting());
}
END_TEST

START_TEST(few_compute_and_the_next_user_always_may)
{
    for (int i = 0; i < COMPUTE_SLOTS; i++) {
        ck_assert(take(i, "ann"));
        ck_assert_int_eq(scheduler_request_compute(&scheduler, &all[i], false),
                         i < COMPUTE_SLOTS / 2);
        ck_assert_int_eq(scheduler_awaits_compute(&scheduler, &all[i]),
                         i >= COMPUTE_SLOTS / 2);
    }
    ck_assert(take(COMPUTE_SLOTS, "bob"));
    ck_assert(
        scheduler_request_compute(&scheduler, &all[COMPUTE_SLOTS], false));
    scheduler_release_slots(&scheduler, &all[COMPUTE_SLOTS]);
    scheduler_yield_compute(&scheduler, &all[0]);
    ck_assert_uint_eq(granted[COMPUTE_SLOTS / 2], 1);
    ck_assert_uint_eq(granted[COMPUTE_SLOTS / 2 + 1], 0);
    ck_assert(!scheduler_awaits_compute(&scheduler, &all[COMPUTE_SLOTS / 2]));
    ck_assert(
        scheduler_request_compute(&scheduler, &all[COMPUTE_SLOTS / 2], false));
    scheduler_release_slots(&scheduler, &all[1]);
    ck_assert_uint_eq(granted[COMPUTE_SLOTS / 2 + 1], 1);
}
END_TEST

START_TEST(a_long_turn_is_over_once_another_waits)
{
    for (int i = 0; i <= COMPUTE_SLOTS / 2; i++) {
        ck_assert(take(i, "ann"));
        (void)scheduler_request_compute(&scheduler, &all[i], false);
    }
    ck_assert(
        scheduler_request_compute(&scheduler, &all[0], false)); /* not yet */
    ck_assert_uint_eq(granted[COMPUTE_SLOTS / 2], 0);
    all[0].until_ms = 1;
    ck_assert(!scheduler_request_compute(&scheduler, &all[0], false));
    ck_assert(scheduler_awaits_compute(&scheduler, &all[0]));
    ck_assert_uint_eq(granted[COMPUTE_SLOTS / 2], 1);
    scheduler_release_slots(&scheduler, &all[1]);
    ck_assert_uint_eq(granted[0], 1);
    all[0].until_ms = 1;
    ck_assert(scheduler_request_compute(&scheduler, &all[0],
                                        false)); /* nobody waits */
    ck_assert(scheduler_request_compute(&scheduler, &all[0], false));
}
END_TEST

START_TEST(a_turn_goes_on_where_who_waits_may_have_none)
{
    ck_assert(take(COMPUTE_SLOTS, "bob"));
    ck_assert(
        scheduler_request_compute(&scheduler, &all[COMPUTE_SLOTS], false));
    for (int i = 0; i <= COMPUTE_SLOTS / 2; i++) {
        ck_assert(take(i, "ann"));
        (void)scheduler_request_compute(&scheduler, &all[i], false);
    }
    ck_assert(scheduler_awaits_compute(&scheduler, &all[COMPUTE_SLOTS / 2]));
    all[COMPUTE_SLOTS].until_ms = 1;
    ck_assert(
        scheduler_request_compute(&scheduler, &all[COMPUTE_SLOTS], false));
    ck_assert(scheduler_awaits_compute(&scheduler, &all[COMPUTE_SLOTS / 2]));
}
END_TEST

START_TEST(a_users_own_wait_for_its_long_turns_whoever_else_computes)
{
    int first = 0; /* that waits */

    for (int i = COMPUTE_SLOTS; i < COMPUTE_SLOTS + 2; i++) {
        ck_assert(take(i, "bob"));
        ck_assert(scheduler_request_compute(&scheduler, &all[i], false));
    }
    do {
        ck_assert(take(first, "ann"));
    } while (scheduler_request_compute(&scheduler, &all[first], false) &&
             ++first < COMPUTE_SLOTS);
    ck_assert(scheduler_awaits_compute(&scheduler, &all[first]));
    ck_assert(!scheduler_is_slice_over(&scheduler, &all[0]));
    all[0].until_ms = 1;
    ck_assert(scheduler_is_slice_over(&scheduler, &all[0]));
    ck_assert(!scheduler_request_compute(&scheduler, &all[0], false));
    ck_assert(scheduler_awaits_compute(&scheduler, &all[0]));
    ck_assert_uint_eq(granted[first], 1);
}
END_TEST

START_TEST(what_is_about_to_end_computes_at_once)
{
    for (int i = 0; i < 2 * COMPUTE_SLOTS; i++) {
        ck_assert(take(i, "ann"));
        (void)scheduler_request_compute(&scheduler, &all[i], false);
    }
    ck_assert(scheduler_awaits_compute(&scheduler, &all[COMPUTE_SLOTS]));
    ck_assert(scheduler_request_compute(&scheduler, &all[COMPUTE_SLOTS], true));
    ck_assert(!scheduler_awaits_compute(&scheduler, &all[COMPUTE_SLOTS]));
    ck_assert(scheduler_request_compute(&scheduler, &all[COMPUTE_SLOTS],
                                        false)); /* still */
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("scheduler");
    TCase *tc = tcase_create("scheduler");

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
