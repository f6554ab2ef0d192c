/* peer_identity.c - see peer_identity.h. */
#include "peer_identity.h"

#include <openssl/rand.h>

#include "errors.h"

int
peer_identity_make(struct peer_identity *out, const struct peer_prover *prover,
                   uint32_t key_number, uint64_t node_id, struct error *err)
{
    struct peer_identity made = {
        .prover = *prover, .key_number = key_number, .node_id = node_id};

    if (RAND_bytes(made.incarnation, PEER_INCARNATION) != 1) {
        error_set(err, ER_UNKNOWN,
                  "no random bytes for this node's incarnation");
        return -1;
    }
    *out = made;
    return 0;
}
