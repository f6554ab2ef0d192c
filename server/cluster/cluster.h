/*
 * cluster.h - this node's peers, and questions to them.
 *
 * Belongs to the loop; what statements call (struct sql_peers) is for any
 * thread.  This node asks itself over its own unix socket, so that every answer
 * is made in one way.
 */
#ifndef HW_CLUSTER_H
#define HW_CLUSTER_H

#include <uv.h>

#include "peer_key.h"
#include "peers.h"

struct cluster;
struct config;
struct error;
struct etcd_nodes;
struct keeper;
struct members;
struct membership;
struct peer_identity;
struct notification_queue;

struct cluster_options {
    struct peer_identity identity;
    struct members *members; /* taken, also on failure */
    const char *socket;      /* this node's; copied */
    unsigned connect_timeout_ms;
    size_t links_max; /* to other nodes, open at once */
};

/* NULL with *err. */
struct cluster *cluster_start(uv_loop_t *loop, struct notification_queue *queue,
                              const struct cluster_options *options,
                              struct error *err);
/* For sql_node; lasts as long as the cluster. */
const struct sql_peers *cluster_peers(struct cluster *cluster);

/* Takes members.  Links to nodes that left or moved close when idle. */
void cluster_set_members(struct cluster *cluster, struct members *members);
/* The fault of this node's membership, which its row shows as its error; code
 * 0: none. */
void cluster_set_trouble(struct cluster *cluster, const struct error *trouble);
/* A new secret: links made from now on use it. */
void cluster_set_identity(struct cluster *cluster,
                          const struct peer_identity *identity);

/* Closes all links; running questions end with ER_SHUTDOWN. The loop must run
 * on until its handles are closed. */
void cluster_stop(struct cluster *cluster);
void cluster_free(struct cluster *cluster); /* after that; NULL is fine */

/* ---- membership.c ----
 * Makes the list of members: from the configuration's [peer] sections, etcd,
 * and this node itself.  Belongs to the loop. */

/* This node is always a member, with or without a [peer] section.  The
 * configuration wins over etcd; for one address the earlier entry wins.
 * *trouble: which node was left out (code 0: none). etcd may be NULL. NULL with
 * *err. */
struct members *membership_make(const struct config *config,
                                const struct etcd_nodes *etcd,
                                struct error *trouble, struct error *err);

/* Follows etcd, where config names one, and gives cluster its members.  Borrows
 * config, keeper and cluster.  NULL with *err. */
struct membership *membership_start(const struct config *config,
                                    const struct peer_identity *identity,
                                    struct keeper *keeper,
                                    struct cluster *cluster,
                                    struct notification_queue *queue,
                                    struct error *err);
/* Takes config's new peers. */
void membership_refresh(struct membership *membership);
/* Before the loop ends; takes at most ETCD_STOP_MS.  NULL is fine. */
void membership_stop(struct membership *membership);

#endif
