/*
 * peer_socket.h - sockets to other nodes, which never wait.
 */
#ifndef HW_PEER_SOCKET_H
#define HW_PEER_SOCKET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    PEER_SOCKET_SILENT = 5 /* times a connection's timeout without an
                              acknowledgement or a sign of life from the host */
};

/* The address. */
struct peer_place {
    uint64_t id;
    char address[INET6_ADDRSTRLEN]; /* a name would need a resolver */
    uint16_t port;
    const char *socket; /* borrowed; not NULL: connect here instead */
    bool tls;           /* and only to the certificate that the node proves */
};

/* Begins to connect: the socket can be written to once it has.  0, or errno. */
int peer_socket_connect(const struct peer_place *place, uint64_t timeout_ms,
                        int *fd);
/* Why it has not connected, as errno; 0: it has. */
int peer_socket_fault(int fd);

/* As recv and send; -1 with EAGAIN: not now. */
ssize_t peer_socket_read(int fd, void *out, size_t size);
ssize_t peer_socket_write(int fd, const void *data, size_t size);

#endif
