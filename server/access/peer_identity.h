/*
 * peer_identity.h - what proves a node to the others of its cluster.
 */
#ifndef HW_PEER_IDENTITY_H
#define HW_PEER_IDENTITY_H

#include <stdint.h>

#include "peer_key.h"

struct error;

enum { PEER_INCARNATION = 16 };

struct peer_identity {
    struct peer_prover prover; /* has the cluster's key, whichever number... */
    uint32_t key_number;       /* ...it has: another key, another number */
    uint64_t node_id;
    /* Random, of this heapwired's life: one that restarted, or is somebody
     * else at the same address, has another. */
    uint8_t incarnation[PEER_INCARNATION];
};

/* The incarnation is new: a reload keeps the one of before. */
int peer_identity_make(struct peer_identity *out,
                       const struct peer_prover *prover, uint32_t key_number,
                       uint64_t node_id, struct error *err);

#endif
