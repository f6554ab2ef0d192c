/*
 * server.h - what all sessions of a heapwired share.
 *
 * With the loop's lock, except where registry.h and notifications.h say
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
#include "buffer.h"
#include "loop.h"
#include "peer_key.h"
#include "registry.h"
#include "sql.h"
#include "trim.h"
#include "scheduler.h"
#include "notifications.h"

struct config;
struct conversation;
struct error;
struct keeper;
struct session;
struct users;

enum {
    SERVER_LOCAL_RESERVE = 16, /* of all, for the unix socket alone; and of
                                  HTTP's, for connections without a request
                                  at work */
    SERVER_DESCRIPTORS = 64,   /* kept for everything but sessions */
    SERVER_PEERS_MAX = 256,    /* sessions of other nodes, besides all */
    SERVER_WEB_MAX = 160,      /* connections of HTTP, besides all */
    SERVER_SPARES = 16, /* sessions that log in when there is no room for users:
                           they may be nodes */
    SERVER_LOGINS_MAX = 256, /* not yet logged in, of either transport */
    SERVER_INPUT = 64 * 1024,
    SERVER_TICK_MS = 250,     /* timers of logins and statements */
    SERVER_RESTING_MS = 1000, /* while there is no login and no statement */
    SERVER_STOP_MS = 3000     /* for sessions' last bytes */
};

enum transport { TRANSPORT_LOCAL, TRANSPORT_TCP, TRANSPORTS };

/* Sessions not yet logged in, the one that came first in front. */
struct server_logins {
    struct session *first, *last;
    size_t count;
};

/* An answer of HTTP's that requests of the same moment share. */
struct server_answer {
    struct buffer body;
    uint64_t asked_ms; /* when its content was asked for; 0: there is none */
    uint64_t last_ms;  /* when content was last asked for */
};

struct server {
    uv_loop_t *main; /* of links to nodes, signals, listeners; main's alone */
    struct notification_queue notifications; /* of main */
    uv_async_t ended; /* all sessions are gone, and main ends */
    struct loop loop; /* of the sessions */
    struct scheduler scheduler;
    atomic_bool killed; /* a session was killed: look for it */
    struct registry registry;
    struct sql_node node;
    /* Guards users and settings for readers without the loop's lock; who
     * replaces them has both, and who has the loop's needs no other. */
    pthread_mutex_t lock;
    struct users *users; /* owned; replaced by a reload */
    char *settings;      /* owned; key=value lines, as --check prints them */
    /* counts reloads; what was proven before the last one counts no more */
    unsigned loads;
    char own_name[SQL_NAME_MAX +
                  1];      /* the name of heapwired's user; "": unknown */
    struct keeper *keeper; /* borrowed: checks passwords */
    uint32_t statement_timeout_s, login_failures;
    struct backoff backoff;
    struct trim trim;
    SSL_CTX *tls; /* owned; always there */
    struct peer_identity identity;
    bool has_identity;
    unsigned generation; /* counts identities with a new key */
    struct session *sessions;
    int reserve; /* a descriptor to refuse clients with; -1: none */
    size_t count, max;
    size_t peers, peers_max; /* those of other nodes */
    size_t web, web_max;     /* those of HTTP */
    /* those that prove to be another node's, or are closed */
    size_t spares;
    size_t running;                             /* those in SESSION_RUNNING */
    struct server_logins logins[2][TRANSPORTS]; /* [1]: HTTP's */
    struct loop_task logins_more;               /* continues logins over TCP */
    /* logins over TCP wait for logins_more */
    bool logins_wait;
    struct server_answer metrics[2][2]; /* OpenMetrics' or not; packed or not */
    bool http_requires_tls; /* of TCP; see config_http_requires_tls */
    bool http_get_changes;  /* the setting */
    bool stopping, stopped;
    uint64_t stop_deadline_ms;
    char input[SERVER_INPUT];
};

/* Fills in node's host; the caller fills in the rest. */
int server_init(struct server *server, uv_loop_t *main,
                const struct sql_node *node, uint32_t max_connections,
                struct error *err);
/* Descriptors that are left for links to other nodes: what neither clients nor
 * the rest may need, and a quarter of all at least. */
size_t server_spare_descriptors(const struct server *server);
/* Finds the name of heapwired's own user.  Asks the system, which may take
 * time: at the start, and after heapwired changed its user. */
void server_learn_name(struct server *server);
/* Takes users; frees the former ones. */
void server_set_users(struct server *server, struct users *users);
/* Ends sessions of users that are gone or have other privileges now; returns
 * how many. */
size_t server_end_stale_sessions(struct server *server);
/* Closes all sessions of HTTP over TCP. */
void server_end_web(struct server *server);
/* This node's identity; copied.  A new key ends the sessions that proved the
 * old one. */
void server_set_identity(struct server *server,
                         const struct peer_identity *identity);
/* Takes context; existing sessions keep theirs. */
void server_set_tls(struct server *server, SSL_CTX *context);

/* The settings that a reload changes, and the list that is shown. */
void server_set_settings(struct server *server, const struct config *config);

/* May one more come in?  When full, evicts the oldest unfinished login; of
 * HTTP, a connection without a statement. */
bool server_admit_connection(struct server *server, enum transport transport,
                             const struct conversation *conversation);
/* The session has proven to be a node's and counts as one.  When full, evicts
 * the one that has been idle longest; -1 with *err: none is idle. */
int server_note_peer(struct server *server, struct session *session,
                     struct error *err);
/* May HTTP's session run a statement?  Users share slots for that as
 * user_quota.h says; -1 with *err. */
int server_check_http_quota(const struct server *server,
                            const struct session *session, struct error *err);
/* Says farewell to every session; main's loop ends when all are gone. */
void server_stop(struct server *server);
/* After main's loop has ended: ends the threads, without the lock. */
void server_fini(struct server *server);

#endif
