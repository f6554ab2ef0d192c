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
    struct peer_prover prover; /* has the cluster's key */
    uint32_t key_number;       /* another key has another number */
    uint64_t node_id;
    /* Random, made when heapwired starts: another process at the same address
     * has another. */
    uint8_t incarnation[PEER_INCARNATION];
};

/* Makes a new incarnation; a reload keeps the one before. */
int peer_identity_make(struct peer_identity *out,
                       const struct peer_prover *prover, uint32_t key_number,
                       uint64_t node_id, struct error *err);

#endif
