/* test_reconciliation.c - what lies between the figures of a node's memory. */
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "profile.h"
#include "reconciliation.h"
#include "snapshot.h"
#include "stats.h"
#include "suite.h"

#define MB(n)                                                                  \
    {                                                                          \
        true, (uint64_t)((n)*1048576.0)                                        \
    }

/* 1970-01-01 00:00:01 */
enum { STARTED_MS = 500, SINCE_MS = 1000, TAKEN_MS = 9000 };

static const struct {
    double bytes; /* MB, of the profile */
    uint64_t samples;
    double margin; /* MB */
    int64_t since_ms;
    struct snapshot_memory memory;
    const char *line;
    const char *version; /* NULL: whose samples take one page each */
    int64_t allocator_late_ms, rss_late_ms;
    const char *note;
    int64_t started_ms; /* 0: before it was switched on */
    uint32_t resets;
} cases[] = {
    /* all there is */
    {100,
     2500,
     2,
     SINCE_MS,
     {.allocated = MB(120.5),
      .active = MB(130.25),
      .metadata = MB(4),
      .resident = MB(140.5),
      .rss = MB(190.75),
      .rss_file = MB(30),
      .cgroup_current = MB(300),
      .cgroup_limit = MB(2048)},
     "profile 100.0 MB (2500 samples since 1970-01-01 00:00:01 UTC) of 120.5 "
     "MB allocated: 20.5 more, up to 9.8 of it pages of the samples "
     "themselves, the rest allocated while profiling was off, which no sample "
     "sees (sampling alone: +-2.0 in 95% of cases); "
     "active 130.2: 9.8 free parts of pages in use; resident 140.5: 10.2 "
     "metadata (4.0) and free pages not given back yet; RSS 190.8: 50.2 "
     "outside this jemalloc (files 30.0, thread stacks, other mappings); "
     "cgroup 300.0 of limit 2048.0"},
    /* four pages each: not more than there is to explain */
    {100,
     2500,
     2,
     SINCE_MS,
     {.allocated = MB(120.5)},
     "profile 100.0 MB (2500 samples since 1970-01-01 00:00:01 UTC) of 120.5 "
     "MB allocated: 20.5 more, up to 20.5 of it pages of the samples "
     "themselves, the rest allocated while profiling was off, which no sample "
     "sees (sampling alone: +-2.0 in 95% of cases)",
     "5.3.0-0-g54eaed1d"},
    /* what samples cannot show */
    {0,
     0,
     0,
     SINCE_MS,
     {.allocated = MB(64), .active = MB(65)},
     "profile 0.0 MB (0 samples since 1970-01-01 00:00:01 UTC) of 64.0 MB "
     "allocated: nothing is sampled; 7 of 12 threads are not sampled; active "
     "65.0: 1.0 free parts of pages in use",
     .note = "7 of 12 threads are not sampled"},
    /* less than the noise: not named */
    {100,
     400,
     10,
     SINCE_MS,
     {.allocated = MB(150)},
     "profile 100.0 MB (400 samples since 1970-01-01 00:00:01 UTC) of 150.0 MB "
     "allocated: 50.0 more, allocated while profiling was off, which no sample "
     "sees (sampling alone: +-10.0 in 95% of cases)"},
    /* on since the database started: nothing is older */
    {100,
     400,
     10,
     SINCE_MS,
     {.allocated = MB(150)},
     "profile 100.0 MB (400 samples since 1970-01-01 00:00:01 UTC) of 150.0 MB "
     "allocated: 50.0 more, free in caches of threads, or grown while the "
     "profile was taken, which no sample sees (sampling alone: +-10.0 in 95% "
     "of cases)",
     .started_ms = SINCE_MS},
    /* but what a reset forgot */
    {100,
     400,
     10,
     SINCE_MS,
     {.allocated = MB(150)},
     "profile 100.0 MB (400 samples since 1970-01-01 00:00:01 UTC) of 150.0 MB "
     "allocated: 50.0 more, allocated before the reset, or while profiling was "
     "off, which no sample sees (sampling alone: +-10.0 in 95% of cases)",
     .resets = 1},
    /* within the noise: it reports no gap */
    {100,
     400,
     10,
     SINCE_MS,
     {.allocated = MB(109)},
     "profile 100.0 MB (400 samples since 1970-01-01 00:00:01 UTC) of 109.0 MB "
     "allocated: equal within the sampling error (+-10.0 in 95% of cases)"},
    {100,
     400,
     10,
     0,
     {.allocated = MB(50)},
     "profile 100.0 MB (400 samples, profiling is not active) of 50.0 MB "
     "allocated: 50.0 too much: freed since, or chance (+-10.0 in 95% of "
     "cases)"},
    {0,
     0,
     0,
     SINCE_MS,
     {.allocated = MB(50), .active = MB(60)},
     "profile 0.0 MB (0 samples since 1970-01-01 00:00:01 UTC) of 50.0 MB "
     "allocated: nothing is sampled; active 60.0: 10.0 free parts of pages in "
     "use"},
    /* swapped out; no limit */
    {0,
     0,
     0,
     0,
     {.resident = MB(100), .rss = MB(60), .cgroup_current = MB(70)},
     "profile 0.0 MB (0 samples, profiling is not active); resident 100.0; RSS "
     "60.0: 40.0 of jemalloc's is swapped out or was never touched; cgroup "
     "70.0, no limit"},
    {0,
     0,
     0,
     0,
     {.resident = MB(100), .rss = MB(105), .rss_file = MB(9)},
     "profile 0.0 MB (0 samples, profiling is not active); resident 100.0; RSS "
     "105.0: 9.0 of files, and jemalloc's figure has pages that were never "
     "touched"},
    /* ten large blocks are seen for certain */
    {640,
     10,
     0,
     SINCE_MS,
     {.allocated = MB(641)},
     "profile 640.0 MB (10 samples since 1970-01-01 00:00:01 UTC) of 641.0 MB "
     "allocated: 1.0 more, allocated while profiling was off, which no sample "
     "sees (sampling alone: +-0.0 in 95% of cases)"},
    /* what is not of one moment is not subtracted */
    {100,
     400,
     10,
     SINCE_MS,
     {.allocated = MB(160), .resident = MB(170), .rss = MB(231)},
     "profile 100.0 MB (400 samples since 1970-01-01 00:00:01 UTC) of 160.0 MB "
     "allocated 9.0 s before: not compared; resident 170.0; RSS 231.0, not of "
     "the moment of jemalloc's: not compared",
     NULL,
     -9000 + 1,
     0},
    {100,
     400,
     10,
     SINCE_MS,
     {.allocated = MB(160), .resident = MB(170), .rss = MB(180)},
     "profile 100.0 MB (400 samples since 1970-01-01 00:00:01 UTC) of 160.0 MB "
     "allocated 1.6 s after: not compared; resident 170.0; RSS 180.0: 10.0 "
     "outside this jemalloc (thread stacks, other mappings)",
     NULL,
     1600,
     1600},
    /* a second jemalloc is one, too */
    {100,
     400,
     10,
     SINCE_MS,
     {.allocated = MB(101),
      .resident = MB(110),
      .rss = MB(350),
      .elsewhere = MB(212)},
     "profile 100.0 MB (400 samples since 1970-01-01 00:00:01 UTC) of 101.0 MB "
     "allocated: equal within the sampling error (+-10.0 in 95% of cases); "
     "212.0 MB are in b.so's jemalloc; resident 110.0; RSS 350.0: 212.0 in use "
     "in other jemallocs, 28.0 besides (thread stacks, other mappings)",
     .note = "212.0 MB are in b.so's jemalloc"},
    /* files: of what the others leave */
    {100,
     400,
     10,
     SINCE_MS,
     {.allocated = MB(101),
      .resident = MB(110),
      .rss = MB(350),
      .rss_file = MB(30),
      .elsewhere = MB(212)},
     "profile 100.0 MB (400 samples since 1970-01-01 00:00:01 UTC) of 101.0 MB "
     "allocated: equal within the sampling error (+-10.0 in 95% of cases); "
     "resident 110.0; RSS 350.0: 212.0 in use in other jemallocs, 30.0 of "
     "files, and jemalloc's figure has pages that were never touched"},
    /* not all in memory: some of it, or all, is what RSS has besides */
    {100,
     400,
     10,
     SINCE_MS,
     {.allocated = MB(101),
      .resident = MB(110),
      .rss = MB(150),
      .elsewhere = MB(212)},
     "profile 100.0 MB (400 samples since 1970-01-01 00:00:01 UTC) of 101.0 MB "
     "allocated: equal within the sampling error (+-10.0 in 95% of cases); "
     "resident 110.0; RSS 150.0: 40.0 outside this jemalloc (other jemallocs, "
     "which have 212.0 in use, thread stacks, other mappings)"},
    {100,
     400,
     10,
     SINCE_MS,
     {.allocated = MB(101),
      .resident = MB(110),
      .rss = MB(322),
      .rss_file = MB(30),
      .elsewhere = MB(212)},
     "profile 100.0 MB (400 samples since 1970-01-01 00:00:01 UTC) of 101.0 MB "
     "allocated: equal within the sampling error (+-10.0 in 95% of cases); "
     "resident 110.0; RSS 322.0: 212.0 outside this jemalloc (files 30.0, "
     "other jemallocs, which have 212.0 in use, thread stacks, other "
     "mappings)"},
    {100,
     400,
     10,
     SINCE_MS,
     {.allocated = MB(101),
      .resident = MB(110),
      .rss = MB(150),
      .rss_file = MB(60),
      .elsewhere = MB(212)},
     "profile 100.0 MB (400 samples since 1970-01-01 00:00:01 UTC) of 101.0 MB "
     "allocated: equal within the sampling error (+-10.0 in 95% of cases); "
     "resident 110.0; RSS 150.0: 60.0 of files, other jemallocs, which have "
     "212.0 in use, and jemalloc's figure has pages that were never touched"},
    /* only the kernel's, or nothing at all */
    {0,
     0,
     0,
     0,
     {.rss = MB(60), .cgroup_limit = MB(70)},
     "profile 0.0 MB (0 samples, profiling is not active); RSS 60.0; cgroup "
     "limit 70.0"},
    {0,
     0,
     0,
     0,
     {.allocator_ms = 0},
     "profile 0.0 MB (0 samples, profiling is not active)"},
};

START_TEST(every_gap_is_shown_with_its_reason)
{
    const double error = cases[_i].margin * 1048576.0 / PROFILE_95;
    const struct profile_stack stack = {.variance = error * error};
    struct profile profile = {
        .bytes = cases[_i].bytes * 1048576.0,
        .samples = cases[_i].samples,
        .stacks = &stack,
        .stack_count = 1,
        .origin = {.live = true,
                   .taken_ms = TAKEN_MS,
                   .active_since_ms = cases[_i].since_ms}};
    struct snapshot_memory memory = cases[_i].memory;
    struct agent_hello hello = {
        .started_ms = cases[_i].started_ms ? cases[_i].started_ms : STARTED_MS,
        .resets = cases[_i].resets};
    struct buffer line;

    memory.allocator_ms = TAKEN_MS + cases[_i].allocator_late_ms;
    memory.rss_ms = TAKEN_MS + cases[_i].rss_late_ms;

    snprintf(hello.version, sizeof(hello.version), "%s",
             cases[_i].version ? cases[_i].version : "5.3.1");
    buffer_init(&line, 1024);
    reconciliation_write(&profile, &memory, &hello,
                         cases[_i].note ? cases[_i].note : "", &line);
    ck_assert_str_eq(line.data, cases[_i].line);
    buffer_fini(&line);
}
END_TEST

START_TEST(a_jemalloc_beside_malloc_is_not_compared)
{
    struct profile profile = {.bytes = 12 * 1048576.0,
                              .samples = 24,
                              .origin = {.taken_ms = TAKEN_MS}};
    struct snapshot_memory memory = {.allocator_ms = TAKEN_MS,
                                     .allocated = MB(60)};
    struct agent_hello hello = {.started_ms = STARTED_MS,
                                .mallctl = "duckdb_je_mallctl",
                                .opt_prof = AGENT_PROF_RECORDED};
    struct unseen unseen;
    struct buffer line;

    buffer_init(&line, 1024);
    unseen_find(&profile, &memory, &hello, &unseen);
    ck_assert(!unseen.compared);
    ck_assert_double_eq(unseen.elsewhere, 60 * 1048576.0);
    reconciliation_write(&profile, &memory, &hello, "", &line);
    ck_assert_str_eq(
        line.data, "profile 12.0 MB (24 samples, profiling is not active), and "
                   "nothing of the 60.0 MB of a jemalloc whose functions have "
                   "a prefix: the recorder sees only functions without one");
    memcpy(hello.mallctl, "mallctl", sizeof("mallctl"));
    unseen_find(&profile, &memory, &hello, &unseen);
    ck_assert(unseen.compared);
    buffer_fini(&line);
}
END_TEST

START_TEST(a_snapshot_keeps_the_figures)
{
    struct snapshot_memory memory;
    struct stats stats = {.allocated = MB(1),
                          .active = MB(2),
                          .metadata = MB(3),
                          .resident = MB(4),
                          .mapped = MB(5),
                          .retained = MB(6),
                          .rss = MB(7),
                          .rss_file = MB(8),
                          .cgroup_current = MB(9),
                          .allocator_ms = 10,
                          .taken_ms = 11};

    reconciliation_take(&stats, &memory);
    ck_assert_int_eq(memory.allocator_ms, 10);
    ck_assert_int_eq(memory.rss_ms, 11);
    ck_assert_uint_eq(memory.retained.value, 6 << 20);
    ck_assert_uint_eq(memory.cgroup_current.value, 9 << 20);
    ck_assert(memory.allocated.known && !memory.cgroup_limit.known);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("reconciliation");
    TCase *tc = tcase_create("reconciliation");

    tcase_add_loop_test(tc, every_gap_is_shown_with_its_reason, 0,
                        sizeof(cases) / sizeof(cases[0]));
    tcase_add_test(tc, a_jemalloc_beside_malloc_is_not_compared);
    tcase_add_test(tc, a_snapshot_keeps_the_figures);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
