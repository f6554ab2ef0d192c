/* test_facts_of_stats.c - which facts come of the agent's and kernel's figures.
 */
#include <string.h>

#include "errors.h"
#include "diagnosis_facts.h"
#include "facts_of_stats.h"
#include "stats.h"
#include "suite.h"

static const char text[] = "config.stats 1\n"
                           "background_thread 0\n"
                           "opt.dirty_decay_ms -1\n"
                           "arenas.page 4096\n"
                           "stats.allocated 100\n"
                           "stats.active 200\n"
                           "stats.metadata 10\n"
                           "stats.resident 300\n"
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
    stats->rss = (struct stats_figure){true, 500};
    stats->cgroup_current = (struct stats_figure){true, 800};
    stats->cgroup_cache = (struct stats_figure){true, 100};
    memset(&facts, 0, sizeof(facts));
}

START_TEST(figures_become_facts)
{
    take_stats(text);
    facts_of_stats(stats, &facts);
    ck_assert(facts.has_jemalloc);
    ck_assert_uint_eq(facts.rss.value, 500);
    ck_assert_uint_eq(facts.used.value, 700);
    ck_assert(!facts.limit.known);
    ck_assert_uint_eq(facts.allocated.value, 100);
    ck_assert_uint_eq(facts.resident.value, 300);
    ck_assert(facts.background_thread.known);
    ck_assert_uint_eq(facts.background_thread.value, 0);
    ck_assert_uint_eq(facts.dirty_decay_ms.value, UINT64_MAX);
    ck_assert_uint_eq(facts.dirty.value, 11 * 4096);
    ck_assert_uint_eq(facts.dirtiest_arena.value, 7);
    ck_assert_uint_eq(facts.dirtiest_bytes.value, 5 * 4096);
    stats_unref(stats);
}
END_TEST

START_TEST(figures_of_different_times_are_not_compared)
{
    take_stats(text);
    stats->allocator_ms -= STATS_TOGETHER_MS + 1;
    facts_of_stats(stats, &facts);
    ck_assert(facts.rss.known && facts.has_jemalloc);
    ck_assert(!facts.allocated.known && !facts.dirty.known);
    stats_unref(stats);
}
END_TEST

START_TEST(without_jemalloc_the_kernels_remain)
{
    take_stats("");
    facts_of_stats(stats, &facts);
    ck_assert(facts.rss.known && !facts.has_jemalloc);
    ck_assert(!facts.allocated.known && !facts.dirtiest_arena.known);
    stats_unref(stats);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("facts_of_stats");
    TCase *tcase = tcase_create("facts_of_stats");

    tcase_add_test(tcase, figures_become_facts);
    tcase_add_test(tcase, figures_of_different_times_are_not_compared);
    tcase_add_test(tcase, without_jemalloc_the_kernels_remain);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
