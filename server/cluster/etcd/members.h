/*
 * members.h - the members of the cluster: one immutable list.
 *
 * A reload, or etcd, makes another.
 */
#ifndef HW_MEMBERS_H
#define HW_MEMBERS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "peers.h"

struct error;

struct member {
    uint64_t id;
    char address[INET6_ADDRSTRLEN]; /* numeric: no name is looked up */
    uint16_t port;
    enum peer_role role;
};

/* Equal in all but the id. */
bool member_is_same(const struct member *a, const struct member *b);

struct members {
    uint64_t self; /* this node's id, which is always among them */
    size_t count;
    struct member items[]; /* ascending by id, each id and place once */
};

/* Sorts and copies items.  NULL with *err: an id or an address twice, too
 * many, self missing. */
struct members *members_new(uint64_t self, const struct member *items,
                            size_t count, struct error *err);
void members_free(struct members *members); /* NULL is fine */

#endif
