/*
 * peer_pool.h - the nodes that can be asked, and the links to them.
 *
 * A call is one question to one node: over a link that is idle, or a fresh
 * one.  All on the loop, except what the lock guards.
 */
#ifndef HW_PEER_POOL_H
#define HW_PEER_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "buffer.h"
#include "peer_link.h"
#include "peers.h"
#include "reader.h"

enum {
    PEER_IDLE_EACH = 4,            /* links that a node's next questions find */
    PEER_IDLE_MS = 10 * 60 * 1000, /* then it is closed */
    /* a link is not closed for a further link to a node that has one, for so
     * long after an answer */
    PEER_FRESH_MS = 1000,
    PEER_CONNECTING_MAX = 128, /* at once, and as many to doubtful nodes: each
                                  proof costs a millisecond of the processor,
                                  and has to end within PEER_LINK_LOGIN */
    PEER_LARGE_MAX =
        8 /* links that may read a packet of more than PEER_WIRE_KEPT, up to
             PEER_CELL_MAX: others' packets wait in their sockets */
};

/* A doubly linked list: the list has `first` and `last`, an item `next` and
 * `previous`; all zeroed, it is empty.  Arguments are evaluated more than once.
 */
#define LINKED_LIST_APPEND(list, item)                                         \
    do {                                                                       \
        (item)->next = NULL;                                                   \
        (item)->previous = (list)->last;                                       \
        *((list)->last ? &(list)->last->next : &(list)->first) = (item);       \
        (list)->last = (item);                                                 \
    } while (0)

#define LINKED_LIST_REMOVE(list, item)                                         \
    do {                                                                       \
        *((item)->previous ? &(item)->previous->next : &(list)->first) =       \
            (item)->next;                                                      \
        *((item)->next ? &(item)->next->previous : &(list)->last) =            \
            (item)->previous;                                                  \
        (item)->next = (item)->previous = NULL;                                \
    } while (0)

struct peer_pool;

struct peer_calls {
    struct peer_call *first, *last;
};

struct peer_links {
    struct peer_link *first, *last;
};

struct peers {
    struct peer *first, *last;
};

/* The lines of nodes whose calls wait for a link. */
enum { PEERS_WAITING, PEERS_DOUBTFUL, PEERS_AT_LINK_LIMIT, PEERS_LINES };

/* A node; the loop's, except `known`. */
struct peer {
    struct peer_pool *pool;
    struct peer_endpoint endpoint;
    struct peer_link *idle[PEER_IDLE_EACH]; /* newest last */
    size_t idle_count, links;               /* links: open, idle or not */
    struct peer_calls calls;                /* that wait for a link */
    struct peer *next, *previous;
    bool in_line;       /* in one of pool->waiting */
    unsigned char line; /* in which */
    unsigned references;
    bool gone;             /* no longer a member, or it has another address */
    bool failing;          /* the last attempt could not reach it */
    struct peer_row known; /* under the pool's lock */
};

struct peer_pool {
    uv_loop_t *loop;
    pthread_mutex_t *lock;
    struct peer_identity identity;
    SSL_CTX *tls; /* of links to endpoints that need it */
    unsigned connect_timeout_ms;
    size_t links_max; /* open, idle or not; other calls wait for one */
    size_t open;
    size_t connecting[2];      /* [1]: to doubtful nodes */
    struct peer_links resting; /* the idle ones, the oldest first */
    size_t large;
    struct peer_links starved; /* wait for permission to read a large packet */
    /* By PEERS_...: wait for a link; failed last time, and stand apart so that
     * they do not delay the others; have links, but no room for more. */
    struct peers waiting[PEERS_LINES];
    bool opening; /* open_more() runs */
};

struct peer_call_events {
    bool (*wants)(void *arg); /* as peer_link_events */
    void (*row)(void *arg, const struct span *cells);
    void (*quiet)(void *arg);
    /* code 0: the node has answered.  The pool has let go of the call. */
    void (*ended)(void *arg, const struct error *error);
};

struct peer_call {
    struct peer *peer;
    struct peer_link *link;
    const struct peer_request *request;
    uint64_t deadline_ms;
    const struct peer_call_events *events;
    void *arg;
    struct peer_call *next, *previous;
    bool waits;    /* for a link */
    bool doubtful; /* the node failed before this connection */
    bool tried;    /* an idle link turned out to be dead */
    bool secured;  /* the node asked for TLS in this call */
};

int peer_pool_init(struct peer_pool *pool, uv_loop_t *loop,
                   pthread_mutex_t *lock, const struct peer_identity *identity,
                   unsigned connect_timeout_ms, size_t links_max,
                   struct error *err);
void peer_pool_fini(struct peer_pool *pool); /* zeroed is fine */
/* Links proven with another secret end when they are idle. */
void peer_pool_set_identity(struct peer_pool *pool,
                            const struct peer_identity *identity);
/* Closes what is idle. */
void peer_pool_stop(struct peer_pool *pool);

/* endpoint is copied; with one reference. */
struct peer *peer_new(struct peer_pool *pool,
                      const struct peer_endpoint *endpoint, enum peer_role role,
                      bool self, struct error *err);
void peer_unref(struct peer *peer); /* NULL is fine */
/* The node is no member any more: its idle links close. */
void peer_leave(struct peer *peer);

/* ---- peer_call.c ---- */

/* Fills in and begins call; ended may come before this returns. */
void peer_call_start(struct peer_call *call, struct peer *peer,
                     const struct peer_request *request, uint64_t deadline_ms,
                     const struct peer_call_events *events, void *arg);
void peer_call_resume(struct peer_call *call);
/* Ends the call without calling `ended`: its connection closes.  late: its time
 * is over. */
void peer_call_cancel(struct peer_call *call, const struct error *late);

/* The texts of failures on the way to a node.  The words are StarRocks',
 * because scripts look for them. */
void peer_failure_timeout(struct error *out, unsigned timeout_ms);
/* The question could not be sent.  why is passed on if it names the node that
 * answered. */
void peer_failure_submit(struct error *out,
                         const struct peer_endpoint *endpoint,
                         const struct error *why);
/* The question was sent, and no valid answer came. */
void peer_failure_rpc(struct error *out, const struct peer_endpoint *endpoint,
                      const struct error *why);

/* Shared by peer_pool.c and peer_call.c. */
struct peer_link *peer_take_idle(struct peer *peer); /* NULL: there is none */
/* May it have another question? */
bool peer_may_keep(const struct peer *peer, const struct peer_link *link);
void peer_keep_idle(struct peer *peer, struct peer_link *link);
void peer_close_link(struct peer *peer, struct peer_link *link);
void peer_drop_idle(struct peer *peer);
/* As in peer_link_events: may it read a large packet? */
bool peer_pool_grows(struct peer_pool *pool, struct peer_link *link);
void peer_pool_shrank(struct peer_pool *pool);
/* The link closes: forgets whether it is large, or waits to be. */
void peer_pool_remove_link(struct peer_pool *pool, struct peer_link *link);
/* May one more be opened, to that node?  Closes an idle one if there are too
 * many. */
bool peer_pool_can_open_link(struct peer_pool *pool, const struct peer *peer);
void peer_note(struct peer *peer, const struct peer_link *link,
               const struct error *error);

/* Collects single rows into blocks.  One serves all links: rows are gathered
 * only while one of them reads. */
struct peer_gather {
    struct buffer cells, bytes;
    size_t rows;
};

void peer_gather_init(struct peer_gather *gather);
void peer_gather_fini(struct peer_gather *gather);
void peer_gather_add(struct peer_gather *gather, const struct span *cells,
                     size_t columns);
/* Is there as much as a block should have? */
bool peer_gather_full(const struct peer_gather *gather);
/* The rows since the last call: -1 without memory, and they are lost; 0 with
 * *block, NULL if there are none. */
int peer_gather_take(struct peer_gather *gather, struct peer_block **block);

#endif
