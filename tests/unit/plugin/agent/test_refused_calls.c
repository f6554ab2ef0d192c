/* test_refused_calls.c - what the agent does where the kernel refuses a call.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "agent.h"
#include "confined.h"
#include "seccomp_filter.h"
#include "shared_fds.h"

static bool
is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static int
leave_table_without_close_range(void)
{
    int low = open("/dev/null", O_RDONLY), kept = dup(low), high = dup(low);

    if (!filter_call(SYS_close_range, SECCOMP_RET_ERRNO | ENOSYS))
        return 1;
    if (!own_table_enter(CONFINED_ALL, kept))
        return 2;
    return !is_open(low) && is_open(kept) && !is_open(high) ? 0 : 3;
}

START_TEST(without_close_range_the_table_is_left_all_the_same)
{
    ck_assert_int_eq(status_in_child(leave_table_without_close_range), 0);
}
END_TEST

static int
list_tasks_without_getdents(void)
{
    int to = open("/dev/null", O_WRONLY);

    if (own_tasks_write(to) != 0 ||
        !filter_call(SYS_getdents64, SECCOMP_RET_ERRNO | EACCES))
        return 1;
    errno = 0;
    return own_tasks_write(to) == -1 && errno == EACCES ? 0 : 2;
}

START_TEST(a_list_of_threads_that_cannot_be_read_is_no_list)
{
    ck_assert_int_eq(status_in_child(list_tasks_without_getdents), 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("refused calls");
    TCase *tc = tcase_create("agent");

    tcase_add_test(tc, without_close_range_the_table_is_left_all_the_same);
    tcase_add_test(tc, a_list_of_threads_that_cannot_be_read_is_no_list);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
