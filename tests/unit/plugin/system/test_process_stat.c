/* test_process_stat.c - /proc/<pid>/stat, whatever a process calls itself. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process_stat.h"
#include "suite.h"

#define REST                                                                   \
    " S 7 7 7 0 -1 4194560 1 2 3 4 15 16 17 18 20 0 1 0 2200 23 24 25\n"

START_TEST(a_name_may_hold_what_ends_names)
{
    static const char *const names[] = {"42 (redis)" REST, "42 (a b)" REST,
                                        "42 ()) R 1 1 1 (()" REST,
                                        "42 (\n)" REST, "42 ()" REST};
    struct process_stat stat;

    ck_assert(process_stat_parse(names[_i], &stat));
    ck_assert_int_eq(stat.state, 'S');
    ck_assert_int_eq(stat.parent, 7);
    ck_assert_uint_eq(stat.user_ticks, 15);
    ck_assert_uint_eq(stat.system_ticks, 16);
    ck_assert_uint_eq(stat.start_ticks, 2200);
}
END_TEST

START_TEST(one_that_ends_is_told)
{
    struct process_stat stat;

    ck_assert(process_stat_parse("42 (redis)" REST, &stat));
    ck_assert(!stat.exiting);
    ck_assert(process_stat_parse(
        "42 (redis) R 7 7 7 0 -1 4194564 1 2 3 4 15 16 17 18 20 0 1 0 2200 23",
        &stat));
    ck_assert(stat.exiting);
}
END_TEST

START_TEST(what_is_cut_off_is_refused)
{
    static const char whole[] = "42 (redis)" REST;
    size_t needed = (size_t)(strstr(whole, "2200") - whole);
    struct process_stat stat;
    char text[sizeof(whole)];

    for (size_t size = 0; size <= needed; size++) {
        memcpy(text, whole, size);
        text[size] = '\0';
        ck_assert(!process_stat_parse(text, &stat));
    }
}
END_TEST

START_TEST(a_process_and_its_child_are_distinguished)
{
    struct process_stat own, other;
    pid_t child;

    prctl(PR_SET_NAME, ") Z 1 (x");
    ck_assert(process_stat_read(0, &own));
    ck_assert_int_eq(own.parent, getppid());
    ck_assert_int_eq(own.state, 'R');
    child = fork();
    if (child == 0) {
        raise(SIGSTOP);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, NULL, WUNTRACED), child);
    ck_assert(process_stat_read(child, &other));
    ck_assert_int_eq(other.parent, getpid());
    ck_assert_int_eq(other.state, 'T');
    ck_assert_uint_ge(other.start_ticks, own.start_ticks);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ck_assert(!process_stat_read(child, &other));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("process_stat");
    TCase *tc = tcase_create("process_stat");

    tcase_add_loop_test(tc, a_name_may_hold_what_ends_names, 0, 5);
    tcase_add_test(tc, one_that_ends_is_told);
    tcase_add_test(tc, what_is_cut_off_is_refused);
    tcase_add_test(tc, a_process_and_its_child_are_distinguished);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
