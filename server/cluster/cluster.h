/*
 * cluster.h - this node among its peers: who they are, and asking them.
 *
 * Belongs to the loop; what statements call (struct sql_peers) is for any
 * thread.  Asks over libmysqlclient, without blocking; this node itself is
 * asked over its own unix socket, so that no answer is made in two ways.
 */
#ifndef HW_CLUSTER_H
#define HW_CLUSTER_H

#include <uv.h>

#include "peer_identity.h"
#include "peers.h"

struct cluster;
struct error;
struct members;
struct wakes;

struct cluster_options {
    struct peer_identity identity;
    struct members *members; /* taken, also on failure */
    const char *socket;      /* this node's; copied */
    unsigned connect_timeout_ms;
};

/* Once, before there are other threads. */
int cluster_prepare(struct error *err);

/* NULL with *err. */
struct cluster *cluster_start(uv_loop_t *loop, struct wakes *wakes,
                              const struct cluster_options *options,
                              struct error *err);
/* What it lends to sql_node; lasts as long as the cluster. */
const struct sql_peers *cluster_peers(struct cluster *cluster);

/* Takes members.  Links to those who left, or moved, close when idle. */
void cluster_set_members(struct cluster *cluster, struct members *members);
/* What is wrong with this node's membership, which its row then shows as its
 * error; code 0: nothing. */
void cluster_set_trouble(struct cluster *cluster, const struct error *trouble);
/* A new secret: links made from now on use it. */
void cluster_set_identity(struct cluster *cluster,
                          const struct peer_identity *identity);

/* Closes all links; what is asked ends with ER_SHUTDOWN.  The loop must run on
 * until its handles are closed. */
void cluster_stop(struct cluster *cluster);
void cluster_free(struct cluster *cluster); /* after that; NULL is fine */

#endif
