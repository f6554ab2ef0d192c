/* test_highest.c - which automatic snapshot stays pinned. */
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "marks.h"
#include "memory.h"
#include "profile.h"
#include "store.h"
#include "suite.h"

static struct store *store;
static struct highest highest;
static const char *reason = ""; /* of those that are taken */

static void
set_up(void)
{
    struct store_options options = store_defaults;
    struct error err;

    options.count = 4;
    store = store_open(&options, NULL, &err);
    ck_assert_ptr_nonnull(store);
    memset(&highest, 0, sizeof(highest));
}

static void
tear_down(void)
{
    store_close(store);
}

/* A snapshot of the database of that pid, at that RSS. */
static void
take(const char *name, enum snapshot_cause cause, int32_t pid, uint64_t rss)
{
    static int64_t taken_ms = 1795228267000;
    struct snapshot *snapshot = snapshot_new();
    struct error err;

    ck_assert_ptr_nonnull(snapshot);
    snapshot->profile = mem_zalloc(1, sizeof(*snapshot->profile));
    snapshot->profile->arena = arena_new(SIZE_MAX);
    snprintf(snapshot->name, sizeof(snapshot->name), "%s", name);
    snapshot->cause = cause;
    snprintf(snapshot->reason, sizeof(snapshot->reason), "%s", reason);
    snapshot->taken_ms = taken_ms += 1000;
    snapshot->hello.pid = pid;
    snapshot->memory.rss = (struct stats_figure){true, rss};
    ck_assert_msg(store_add(store, snapshot, &err) == 0, "%s", err.text);
    if (cause == SNAPSHOT_MARK || cause == SNAPSHOT_SCHEDULE)
        highest_note(&highest, store, snapshot);
    snapshot_unref(snapshot);
}

/* The names of all snapshots; a star marks a pinned one. */
static void
check_kept(const char *expected)
{
    static struct store_entry list[STORE_COUNT_MAX];
    size_t count = store_list(store, list, STORE_COUNT_MAX);
    char got[512] = "";

    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(got);

        snprintf(got + size, sizeof(got) - size, "%s%s%s", i ? " " : "",
                 list[i].name, list[i].pinned ? "*" : "");
    }
    ck_assert_str_eq(got, expected);
}

/* Two of one database are not kept: the second would push out others. */
START_TEST(a_peak_goes_with_a_higher_one)
{
    reason = HIGHEST_PEAK ": 100 bytes";
    take("a", SNAPSHOT_MARK, 1, 100);
    check_kept("a*");
    take("b", SNAPSHOT_MARK, 1, 300);
    check_kept("b*");
    reason = "";
    take("c", SNAPSHOT_MARK, 1, 400);
    check_kept("c*");
    take("d", SNAPSHOT_MARK, 1, 500);
    check_kept("c d*");
    reason = HIGHEST_PEAK ": 600 bytes";
    take("e", SNAPSHOT_MARK, 2, 600); /* the next database's */
    take("f", SNAPSHOT_MARK, 3, 10);
    check_kept("c d e* f*");
}
END_TEST

START_TEST(the_highest_outlives_newer_ones)
{
    take("a", SNAPSHOT_MARK, 1, 100);
    check_kept("a*");
    take("b", SNAPSHOT_SCHEDULE, 1, 300);
    check_kept("a b*");
    take("c", SNAPSHOT_MARK, 1, 200);
    take("d", SNAPSHOT_ASKED, 1, 900);
    take("e", SNAPSHOT_MARK, 1, 250);
    check_kept("b* c d e");
    take("f", SNAPSHOT_MARK, 1, 50);
    take("g", SNAPSHOT_MARK, 1, 300);
    check_kept("b d f g*");
}
END_TEST

START_TEST(that_of_the_database_before_stays_too)
{
    take("a", SNAPSHOT_MARK, 1, 900);
    take("b", SNAPSHOT_MARK, 2, 100);
    check_kept("a* b*");
    take("c", SNAPSHOT_MARK, 2, 200);
    check_kept("a* b c*");
    take("d", SNAPSHOT_MARK, 3, 50);
    check_kept("a b c* d*");
    take("e", SNAPSHOT_MARK, 3, 10);
    check_kept("b c* d* e");
}
END_TEST

START_TEST(another_heapwired_goes_on_with_what_is_pinned)
{
    struct error err;

    take("a", SNAPSHOT_MARK, 1, 900);
    take("b", SNAPSHOT_MARK, 2, 500);
    take("mine", SNAPSHOT_ASKED, 2, 900);
    ck_assert_int_eq(store_pin(store, "mine", true, &err), 0);
    memset(&highest, 0, sizeof(highest));
    highest_adopt(&highest, store);
    ck_assert_str_eq(highest.now.name, "b");
    ck_assert_str_eq(highest.before.name, "a");
    take("c", SNAPSHOT_MARK, 2, 400);
    check_kept("a* b* mine* c");
    ck_assert_int_eq(store_delete(store, "c", &err), 0);
    take("d", SNAPSHOT_MARK, 2, 600);
    check_kept("a* b mine* d*");
}
END_TEST

START_TEST(one_that_is_gone_is_not_missed)
{
    struct error err;

    take("a", SNAPSHOT_MARK, 1, 900);
    ck_assert_int_eq(store_delete(store, "a", &err), 0);
    take("b", SNAPSHOT_MARK, 1, 500);
    check_kept("b*");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("highest");
    TCase *tc = tcase_create("highest");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_peak_goes_with_a_higher_one);
    tcase_add_test(tc, the_highest_outlives_newer_ones);
    tcase_add_test(tc, that_of_the_database_before_stays_too);
    tcase_add_test(tc, another_heapwired_goes_on_with_what_is_pinned);
    tcase_add_test(tc, one_that_is_gone_is_not_missed);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
