/*
 * peer_identity.h - what proves a node to the others of its cluster.
 */
#ifndef HW_PEER_IDENTITY_H
#define HW_PEER_IDENTITY_H

#include <stdint.h>

struct error;

enum {
    PEER_CLUSTER_MAX = 64, /* bytes of a cluster's name */
    PEER_SECRET_MIN = 16,  /* bytes of the secret's text */
    PEER_SECRET_MAX = 256,
    PEER_KEY = 32,
    PEER_INCARNATION = 16
};

struct peer_identity {
    char cluster[PEER_CLUSTER_MAX + 1];
    uint8_t key[PEER_KEY]; /* made from cluster and secret */
    uint64_t node_id;
    /* Random, of this heapwired's life: one that restarted, or is somebody
     * else at the same address, has another. */
    uint8_t incarnation[PEER_INCARNATION];
};

/* cluster NULL: "".  secret NULL or "": a random one, by which the node can ask
 * itself alone.  The incarnation is new: a reload keeps the one of before. */
int peer_identity_make(struct peer_identity *out, const char *cluster,
                       const char *secret, uint64_t node_id, struct error *err);

#endif
