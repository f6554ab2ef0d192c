/*
 * etcd_session.h - the dialogue with one endpoint, as long as it answers:
 * lease, all entries, our own, then the watch.
 *
 * The lease lasts longer than a session: the next one goes on with it.  Our own
 * entry is written when the table has none of ours, and only over the revision
 * that the table had: the earlier entry wins.
 *
 * Belongs to etcd.c's thread.
 */
#ifndef HW_ETCD_SESSION_H
#define HW_ETCD_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "errors.h"
#include "etcd_nodes.h"
#include "etcd_wire.h"
#include "peer_key.h"
#include "reader.h"

struct buffer;
struct error;
struct etcd_http;

/* ---- etcd_http.c ----
 * Questions to etcd over HTTP, and a stream of lines from it.  Blocks, and
 * belongs to one thread; only etcd_http_poke and etcd_http_wake may come from
 * others.  The stream goes on during questions. */

enum {
    ETCD_CONNECT_MS = 2000,  /* to make a connection */
    ETCD_LINES_MAX = 4 << 20 /* bytes of the stream that wait to be read */
};

struct etcd_http_options {
    /* For https, PEM; "" none: the system's authorities, no certificate. */
    const char *cacert, *cert, *key;
};

/* Borrows what options point to.  NULL with *err. */
struct etcd_http *etcd_http_new(const struct etcd_http_options *options,
                                struct error *err);
void etcd_http_free(struct etcd_http *http); /* NULL is fine */

/* Posts body to endpoint's path, with token unless it is "". -1 with *err: not
 * reached, too slow, an HTTP failure, an answer too long, or etcd_http_wake. */
int etcd_http_ask(struct etcd_http *http, const char *endpoint,
                  const char *path, const char *token,
                  const struct buffer *body, struct buffer *answer,
                  unsigned timeout_ms, struct error *err);

/* Posts body in the same way; the answer comes line by line. */
int etcd_http_watch(struct etcd_http *http, const char *endpoint,
                    const char *path, const char *token,
                    const struct buffer *body, struct error *err);
void etcd_http_unwatch(struct etcd_http *http);
/* 1: the next line, borrowed until the next call; 0: none yet; -1 with *err:
 * the stream ended. */
int etcd_http_line(struct etcd_http *http, struct span *line,
                   struct error *err);
/* Returns when something came, when another thread ended the wait, or after
 * that time. */
void etcd_http_wait(struct etcd_http *http, unsigned timeout_ms);

/* Any thread: ends a wait. */
void etcd_http_poke(struct etcd_http *http);
/* Any thread: the running question fails at once, and so does every later one
 * until etcd_http_resume. */
void etcd_http_wake(struct etcd_http *http);
bool etcd_http_is_woken(const struct etcd_http *http);
void etcd_http_resume(struct etcd_http *http);

struct etcd_session {
    struct etcd_http *http;                /* owned */
    const char *cluster, *user, *endpoint; /* borrowed */
    struct keeper *keeper;                 /* borrowed: has the password */
    unsigned ttl_s;
    struct etcd_node self; /* as it should be in etcd */
    struct etcd_nodes nodes;
    struct error conflict; /* about our id; code 0: none */

    /* etcd_session.c's own: */
    uint8_t rival[PEER_INCARNATION]; /* the other node in the conflict */
    struct buffer request, answer;
    char token[ETCD_TOKEN_MAX + 1];
    int64_t lease; /* 0: none */
    int64_t revision;
    uint64_t keepalive_ms; /* when the lease must be renewed */
};

void etcd_session_init(struct etcd_session *session);
void etcd_session_fini(struct etcd_session *session);

/* Logs in, reads all entries and opens the watch; nodes is complete then.  -1
 * with *err; close the session in any case. */
int etcd_session_open(struct etcd_session *session, const char *endpoint,
                      struct error *err);
/* Waits for changes, and keeps the lease.  *changes: how many came. */
int etcd_session_step(struct etcd_session *session, size_t *changes,
                      struct error *err);
/* Writes our own entry if it differs from self. */
int etcd_session_keep_own(struct etcd_session *session, struct error *err);

/* Ends the lease; waits for ETCD_STOP_MS at most. */
void etcd_session_leave(struct etcd_session *session, const char *endpoint);

#endif
