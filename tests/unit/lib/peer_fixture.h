/* peer_fixture.h - two nodes of one cluster, and what they say. */
#ifndef HW_PEER_FIXTURE_H
#define HW_PEER_FIXTURE_H

#include <string.h>

#include <check.h>

#include "errors.h"
#include "peer_identity.h"
#include "peer_proof.h"

#define PEER_SECRET "a secret of some length"

/* A prover that has the key here, as the keeper has it there. */
static inline int
peer_prove_here(void *arg, enum peer_label label, struct span said,
                uint8_t out[PEER_PROOF], struct error *err)
{
    return peer_key_prove(arg, label, said, out, err);
}

static inline int
peer_check_here(void *arg, enum peer_label label, struct span said,
                const uint8_t proof[PEER_PROOF], bool *right, struct error *err)
{
    return peer_key_check(arg, label, said, proof, right, err);
}

static inline struct peer_prover
peer_prover_here(struct peer_key *key)
{
    return (struct peer_prover){peer_prove_here, peer_check_here, key};
}

/* secret "": any.  Its prover's arg is its key. */
static inline struct peer_identity
peer_node(const char *cluster, const char *secret, uint64_t id)
{
    static struct peer_key keys[64];
    static uint32_t count;
    struct peer_key *key = &keys[count++ % 64];
    struct peer_prover prover = peer_prover_here(key);
    struct peer_identity made;
    struct error err;

    ck_assert_int_eq(peer_key_make(key, cluster, secret, &err), 0);
    ck_assert_int_eq(peer_identity_make(&made, &prover, count, id, &err), 0);
    return made;
}

/* One end and its half of the talk. */
struct peer_end_point {
    struct peer_identity self;
    struct peer_transcript said;
};

static inline struct peer_end_point
peer_end_point(uint64_t id)
{
    struct peer_end_point end = {.self = peer_node("blue", PEER_SECRET, id)};

    return end;
}

#endif
