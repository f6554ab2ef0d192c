/* peer_fixture.h - two nodes of one cluster, and what they say. */
#ifndef HW_PEER_FIXTURE_H
#define HW_PEER_FIXTURE_H

#include <string.h>

#include <check.h>

#include "errors.h"
#include "peer_identity.h"
#include "peer_proof.h"

#define PEER_SECRET "a secret of some length"

static inline struct peer_identity
peer_node(const char *cluster, const char *secret, uint64_t id)
{
    struct peer_identity made;
    struct error err;

    ck_assert_int_eq(peer_identity_make(&made, cluster, secret, id, &err), 0);
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
