/*
 * test_tables_malloc.c - the tables of the allocator, made of statistics that
 * a test writes down.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "catalog.h"
#include "clean_text.h"
#include "errors.h"
#include "profile.h"
#include "snapshot.h"
#include "sql.h"
#include "sql_cursor.h"
#include "sql.h"
#include "sql_session.h"
#include "stats.h"
#include "stats_allocators.h"
#include "suite.h"

static const char text[] = "config.stats 1\n"
                           "arenas.page 4096\n"
                           "stats.allocated 104857600\n"
                           "stats.active 115343360\n"
                           "stats.metadata 5242880\n"
                           "stats.resident 125829120\n"
                           "stats.mapped 146800640\n"
                           "stats.retained 1048576\n"
                           "opt.dirty_decay_ms -1\n"
                           "opt.thp default\n"
                           "arenas.bin.0.size 8\n"
                           "arenas.bin.0.nregs 512\n"
                           "arenas.bin.0.slab_size 4096\n"
                           "stats.arenas.4096.bins.0.nmalloc 700\n"
                           "stats.arenas.4096.bins.0.ndalloc 66\n"
                           "stats.arenas.4096.bins.0.nrequests 2057\n"
                           "stats.arenas.4096.bins.0.curregs 256\n"
                           "stats.arenas.4096.bins.0.curslabs 2\n"
                           "stats.arenas.4096.bins.0.nonfull_slabs 1\n"
                           "arenas.bin.1.size 16\n"
                           "stats.arenas.0.nthreads 1\n"
                           "stats.arenas.0.pactive 10\n"
                           "stats.arenas.8.resident 99\n";

static struct buffer answer;

static struct stats *
make_stats(const char *from)
{
    struct error err = {0};
    struct stats *stats = stats_parse(from, strlen(from), &err);

    ck_assert_msg(stats != NULL, "%s", err.text);
    stats->taken_ms = stats->allocator_ms = 1795228267000;
    return stats;
}

/* The table's rows, a line each, or its error. */
static const char *
produce(const char *name, const struct catalog_scope *scope)
{
    const struct catalog_table *table =
        catalog_table("heapwire", (struct span){name, strlen(name)}, NULL);
    static const struct sql_node node; /* without a history */
    static const struct sql_session session = {.node = &node};
    struct catalog_scope whole = *scope;
    size_t columns = table->column_count;
    struct rowset rows;
    struct error err;

    rowset_init(&rows, columns);
    whole.session = &session;
    table->produce(&whole, &rows);
    buffer_clear(&answer);
    if (rowset_done(&rows, &err) != 0)
        buffer_text(&answer, err.text);
    for (size_t i = 0; !rows.failed && i < rowset_rows(&rows); i++) {
        for (size_t j = 0; j < columns; j++) {
            const struct value *v = &rowset_row(&rows, i)[j];

            if (j > 0)
                buffer_char(&answer, '|');
            if (v->type == VALUE_INT)
                buffer_format(&answer, "%" PRId64, v->integer);
            else if (v->type == VALUE_DOUBLE)
                buffer_format(&answer, "%g", v->real);
            else if (v->type == VALUE_TEXT)
                buffer_add(&answer, v->data, v->size);
            else
                buffer_text(&answer, "NULL");
        }
        buffer_char(&answer, '\n');
    }
    rowset_fini(&rows);
    return answer.data;
}

static void
set_up(void)
{
    buffer_init(&answer, 1 << 20);
}

static void
tear_down(void)
{
    buffer_fini(&answer);
}

START_TEST(statistics_are_numbers_and_words)
{
    struct stats *stats = make_stats(text);
    struct catalog_scope scope = {.stats = stats};

    ck_assert_str_eq(produce("malloc_stats", &scope),
                     "config.stats|1|1\n"
                     "arenas.page|4096|4096\n"
                     "stats.allocated|104857600|104857600\n"
                     "stats.active|115343360|115343360\n"
                     "stats.metadata|5242880|5242880\n"
                     "stats.resident|125829120|125829120\n"
                     "stats.mapped|146800640|146800640\n"
                     "stats.retained|1048576|1048576\n"
                     "opt.dirty_decay_ms|-1|-1\n"
                     "opt.thp|NULL|default\n");
    stats_unref(stats);
}
END_TEST

START_TEST(bins_and_arenas_are_rows)
{
    struct stats *stats = make_stats(text);
    struct catalog_scope scope = {.stats = stats};

    ck_assert_str_eq(produce("malloc_bins", &scope),
                     "0|8|512|4096|700|66|2057|256|2|1|2048|6144|0.25\n"
                     "1|16|0|0|0|0|0|0|0|0|0|0|NULL\n");
    ck_assert_str_eq(produce("malloc_arenas", &scope),
                     "0|1|0|0|40960|0|0|0|0|0|0\n"
                     "8|0|0|0|0|0|0|0|0|0|99\n");
    stats_unref(stats);
}
END_TEST

START_TEST(without_jemalloc_the_allocators_tables_are_errors)
{
    static const char *const tables[] = {"malloc_stats", "malloc_bins",
                                         "malloc_arenas"};
    struct stats *stats = make_stats("");
    struct catalog_scope scope = {.stats = stats};

    for (size_t i = 0; i < 3; i++)
        ck_assert_ptr_nonnull(strstr(produce(tables[i], &scope),
                                     "does not allocate through jemalloc"));
    stats_unref(stats);
}
END_TEST

START_TEST(every_jemalloc_is_a_row)
{
    static const char list[] =
        "object=/bin/db\tmallctl=je_mallctl\tvariable=JE_MALLOC_CONF\t"
        "found=scan\tchosen=0\tcallable=0\tnote=its address is not known\n"
        "object=/lib/j.so\tmallctl=mallctl\tversion=5.3.0-0-g5\t"
        "variable=MALLOC_CONF\tfound=exported\tchosen=1\tcallable=1\t"
        "config_prof=1\topt_prof=1\tactive=0\tmalloc=1\tnew=0\t"
        "allocated=77\tlater=x\n"
        "object=\tmallctl=jemallctl\tcallable=1\n";
    struct stats *stats = make_stats(text);
    struct catalog_scope scope = {.stats = stats};
    struct error err = {0};

    ck_assert_ptr_nonnull(strstr(produce("allocators", &scope),
                                 "is older than heapwired and does not list"));
    ck_assert_int_eq(
        stats_allocators_parse(stats, list, sizeof(list) - 1, &err), 0);
    ck_assert_str_eq(
        produce("allocators", &scope),
        "/bin/"
        "db|je_mallctl||JE_MALLOC_CONF|0|0|NULL|NULL|NULL|NULL|NULL|NULL|NULL|"
        "scan|its address is not known\n"
        "/lib/"
        "j.so|mallctl|5.3.0-0-g5|MALLOC_CONF|1|1|1|1|0|1|0|77|NULL|exported|"
        "\n"
        "|jemallctl|||0|1|0|0|0|0|0|NULL|NULL||\n");
    stats_unref(stats);
}
END_TEST

START_TEST(what_cannot_be_used_is_said_by_every_table)
{
    static const char *const tables[] = {"malloc_stats", "malloc_bins",
                                         "malloc_arenas", "memory"};
    struct stats *stats = make_stats("");
    struct catalog_scope scope = {.stats = stats};

    stats->unusable = "db has a jemalloc of its own";
    for (size_t i = 0; i < 4; i++)
        ck_assert_ptr_nonnull(
            strstr(produce(tables[i], &scope), "db has a jemalloc of its own"));
    stats_unref(stats);
}
END_TEST

static struct stats_figure
known(uint64_t value)
{
    return (struct stats_figure){true, value};
}

START_TEST(memory_is_one_row_with_its_gaps_in_words)
{
    struct profile profile = {
        .bytes = 52428800, .samples = 42, .origin.taken_ms = 1795228267500};
    struct snapshot snapshot = {
        .profile = &profile,
        .taken_ms = 1795228267500,
        .memory = {.allocator_ms = 1795228267400, .allocated = known(62914560)},
        .hello = {.active_since_ms = 1795228260000}};
    struct stats_allocator silent = {.object = "/a.so", .callable = true};
    struct stats *stats = make_stats(text);
    struct catalog_scope scope = {.stats = stats, .snapshot = &snapshot};
    const char *row;

    stats->rss = known(136314880);
    stats->rss_file = known(7340032);
    stats->rss_shared = known(2097152);
    stats->cgroup_current = known(209715200);
    stats->cgroup_cache = known(20971520);
    stats->cgroup_limit = known(419430400);
    ck_assert_str_eq(
        produce("memory", &scope),
        "2026-11-21 02:31:07|104857600|115343360|5242880|125829120|146800640|"
        "1048576|136314880|7340032|2097152|209715200|20971520|419430400|"
        "52428800|42|10485760|"
        "active exceeds allocated by 10.0 MB: free parts of pages in use "
        "(fragmentation); resident exceeds active and metadata by 5.0 MB: "
        "free pages not given back to the kernel yet; rss exceeds resident by "
        "10.0 MB: at least that is not jemalloc's (stacks, code, other "
        "allocators), whose resident counts pages that were never touched, "
        "too, mapped "
        "files are 5.0 MB of rss, shared memory is 2.0 MB "
        "(heapwire.mappings has each); the cgroup uses 50% of its limit; "
        "full_at is NULL: there is no history of its memory; the "
        "profile has 50.0 MB, 83% of the 60.0 MB that were allocated then: "
        "what was allocated since "
        "2026-11-21 02:31:00 UTC, when profiling first became active, and is "
        "still "
        "in use; an estimate from samples; up to 0.7 MB of allocated are "
        "pages of the samples themselves|1|"
        "NULL|NULL|NULL\n");
    stats->allocators = &silent;
    stats->allocator_count = 1;
    row = produce("memory", &scope);
    ck_assert_msg(strstr(row, "10.0 MB: stacks, code, other allocators, and a "
                              "jemalloc whose figures are not known") &&
                      !strstr(row, "not jemalloc's"),
                  "%s", row);
    stats->allocators = NULL;
    stats->allocator_count = 0;
    stats->failure = "it hangs";
    row = produce("memory", &scope);
    ck_assert_msg(strstr(row, "figures are of 2026-11-21 02:31:07 UTC: it "
                              "hangs; ") != NULL,
                  "%s", row);
    stats->allocator_ms = 0;
    row = produce("memory", &scope);
    ck_assert_msg(strstr(row, "not known: it hangs") != NULL, "%s", row);
    ck_assert_ptr_nonnull(strstr(row, "|0|NULL|NULL|NULL\n"));
    stats_unref(stats);
}
END_TEST

static const struct {
    const char *text;
    struct stats_figure rss, current;
    const char *row, *note; /* what begins the row, what its note has */
} gaps[] = {
    {text,
     {true, 125829120 - 1048576},
     {false, 0},
     "2026-11-21 02:31:07|104857600|115343360|5242880|125829120|146800640|"
     "1048576|124780544|NULL|NULL|NULL|NULL|NULL|NULL|NULL|-1048576|",
     "resident exceeds rss by 1.0 MB: pages never touched, or swapped out; "
     "the cgroup cannot be read from here; full_at is NULL: there is no "
     "history of its memory; profile_bytes is NULL"},
    {text,
     {true, 1000000000},
     {true, 5},
     "2026-11-21 02:31:07|104857600|",
     "huge pages that are used in part (opt.thp is default); no cgroup of the "
     "database has a limit"},
    {text,
     {false, 0},
     {true, 5},
     "2026-11-21 02:31:07|104857600|115343360|5242880|125829120|146800640|"
     "1048576|NULL|NULL|NULL|5|NULL|NULL|NULL|NULL|NULL|",
     "rss is not known: the database is in a pid namespace"},
    {"",
     {true, 7},
     {true, 5},
     "2026-11-21 02:31:07|NULL|NULL|NULL|NULL|NULL|NULL|7|NULL|NULL|5|",
     "does not allocate through jemalloc: only the kernel's figures"},
    {"config.stats 0\n",
     {true, 7},
     {true, 5},
     "2026-11-21 02:31:07|NULL|NULL|NULL|NULL|NULL|NULL|7|NULL|NULL|5|",
     "built without statistics"},
};

/* 60 MB were allocated between the two looks. */
START_TEST(what_is_not_of_one_moment_is_not_subtracted)
{
    struct profile profile = {.bytes = 52428800, .samples = 42};
    struct snapshot snapshot = {.profile = &profile, .taken_ms = 1795228267000};
    struct stats *stats = make_stats(text);
    struct catalog_scope scope = {.stats = stats, .snapshot = &snapshot};
    const char *row;

    stats->rss = known(125829120 + 62914560);
    stats->allocator_ms -= 1600;
    row = produce("memory", &scope);
    ck_assert_msg(
        strstr(row, "|188743680|NULL|NULL|NULL|NULL|NULL|52428800|42|NULL|") !=
            NULL,
        "%s", row);
    ck_assert_ptr_nonnull(strstr(row,
                                 "; jemalloc's figures are 1.6 s older than "
                                 "rss, which is not compared with them;"));
    ck_assert_ptr_nonnull(strstr(row, "the profile has 50.0 MB: what was"));
    stats_unref(stats);
}
END_TEST

START_TEST(a_long_note_is_cut_between_characters)
{
    struct stats *stats = make_stats(gaps[0].text);
    struct catalog_scope scope = {.stats = stats};
    char children[2200] = "x";
    const char *row;

    for (size_t i = (size_t)_i; i + 2 < sizeof(children); i += 2) {
        children[i] = '\xc3';
        children[i + 1] = '\xa9';
    }
    stats->children = children;
    row = produce("memory", &scope);
    ck_assert(text_is_utf8((struct span){row, strlen(row)}));
    stats->children = NULL;
    stats_unref(stats);
}
END_TEST

START_TEST(what_is_not_known_is_null_and_said)
{
    struct stats *stats = make_stats(gaps[_i].text);
    struct catalog_scope scope = {.stats = stats};
    const char *row;

    stats->rss = gaps[_i].rss;
    stats->cgroup_current = gaps[_i].current;
    row = produce("memory", &scope);
    ck_assert_msg(strncmp(row, gaps[_i].row, strlen(gaps[_i].row)) == 0, "%s",
                  row);
    ck_assert_msg(strstr(row, gaps[_i].note) != NULL, "%s", row);
    stats_unref(stats);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("tables_malloc");
    TCase *tc = tcase_create("tables_malloc");

    sql_start();
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, statistics_are_numbers_and_words);
    tcase_add_test(tc, bins_and_arenas_are_rows);
    tcase_add_test(tc, without_jemalloc_the_allocators_tables_are_errors);
    tcase_add_test(tc, every_jemalloc_is_a_row);
    tcase_add_test(tc, what_cannot_be_used_is_said_by_every_table);
    tcase_add_test(tc, memory_is_one_row_with_its_gaps_in_words);
    tcase_add_test(tc, what_is_not_of_one_moment_is_not_subtracted);
    tcase_add_loop_test(tc, what_is_not_known_is_null_and_said, 0,
                        sizeof(gaps) / sizeof(gaps[0]));
    tcase_add_loop_test(tc, a_long_note_is_cut_between_characters, 0, 2);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
