/* test_process_status.c - /proc/<pid>/status, however many groups it lists. */
#include <grp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process_stat.h"
#include "suite.h"

START_TEST(the_kernel_s_lines_are_found)
{
    char status[PROCESS_STATUS_MAX];

    prctl(PR_SET_NAME, "\nUid: 5");
    ck_assert(process_status_read(getpid(), 0, status));
    ck_assert_int_eq(process_status_number(status, "Tgid"), getpid());
    ck_assert_int_eq(process_status_number(status, "PPid"), getppid());
    ck_assert_uint_eq(process_status_user(status), geteuid());
    ck_assert_int_eq(*process_status_text(status, "State"), 'R');
    ck_assert_int_eq(process_status_number(status, "State"), 0);
    ck_assert_int_eq(process_status_number(status, "Tracer"), -1);
    ck_assert_str_eq(process_status_text(status, "pid"), "");
}
END_TEST

START_TEST(threads_have_their_own)
{
    pid_t tid = (pid_t)syscall(SYS_gettid);
    char status[PROCESS_STATUS_MAX];

    ck_assert(process_status_read(0, 0, status));
    ck_assert_int_eq(process_status_number(status, "Pid"), tid);
    ck_assert(process_status_read(0, tid, status));
    ck_assert_int_eq(process_status_number(status, "Pid"), tid);
    ck_assert(process_status_read(getpid(), tid, status));
    ck_assert_int_eq(process_status_number(status, "Pid"), tid);
    ck_assert(!process_status_read(1, tid, status));
    ck_assert_str_eq(status, "");
    ck_assert_int_eq(process_status_number(status, "Pid"), -1);
    ck_assert_uint_eq(process_status_user(status), (uid_t)-1);
}
END_TEST

/* The longest list of groups takes a hundred times the room. */
START_TEST(lines_behind_many_groups_are_found)
{
    static const size_t counts[] = {0, 1, 500, 700, 1000, 5000, 65536};
    static gid_t groups[65536];
    char status[PROCESS_STATUS_MAX];
    const char *list;

    for (size_t i = 0; i < counts[_i]; i++)
        groups[i] = (gid_t)(1000000000 + i);
    if (setgroups(counts[_i], groups) != 0)
        return; /* only root may */
    ck_assert(process_status_read(0, 0, status));
    ck_assert_int_eq(process_status_number(status, "Pid"), syscall(SYS_gettid));
    ck_assert_int_ge(process_status_number(status, "Seccomp"), 0);
    ck_assert_int_ge(
        process_status_number(status, "nonvoluntary_ctxt_switches"), 0);
    list = process_status_text(status, "Groups");
    ck_assert_int_eq(
        strncmp(list, "1000000000 1000000001", counts[_i] > 1 ? 21 : 0), 0);
    if (counts[_i] >= 700) /* as much as callers are promised */
        ck_assert_uint_ge(strcspn(list, "\n"), PROCESS_STATUS_GROUPS);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("process_status");
    TCase *tc = tcase_create("process_status");

    tcase_add_test(tc, the_kernel_s_lines_are_found);
    tcase_add_test(tc, threads_have_their_own);
    tcase_add_loop_test(tc, lines_behind_many_groups_are_found, 0, 7);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
