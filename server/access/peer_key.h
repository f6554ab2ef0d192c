/*
 * peer_key.h - the key that all nodes of a cluster share, and the proofs made
 * with it.
 *
 * heapwired itself never has the key: its prover asks the keeper.
 */
#ifndef HW_PEER_KEY_H
#define HW_PEER_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct error;

enum {
    PEER_CLUSTER_MAX = 64, /* bytes of a cluster's name */
    PEER_SECRET_MIN = 16,  /* bytes of the secret's text */
    PEER_SECRET_MAX = 256,
    PEER_KEY = 32,
    PEER_PROOF = 32,
    PEER_TRANSCRIPT_MAX = 512 /* bytes that one proof covers */
};

/* The purposes of the key. */
enum peer_label { PEER_CLIENT, PEER_SERVER, PEER_SESSION, PEER_LABELS };

struct peer_key {
    uint8_t bytes[PEER_KEY]; /* made from the cluster's name and its secret */
};

struct peer_prover {
    /* -1 with *err: there is no proof. */
    int (*prove)(void *arg, enum peer_label label, struct span transcript,
                 uint8_t out[PEER_PROOF], struct error *err);
    /* Is it the proof?  -1 with *err: it could not be checked. */
    int (*check)(void *arg, enum peer_label label, struct span transcript,
                 const uint8_t proof[PEER_PROOF], bool *valid,
                 struct error *err);
    void *arg;
};

/* secret "": a random key, with which the node can ask only itself. */
int peer_key_make(struct peer_key *out, const char *cluster, const char *secret,
                  struct error *err);
int peer_key_prove(const struct peer_key *key, enum peer_label label,
                   struct span transcript, uint8_t out[PEER_PROOF],
                   struct error *err);
int peer_key_check(const struct peer_key *key, enum peer_label label,
                   struct span transcript, const uint8_t proof[PEER_PROOF],
                   bool *valid, struct error *err);

/* HMAC-SHA256; -1 with *err where OpenSSL has none. */
int peer_mac(const uint8_t key[PEER_KEY], const void *data, size_t size,
             uint8_t out[PEER_PROOF], struct error *err);

enum { PEER_INCARNATION = 16 };

/* What proves a node to the others of its cluster. */
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
