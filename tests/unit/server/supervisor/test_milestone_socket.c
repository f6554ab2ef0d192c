/* test_milestone_socket.c - words to heapwire-run, and the signal that says so.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "suite.h"
#include "supervise.h"

static void
say(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    memcpy(address.sun_path + 1, name, strlen(name));
    ck_assert_int_eq(sendto(fd, "word", 4, 0, (struct sockaddr *)&address,
                            (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
                                        1 + strlen(name))),
                     4);
    close(fd);
}

static bool
is_pending(void)
{
    sigset_t pending;

    sigpending(&pending);
    return sigismember(&pending, SIGIO);
}

/* Before heapwire-run waits for signals, any process's word would end it. */
START_TEST(no_signal_comes_before_it_is_waited_for)
{
    char name[MILESTONE_SOCKET_NAME], text[8];
    int fd = milestone_socket_open(name);
    sigset_t io;

    ck_assert_int_ge(fd, 0);
    sigemptyset(&io);
    sigaddset(&io, SIGIO);
    sigprocmask(SIG_BLOCK, &io, NULL);
    say(name);
    ck_assert(!is_pending());
    milestone_socket_notify(fd);
    ck_assert_int_eq(recv(fd, text, sizeof(text), 0), 4);
    say(name);
    ck_assert(is_pending());
    ck_assert_int_eq(recv(fd, text, sizeof(text), 0), 4);
    ck_assert_int_eq(recv(fd, text, sizeof(text), 0), -1); /* never waits */
    close(fd);
}
END_TEST

START_TEST(each_has_a_name_of_its_own)
{
    char first[MILESTONE_SOCKET_NAME], second[MILESTONE_SOCKET_NAME];
    int a = milestone_socket_open(first), b = milestone_socket_open(second);

    ck_assert(a >= 0 && b >= 0);
    ck_assert_str_ne(first, second);
    ck_assert_str_ne(first, "");
    close(a);
    close(b);
    milestone_socket_notify(-1);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("milestone_socket");
    TCase *tc = tcase_create("milestone_socket");

    tcase_add_test(tc, no_signal_comes_before_it_is_waited_for);
    tcase_add_test(tc, each_has_a_name_of_its_own);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
