/*
 * server.h - what all sessions of a heapwired share.
 *
 * Belongs to the loop's thread, except where registry.h and wakes.h say
 * otherwise.
 */
#ifndef HW_SERVER_H
#define HW_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <openssl/types.h>
#include <uv.h>

#include "backoff.h"
#include "peer_identity.h"
#include "registry.h"
#include "sql.h"
#include "trim.h"
#include "wakes.h"
#include "watchdog.h"
#include "workers.h"

struct config;
struct conversation;
struct error;
struct keeper;
struct session;
struct users;

enum {
    SERVER_LOCAL_RESERVE = 16, /* of all, for the unix socket alone */
    SERVER_DESCRIPTORS = 64,   /* kept for everything but sessions */
    SERVER_PEERS_MAX = 256,    /* sessions of other nodes, besides all */
    SERVER_SPARES = 16,        /* that log in where there is room for no user:
                                  they may be nodes */
    SERVER_LOGINS_MAX = 256,   /* not yet logged in, of either transport */
    SERVER_INPUT = 64 * 1024,
    SERVER_HELD_MAX = 256 * 1024 * 1024, /* bytes of unfinished packets */
    SERVER_OWED_MAX = 256 * 1024 * 1024, /* bytes of replies, as for large ones:
                                            small ones always fit */
    SERVER_TICK_MS = 250,
    SERVER_RESTING_MS = 1000, /* where nobody logs in and nothing runs */
    SERVER_STOP_MS = 3000     /* what sessions get to say farewell */
};

enum transport { TRANSPORT_LOCAL, TRANSPORT_TCP, TRANSPORTS };

/* Sessions not yet logged in, the one that came first in front. */
struct server_logins {
    struct session *first, *last;
    size_t count;
};

struct server {
    uv_loop_t *loop;
    const struct conversation *conversation; /* session.h */
    struct wakes wakes;
    struct wake killed; /* somebody was: look for whom */
    struct registry registry;
    struct sql_node node;
    /* Guards users and settings where other threads read them; the loop alone
     * replaces them, and reads them without it. */
    pthread_mutex_t lock;
    struct users *users; /* owned; replaced by a reload */
    char *settings;      /* likewise: key=value lines, as --check prints */
    char own_name[SQL_NAME_MAX + 1]; /* of heapwired's user; "" unknown */
    struct keeper *keeper;           /* borrowed: checks passwords */
    uint32_t statement_timeout_s, login_failures;
    struct backoff backoff;
    struct workers workers;
    struct trim trim;
    SSL_CTX *tls; /* owned; always there */
    struct peer_identity identity;
    bool has_identity;
    unsigned generation; /* counts its keys */
    struct session *sessions;
    size_t count, max;
    size_t peers, peers_max; /* of them other nodes' */
    size_t spares;           /* and that must be other nodes', or go */
    size_t running;          /* of them in SESSION_RUNNING */
    size_t held;             /* bytes that all sessions have sent ahead */
    size_t owed;             /* bytes that they have not read yet */
    size_t prepared;         /* and that their prepared statements take */
    struct server_logins logins[TRANSPORTS];
    struct wake logins_more; /* those by TCP are read on */
    bool logins_wait;        /* until then they are not */
    struct watchdog watchdog;
    uv_timer_t tick;  /* runs only while there are sessions */
    uint64_t pace_ms; /* of it; 0: it does not run */
    bool stopping, stopped;
    uint64_t stop_deadline_ms;
    /* One for all: libuv fills it and hands it over before the next read. */
    char input[SERVER_INPUT];
};

/* node's host is filled in here; the rest is the caller's. */
int server_init(struct server *server, uv_loop_t *loop,
                const struct sql_node *node,
                const struct conversation *conversation,
                uint32_t max_connections, struct error *err);
/* Whose name heapwired's own user may log in by.  Asks the system, which may
 * take its time: at the start, and when heapwired became somebody else. */
void server_learn_name(struct server *server);
/* Takes users; those of before are freed. */
void server_set_users(struct server *server, struct users *users);
/* Ends the sessions of those who are gone or may do something else now, and
 * tells how many. */
size_t server_end_strangers(struct server *server);
/* Who this node is to others; copied.  Another key than before ends the
 * sessions of those who proved the old one. */
void server_set_identity(struct server *server,
                         const struct peer_identity *identity);
/* Takes context; sessions keep the one they began with. */
void server_set_tls(struct server *server, SSL_CTX *context);

/* The settings that may change while it runs, and those that are shown. */
void server_set_settings(struct server *server, const struct config *config);

/* May one more come in?  Where there is no room, whoever has been longest
 * about logging in has to go. */
bool server_make_room(struct server *server, enum transport transport);
/* It has proven that it is another node's, and counts as one.  Where there is
 * no room, the one that has rested longest has to go; -1 with *err: none
 * rests. */
int server_note_peer(struct server *server, struct session *session,
                     struct error *err);
/* Says farewell to every session; the loop ends when all are gone. */
void server_stop(struct server *server);
void server_fini(struct server *server); /* after the loop has ended */

#endif
