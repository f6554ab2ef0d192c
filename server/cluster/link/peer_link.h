/*
 * peer_link.h - one connection to a node, which never blocks the loop.
 *
 * A socket under a uv_poll_t, perhaps TLS, and the protocol of peer_wire.h:
 * asked one thing at a time and read row by row.  All on the loop.
 */
#ifndef HW_PEER_LINK_H
#define HW_PEER_LINK_H

#include <netinet/in.h>
#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "buffer.h"
#include "errors.h"
#include "peer_key.h"
#include "peer_wire.h"
#include "peers.h"

struct tls_stream;

/* ---- peer_socket.c ----
 * Sockets to other nodes, which never wait. */

enum {
    /* times a connection's timeout without an acknowledgement or a keep-alive
     * from the host */
    PEER_SOCKET_SILENT = 5,
    /* the same for an idle one, as there may be ten thousand: whether it is
     * alive is found out when it is asked */
    PEER_SOCKET_REST_S = 60
};

/* The address. */
struct peer_endpoint {
    uint64_t id;
    char address[INET6_ADDRSTRLEN]; /* a name would need a resolver */
    uint16_t port;
    const char *socket; /* borrowed; not NULL: connect here instead */
    /* use TLS, and accept only the certificate that the node proves */
    bool tls;
};

/* Begins to connect: the socket can be written to once it has.  0, or errno. */
int peer_socket_connect(const struct peer_endpoint *endpoint,
                        uint64_t timeout_ms, int *fd);
/* Why it has not connected, as errno; 0: it has. */
int peer_socket_fault(int fd);

/* Sets how soon a host that says nothing is asked for a keep-alive. */
void peer_socket_set_keepalive(int fd, uint64_t timeout_ms, bool rests);

/* As recv and send; -1 with EAGAIN: not now. */
ssize_t peer_socket_read(int fd, void *out, size_t size);
ssize_t peer_socket_write(int fd, const void *data, size_t size);

enum {
    PEER_LINK_LOGIN = 2, /* times the connection's timeout, for both proofs,
                            which cost both ends processor time */
    PEER_LINK_READ = 16 << 10, /* bytes read at once, a record of TLS */
    PEER_LINK_RUN =
        256 << 10, /* bytes read at a stretch; then it is other links' turn */
    PEER_LINK_ROW =
        64, /* bytes that each row counts in addition, for its call */
    /* A node that works on a statement reports progress twice a second: one
     * that says nothing for so long does not work.  Longer than the kernel
     * takes to find that the host is gone (PEER_SOCKET_SILENT): that is tried
     * again. */
    PEER_LINK_SILENT_MS = 10 * 1000,
    PEER_LINK_ITERATION_MS =
        5, /* of an iteration of the loop; once it takes longer, */
    PEER_LINK_LITTLE = 2 << 10 /* each link has so many bytes at a stretch */
};

enum peer_link_state {
    PEER_LINK_CONNECTING,
    PEER_LINK_READY, /* idle; broken is called if the other end hangs up */
    PEER_LINK_ASKING /* the statement goes out, columns and rows come in */
};

struct peer_link;

/* The owner's callbacks.  Each may close the link; none is called after that.
 */
struct peer_link_events {
    void (*connected)(struct peer_link *link);
    /* False: read no further, until peer_link_resume. */
    bool (*wants)(struct peer_link *link);
    void (*row)(struct peer_link *link, const struct span *cells);
    void (*quiet)(struct peer_link *link); /* no more rows for now */
    /* A packet of more than PEER_WIRE_KEPT comes in.  False: it is read once
     * peer_link_admit says so. */
    bool (*grows)(struct peer_link *link);
    /* That packet is over. */
    void (*shrank)(struct peer_link *link);
    /* code 0: all rows came; else what the node said.  Ready again, or broken
     * right after. */
    void (*answered)(struct peer_link *link, const struct error *error);
    /* why: for the text of a failure, with the code of what the node said.  The
     * link must be closed. */
    void (*broken)(struct peer_link *link, const struct error *why);
};

struct peer_link {
    struct peer_wire wire;
    struct peer_identity identity;
    struct peer_endpoint endpoint;
    const struct peer_link_events *events;
    void *arg; /* the owner's */
    uv_poll_t poll;
    uv_timer_t timer;
    struct peer_link *next, *previous; /* the owner's */
    SSL_CTX *context;                  /* borrowed while it connects */
    struct tls_stream *tls;
    struct buffer writing; /* what the socket takes next */
    size_t written;        /* bytes of it that it took */
    enum peer_link_state state;
    int fd, watching;  /* events of poll; 0: none */
    bool established;  /* connected, and must prove itself next */
    bool poll_open;    /* poll has fd */
    bool driving;      /* drive_peer_link() runs: nothing is freed */
    bool broken;       /* `broken` was called: the owner must close it */
    bool due;          /* the timer continues */
    bool paused;       /* the owner wants no more for now */
    bool reused;       /* it has answered before */
    bool answer_began; /* a byte of this answer came */
    bool large;        /* it may read a large packet */
    bool starved;      /* it waits for permission to */
    unsigned handles;  /* libuv has still so many */
    size_t run;
    uint64_t timeout_ms; /* of the connection, for its text */
    uint64_t asked_ns, answered_ns;
};

/* What all links of this node have in common. */
struct peer_link_settings {
    uv_loop_t *loop;
    const struct peer_identity *identity; /* copied by each link */
    SSL_CTX *tls;                         /* for endpoints with TLS, or NULL */
    uint64_t timeout_ms;                  /* for connecting and logging in */
};

/* Copies endpoint.  NULL with *err: no memory.  Other failures come through
 * broken, in a later iteration of the loop. */
struct peer_link *peer_link_open(const struct peer_link_settings *settings,
                                 const struct peer_endpoint *endpoint,
                                 const struct peer_link_events *events,
                                 void *arg, struct error *err);
void peer_link_own(struct peer_link *link,
                   const struct peer_link_events *events, void *arg);

/* READY only.  Seals request and sends it; -1 with *err, and the link must be
 * closed.  Its events come in a later iteration of the loop. */
int peer_link_ask(struct peer_link *link, const struct peer_request *request,
                  unsigned timeout_ms, struct error *err);
/* READY only: `broken` is called after that time. */
void peer_link_rest(struct peer_link *link, uint64_t timeout_ms);
void peer_link_resume(struct peer_link *link);
/* Admits the packet that `grows` refused. */
void peer_link_admit(struct peer_link *link);

/* May it be asked again? */
bool peer_link_reusable(const struct peer_link *link);
/* Microseconds from the statement to the first byte; 0: none came. */
uint64_t peer_link_round_trip_us(const struct peer_link *link);

/* Closes at once, even in the middle of an answer, and without waiting; frees
 * itself later. */
void peer_link_close(struct peer_link *link); /* NULL is fine */

#endif
