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

/* Sets this node's identity, with one incarnation throughout.  Before the first
 * login. */
int daemon_cluster_identify(struct daemon_cluster *c, struct error *err);
/* After the unix socket listens, through which the node asks itself. */
int daemon_cluster_start(struct daemon_cluster *c, struct error *err);
/* Takes the secret and the peers of a reload. */
void daemon_cluster_reload(struct daemon_cluster *c, struct config *from);
/* Before the server stops; may come twice. */
void daemon_cluster_stop(struct daemon_cluster *c);

#endif
