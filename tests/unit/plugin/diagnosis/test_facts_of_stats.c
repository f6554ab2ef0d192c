/* test_facts_of_stats.c - which facts come of the agent's and kernel's figures.
 */
#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "diagnosis_facts.h"
#include "facts_of_stats.h"
#include "history.h"
#include "stats.h"
#include "suite.h"

static const char text[] = "config.stats 1\n"
                           "background_thread 0\n"
                           "opt.dirty_decay_ms -1\n"
                           "arenas.page 4096\n"
                           "stats.allocated 409600\n"
                           "stats.active 819200\n"
                           "stats.metadata 40960\n"
                           "stats.resident 1228800\n"
                           "stats.arenas.0.nthreads 3\n"
                           "stats.arenas.0.pdirty 4\n"
                           "stats.arenas.6.nthreads 0\n"
                           "stats.arenas.6.pdirty 2\n"
                           "stats.arenas.7.nthreads 0\n"
                           "stats.arenas.7.pdirty 5\n";

static struct stats *stats;
static struct diagnosis_facts facts;

static void
take_stats(const char *of)
{
    struct error err = {0};

    stats = stats_parse(of, strlen(of), &err);
    ck_assert_msg(stats != NULL, "%s", err.text);
    stats->allocator_ms = stats->taken_ms = 5000;
    stats->rss = (struct stats_figure){true, 500 << 12};
    stats->cgroup_current = (struct stats_figure){true, 800};
    stats->cgroup_cache = (struct stats_figure){true, 100};
    memset(&facts, 0, sizeof(facts));
}

enum { SAMPLES = 200, NOW_MS = 1000000 };

static struct history_sample samples[SAMPLES];
static size_t sample_count;

/* A sample of so long ago, with so many bytes outside. */
static void
add_sample(int64_t ago_s, uint64_t outside)
{
    samples[sample_count++] =
        (struct history_sample){.at_ms = NOW_MS - ago_s * 1000,
                                .pid = 5,
                                .rss = {true, 1000 + outside},
                                .allocated = {true, 600},
                                .active = {true, 800},
                                .metadata = {true, 50},
                                .resident = {true, 1000}};
}

static void
add_steady(int64_t from_ago_s, uint64_t outside)
{
    for (int64_t ago_s = from_ago_s; ago_s >= 0; ago_s -= 10)
        add_sample(ago_s, outside);
}

START_TEST(figures_become_facts)
{
    take_stats(text);
    facts_of_stats(stats, 5000, &facts);
    ck_assert(facts.has_jemalloc);
    ck_assert_uint_eq(facts.rss.value, 500 << 12);
    ck_assert_uint_eq(facts.allocated.value, 100 << 12);
    ck_assert_uint_eq(facts.inside.value, 100 << 12);
    ck_assert_uint_eq(facts.free_pages.value, 11 << 12);
    ck_assert_uint_eq(facts.bookkeeping.value, 89 << 12);
    ck_assert_uint_eq(facts.outside.value, 200 << 12);
    ck_assert_int_eq(facts.free_cause, FREE_PAGES_NEVER);
    stats_unref(stats);
}
END_TEST

/* jemalloc does not count muzzy pages as resident; the kernel may still have
 * them. */
START_TEST(muzzy_pages_are_free_and_not_outside)
{
    char more[sizeof(text) + 40];

    snprintf(more, sizeof(more), "%sstats.arenas.7.pmuzzy 80\n", text);
    take_stats(more);
    facts_of_stats(stats, 5000, &facts);
    ck_assert_uint_eq(facts.muzzy.value, 80 << 12);
    ck_assert_uint_eq(facts.free_pages.value, 91 << 12);
    ck_assert_uint_eq(facts.bookkeeping.value, 89 << 12);
    ck_assert_uint_eq(facts.outside.value, 120 << 12);
    stats_unref(stats);
}
END_TEST

/* Padding is jemalloc's layout: no restart gives it back. */
START_TEST(padding_of_large_blocks_is_no_fragmentation)
{
    static const char padded[] = "arenas.bin.0.size 8\n"
                                 "opt.cache_oblivious 1\n"
                                 "stats.arenas.4096.lextents.0.curlextents 10\n"
                                 "arenas.lextent.0.size 16384\n";
    char more[sizeof(text) + sizeof(padded)];

    snprintf(more, sizeof(more), "%s%s", text, padded);
    take_stats(more);
    facts_of_stats(stats, 5000, &facts);
    ck_assert_uint_eq(facts.padding.value, 10 << 12);
    ck_assert_uint_eq(facts.inside.value, 90 << 12);
    stats_unref(stats);
    facts.padding.value = 150; /* 800 are active, and 600 allocated */
    add_steady(60, 300);
    facts_of_samples(samples, sample_count, &facts);
    sample_count = 0;
    ck_assert_uint_eq(facts.least_inside.value, 50);
}
END_TEST

START_TEST(figures_of_different_times_are_not_compared)
{
    take_stats(text);
    stats->allocator_ms -= STATS_TOGETHER_MS + 1;
    facts_of_stats(stats, 5000, &facts);
    ck_assert(facts.rss.known && facts.has_jemalloc);
    ck_assert(!facts.allocated.known && !facts.free_pages.known &&
              !facts.outside.known);
    stats_unref(stats);
}
END_TEST

START_TEST(without_jemalloc_the_kernels_remain)
{
    take_stats("");
    facts_of_stats(stats, 5000, &facts);
    ck_assert(facts.rss.known && !facts.has_jemalloc);
    ck_assert(!facts.allocated.known && !facts.outside.known);
    stats_unref(stats);
}
END_TEST

START_TEST(the_tighter_limit_is_the_limit)
{
    take_stats(text);
    facts_of_stats(stats, 6000, &facts);
    ck_assert(facts.limit.known && facts.limit_is_machines);
    ck_assert_uint_eq(facts.limit.value, (500 << 12) + 6000);
    stats->cgroup_limit = (struct stats_figure){true, 1000};
    facts_of_stats(stats, 6000, &facts);
    ck_assert(facts.limit.known && !facts.limit_is_machines);
    ck_assert_uint_eq(facts.limit.value, 1000);
    facts_of_stats(stats, 200, &facts); /* of the cgroup 300 are left */
    ck_assert(facts.limit_is_machines);
    stats->cgroup_limit.known = false;
    facts_of_stats(stats, UINT64_MAX, &facts);
    ck_assert(!facts.limit.known);
    stats_unref(stats);
}
END_TEST

/* ---- what stays ---- */

static void
take_samples(void)
{
    memset(&facts, 0, sizeof(facts));
    facts.has_jemalloc = true;
    facts_of_samples(samples, sample_count, &facts);
    sample_count = 0;
}

START_TEST(what_stays_is_the_least_of_a_while)
{
    add_steady(60, 300);
    take_samples();
    ck_assert(facts.least_outside.known && facts.least_inside.known &&
              facts.least_free_pages.known && facts.least_resident.known);
    ck_assert_uint_eq(facts.least_outside.value, 300);
    ck_assert_uint_eq(facts.least_inside.value, 200);
    ck_assert_uint_eq(facts.least_free_pages.value, 150);
    ck_assert_uint_eq(facts.least_resident.value, 600);
    add_sample(50, 0); /* what was before that while does not count */
    add_steady(40, 300);
    take_samples();
    ck_assert_uint_eq(facts.least_outside.value, 300);
    add_steady(30, 300); /* now it has just gone */
    add_sample(0, 10);
    take_samples();
    ck_assert_uint_eq(facts.least_outside.value, 10);
}
END_TEST

START_TEST(muzzy_pages_were_there_as_far_as_so_much_was)
{
    static const uint64_t muzzy[] = {0, 250, 400};

    for (size_t i = 0; i < 3; i++) {
        uint64_t known = muzzy[i] < 300 ? muzzy[i] : 300;

        memset(&facts, 0, sizeof(facts));
        facts.has_jemalloc = true;
        facts.muzzy = (struct fact){true, muzzy[i]};
        add_steady(60, 300);
        facts_of_samples(samples, sample_count, &facts);
        sample_count = 0;
        ck_assert_uint_eq(facts.least_outside.value, 300 - known);
        ck_assert_uint_eq(facts.least_free_pages.value, 150 + known);
    }
}
END_TEST

START_TEST(too_little_tells_nothing)
{
    take_samples();
    ck_assert(!facts.least_outside.known);
    add_steady(20, 300); /* too short */
    take_samples();
    ck_assert(!facts.least_outside.known);
    add_sample(30, 300); /* too few */
    add_sample(0, 300);
    take_samples();
    ck_assert(!facts.least_outside.known);
    add_sample(110, 300); /* too old */
    add_sample(100, 300);
    add_sample(0, 300);
    take_samples();
    ck_assert(!facts.least_outside.known);
    add_steady(60, 300); /* of the database before */
    for (size_t i = 0; i + 2 < sample_count; i++)
        samples[i].pid = 4;
    take_samples();
    ck_assert(!facts.least_outside.known);
}
END_TEST

START_TEST(what_was_never_touched_is_not_held)
{
    memset(&facts, 0, sizeof(facts));
    facts.has_jemalloc = true;
    facts.rss_file = (struct fact){true, 800};
    add_steady(60, 300);
    facts_of_samples(samples, sample_count, &facts);
    sample_count = 0;
    ck_assert_uint_eq(facts.least_resident.value, 500); /* 600 are allocated */
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("facts_of_stats");
    TCase *tcase = tcase_create("facts_of_stats");

    tcase_add_test(tcase, figures_become_facts);
    tcase_add_test(tcase, muzzy_pages_are_free_and_not_outside);
    tcase_add_test(tcase, padding_of_large_blocks_is_no_fragmentation);
    tcase_add_test(tcase, figures_of_different_times_are_not_compared);
    tcase_add_test(tcase, without_jemalloc_the_kernels_remain);
    tcase_add_test(tcase, the_tighter_limit_is_the_limit);
    tcase_add_test(tcase, what_stays_is_the_least_of_a_while);
    tcase_add_test(tcase, muzzy_pages_were_there_as_far_as_so_much_was);
    tcase_add_test(tcase, too_little_tells_nothing);
    tcase_add_test(tcase, what_was_never_touched_is_not_held);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
