/*
 * etcd_nodes.h - the members of the cluster, and the nodes that etcd
 * lists, by id.
 *
 * Plain data; the holder's thread.
 */
#ifndef HW_ETCD_NODES_H
#define HW_ETCD_NODES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "errors.h"
#include "peer_key.h"
#include "peers.h"

struct member {
    uint64_t id;
    char address[INET6_ADDRSTRLEN]; /* numeric: no name is looked up */
    uint16_t port;
    enum peer_role role;
};

/* Equal in all but the id. */
bool member_is_same(const struct member *a, const struct member *b);

/* The members of the cluster: one immutable list.  A reload, or etcd, makes
 * another. */
struct members {
    uint64_t self; /* this node's id, which is always among them */
    size_t count;
    struct member items[]; /* ascending by id, each id and endpoint once */
};

/* Sorts and copies items.  NULL with *err: an id or an address twice, too
 * many, self missing; else for mem_free. */
struct members *members_new(uint64_t self, const struct member *items,
                            size_t count, struct error *err);

/* As `created`: the node is no longer in etcd; any other entry with its address
 * counts as earlier. */
#define ETCD_PAST INT64_MAX

/* What a node says about itself, and etcd about its key. */
struct etcd_node {
    struct member member;
    uint8_t incarnation[PEER_INCARNATION];
    int64_t created, modified; /* revisions */
    int64_t lease;
};

struct etcd_nodes {
    struct etcd_node *items; /* ascending by id, each once; owned */
    size_t count, capacity;
    /* Keys that are not a node's, since the table was emptied, and the fault of
     * the first. */
    size_t refused;
    struct error refusal;
};

void etcd_nodes_fini(struct etcd_nodes *nodes); /* zeroed is fine */
void etcd_nodes_clear(struct etcd_nodes *nodes);
/* Replaces the entry of that id.  -1 with *err: no memory, or more than
 * PEERS_MAX. */
int etcd_nodes_put(struct etcd_nodes *nodes, const struct etcd_node *node,
                   struct error *err);
void etcd_nodes_remove(struct etcd_nodes *nodes, uint64_t id);
/* NULL: there is none. */
const struct etcd_node *etcd_nodes_find(const struct etcd_nodes *nodes,
                                        uint64_t id);
void etcd_nodes_refuse(struct etcd_nodes *nodes, const struct error *refusal);
int etcd_nodes_copy(struct etcd_nodes *out, const struct etcd_nodes *nodes,
                    struct error *err);
/* A copy, with those nodes of before that are missing, up to PEERS_MAX in all:
 * these become ETCD_PAST. */
int etcd_nodes_join(struct etcd_nodes *out, const struct etcd_nodes *nodes,
                    const struct etcd_nodes *before, struct error *err);

#endif
