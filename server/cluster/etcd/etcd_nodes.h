/*
 * etcd_nodes.h - the nodes that etcd tells of, by id.
 *
 * Plain data of whoever holds it.
 */
#ifndef HW_ETCD_NODES_H
#define HW_ETCD_NODES_H

#include <stddef.h>
#include <stdint.h>

#include "errors.h"
#include "members.h"
#include "peer_identity.h"

/* As created: not in etcd any more.  Whoever has its place came first. */
#define ETCD_PAST INT64_MAX

/* What one says of itself, and etcd of its key. */
struct etcd_node {
    struct member member;
    uint8_t incarnation[PEER_INCARNATION];
    int64_t created, modified; /* revisions */
    int64_t lease;
};

struct etcd_nodes {
    struct etcd_node *items; /* ascending by id, each once; owned */
    size_t count, room;
    /* Keys that were none of a node, since the table was emptied, and what was
     * wrong with the first. */
    size_t refused;
    struct error refusal;
};

void etcd_nodes_fini(struct etcd_nodes *nodes); /* zeroed is fine */
void etcd_nodes_clear(struct etcd_nodes *nodes);
/* In place of what there was under that id.  -1 with *err: no memory, or more
 * than PEERS_MAX. */
int etcd_nodes_put(struct etcd_nodes *nodes, const struct etcd_node *node,
                   struct error *err);
void etcd_nodes_remove(struct etcd_nodes *nodes, uint64_t id);
/* NULL: there is none. */
const struct etcd_node *etcd_nodes_find(const struct etcd_nodes *nodes,
                                        uint64_t id);
void etcd_nodes_refuse(struct etcd_nodes *nodes, const struct error *refusal);
int etcd_nodes_copy(struct etcd_nodes *out, const struct etcd_nodes *nodes,
                    struct error *err);
/* A copy with those of before that nodes has not, up to PEERS_MAX of all: they
 * are ETCD_PAST then. */
int etcd_nodes_join(struct etcd_nodes *out, const struct etcd_nodes *nodes,
                    const struct etcd_nodes *before, struct error *err);

#endif
