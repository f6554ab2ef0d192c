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

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "errors.h"
#include "etcd_nodes.h"
#include "etcd_wire.h"
#include "peer_key.h"

struct etcd_http;

struct etcd_session {
    struct etcd_http *http;                /* owned */
    const char *cluster, *user, *endpoint; /* borrowed */
    struct keeper *keeper;                 /* likewise: has the password */
    unsigned ttl_s;
    struct etcd_node self; /* as it is to be */
    struct etcd_nodes nodes;
    struct error conflict; /* about our id; code 0: none */

    /* Its own. */
    uint8_t rival[PEER_INCARNATION]; /* the other node in the conflict */
    struct buffer request, answer;
    char token[ETCD_TOKEN_MAX + 1];
    int64_t lease; /* 0: none */
    int64_t revision;
    uint64_t keepalive_ms; /* when it is due */
};

void etcd_session_init(struct etcd_session *session);
void etcd_session_fini(struct etcd_session *session);

/* Up to the watch: nodes is complete then.  -1 with *err; close the session in
 * any case. */
int etcd_session_open(struct etcd_session *session, const char *endpoint,
                      struct error *err);
/* Waits for changes, and keeps the lease.  *changes: how many came. */
int etcd_session_step(struct etcd_session *session, size_t *changes,
                      struct error *err);
/* Writes our own entry if it differs from self. */
int etcd_session_keep_own(struct etcd_session *session, struct error *err);
void etcd_session_close(struct etcd_session *session);

/* Ends the lease; waits for ETCD_STOP_MS at most. */
void etcd_session_leave(struct etcd_session *session, const char *endpoint);

#endif
