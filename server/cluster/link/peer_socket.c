/*
 * peer_socket.c - see peer_link.h.  Numeric addresses alone: a resolver would
 * block the loop.
 */
#include "peer_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Fills in the address; 0: it is none. */
static socklen_t
address_of(const struct peer_endpoint *endpoint, struct sockaddr_storage *out)
{
    struct sockaddr_in *four = (struct sockaddr_in *)out;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
    struct sockaddr_un *local = (struct sockaddr_un *)out;

    memset(out, 0, sizeof(*out));
    if (endpoint->socket) {
        local->sun_family = AF_UNIX;
        if (strlen(endpoint->socket) >= sizeof(local->sun_path))
            return 0;
        memcpy(local->sun_path, endpoint->socket, strlen(endpoint->socket) + 1);
        return sizeof(*local);
    }
    if (inet_pton(AF_INET, endpoint->address, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(endpoint->port);
        return sizeof(*four);
    }
    if (inet_pton(AF_INET6, endpoint->address, &six->sin6_addr) != 1)
        return 0;
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(endpoint->port);
    return sizeof(*six);
}

void
peer_socket_set_keepalive(int fd, uint64_t timeout_ms, bool rests)
{
    int idle_s = rests ? PEER_SOCKET_REST_S
                       : (int)(PEER_SOCKET_SILENT * timeout_ms / 1000);

    if (idle_s < 1)
        idle_s = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
}

/* Without keep-alives a link to a vanished host would look alive for ever.
 * TCP_USER_TIMEOUT is the same for bytes that nobody acknowledges. */
static void
enable_tcp_keepalive(int fd, uint64_t timeout_ms)
{
    unsigned silent_ms = (unsigned)(PEER_SOCKET_SILENT * timeout_ms);
    int on = 1, interval_s = (int)(timeout_ms / 1000);

    if (interval_s < 1)
        interval_s = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    peer_socket_set_keepalive(fd, timeout_ms, false);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s,
                     sizeof(interval_s));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent_ms,
                     sizeof(silent_ms));
}

int
peer_socket_connect(const struct peer_endpoint *endpoint, uint64_t timeout_ms,
                    int *fd)
{
    struct sockaddr_storage address;
    socklen_t size = address_of(endpoint, &address);

    if (size == 0)
        return EINVAL;
    *fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                 0);
    if (*fd < 0)
        return errno;
    if (!endpoint->socket)
        enable_tcp_keepalive(*fd, timeout_ms);
    return connect(*fd, (struct sockaddr *)&address, size) == 0 ||
                   errno == EINPROGRESS
               ? 0
               : errno;
}

int
peer_socket_fault(int fd)
{
    int why = 0;
    socklen_t size = sizeof(why);

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size) == 0 ? why : errno;
}

ssize_t
peer_socket_read(int fd, void *out, size_t size)
{
    ssize_t got;

    do
        got = recv(fd, out, size, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    return got;
}

ssize_t
peer_socket_write(int fd, const void *data, size_t size)
{
    ssize_t put;

    do
        put = send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (put < 0 && errno == EINTR);
    return put;
}
