/* test_handover.c - descriptors between two threads, and who else may send. */
#include "handover.h"

#include <check.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"
#include "suite.h"

static void
send_as_another_process(void)
{
    struct sockaddr_un address;
    socklen_t size = sizeof(address);
    int status, to = socket(AF_UNIX, SOCK_DGRAM, 0);
    pid_t pid;

    ck_assert_int_eq(
        getsockname(handover_socket(), (struct sockaddr *)&address, &size), 0);
    pid = fork();
    if (pid == 0)
        _exit(sendto(to, "x", 1, 0, (struct sockaddr *)&address, size) != 1);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    close(to);
}

START_TEST(a_message_of_another_process_is_skipped)
{
    struct agent agent, next;

    memset(&agent, 0, sizeof(agent));
    agent.own_table = true;
    agent.null = agent.wake = -1;
    agent.channel.directory = agent.channel.connection = -1;
    agent.channel.listener = memfd_create("listener", MFD_CLOEXEC);
    agent.channel.lock = memfd_create("lock", MFD_CLOEXEC);
    handover_open(NULL);
    send_as_another_process();
    ck_assert(handover_give(&agent));
    ck_assert(handover_read(&next));
    ck_assert_int_eq(handover_take(&next), 0);
    ck_assert_int_ge(next.channel.listener, 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("handover");
    TCase *tc = tcase_create("handover");

    tcase_add_test(tc, a_message_of_another_process_is_skipped);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
