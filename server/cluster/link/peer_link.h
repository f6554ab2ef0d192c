/*
 * peer_link.h - one connection to a node, which never blocks the loop.
 *
 * One MYSQL of libmysqlclient, driven by a uv_poll_t, asked one thing at a time
 * and read row by row.  All on the loop.  Whatever the other end sends is
 * looked at here before anybody else sees it: how many columns, how long.
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
    PEER_LINK_STACK = 64 << 10, /* of the library's calls, which shake hands by
                                   TLS and prove keys there */
    PEER_LINK_LOGIN = 2,  /* times the connection's timeout, to prove who it is,
                             which takes both ends a processor */
    PEER_LINK_SILENT = 5, /* times that, for its host to acknowledge what was
                             sent, or that it is still there */
    PEER_LINK_HELLO = 64 << 10,  /* bytes of a packet before it has proven who
                                    it is */
    PEER_LINK_HEADER = 1 << 20,  /* of all that comes before a row */
    PEER_LINK_KEPT = 256 << 10,  /* of a packet's buffer, between packets */
    PEER_LINK_RESTING = 4 << 10, /* and between statements */
    PEER_LINK_RUN = 256 << 10, /* read on end, before others have their turn */
    PEER_LINK_ROW = 64 /* bytes more that a row counts there: a call each */
};

enum peer_link_state {
    PEER_LINK_CONNECTING,
    PEER_LINK_READY,  /* may be asked; told if the other end hangs up */
    PEER_LINK_ASKING, /* the statement goes out, columns come in */
    PEER_LINK_READING /* rows come in */
};

struct peer_link;

/* Where it leads. */
struct peer_place {
    uint64_t id;
    char address[INET6_ADDRSTRLEN];
    uint16_t port;
    const char *socket; /* borrowed; not NULL: by this one instead */
    bool tls; /* and nobody but who shows the certificate that it proves */
};

/* What happens on it.  Each may close the link; none is called after that. */
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
    /* why: for the text of a failure.  Of no use any more. */
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
    bool established; /* it has connected, and is to say who it is */
    bool logs_in;     /* for which it has its time */
    bool made_mysql;  /* mysql is one */
    bool poll_open;   /* poll has fd */
    bool pending;     /* the library waits in the middle of a call */
    bool driving;     /* its frames are below us: nothing is freed */
    bool broken;      /* told so: to be closed */
    bool due;         /* the timer goes on with the call */
    bool reused;      /* it had answered before */
    bool heard;       /* a byte of this answer came */
    bool large;       /* it was admitted to a large packet */
    bool starved;     /* it waits to be */
    unsigned handles; /* that libuv still has */
    MYSQL *made;      /* results of the calls */
    int refused;
    MYSQL_ROW row;
    MYSQL_RES *result;
    size_t columns, run;
    uint64_t timeout_ms;          /* of the connection, for its text */
    uint64_t bytes, bytes_before; /* read; and when it was asked */
    int system_error;             /* why it does not connect; 0: otherwise */
    /* peer_socket.c's */
    char *stack;
    void (*function)(struct peer_link *link);
    ucontext_t inner, outer;
    int waits;      /* for what the stack was left */
    bool inside;    /* we are on it */
    bool abandoned; /* nothing is waited for any more */
    uint64_t asked_ns, heard_ns;
};

/* identity and place are copied.  NULL with *err: no memory.  What else goes
 * wrong is told by broken, on a later turn of the loop. */
struct peer_link *peer_link_open(uv_loop_t *loop,
                                 const struct peer_place *place,
                                 const struct peer_identity *identity,
                                 uint64_t timeout_ms,
                                 const struct peer_link_events *events,
                                 void *arg, struct error *err);
void peer_link_own(struct peer_link *link,
                   const struct peer_link_events *events, void *arg);

/* READY only.  Seals request and sends it; -1 with *err, and the link is of no
 * use any more.  Its events come on a later turn of the loop. */
int peer_link_ask(struct peer_link *link, const struct peer_request *request,
                  unsigned timeout_ms, struct error *err);
/* READY only: broken is told after so long. */
void peer_link_rest(struct peer_link *link, uint64_t timeout_ms);
void peer_link_resume(struct peer_link *link);
/* What grows refused before. */
void peer_link_admit(struct peer_link *link);

/* May it be asked again? */
bool peer_link_reusable(const struct peer_link *link);
/* Microseconds from the statement to the first byte; 0: none came. */
uint64_t peer_link_round_trip_us(const struct peer_link *link);

/* Closes at once, whatever was under way, and without waiting for anybody;
 * frees itself later. */
void peer_link_close(struct peer_link *link); /* NULL is fine */

/* ---- peer_link_mysql.c: what the library is told, and what it said ---- */

int peer_link_prepare(struct peer_link *link, struct error *err);
/* Why it could not connect, or lost the connection. */
void peer_link_reason(struct peer_link *link, struct error *out);
/* True, with *out: the node's own refusal of a statement. */
bool peer_link_said(struct peer_link *link, struct error *out);
/* Between two packets, of which nobody needs the first any more: its buffer is
 * of no more than kept again. */
void peer_link_trim(struct peer_link *link, size_t kept);
/* Ends a call that is under way, and the connection. */
void peer_link_abandon(struct peer_link *link);

/* Of an answer; the first one counts. */
void peer_link_note_byte(struct peer_link *link);

/* ---- peer_socket.c: its sockets, and the stack that its calls have ---- */

/* Once, before there are other threads. */
int peer_socket_prepare(struct error *err);
/* Of one that has connected, by TLS: what it reads in a turn has its end, and
 * it keeps little while it is idle. */
void peer_socket_connected(struct peer_link *link);
/* Is the certificate that was shown on it the one that the node has proven? */
bool peer_socket_is_proven(const struct peer_link *link);

int peer_stack_init(struct peer_link *link, struct error *err);
void peer_stack_fini(struct peer_link *link);
/* No call is under way, and the next ones take less of it. */
void peer_stack_trim(struct peer_link *link);
/* What function waits for, MYSQL_WAIT_...; 0: it has returned. */
int peer_stack_call(struct peer_link *link,
                    void (*function)(struct peer_link *link));
int peer_stack_go_on(struct peer_link *link);

#endif
