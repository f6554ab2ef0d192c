/* test_tcp_owner.c - whose process holds the other end of a connection. */
#include <netinet/in.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <unistd.h>

#include "suite.h"
#include "tcp_owner.h"

enum { OTHER = 12345 };

static const struct {
    int listener, client;
} families[] = {{AF_INET, AF_INET}, {AF_INET6, AF_INET6}, {AF_INET6, AF_INET}};

static int
listen_at(int family, in_port_t *port)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    struct sockaddr_in v4 = {.sin_family = AF_INET,
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    bool is_v4 = family == AF_INET;
    void *address = is_v4 ? (void *)&v4 : (void *)&v6;
    socklen_t size = is_v4 ? sizeof(v4) : sizeof(v6);
    int fd = socket(family, SOCK_STREAM, 0);

    if (fd < 0 || bind(fd, address, size) != 0 || listen(fd, 1) != 0 ||
        getsockname(fd, address, &size) != 0) {
        close(fd);
        return -1;
    }
    *port = is_v4 ? v4.sin_port : v6.sin6_port;
    return fd;
}

static int
connect_to(int family, in_port_t port)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                              .sin6_port = port,
                              .sin6_addr = in6addr_loopback};
    struct sockaddr_in v4 = {.sin_family = AF_INET,
                             .sin_port = port,
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    bool is_v4 = family == AF_INET;
    int fd = socket(family, SOCK_STREAM, 0);

    ck_assert_int_eq(connect(fd, is_v4 ? (void *)&v4 : (void *)&v6,
                             is_v4 ? sizeof(v4) : sizeof(v6)),
                     0);
    return fd;
}

START_TEST(it_is_the_clients_user)
{
    uid_t uid = (uid_t)-1, wanted = getuid() == 0 ? OTHER : getuid();
    in_port_t port = 0;
    int listener = listen_at(families[_i].listener, &port), client, fd;

    if (listener < 0)
        return; /* there is no IPv6 here */
    setfsuid(wanted);
    client = connect_to(families[_i].client, port);
    setfsuid(getuid());
    fd = accept(listener, NULL, NULL);
    ck_assert(tcp_owner(fd, &uid));
    ck_assert_uint_eq(uid, wanted);
    shutdown(client, SHUT_WR);
    ck_assert(tcp_owner(fd, &uid));
    close(client);
    ck_assert(!tcp_owner(fd, &uid)); /* not root's */
    close(fd);
    close(listener);
}
END_TEST

START_TEST(nothing_but_tcp_has_one)
{
    int pair[2];
    uid_t uid;

    ck_assert(!tcp_owner(-1, &uid));
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ck_assert(!tcp_owner(pair[0], &uid));
    close(pair[0]);
    close(pair[1]);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("tcp_owner");
    TCase *tc = tcase_create("tcp_owner");

    tcase_add_loop_test(tc, it_is_the_clients_user, 0,
                        sizeof(families) / sizeof(families[0]));
    tcase_add_test(tc, nothing_but_tcp_has_one);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
