/* test_lever_job.c - the agent's text of levers, cut and hostile; and what
 * people read of it. */
#include <stdio.h>
#include <string.h>

#include "agent_client.h"
#include "buffer.h"
#include "errors.h"
#include "lever_job.h"
#include "suite.h"

static const char good[] = "before.rss 314572800\n"
                           "before.background_thread 0\n"
                           "before.resident 209715200\n"
                           "before.active 1048576\n"
                           "before.dirty 104857600\n"
                           "before.muzzy 0\n"
                           "before.of_tomorrow 5\n"
                           "after.rss 209715200\n"
                           "after.dirty 0\n"
                           "took_us 12345\n"
                           "decay.in_force 1\n"
                           "decay.since_ms 1796000000000\n"
                           "decay.until_ms 1796000060000\n"
                           "decay.set0 500\n"
                           "decay.set1 -1\n"
                           "decay.was0 10000\n"
                           "decay.was1 0\n"
                           "decay.ended_ms 0\n"
                           "decay.by_itself 0\n"
                           "decay.error 0\n"
                           "decay.by ann of sales\n"
                           "background.in_force 0\n"
                           "background.ended_ms 1796000001000\n"
                           "background.by_itself 1\n"
                           "background.told 1\n";

static struct lever_report report;

static bool
parse(const char *text)
{
    return lever_report_parse(text, strlen(text), &report);
}

START_TEST(figures_go_where_they_belong)
{
    const struct lever_in_force *decay = &report.force[NODE_DECAY];

    ck_assert(parse(good));
    ck_assert(report.before.rss.known && !report.after.resident.known);
    ck_assert_uint_eq(report.before.rss.value, 314572800);
    ck_assert_uint_eq(report.after.rss.value, 209715200);
    ck_assert_int_eq(report.took_us, 12345);
    ck_assert(decay->in_force && !decay->by_itself);
    ck_assert_int_eq(decay->set[0], 500);
    ck_assert_int_eq(decay->set[1], -1);
    ck_assert_int_eq(decay->was[0], 10000);
    ck_assert_str_eq(decay->by, "ann of sales");
    ck_assert(report.force[NODE_BACKGROUND].by_itself);
    ck_assert(report.force[NODE_BACKGROUND].end_reported &&
              !decay->end_reported);
}
END_TEST

START_TEST(a_text_that_is_cut_is_none_or_shorter)
{
    for (size_t size = 0; size < sizeof(good); size++)
        (void)lever_report_parse(good, size, &report);
}
END_TEST

static const char *const wrong[] = {"no_blank\n",
                                    "before.rss \n",
                                    "before.rss x\n",
                                    "before.rss -1\n",
                                    "took_us 1.5\n",
                                    "decay.until_ms -\n",
                                    "decay.set0 9999999999999999999\n",
                                    "after.dirty 1 \n"};

START_TEST(what_is_no_such_text_is_refused)
{
    ck_assert_msg(!parse(wrong[_i]), "%s", wrong[_i]);
}
END_TEST

START_TEST(a_long_name_is_cut)
{
    char text[400] = "decay.by ";

    memset(text + 9, 'x', sizeof(text) - 10);
    ck_assert(parse(text));
    ck_assert_uint_eq(strlen(report.force[NODE_DECAY].by), AGENT_BY_MAX - 1);
    ck_assert(parse("decay.by a\033[31m\xff\n"));
    ck_assert_str_eq(report.force[NODE_DECAY].by, "a?[31m?");
}
END_TEST

START_TEST(the_risk_comes_first)
{
    const struct lever_request request = {
        .lever = AGENT_DECAY, .dirty_ms = 500, .muzzy_ms = -1, .seconds = 60};
    struct buffer out;

    ck_assert(parse(good));
    buffer_init(&out, 8192);
    lever_write_result(&request, &report, &out);
    ck_assert_str_eq(
        out.data,
        "risk: decay of -1 ms: free pages are not given back at all while it "
        "is in force, and rss grows to the highest use of each arena; decay "
        "to a shorter time: what is over it goes back to the kernel at once, "
        "as by purge; while it is in force the program's own threads call "
        "madvise more often, and memory that is used again costs page faults\n"
        "rss: 300.0 MB before, 200.0 MB after\n"
        "resident: 200.0 MB before, an unknown number of bytes after\n"
        "active: 1.0 MB before, an unknown number of bytes after\n"
        "dirty: 100.0 MB before, 0.0 MB after\n"
        "muzzy: 0.0 MB before, an unknown number of bytes after\n"
        "took: 12.3 ms\n"
        "decay: dirty_decay_ms 500, muzzy_decay_ms -1 (never) until "
        "2026-11-30 00:54:20 UTC, by ann of sales, since 2026-11-30 00:53:20 "
        "UTC; then each arena gets its former values again, and new arenas get "
        "dirty_decay_ms 10000, muzzy_decay_ms 0\n"
        "background_threads: not in force; the last one ended at 2026-11-30 "
        "00:53:21 UTC, because its time was over\n");
    buffer_fini(&out);
}
END_TEST

/* Compared with the present values, or those set before. */
START_TEST(a_decay_is_shorter_longer_or_the_same)
{
    static const struct {
        int64_t dirty, muzzy, now[2];
        const char *words;
    } rows[] = {{0, 0, {10000, 0}, "to a shorter time"},
                {0, 0, {-1, -1}, "to a shorter time"},
                {0, 5, {10, 0}, "to a shorter time"},
                {20000, 0, {10000, 0}, "to a longer time"},
                {-1, 0, {10000, 0}, "of -1 ms"},
                {-1, 0, {-1, 10000}, "risk: decay to a shorter time"},
                {-1, 20000, {-1, 10000}, "risk: decay to a longer time"},
                {-1, 0, {10000, 10000}, "; decay to a shorter time"},
                {10000, -1, {10000, -1}, "present values"},
                {10000, 0, {10000, 0}, "present values"}};
    const struct lever_counts none = {.rss.known = false};
    struct lever_request request = {.lever = AGENT_DECAY,
                                    .dirty_ms = rows[_i].dirty,
                                    .muzzy_ms = rows[_i].muzzy};
    struct buffer out;

    buffer_init(&out, 8192);
    lever_write_risk(&request, &none, rows[_i].now, &out);
    ck_assert_msg(strstr(out.data, rows[_i].words), "%s", out.data);
    buffer_fini(&out);
}
END_TEST

START_TEST(what_is_replaced_is_told)
{
    const struct lever_request request = {
        .lever = AGENT_BACKGROUND, .on = false, .seconds = 60};
    struct buffer out;

    ck_assert(parse(good));
    report.replaced = (struct lever_in_force){.in_force = true,
                                              .set = {1, 0},
                                              .until_ms = 1796000000000,
                                              .by = "bob"};
    buffer_init(&out, 8192);
    lever_write_result(&request, &report, &out);
    ck_assert_msg(strstr(out.data,
                         "\nreplaces background_threads: on until 2026-11-30 "
                         "00:53:20 UTC, by bob; the values from before that "
                         "one will be restored\n"),
                  "%s", out.data);
    buffer_fini(&out);
}
END_TEST

/* An older agent would hang up. */
START_TEST(an_older_agent_is_not_asked)
{
    struct agent_client client = {.fd = -1, .status.state = NODE_CONNECTED};
    const struct lever_request request = {.lever = AGENT_PURGE};
    struct error err = {0};

    client.status.hello.pid = 42;
    snprintf(client.status.hello.exe, sizeof(client.status.hello.exe), "/db");
    ck_assert_int_eq(
        lever_job_run(&client, &request, "ann", NULL, &report, &err), -1);
    ck_assert_uint_eq(err.code, ER_NOT_SUPPORTED);
    ck_assert_str_eq(err.text,
                     "purge(): the agent in /db (pid 42) is of an older "
                     "heapwire and has no levers; restart the database to load "
                     "the new one");
    lever_job_check(&client, NULL);
    ck_assert(!client.levers_seen);
}
END_TEST

START_TEST(the_next_end_is_known)
{
    struct node_status status = {.state = NODE_CONNECTED};
    struct lever_in_force *levers = status.levers;

    ck_assert_int_eq(lever_job_next(&status, 1000), -1);
    levers[NODE_BACKGROUND] =
        (struct lever_in_force){.in_force = true, .until_ms = 5000};
    ck_assert_int_eq(lever_job_next(&status, 1000), 4000);
    levers[NODE_DECAY] =
        (struct lever_in_force){.in_force = true, .until_ms = 1500};
    ck_assert_int_eq(lever_job_next(&status, 1000), 500);
    ck_assert_int_eq(lever_job_next(&status, 2000), 0);
    /* an overdue one is not asked for all the time */
    ck_assert_int_eq(lever_job_next(&status, 3000), 2000);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("lever_job");
    TCase *tc = tcase_create("lever_job");

    tcase_add_test(tc, figures_go_where_they_belong);
    tcase_add_test(tc, a_text_that_is_cut_is_none_or_shorter);
    tcase_add_loop_test(tc, what_is_no_such_text_is_refused, 0,
                        sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_test(tc, a_long_name_is_cut);
    tcase_add_test(tc, the_risk_comes_first);
    tcase_add_loop_test(tc, a_decay_is_shorter_longer_or_the_same, 0, 7);
    tcase_add_test(tc, what_is_replaced_is_told);
    tcase_add_test(tc, an_older_agent_is_not_asked);
    tcase_add_test(tc, the_next_end_is_known);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
