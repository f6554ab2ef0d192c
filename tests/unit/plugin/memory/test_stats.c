/* test_stats.c - the agent's text of statistics, whole, cut and hostile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "failing_memory.h"
#include "stats.h"
#include "suite.h"

static const char good[] = "config.stats 1\n"
                           "arenas.page 4096\n"
                           "stats.allocated 9223372036854775807\n"
                           "stats.resident 200\n"
                           "opt.dirty_decay_ms -1\n"
                           "opt.thp default\n"
                           "stats.allocated_more 18446744073709551615\n"
                           "arenas.bin.0.size 8\n"
                           "arenas.bin.0.nregs 512\n"
                           "stats.arenas.4096.bins.0.nmalloc 7\n"
                           "stats.arenas.4096.bins.0.nothing_known x\n"
                           "arenas.bin.1.size 16\n"
                           "stats.arenas.4096.lextents.2.curlextents 3\n"
                           "arenas.lextent.2.size 28672\n"
                           "stats.arenas.4096.lextents.9.curlextents 1\n"
                           "stats.arenas.4096.bins.1.curregs 9\n"
                           "stats.arenas.4096.mapped 9\n"
                           "stats.arenas.0.nthreads 3\n"
                           "stats.arenas.0.pactive 2\n"
                           "stats.arenas.0.base 10\n"
                           "stats.arenas.0.internal 5\n"
                           "stats.arenas.0.tcache_bytes 77\n"
                           "stats.arenas.7.resident 4\n";

static struct stats *
parse(const char *text, struct error *err)
{
    memset(err, 0, sizeof(*err));
    return stats_parse(text, strlen(text), err);
}

START_TEST(figures_go_where_they_belong)
{
    struct error err;
    struct stats *s = parse(good, &err);

    ck_assert_msg(s != NULL, "%s", err.text);
    ck_assert_uint_eq(s->named_count, 7);
    ck_assert_str_eq(s->named[0].name, "config.stats");
    ck_assert(s->allocated.known);
    ck_assert_uint_eq(s->allocated.value, INT64_MAX);
    ck_assert_uint_eq(s->resident.value, 200);
    ck_assert(!s->active.known);
    ck_assert(!s->named[6].is_number); /* past what a column can hold */
    ck_assert_str_eq(s->named[6].text, "18446744073709551615");
    ck_assert(s->named[4].is_number);
    ck_assert_int_eq(s->named[4].number, -1);
    ck_assert(!s->named[5].is_number);
    ck_assert_str_eq(s->named[5].text, "default");
    ck_assert_uint_eq(s->bin_count, 2);
    ck_assert_uint_eq(s->bins[0].size, 8);
    ck_assert_uint_eq(s->bins[0].regions, 512);
    ck_assert_uint_eq(s->bins[0].nmalloc, 7);
    ck_assert_uint_eq(s->bins[1].curregs, 9);
    ck_assert_uint_eq(s->page, 4096);
    ck_assert_uint_eq(s->large_count, 2);
    ck_assert_uint_eq(s->larges[0].index, 2);
    ck_assert_uint_eq(s->larges[0].extents, 3);
    ck_assert_uint_eq(s->larges[0].size, 28672);
    ck_assert_uint_eq(s->larges[1].extents, 1);
    ck_assert_uint_eq(s->arena_count, 2);
    ck_assert_uint_eq(s->arenas[0].tcache, 77);
    ck_assert_uint_eq(s->arenas[0].threads, 3);
    ck_assert_uint_eq(s->arenas[0].active, 8192);
    ck_assert_uint_eq(s->arenas[0].metadata, 15);
    ck_assert_uint_eq(s->arenas[1].index, 7);
    ck_assert_uint_eq(s->arenas[1].resident, 4);
    stats_unref(s);
}
END_TEST

START_TEST(a_text_cut_inside_a_line_is_refused)
{
    size_t size = (size_t)_i;
    char *cut = malloc(size + 1);
    struct error err = {0};
    struct stats *s;

    memcpy(cut, good, size);
    s = stats_parse(cut, size, &err);
    if (size == 0 || good[size - 1] == '\n') {
        ck_assert_msg(s != NULL, "%s", err.text);
    } else {
        ck_assert_ptr_null(s);
        ck_assert_str_eq(err.text, "the agent's statistics are cut off");
    }
    stats_unref(s);
    free(cut);
}
END_TEST

static const struct {
    const char *text, *says;
} hostile[] = {
    {"\n", "no name and value"},
    {"stats.active\n", "no name and value"},
    {"stats.\x01 1\n", "no name and value"},
    {"opt.thp \xff\n", "no name and value"},
    {"stats.active x\n", "no number"},
    {"stats.active -1\n", "no number"},
    {"stats.active 9223372036854775808\n", "no number"},
    {"stats.active 99999999999999999999999999999999\n", "no number"},
    {"stats.active \n", "no number"},
    {"arenas.bin.256.size 8\n", "no possible bin"},
    {"arenas.bin.1.size 8\n", "no possible bin"}, /* without a 0 */
    {"arenas.bin.0.size -8\n", "no number"},
    {"stats.arenas.4096.bins.999999.nmalloc 8\n", "no possible bin"},
    {"stats.arenas.4097.mapped 8\n", "no possible arena"},
    {"stats.arenas.2.mapped 8\nstats.arenas.1.mapped 8\n", "no possible arena"},
    {"stats.arenas.0.pactive 8\n", "no possible number of pages"},
    {"arenas.page 4096\nstats.arenas.0.pactive 9223372036854775807\n",
     "no possible number of pages"},
    {"stats."
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx 1\n",
     "a text that is too long"},
};

START_TEST(a_hostile_text_is_refused_in_words)
{
    struct error err;

    ck_assert_ptr_null(parse(hostile[_i].text, &err));
    ck_assert_msg(strstr(err.text, hostile[_i].says) != NULL, "%s", err.text);
}
END_TEST

static const struct {
    const char *format;
    unsigned count;
    const char *says;
} crowds[] = {
    {"opt.x%u 1\n", STATS_NAMED_MAX, "too many figures"},
    {"stats.arenas.%u.mapped 1\n", STATS_ARENAS_MAX, "no possible arena"},
    {"arenas.bin.%u.size 1\n", STATS_BINS_MAX, "no possible bin"},
};

START_TEST(every_list_has_a_ceiling)
{
    struct error err = {0};
    struct buffer text;
    struct stats *s;

    buffer_init(&text, STATS_TEXT_MAX);
    for (unsigned i = 0; i <= crowds[_i].count; i++) {
        if (i == crowds[_i].count) {
            s = stats_parse(text.data, text.size, &err);
            ck_assert_msg(s != NULL, "%s", err.text);
            stats_unref(s);
        }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        buffer_format(&text, crowds[_i].format, i);
#pragma GCC diagnostic pop
    }
    ck_assert_ptr_null(stats_parse(text.data, text.size, &err));
    ck_assert_msg(strstr(err.text, crowds[_i].says) != NULL, "%s", err.text);
    buffer_fini(&text);
}
END_TEST

START_TEST(without_memory_it_is_an_error)
{
    struct error err;
    struct stats *s = NULL;
    unsigned i;

    for (i = 1; !s; i++) {
        allocations = 0;
        failing = i;
        s = parse(good, &err);
        if (!s)
            ck_assert_int_eq(err.code, ER_OUT_OF_MEMORY);
    }
    ck_assert_uint_gt(i, 3);
    stats_unref(s);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("stats");
    TCase *tc = tcase_create("stats");

    tcase_add_test(tc, figures_go_where_they_belong);
    tcase_add_loop_test(tc, a_text_cut_inside_a_line_is_refused, 0,
                        sizeof(good));
    tcase_add_loop_test(tc, a_hostile_text_is_refused_in_words, 0,
                        sizeof(hostile) / sizeof(hostile[0]));
    tcase_add_loop_test(tc, every_list_has_a_ceiling, 0,
                        sizeof(crowds) / sizeof(crowds[0]));
    tcase_add_test(tc, without_memory_it_is_an_error);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
