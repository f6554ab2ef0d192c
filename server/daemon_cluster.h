/*
 * daemon_cluster.h - the cluster as a part of heapwired.
 *
 * Belongs to the loop.
 */
#ifndef HW_DAEMON_CLUSTER_H
#define HW_DAEMON_CLUSTER_H

struct cluster;
struct config;
struct error;
struct membership;
struct server;

struct daemon_cluster {
    struct config *config; /* borrowed, as server */
    struct server *server;
    struct cluster *cluster; /* NULL: not started; cluster_free's at the end */
    struct membership *membership;
};

/* Who this node is to others: the same incarnation throughout.  Before anybody
 * can log in. */
int daemon_cluster_identify(struct daemon_cluster *c, struct error *err);
/* Once the socket listens, over which it asks itself. */
int daemon_cluster_start(struct daemon_cluster *c, struct error *err);
/* Takes the secret and the peers of a reload. */
void daemon_cluster_reload(struct daemon_cluster *c, struct config *from);
/* Before the server stops; may come twice. */
void daemon_cluster_stop(struct daemon_cluster *c);

#endif
