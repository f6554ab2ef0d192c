/*
 * test_heap_trend.c - what is said of the snapshots of a ring, over days of a
 * made-up clock.
 *
 * Functions hold so many samples: 2,048 bytes that were met each 512 KB, about
 * 0.5 MB each.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buffer.h"
#include "errors.h"
#include "failing_memory.h"
#include "heap_past.h"
#include "heap_sums.h"
#include "heap_trend.h"
#include "profile_fixture.h"
#include "store.h"
#include "suite.h"

enum { HOUR_MS = 3600 * 1000, OBJECT = 2048, RATE = 524288, BULK = 12000 };

/* A sample of 2,048 bytes stands for so many. */
static const double worth = RATE + OBJECT / 2;

static char top[64], dir[80];
static struct store *store;
static struct heap_trends *trends;
static struct heap_trend_rows rows;
static struct error err;

/* The database, and what its functions hold, as the next snapshot has it. */
static struct agent_hello hello;
static int64_t now_ms;
static unsigned insert, load, collect; /* samples */
static double allocated;               /* bytes; 0: as the profile; -1: none */
static double rss;                     /* where that is none; 0: none either */
static unsigned bulk;                  /* stacks besides, of a sample each */

static void
open_store(const char *in)
{
    struct store_options options = store_defaults;

    heap_trends_free(trends);
    store_close(store);
    options.dir = in;
    store = store_open(&options, NULL, &err);
    ck_assert_msg(store != NULL, "%s", err.text);
    trends = heap_trends_new(store);
}

static void
set_up(void)
{
    strcpy(top, "/tmp/hw-heap-trend-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    snprintf(dir, sizeof(dir), "%s/snapshots", top);
    memset(&hello, 0, sizeof(hello));
    strcpy(hello.boot_id, "boot");
    hello.pid = 4711;
    hello.start_ticks = 99;
    now_ms = 1795228267 * (int64_t)1000;
    hello.started_ms = hello.active_since_ms = now_ms;
    insert = load = 0;
    collect = 0;
    allocated = rss = 0;
    bulk = 0;
    open_store(NULL);
}

static void
tear_down(void)
{
    char command[128];

    heap_trend_fini(&rows);
    heap_trends_free(trends);
    trends = NULL;
    store_close(store);
    store = NULL;
    snprintf(command, sizeof(command), "rm -rf %s", top);
    ck_assert_int_eq(system(command), 0); /* NOLINT: a name of our own */
}

static void
put_stack(struct buffer *text, const char *addresses, unsigned samples)
{
    if (samples > 0)
        buffer_format(text, "@ %s\n  t*: %u: %u [0: 0]\n", addresses, samples,
                      samples * OBJECT);
}

static struct profile *
make_profile(void)
{
    static const struct fixture_name names[] = {
        {0x2001, "insert", false, NULL, 0},  {0x3001, "load", false, NULL, 0},
        {0x4001, "collect", false, NULL, 0}, {0x5001, "parse", false, NULL, 0},
        {0x6001, "main", false, NULL, 0},    {0}};
    struct profile *profile;
    struct buffer text;

    buffer_init(&text, 16 << 20);
    buffer_format(&text, "heap_v2/%d\n", RATE);
    put_stack(&text, "0x2001 0x5001 0x6001", insert); /* by parse, and */
    put_stack(&text, "0x2001 0x6001", 10);            /* by main itself */
    put_stack(&text, "0x3001 0x6001", load);
    put_stack(&text, "0x4001 0x6001", collect);
    for (unsigned i = 0; i < bulk; i++)
        buffer_format(&text, "@ 0x%x 0x6001\n  t*: 1: 1 [0: 0]\n",
                      0x100000 + i * 16);
    ck_assert(!text.failed);
    buffer_char(&text, '\0');
    profile = fixture_profile(text.data, names, NULL);
    buffer_fini(&text);
    return profile;
}

static struct snapshot *
make_snapshot(enum snapshot_cause cause)
{
    struct snapshot *snapshot = snapshot_new();

    snapshot->cause = cause;
    snapshot->serial = snapshot_serial();
    snapshot->taken_ms = now_ms;
    snapshot->hello = hello;
    snapshot->profile = make_profile();
    if (allocated >= 0)
        snapshot->memory.allocated = (struct stats_figure){
            true,
            (uint64_t)(allocated > 0 ? allocated : snapshot->profile->bytes)};
    else if (rss > 0)
        snapshot->memory.rss = (struct stats_figure){true, (uint64_t)rss};
    return snapshot;
}

/* One of the ring, and an hour passes. */
static void
keep_one(void)
{
    struct snapshot *snapshot = make_snapshot(SNAPSHOT_RING);

    store_make_name(store, snapshot);
    ck_assert_msg(store_add(store, snapshot, &err) == 0, "%s", err.text);
    snapshot_unref(snapshot);
    now_ms += HOUR_MS;
}

static void
judge_with(struct snapshot *now)
{
    heap_trend_fini(&rows);
    ck_assert_msg(heap_trend_init(trends, now, &view_defaults, &rows, &err) ==
                      0,
                  "%s", err.text);
    snapshot_unref(now);
}

/* With a fresh one. */
static void
judge(void)
{
    judge_with(make_snapshot(SNAPSHOT_ASKED));
}

static const struct heap_trend_row *
row_of(const char *function)
{
    for (size_t i = 0; i < rows.count; i++)
        if (strcmp(rows.list[i].function, function) == 0)
            return &rows.list[i];
    ck_abort_msg("%s is not among the rows", function);
    return NULL;
}

#define VERDICT(function, word)                                                \
    ck_assert_str_eq(trend_verdict_name(row_of(function)->trend.verdict), word)

/* So many hours in which insert gets so many samples an hour. */
static void
run_hours(unsigned hours, unsigned grows)
{
    for (unsigned i = 0; i < hours; i++) {
        keep_one();
        insert += grows;
    }
}

/* ---- verdicts ---- */

START_TEST(of_two_functions_the_one_that_grows_is_named)
{
    const struct heap_trend_row *row;

    load = 400;
    run_hours(30, 4);
    judge();
    ck_assert_uint_eq(rows.count, 2);
    ck_assert_str_eq(rows.now, "now");
    row = &rows.list[0];
    ck_assert_str_eq(row->function, "insert");
    VERDICT("insert", "grows");
    VERDICT("load", "steady");
    ck_assert_double_eq_tol(row->bytes, (30 * 4 + 10) * worth, worth);
    ck_assert_double_eq_tol(row->trend.slope * 3600, 4 * worth, worth / 10);
    ck_assert(row->trend.low * 3600 <= 4 * worth &&
              row->trend.high * 3600 >= 4 * worth);
    ck_assert_double_eq_tol(row->share, 1, 1e-9);
    ck_assert(rows.list[1].share < 0);
    ck_assert_uint_eq(row->trend.points, 31);
    ck_assert_int_eq(row->since_ms, hello.started_ms);
    ck_assert_ptr_nonnull(strstr(row->since, "auto_"));
    ck_assert_str_eq(row->folded, "main;parse;insert");
    ck_assert_str_eq(rows.list[1].folded, "main;load");
    ck_assert_str_eq(row->ages, "");
}
END_TEST

/* The snapshot that it began with is named, not the first of all. */
START_TEST(growth_that_began_lately_has_its_own_base)
{
    const struct heap_trend_row *row;

    insert = 100;
    run_hours(24, 0);
    run_hours(24, 4);
    judge();
    row = row_of("insert");
    VERDICT("insert", "grows");
    ck_assert_uint_lt(row->trend.points, 49);
    ck_assert_int_eq(row->since_ms, now_ms - (int64_t)(row->trend.points - 1) *
                                                 (int64_t)HOUR_MS);
}
END_TEST

START_TEST(teeth_are_no_growth_and_hide_none)
{
    for (unsigned hour = 0; hour < 40; hour++) {
        collect = 100 + hour % 5 * 40;
        load = 100;
        run_hours(1, 3);
    }
    judge();
    VERDICT("collect", "saw-tooth");
    VERDICT("load", "steady");
    VERDICT("insert", "grows");
    /* A leak that is collected by a part. */
    for (unsigned hour = 0; hour < 48; hour++) {
        collect = 100 + hour * 3 + hour % 4 * 20;
        run_hours(1, 0);
    }
    judge();
    VERDICT("collect", "grows");
    VERDICT("insert", "steady");
}
END_TEST

START_TEST(of_few_snapshots_nothing_is_said)
{
    judge_with(NULL);
    ck_assert_uint_eq(rows.count, 0);
    judge();
    ck_assert_uint_eq(row_of("insert")->trend.points, 1);
    VERDICT("insert", "unknown");
    run_hours(10, 5);
    judge();
    VERDICT("insert", "unknown");
    ck_assert_str_eq(row_of("insert")->trend.why,
                     "there are too few points yet");
    ck_assert(!row_of("insert")->trend.sloped);
    run_hours(1, 5);
    judge();
    ck_assert_uint_eq(row_of("insert")->trend.points, TREND_POINTS_MIN);
    VERDICT("insert", "grows");
}
END_TEST

/* Where profiling is off, or the database is gone. */
START_TEST(without_a_fresh_one_the_last_of_the_ring_counts)
{
    run_hours(20, 5);
    judge_with(NULL);
    ck_assert_ptr_nonnull(strstr(rows.now, "auto_"));
    ck_assert_uint_eq(row_of("insert")->trend.points, 20);
    VERDICT("insert", "grows");
}
END_TEST

START_TEST(missing_hours_change_no_rate)
{
    for (unsigned hour = 0; hour < 30; hour++) {
        if (hour % 7 == 3 || (hour > 12 && hour < 16))
            now_ms += HOUR_MS; /* profiling was off, or a dump failed */
        else
            keep_one();
        insert += 4;
    }
    judge();
    VERDICT("insert", "grows");
    ck_assert_uint_lt(row_of("insert")->trend.points, 26);
    ck_assert_double_eq_tol(row_of("insert")->trend.slope * 3600, 4 * worth,
                            worth / 10);
}
END_TEST

/* ---- what may be compared ---- */

static void
restart(void)
{
    hello.pid++;
}

static void
reset(void)
{
    hello.resets++;
}

static void
reboot(void)
{
    strcpy(hello.boot_id, "next");
}

START_TEST(a_life_is_not_compared_with_another)
{
    void (*const ends[])(void) = {restart, reset, reboot};

    load = 100;
    run_hours(24, 4);
    ends[_i]();
    insert = 0;
    judge();
    ck_assert_uint_eq(row_of("load")->trend.points, 1);
    run_hours(24, 0);
    judge();
    ck_assert_uint_eq(row_of("load")->trend.points, 25);
    ck_assert_uint_eq(rows.count, 2);
    VERDICT("load", "steady");
    VERDICT("insert", "steady");
    run_hours(24, 4);
    judge();
    VERDICT("insert", "grows");
}
END_TEST

/* What it had before does not turn a fall into a rise, or the contrary. */
START_TEST(a_clock_that_was_set_back_raises_no_alarm)
{
    static const int64_t back_h[] = {1, 10, 24 * 365};

    load = 200;
    run_hours(30, 4);
    now_ms -= back_h[_i] * HOUR_MS;
    run_hours(30, 4);
    judge();
    VERDICT("load", "steady");
    VERDICT("insert", "grows");
    for (size_t i = 0; i < rows.count; i++)
        ck_assert_int_le(rows.list[i].since_ms, now_ms);
    insert = 10;
    run_hours(48, 0);
    judge();
    VERDICT("insert", "steady");
}
END_TEST

/* ---- profiling that was switched on late ---- */

/* load holds 400 samples' worth, of which a twentieth is replaced each hour,
 * and insert leaks. */
static void
replace(unsigned hours, unsigned leaks)
{
    allocated = 400 * worth;
    for (unsigned i = 0; i < hours; i++) {
        keep_one();
        load += (400 - load) / 20;
        insert += leaks;
        allocated += leaks * worth;
    }
}

START_TEST(what_is_seen_late_does_not_grow)
{
    hello.active_since_ms = hello.started_ms + 10 * (int64_t)HOUR_MS;
    replace(14, 0);
    judge();
    VERDICT("load", "unknown");
    ck_assert_ptr_nonnull(
        strstr(row_of("load")->trend.why, "profiling was off"));
    replace(120, 0); /* later all that there is was seen */
    judge();
    VERDICT("load", "steady");
}
END_TEST

/* Where the allocator's own count grows as much. */
START_TEST(a_leak_that_is_seen_late_grows)
{
    hello.active_since_ms = hello.started_ms + 10 * (int64_t)HOUR_MS;
    replace(40, 10);
    judge();
    VERDICT("insert", "grows");
    VERDICT("load", "unknown");
}
END_TEST

/* It was on from the start, then off for so long that much was replaced by
 * what nobody saw. */
START_TEST(after_a_pause_likewise)
{
    load = 50;
    replace(14, 0);
    judge();
    VERDICT("load", "unknown");
}
END_TEST

START_TEST(unknown_memory_is_not_taken_for_known)
{
    hello.active_since_ms = hello.started_ms + 10 * (int64_t)HOUR_MS;
    allocated = -1;
    run_hours(24, 4);
    judge();
    VERDICT("insert", "unknown");
    hello.active_since_ms = hello.started_ms;
    judge();
    VERDICT("insert", "grows");
}
END_TEST

/* What the program has besides is no part of the heap. */
START_TEST(rss_is_not_what_a_profile_should_see)
{
    allocated = -1;
    for (unsigned hour = 0; hour < 30; hour++) {
        insert += (400 - insert) / 5;
        rss = (insert + 200) * worth;
        run_hours(1, 0);
    }
    judge();
    VERDICT("insert", "fills");
}
END_TEST

/* ---- the ring ---- */

static uint64_t
bytes_of_ring(size_t *count)
{
    static struct store_entry list[STORE_COUNT_MAX];
    uint64_t sum = 0;

    *count = store_list(store, list, STORE_COUNT_MAX);
    for (size_t i = 0; i < *count; i++)
        sum += list[i].size;
    return sum;
}

START_TEST(a_full_ring_still_tells)
{
    size_t count;

    bulk = BULK;
    load = 3000;
    run_hours(60, 300);
    ck_assert_uint_le(bytes_of_ring(&count), RING_BYTES_MAX);
    ck_assert_uint_ge(bytes_of_ring(&count), RING_BYTES_MAX / 2);
    ck_assert_uint_lt(count, RING_FINE);
    judge();
    ck_assert_uint_le(row_of("insert")->trend.points, count + 1);
    VERDICT("insert", "grows");
    VERDICT("load", "steady");
}
END_TEST

/* Its head is whole, so that it is listed. */
static void
damage(const struct store_entry *entry)
{
    char path[256];
    int fd;

    snprintf(path, sizeof(path), "%s/%s.snapshot", dir, entry->name);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, "damage", 6, (off_t)entry->size - 20), 6);
    close(fd);
}

START_TEST(a_damaged_one_is_passed_over)
{
    static struct store_entry list[STORE_COUNT_MAX];
    size_t count;

    open_store(dir);
    run_hours(20, 4);
    judge();
    ck_assert_uint_eq(row_of("insert")->trend.points, 21);
    count = store_list(store, list, STORE_COUNT_MAX);
    ck_assert_uint_eq(count, 20);
    for (size_t i = 0; i < 3; i++)
        damage(&list[i * 6]);
    judge(); /* what was read once is remembered */
    ck_assert_uint_eq(row_of("insert")->trend.points, 21);
    open_store(dir);
    judge();
    ck_assert_uint_eq(row_of("insert")->trend.points, 18);
    VERDICT("insert", "grows");
    ck_assert_int_eq(row_of("insert")->since_ms, list[1].taken_ms);
    damage(&list[count - 1]); /* the last, which is asked for by its name */
    heap_trend_fini(&rows);
    open_store(dir);
    ck_assert_int_eq(heap_trend_init(trends, NULL, &view_defaults, &rows, &err),
                     -1);
    ck_assert_ptr_nonnull(strstr(err.text, list[count - 1].name));
}
END_TEST

/* Older sums are forgotten with their snapshots, whose names may come again. */
START_TEST(what_was_deleted_does_not_count)
{
    static struct store_entry list[STORE_COUNT_MAX];
    size_t count;

    run_hours(20, 4);
    judge();
    count = store_list(store, list, STORE_COUNT_MAX);
    for (size_t i = 0; i < count - 5; i++)
        ck_assert_int_eq(store_delete(store, list[i].name, &err), 0);
    judge();
    ck_assert_uint_eq(row_of("insert")->trend.points, 6);
}
END_TEST

START_TEST(memory_that_runs_out_is_told)
{
    struct snapshot *now;
    int rc = -1;

    run_hours(14, 4);
    now = make_snapshot(SNAPSHOT_ASKED);
    for (unsigned at = 1; rc != 0; at++) {
        ck_assert_uint_lt(at, 5000);
        allocations = 0;
        failing = at;
        rc = heap_trend_init(trends, now, &view_defaults, &rows, &err);
        failing = 0;
        ck_assert(rc == 0 || err.code == ER_OUT_OF_MEMORY);
    }
    VERDICT("insert", "grows");
    snapshot_unref(now);
}
END_TEST

/* ---- the sums of one snapshot ---- */

START_TEST(sums_are_the_same_of_equal_names)
{
    struct arena *arena = arena_new(16 << 20);
    struct heap_named named;
    struct profile *first = make_profile(), *second;
    struct heap_sums *a, *b;
    const struct heap_sum *sum;

    load = 7;
    insert = 3;
    second = make_profile();
    a = heap_sums_new(first, &view_defaults, 5, NULL, NULL, &err);
    b = heap_sums_new(second, &view_defaults, 5, arena, &named, &err);
    ck_assert_uint_eq(a->function_count, 1);
    ck_assert_uint_eq(b->function_count, 2);
    ck_assert_uint_eq(b->stack_count, 3);
    sum = heap_sum_find(b->functions, b->function_count, a->functions[0].name);
    ck_assert_ptr_nonnull(sum);
    ck_assert_str_eq(named.functions[sum - b->functions], "insert");
    ck_assert_double_eq_tol(sum->bytes, 13 * worth, worth / 100);
    ck_assert_double_eq_tol(b->bytes, 20 * worth, worth / 100);
    ck_assert(sum->variance > 0);
    ck_assert_ptr_nonnull(
        heap_sum_find(b->stacks, b->stack_count, a->stacks[0].name));
    for (size_t i = 0; i < second->stack_count; i++)
        ck_assert_ptr_nonnull(
            heap_sum_find(b->stacks, b->stack_count, named.stacks[i]));
    ck_assert_ptr_null(heap_sum_find(b->functions, b->function_count, 1));
    heap_sums_unref(heap_sums_ref(a));
    heap_sums_unref(a);
    heap_sums_unref(b);
    heap_sums_unref(NULL);
    profile_free(first);
    profile_free(second);
    arena_free(arena);
}
END_TEST

/* Those that hold most. */
START_TEST(of_very_many_functions_the_largest_stay)
{
    struct profile *profile;
    struct heap_sums *sums;

    bulk = BULK;
    load = 5000;
    profile = make_profile();
    sums = heap_sums_new(profile, &view_defaults, 5, NULL, NULL, &err);
    ck_assert_uint_eq(sums->function_count, HEAP_TREND_FUNCTIONS);
    ck_assert_uint_eq(sums->stack_count, HEAP_TREND_STACKS);
    for (size_t i = 1; i < sums->function_count; i++)
        ck_assert(sums->functions[i - 1].name < sums->functions[i].name);
    ck_assert_double_eq_tol(sums->bytes, profile->bytes, 1);
    heap_sums_unref(sums);
    profile_free(profile);
    judge();
    ck_assert_uint_le(rows.count, HEAP_TREND_ROWS_MAX);
    ck_assert_double_eq_tol(row_of("load")->bytes, 5000 * worth, worth);
}
END_TEST

START_TEST(what_it_costs)
{
    uint64_t began_ms;

    open_store(dir);
    bulk = 3000;
    run_hours(48, 4);
    began_ms = suite_cpu_ms();
    judge();
    printf("of 48 snapshots of 3,000 stacks: %llu ms at first",
           (unsigned long long)(suite_cpu_ms() - began_ms));
    began_ms = suite_cpu_ms();
    for (int i = 0; i < 10; i++)
        judge();
    printf(", then %.1f ms with making the fresh one\n",
           (double)(suite_cpu_ms() - began_ms) / 10);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("heap_trend");
    TCase *tc = tcase_create("heap_trend");

    tcase_set_timeout(tc, 240);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, of_two_functions_the_one_that_grows_is_named);
    tcase_add_test(tc, growth_that_began_lately_has_its_own_base);
    tcase_add_test(tc, teeth_are_no_growth_and_hide_none);
    tcase_add_test(tc, of_few_snapshots_nothing_is_said);
    tcase_add_test(tc, without_a_fresh_one_the_last_of_the_ring_counts);
    tcase_add_test(tc, missing_hours_change_no_rate);
    tcase_add_loop_test(tc, a_life_is_not_compared_with_another, 0, 3);
    tcase_add_loop_test(tc, a_clock_that_was_set_back_raises_no_alarm, 0, 3);
    tcase_add_test(tc, what_is_seen_late_does_not_grow);
    tcase_add_test(tc, a_leak_that_is_seen_late_grows);
    tcase_add_test(tc, after_a_pause_likewise);
    tcase_add_test(tc, unknown_memory_is_not_taken_for_known);
    tcase_add_test(tc, rss_is_not_what_a_profile_should_see);
    tcase_add_test(tc, a_full_ring_still_tells);
    tcase_add_test(tc, a_damaged_one_is_passed_over);
    tcase_add_test(tc, what_was_deleted_does_not_count);
    tcase_add_test(tc, memory_that_runs_out_is_told);
    tcase_add_test(tc, sums_are_the_same_of_equal_names);
    tcase_add_test(tc, of_very_many_functions_the_largest_stay);
    tcase_add_test(tc, what_it_costs);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
