/* test_time_remarks.c - what the head of a profile of time says of its worth.
 */
#include "time_remarks.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffer.h"
#include "profile_fixture.h"
#include "sampler.h"
#include "suite.h"
#include "unwind_tables.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct buffer out;

static void
set_up(void)
{
    buffer_init(&out, 4096);
}

static void
tear_down(void)
{
    buffer_fini(&out);
}

static void
must_be(const char *expected)
{
    ck_assert_str_eq(out.data ? out.data : "", expected);
}

static const struct {
    struct sampler_report report;
    const char *said;
} rates[] = {
    {{.way = SAMPLER_PERF, .hz = 9, .hz_wanted = 99}, ""},
    {{.way = SAMPLER_PTRACE, .hz = 20, .hz_wanted = 20}, ""},
    {{.way = SAMPLER_PTRACE, .hz = 16, .hz_wanted = 20}, ""},
    {{.way = SAMPLER_PTRACE, .hz = 7, .hz_wanted = 20, .threads = 7},
     ", 7 ticks a second in place of 20: the machine is busy"},
    {{.way = SAMPLER_PTRACE,
      .hz = 2,
      .hz_wanted = 20,
      .threads = 2000,
      .slow_scans = true},
     ", 2 ticks a second in place of 20: to look at 2000 threads more often "
     "would take more than 5 % of a core"},
    {{.way = SAMPLER_PTRACE, .hz = 50, .hz_wanted = 99},
     ", 50 ticks a second in place of 99: stopping threads makes 50 at most"},
    {{.way = SAMPLER_PTRACE, .hz = 10, .hz_wanted = 99},
     ", 10 ticks a second in place of 99: stopping threads makes 50 at most, "
     "and the machine is busy"},
};

START_TEST(a_rate_that_did_not_come_about_has_a_reason)
{
    time_remarks_rate(&rates[_i].report, &out);
    must_be(rates[_i].said);
}
END_TEST

static const struct {
    struct sampler_report report;
    const char *said;
} births[] = {
    {{.way = SAMPLER_PERF, .hz = 99, .threads = 9, .threads_first = 9}, ""},
    {{.way = SAMPLER_PERF, .hz = 99, .threads = 18, .threads_first = 9}, ""},
    {{.way = SAMPLER_PERF,
      .hz = 99,
      .threads = 39,
      .threads_first = 9,
      .samples = 301},
     ""},
    {{.way = SAMPLER_PERF,
      .hz = 99,
      .threads = 39,
      .threads_first = 9,
      .samples = 300},
     "; 30 threads were created meanwhile, and each is sampled after 10 ms, 20 "
     "ms, ... of its own time: shares of what short-lived ones do are not "
     "representative"},
    {{.way = SAMPLER_PTRACE, .hz = 40, .threads = 12, .threads_first = 2},
     "; 10 threads were created meanwhile, and short-lived ones are first "
     "sampled late: shares of what they do are rough"},
};

START_TEST(shares_of_short_threads_are_not_believed)
{
    time_remarks_short(&births[_i].report, &out);
    must_be(births[_i].said);
}
END_TEST

/* ---- what a profile has ---- */

static const struct fixture_name names[] = {
    {0x1000, "work", false, NULL, 0}, {0x2001, "main", false, NULL, 0}, {0}};

static struct profile *
sampled(enum profile_kind kind)
{
    return fixture_profile_of(kind, 1000,
                              "heap_v2/10000000\n@ 0x1000 0x2001\n"
                              "t*: 100: 1000000000 [0: 0]\n"
                              "MAPPED_LIBRARIES:\n\n",
                              names, NULL);
}

START_TEST(chance_is_that_of_so_many_samples)
{
    struct profile *profile = sampled(PROFILE_CPU);

    time_remarks_chance(profile, &out);
    must_be("; by chance alone shares are off by up to 9.8 points, in 95% of "
            "cases");
    profile_free(profile);
}
END_TEST

START_TEST(of_the_clock_chance_is_not_known)
{
    struct profile *profile = sampled(PROFILE_WALL);

    time_remarks_chance(profile, &out);
    must_be("");
    profile_free(profile);
}
END_TEST

START_TEST(a_file_is_named_where_a_stack_met_it)
{
    static const struct profile_module modules[] = {
        {0x1000, 0x1100, 0, "/bin/db", ""},
        {0x2000, 0x2100, 0, "/lib/a.so", ""},
        {0x3000, 0x3100, 0, "/lib/data.so", ""}};
    struct unwind_loaded loaded = {
        .missing = 2,
        .without = {{"/lib/data.so", "it has none"},
                    {"/lib/a.so", "it has no .eh_frame"}}};
    struct profile *profile = sampled(PROFILE_CPU);

    profile->modules = modules;
    profile->module_count = COUNT(modules);
    time_remarks_tables(profile, &loaded, &out);
    must_be("; a.so has no unwind table (it has no .eh_frame)");
    loaded.without[0].path = "/bin/db";
    buffer_clear(&out);
    time_remarks_tables(profile, &loaded, &out);
    must_be("; 2 files have no unwind table (db: it has none)");
    profile_free(profile);
}
END_TEST

/* ---- a process that does not run ---- */

START_TEST(a_process_that_is_held_says_so)
{
    char hold[TIME_STOPPED_TEXT], expected[TIME_STOPPED_TEXT];
    int status, ends[2];
    pid_t child, tracer;

    child = fork();
    if (child == 0)
        for (;;)
            pause();
    time_remarks_read_stop(child, hold);
    ck_assert_str_eq(hold, "");
    kill(child, SIGSTOP);
    ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
    time_remarks_read_stop(child, hold);
    ck_assert_str_eq(hold, "stopped by a signal (SIGSTOP)");

    ck_assert_int_eq(pipe(ends), 0);
    tracer = fork();
    if (tracer == 0) {
        long rc = ptrace(PTRACE_SEIZE, child, NULL, NULL);

        _exit(rc != 0 || write(ends[1], "", 1) != 1 || pause() == 0);
    }
    ck_assert_int_eq(read(ends[0], hold, 1), 1);
    time_remarks_read_stop(child, hold);
    snprintf(expected, sizeof(expected), " by test_time_remar (process %d)",
             (int)tracer);
    ck_assert_msg(strstr(hold, expected) != NULL, "%s", hold);
    kill(tracer, SIGKILL);
    kill(child, SIGKILL);
    waitpid(tracer, &status, 0);
    waitpid(child, &status, 0);
    time_remarks_read_stop(child, hold);
    ck_assert_str_eq(hold, "");
}
END_TEST

START_TEST(both_ends_are_told)
{
    time_remarks_write_stop("", "", &out);
    must_be("");
    time_remarks_write_stop("stopped", "", &out);
    must_be("; the process was stopped when the profile began");
    buffer_clear(&out);
    time_remarks_write_stop("", "held by gdb (process 2)", &out);
    must_be("; the process is held by gdb (process 2)");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("time_remarks");
    TCase *tc = tcase_create("all");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, a_rate_that_did_not_come_about_has_a_reason, 0,
                        COUNT(rates));
    tcase_add_loop_test(tc, shares_of_short_threads_are_not_believed, 0,
                        COUNT(births));
    tcase_add_test(tc, chance_is_that_of_so_many_samples);
    tcase_add_test(tc, of_the_clock_chance_is_not_known);
    tcase_add_test(tc, a_file_is_named_where_a_stack_met_it);
    tcase_add_test(tc, a_process_that_is_held_says_so);
    tcase_add_test(tc, both_ends_are_told);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
