/*
 * peer_link.h - one connection to a node, which never blocks the loop.
 *
 * One MYSQL of libmysqlclient, driven by a uv_poll_t, asked one thing at a time
 * and read row by row.  All on the loop.  Checks whatever the other end sends
 * before it is passed on: how many columns, how long.
 */
#ifndef HW_PEER_LINK_H
#define HW_PEER_LINK_H

#include <mysql.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>
#include <uv.h>

#include "buffer.h"
#include "errors.h"
#include "peer_client.h"
#include "peer_identity.h"
#include "peers.h"

enum {
    PEER_LINK_STACK = 64 << 10, /* of the library's calls, which do TLS
                                   handshakes and check proofs */
    PEER_LINK_LOGIN = 2,  /* times the connection's timeout, for both proofs,
                             which cost both ends processor time */
    PEER_LINK_SILENT = 5, /* times that timeout without an acknowledgement or a
                             sign of life from the host */
    PEER_LINK_HELLO =
        64 << 10, /* bytes of a packet before the node has proven itself */
    PEER_LINK_HEADER = 1 << 20,  /* of all that comes before a row */
    PEER_LINK_KEPT = 256 << 10,  /* of a packet's buffer, between packets */
    PEER_LINK_RESTING = 4 << 10, /* and between statements */
    PEER_LINK_RUN =
        256 << 10, /* bytes read at a stretch, before other links' turn */
    PEER_LINK_ROW =
        64 /* bytes that each row counts in addition, for its call */
};

enum peer_link_state {
    PEER_LINK_CONNECTING,
    PEER_LINK_READY,  /* idle; broken is called if the other end hangs up */
    PEER_LINK_ASKING, /* the statement goes out, columns come in */
    PEER_LINK_READING /* rows come in */
};

struct peer_link;

/* The address. */
struct peer_place {
    uint64_t id;
    char address[INET6_ADDRSTRLEN];
    uint16_t port;
    const char *socket; /* borrowed; not NULL: connect here instead */
    bool tls;           /* and only to the certificate that the node proves */
};

/* The owner's callbacks.  Each may close the link; none is called after that.
 */
struct peer_link_events {
    void (*connected)(struct peer_link *link);
    /* False: read no further, until peer_link_resume. */
    bool (*wants)(struct peer_link *link);
    void (*row)(struct peer_link *link, const struct span *cells);
    void (*quiet)(struct peer_link *link); /* no more rows for now */
    /* A packet of more than PEER_LINK_KEPT comes in.  False: it is read once
     * peer_link_admit says so. */
    bool (*grows)(struct peer_link *link);
    /* That packet is over. */
    void (*shrank)(struct peer_link *link);
    /* code 0: all rows came; else what the node said.  Ready again, or broken
     * right after. */
    void (*answered)(struct peer_link *link, const struct error *error);
    /* why: for the text of a failure.  The link must be closed. */
    void (*broken)(struct peer_link *link, const struct error *why);
};

struct peer_link {
    MYSQL mysql;
    struct peer_identity identity;
    struct peer_client client;
    struct peer_place place;
    const struct peer_link_events *events;
    void *arg; /* the owner's */
    uv_poll_t poll;
    uv_timer_t timer;
    struct peer_link *next, *previous; /* the owner's */
    struct buffer text;                /* of the statement under way */
    enum peer_link_state state;
    int fd, watching; /* events of poll; 0: none */
    bool established; /* connected, and must prove itself next */
    bool logs_in;     /* and has time for that */
    bool made_mysql;  /* mysql is initialised */
    bool poll_open;   /* poll has fd */
    bool pending;     /* the library waits in the middle of a call */
    bool driving;     /* its frames are below us: nothing is freed */
    bool broken;      /* broken was called: close it */
    bool due;         /* the timer continues the call */
    bool reused;      /* it has answered before */
    bool heard;       /* a byte of this answer came */
    bool large;       /* it may read a large packet */
    bool starved;     /* it waits for that */
    unsigned handles; /* that libuv still has */
    MYSQL *made;      /* results of the calls */
    int refused;
    MYSQL_ROW row;
    MYSQL_RES *result;
    size_t columns, run;
    uint64_t timeout_ms;          /* of the connection, for its text */
    uint64_t bytes, bytes_before; /* read; and at the time of the question */
    int system_error;             /* why it does not connect; 0: otherwise */
    /* peer_socket.c's */
    char *stack;
    void (*function)(struct peer_link *link);
    ucontext_t inner, outer;
    int waits;      /* which event the stack waits for */
    bool inside;    /* the processor is on that stack */
    bool abandoned; /* waits fail at once */
    uint64_t asked_ns, heard_ns;
};

/* Copies identity and place.  NULL with *err: no memory.  Other failures come
 * through broken, on a later turn of the loop. */
struct peer_link *peer_link_open(uv_loop_t *loop,
                                 const struct peer_place *place,
                                 const struct peer_identity *identity,
                                 uint64_t timeout_ms,
                                 const struct peer_link_events *events,
                                 void *arg, struct error *err);
void peer_link_own(struct peer_link *link,
                   const struct peer_link_events *events, void *arg);

/* READY only.  Seals request and sends it; -1 with *err, and the link must be
 * closed.  Its events come on a later turn of the loop. */
int peer_link_ask(struct peer_link *link, const struct peer_request *request,
                  unsigned timeout_ms, struct error *err);
/* READY only: broken is called after that time. */
void peer_link_rest(struct peer_link *link, uint64_t timeout_ms);
void peer_link_resume(struct peer_link *link);
/* Admits the packet that grows refused. */
void peer_link_admit(struct peer_link *link);

/* May it be asked again? */
bool peer_link_reusable(const struct peer_link *link);
/* Microseconds from the statement to the first byte; 0: none came. */
uint64_t peer_link_round_trip_us(const struct peer_link *link);

/* Closes at once, even during a call, and without waiting; frees itself later.
 */
void peer_link_close(struct peer_link *link); /* NULL is fine */

/* ---- peer_link_mysql.c: options for the library, and its errors ---- */

int peer_link_prepare(struct peer_link *link, struct error *err);
/* Why it could not connect, or lost the connection. */
void peer_link_reason(struct peer_link *link, struct error *out);
/* True, with *out: the node refused the statement. */
bool peer_link_said(struct peer_link *link, struct error *out);
/* Shrinks the packet buffer to kept bytes, between packets; drops the last
 * packet. */
void peer_link_trim(struct peer_link *link, size_t kept);
/* Ends a call that is under way, and the connection. */
void peer_link_abandon(struct peer_link *link);

/* Notes the first byte of an answer; later calls do nothing. */
void peer_link_note_byte(struct peer_link *link);

/* ---- peer_socket.c: its sockets, and the stack that its calls have ---- */

/* Once, before there are other threads. */
int peer_socket_prepare(struct error *err);
/* After connecting, with TLS: bounds what it reads in a turn, and keeps little
 * memory while idle. */
void peer_socket_connected(struct peer_link *link);
/* Is the certificate shown the one that the node has proven? */
bool peer_socket_is_proven(const struct peer_link *link);

int peer_stack_init(struct peer_link *link, struct error *err);
void peer_stack_fini(struct peer_link *link);
/* Frees unused pages of the stack; no call may be under way. */
void peer_stack_trim(struct peer_link *link);
/* Runs function.  What it waits for, MYSQL_WAIT_...; 0: it has returned. */
int peer_stack_call(struct peer_link *link,
                    void (*function)(struct peer_link *link));
int peer_stack_go_on(struct peer_link *link);

#endif
