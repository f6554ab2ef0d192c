/* test_heap_samples.c - threads, ages and churn of a recorder's samples. */
#include "parts_fixture.h"
#include "scripted_controller.h"
#include "snapshot.h"
#include "sql_harness.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct harness h;

static struct profile *
make_after_reset(void)
{
    return fixture_recorded(FIXTURE_PARTS, fixture_part_names, fixture_marks,
                            0);
}

static struct profile *
make_plain(void)
{
    return fixture_profile("heap_v2/1\n@ 0x1000 0x2001\nt*: 1: 1000 [0: 0]\n",
                           fixture_part_names, NULL);
}

static struct profile *
make_jemallocs(void)
{
    return fixture_profile("heap_v2/1\nt0: 1: 1 [0: 0] io-1\n"
                           "t5: 1: 1 [0: 0]\n@ 0x1000 0x2001\n"
                           "t*: 3: 3000 [0: 0]\nt0: 2: 2000 [0: 0]\n"
                           "t5: 1: 1000 [0: 0]\n",
                           fixture_part_names, NULL);
}

static void
set_up(void)
{
    harness_init(&h, PRIVILEGE_ALL);
    scripted.profile = fixture_parts;
}

static void
tear_down(void)
{
    harness_fini(&h);
    ck_assert_int_eq(scripted.seats, 0);
}

static const struct {
    const char *query, *answer;
} cases[] = {
    {"select snapshot, tid, name, pool, live_bytes, percent, top_function, "
     "top_bytes, samples, number from heapwire.heap_threads",
     "snapshot|tid|name|pool|live_bytes|percent|top_function|top_bytes|samples|"
     "number\n"
     "now|#71|io-1|io-*|#4459|~73.94|leak|#4000|#9|\\N\n"
     "now|#72|io-2|io-*|#1000|~16.58|cache|#1000|#1|\\N\n"
     "now|#73|main|main|#500|~8.29|leak|#500|#1|\\N\n"
     "now|#74|42|*|#70|~1.16|\\N|\\N|#1|\\N\n"
     "now|\\N|\\N|\\N|#2|~0.03|leak|#2|#1|\\N"},
    {"select pool, count(*) n, sum(live_bytes) b from heapwire.heap_threads "
     "group by pool having n > 1",
     "pool|n|b\nio-*|#2|5459"},
    {"select name from heapwire.heap_threads where tid = 73", "name\nmain"},
    {"select name from heapwire.heap_threads where tid = '73'", "name\nmain"},
    {"select live_bytes from heapwire.heap_threads where tid is null",
     "live_bytes\n#2"},
    {"select live_bytes from heapwire.heap_threads where tid <=> null",
     "live_bytes\n#2"},
    {"select name from heapwire.heap_threads where tid = null", "name"},
    {"select snapshot, stack, function, age, age_from_s, bytes, objects from "
     "heapwire.heap_ages",
     "snapshot|stack|function|age|age_from_s|bytes|objects\n"
     "now|#1|cache|under 1 s|#0|#1400|#4\n"
     "now|#1|cache|1 min to 10 min|#60|#50|#1\n"
     "now|#2|leak|over 1 day|#86400|#4502|#7\n"
     "now|#3|\\N|1 s to 10 s|#1|#79|#2"},
    {"select age from heapwire.heap_ages where stack = 1",
     "age\nunder 1 s\n1 min to 10 min"},
    {"select age from heapwire.heap_ages where stack in (0, 4, -1, "
     "99999999999)",
     "age"},
    {"select s.function, sum(a.bytes) = s.bytes same from heapwire.heap_stacks "
     "s join heapwire.heap_ages a using (snapshot, stack) group by s.stack",
     "function|same\ncache|#1\nleak|#1\n\\N|#1"},
    {"select function, sum(bytes) b from heapwire.heap_ages where age_from_s > "
     "60 group by function",
     "function|b\nleak|4502"},
    /* 10 objects of 5000 bytes in all, and 1450 of them in use */
    {"select snapshot, stack, function, allocated_bytes, freed_bytes, "
     "allocated_objects, freed_objects from heapwire.heap_churn",
     "snapshot|stack|function|allocated_bytes|freed_bytes|allocated_objects|"
     "freed_objects\n"
     "now|#1|cache|~2500|~1775|~5|~2.5"},
    {"select function from heapwire.heap_churn where stack = 2", "function"},
    {"select function from heapwire.heap_churn where stack = 1",
     "function\ncache"},
};

START_TEST(samples_are_tables)
{
    ck_assert_str_eq(harness_run(&h, cases[_i].query), cases[_i].answer);
    ck_assert_str_eq(harness_run(&h, "show warnings"), "Level|Code|Message");
}
END_TEST

/* One after the other, as those are named; so is what has none of them. */
START_TEST(kept_snapshots_have_theirs)
{
    scripted_keep("a");
    scripted.profile = make_plain;
    scripted_keep("b");
    scripted.profile = fixture_parts;
    scripted_keep("c");
    ck_assert_str_eq(harness_run(&h, "select snapshot, count(*) n from "
                                     "heapwire.heap_threads where snapshot "
                                     "like '%' group by snapshot"),
                     "snapshot|n\na|#5\nc|#5");
    ck_assert_ptr_nonnull(
        strstr(harness_run(&h, "show warnings"), "snapshot 'b': threads are"));
}
END_TEST

START_TEST(jemallocs_threads_are_rows)
{
    scripted.profile = make_jemallocs;
    ck_assert_str_eq(
        harness_run(&h, "select tid, name, pool, number, live_bytes, percent, "
                        "top_function, top_bytes, samples from "
                        "heapwire.heap_threads"),
        "tid|name|pool|number|live_bytes|percent|top_function|top_bytes|"
        "samples\n"
        "\\N|io-1|io-*|#0|#2000|~66.67|cache|#2000|#2\n"
        "\\N|\\N|\\N|#5|#1000|~33.33|cache|#1000|#1");
    ck_assert_str_eq(harness_run(&h, "show warnings"), "Level|Code|Message");
}
END_TEST

START_TEST(pools_are_compared)
{
    scripted.profile = make_jemallocs;
    scripted_keep("a");
    scripted.profile = make_plain;
    scripted_keep("plain");
    scripted.profile = fixture_parts;
    ck_assert_str_eq(
        harness_run(&h, "select snapshot, base, pool, grown_bytes, "
                        "grown_objects, significant, top_function, top_bytes "
                        "from heapwire.heap_pool_diff where base = 'a'"),
        "snapshot|base|pool|grown_bytes|grown_objects|significant|"
        "top_function|top_bytes\n"
        "now|a|io-*|#3459|#8|#1|leak|#4000\n"
        "now|a|main|#500|#1|#1|leak|#500\n"
        "now|a|*|#70|#1|#1|\\N|\\N\n"
        "now|a|\\N|#-998|#1|#1|leak|#2");
    ck_assert_str_eq(harness_run(&h, "select count(*) n from "
                                     "heapwire.heap_pool_diff"),
                     "n\n#0");
    ck_assert_str_eq(
        harness_run(&h, "show warnings"),
        "Level|Code|Message\nWarning|#1210|heap_pool_diff compares "
        "with a snapshot that must be named: add WHERE base = "
        "'...'");
    ck_assert_str_eq(harness_run(&h, "select count(*) n from "
                                     "heapwire.heap_pool_diff where base = "
                                     "'plain'"),
                     "n\n#0");
    ck_assert_ptr_nonnull(
        strstr(harness_run(&h, "show warnings"), "threads are not known: "));
}
END_TEST

static const struct {
    const char *table;
    struct profile *(*profile)(void);
    const char *warning;
} unknown[] = {
    {"heap_threads", make_plain,
     "snapshot 'now': threads are not known: neither a recorder nor jemalloc's "
     "profile recorded them, or the snapshot is from an older heapwire"},
    {"heap_ages", make_plain,
     "snapshot 'now': ages are known only of a database that records its heap: "
     "heapwire-run --profiling-source interposed"},
    {"heap_ages", make_jemallocs,
     "snapshot 'now': ages are known only of a database that records its heap: "
     "heapwire-run --profiling-source interposed"},
    {"heap_churn", make_jemallocs,
     "snapshot 'now': what is allocated and freed a second is known only of a "
     "database that records its heap: heapwire-run --profiling-source "
     "interposed"},
    {"heap_churn", make_after_reset,
     "snapshot 'now': what is allocated and freed a second is not known once "
     "its profile was reset"},
};

START_TEST(what_is_not_known_is_empty_and_says_why)
{
    char query[128], wanted[512];

    scripted.profile = unknown[_i].profile;
    snprintf(query, sizeof(query),
             "select count(*) n from heapwire.%s a, "
             "heapwire.%s b",
             unknown[_i].table, unknown[_i].table);
    ck_assert_str_eq(harness_run(&h, query), "n\n#0");
    snprintf(wanted, sizeof(wanted), "Level|Code|Message\nWarning|#1105|%s",
             unknown[_i].warning);
    ck_assert_str_eq(harness_run(&h, "show warnings"), wanted);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("heap_samples");
    TCase *tc = tcase_create("heap_samples");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, samples_are_tables, 0, COUNT(cases));
    tcase_add_test(tc, kept_snapshots_have_theirs);
    tcase_add_test(tc, jemallocs_threads_are_rows);
    tcase_add_test(tc, pools_are_compared);
    tcase_add_loop_test(tc, what_is_not_known_is_empty_and_says_why, 0,
                        COUNT(unknown));
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
