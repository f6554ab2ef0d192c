/* fuzz_prover.h - a node that proves itself with a key of its own. */
#ifndef HW_FUZZ_PROVER_H
#define HW_FUZZ_PROVER_H

#include "peer_proof.h"

static struct peer_key key = {{7}};

static int
prove_here(void *arg, enum peer_label label, struct span said,
           uint8_t out[PEER_PROOF], struct error *err)
{
    return peer_key_prove(arg, label, said, out, err);
}

static int
check_here(void *arg, enum peer_label label, struct span said,
           const uint8_t proof[PEER_PROOF], bool *valid, struct error *err)
{
    return peer_key_check(arg, label, said, proof, valid, err);
}

static const struct peer_identity self = {
    .prover = {prove_here, check_here, &key}, .node_id = 1, .incarnation = {9}};

#endif
