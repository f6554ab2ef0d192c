/* test_handover.c - descriptors between two threads, and who else may send. */

#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"
#include "suite.h"

static void
send_as_another_process(const char *text, size_t size, int count)
{
    struct sockaddr_un address;
    socklen_t length = sizeof(address);
    int status, to = socket(AF_UNIX, SOCK_DGRAM, 0);
    pid_t pid;

    ck_assert_int_eq(
        getsockname(handover_socket(), (struct sockaddr *)&address, &length),
        0);
    pid = fork();
    if (pid == 0) {
        for (int i = 0; i < count; i++)
            if (sendto(to, text, size, MSG_DONTWAIT,
                       (struct sockaddr *)&address, length) != (ssize_t)size &&
                errno != EAGAIN)
                _exit(1);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    close(to);
}

static struct agent
served(void)
{
    struct agent agent;

    memset(&agent, 0, sizeof(agent));
    agent.own_table = true;
    agent.null = agent.stop_signalfd = -1;
    agent.channel.directory = agent.channel.connection = -1;
    agent.channel.listener = memfd_create("listener", MFD_CLOEXEC);
    agent.channel.lock = memfd_create("lock", MFD_CLOEXEC);
    return agent;
}

static void
hand_over(struct agent *agent)
{
    struct agent next;

    ck_assert(handover_leave(agent));
    ck_assert(handover_restore_state(&next));
    ck_assert_int_eq(handover_restore_fds(&next), 0);
    ck_assert_int_ge(next.channel.listener, 0);
}

/* A fork's child has the key, too, but another pid. */
START_TEST(a_message_of_another_process_is_skipped)
{
    struct agent agent = served();

    handover_open(NULL);
    send_as_another_process((const char *)getauxval(AT_RANDOM) + 8, 8, 1);
    hand_over(&agent);
}
END_TEST

START_TEST(a_flood_leaves_room_for_the_descriptors)
{
    static const char texts[3][16] = {"x", "longer than key", ""};
    struct agent agent = served();

    handover_open(NULL);
    send_as_another_process(texts[_i], strlen(texts[_i]), 1000);
    hand_over(&agent);
}
END_TEST

START_TEST(what_nobody_takes_is_forgotten)
{
    struct agent agent = served(), next;

    ck_assert_ptr_null(handover_take_abandoned());
    handover_open(NULL);
    agent.absence_max_ms = 77;
    ck_assert(handover_leave(&agent));
    ck_assert_int_eq(handover_take_abandoned()->absence_max_ms, 77);
    ck_assert_ptr_null(handover_take_abandoned());
    ck_assert(!handover_restore_state(&next));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("handover");
    TCase *tc = tcase_create("handover");

    tcase_add_test(tc, a_message_of_another_process_is_skipped);
    tcase_add_loop_test(tc, a_flood_leaves_room_for_the_descriptors, 0, 3);
    tcase_add_test(tc, what_nobody_takes_is_forgotten);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
