/* test_confined.c - what may be called under seccomp filters. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confined.h"
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

/* In a child, for a filter stays. */
START_TEST(filters_are_counted)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    int before = confined_filters(), status;
    pid_t pid = fork();

    if (pid == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
            _exit(1);
        for (int i = 1; i <= 2; i++)
            if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0 ||
                confined_filters() != before + i)
                _exit(2);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
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
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
