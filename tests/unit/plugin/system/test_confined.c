/* test_confined.c - what may be called under seccomp filters. */
#include <sys/syscall.h>

#include "confined.h"
#include "seccomp_filter.h"
#include "suite.h"

static const struct {
    int filters;
    const char *text;
    unsigned calls;
} told[] = {
    {0, NULL, CONFINED_ALL},
    {0, "1,0", CONFINED_ALL},
    {1, NULL, 0},
    {1, "1,63", CONFINED_ALL},
    {1, "1,5", CONFINED_CLOSE_RANGE | CONFINED_MEMFD},
    {2, "1,63", 0}, /* another filter was made since */
    {1, "2,63", 0},
    {-1, "-1,63", 0},
    {-1, NULL, 0},
    {1, "", 0},
    {1, "1", 0},
    {1, "x,63", 0},
    {1, "1,4294967295", CONFINED_ALL},
};

START_TEST(only_what_was_tried_under_the_same_filters_may_be_called)
{
    ck_assert_uint_eq(confined_read(told[_i].filters, told[_i].text),
                      told[_i].calls);
}
END_TEST

START_TEST(what_is_written_is_read)
{
    char text[CONFINED_TEXT];

    confined_write(3, CONFINED_MEMFD, text);
    ck_assert_uint_eq(confined_read(3, text), CONFINED_MEMFD);
}
END_TEST

static int
count_filters(void)
{
    int before = confined_filters();

    for (int i = 1; i <= 2; i++)
        if (!filter_call(SYS_ptrace, SECCOMP_RET_ALLOW) ||
            confined_filters() != before + i)
            return i;
    return 0;
}

START_TEST(filters_are_counted)
{
    ck_assert_int_eq(status_in_child(count_filters), 0);
}
END_TEST

/* Refusing is no harm; the second word on a call is the first one's. */
static int
ask_what_kills(void)
{
    if (!filter_call(SYS_perf_event_open, SECCOMP_RET_KILL_PROCESS) ||
        !filter_call(SYS_process_vm_readv, SECCOMP_RET_TRAP) ||
        !filter_call(SYS_sched_setscheduler, SECCOMP_RET_ERRNO | 1))
        return 1;
    for (int i = 0; i < 2; i++)
        if (confined_spares(CONFINED_PERF) ||
            confined_spares(CONFINED_PTRACE) ||
            !confined_spares(CONFINED_PRIORITY))
            return 2;
    return 0;
}

START_TEST(what_would_kill_is_known_without_dying)
{
    ck_assert_int_eq(status_in_child(ask_what_kills), 0);
}
END_TEST

START_TEST(without_filters_nothing_is_tried)
{
    if (confined_filters() == 0)
        ck_assert(confined_spares(CONFINED_PTRACE));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("confined");
    TCase *tc = tcase_create("confined");

    tcase_add_loop_test(
        tc, only_what_was_tried_under_the_same_filters_may_be_called, 0,
        sizeof(told) / sizeof(told[0]));
    tcase_add_test(tc, what_is_written_is_read);
    tcase_add_test(tc, filters_are_counted);
    tcase_add_test(tc, what_would_kill_is_known_without_dying);
    tcase_add_test(tc, without_filters_nothing_is_tried);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
