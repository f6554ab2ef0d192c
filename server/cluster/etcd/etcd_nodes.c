/*
 * etcd_nodes.c - see etcd_nodes.h.  Arrays sorted by id: a node is found by
 * bisection, and an entry of etcd costs a memmove of at most some MB, which is
 * rare.
 */
#include "etcd_nodes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* ---- members ---- */

bool
member_is_same(const struct member *a, const struct member *b)
{
    return a->port == b->port && a->role == b->role &&
           strcmp(a->address, b->address) == 0;
}

static int
compare_members_by_id(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static int
compare_members_by_address(const void *a, const void *b)
{
    const struct member *x = *(const struct member *const *)a,
                        *y = *(const struct member *const *)b;
    int order = strcmp(x->address, y->address);

    return order ? order : (x->port > y->port) - (x->port < y->port);
}

/* Two nodes must not have one address: one would answer for the other. */
static int
check_member_addresses(const struct members *members, struct error *err)
{
    const struct member **by_endpoint =
        mem_zalloc(members->count, sizeof(*by_endpoint));
    int rc = 0;

    if (!by_endpoint) {
        error_memory(err, "the members");
        return -1;
    }
    for (size_t i = 0; i < members->count; i++)
        by_endpoint[i] = &members->items[i];
    qsort(by_endpoint, members->count, sizeof(*by_endpoint),
          compare_members_by_address);
    for (size_t i = 1; rc == 0 && i < members->count; i++) {
        /* Port 0 is this node without a listener, which has no address. */
        if (by_endpoint[i]->port == 0 ||
            compare_members_by_address(&by_endpoint[i - 1], &by_endpoint[i]) !=
                0)
            continue;
        error_set(err, ER_UNKNOWN,
                  "nodes %" PRIu64 " and %" PRIu64 " have one address, %s:%u",
                  by_endpoint[i - 1]->id, by_endpoint[i]->id,
                  by_endpoint[i]->address, by_endpoint[i]->port);
        rc = -1;
    }
    mem_free(by_endpoint);
    return rc;
}

static bool
is_listed(const struct members *members, uint64_t id)
{
    struct member key = {.id = id};

    return bsearch(&key, members->items, members->count, sizeof(key),
                   compare_members_by_id) != NULL;
}

static int
check_ids(const struct members *members, struct error *err)
{
    for (size_t i = 1; i < members->count; i++) {
        if (members->items[i - 1].id != members->items[i].id)
            continue;
        error_set(err, ER_UNKNOWN, "node %" PRIu64 " is listed twice",
                  members->items[i].id);
        return -1;
    }
    if (is_listed(members, members->self))
        return 0;
    error_set(err, ER_UNKNOWN, "node %" PRIu64 ", this one, is not among them",
              members->self);
    return -1;
}

struct members *
members_new(uint64_t self, const struct member *items, size_t count,
            struct error *err)
{
    struct members *members;

    if (count > PEERS_MAX) {
        error_set(err, ER_UNKNOWN,
                  "%zu nodes are more than the %d of a cluster", count,
                  PEERS_MAX);
        return NULL;
    }
    members = mem_zalloc(1, sizeof(*members) + count * sizeof(*items));
    if (!members) {
        error_memory(err, "the members");
        return NULL;
    }
    members->self = self;
    members->count = count;
    memcpy(members->items, items, count * sizeof(*items));
    qsort(members->items, count, sizeof(*items), compare_members_by_id);
    if (check_ids(members, err) == 0 &&
        check_member_addresses(members, err) == 0)
        return members;
    mem_free(members);
    return NULL;
}

/* ---- what etcd lists ---- */

void
etcd_nodes_fini(struct etcd_nodes *nodes)
{
    mem_free(nodes->items);
    memset(nodes, 0, sizeof(*nodes));
}

void
etcd_nodes_clear(struct etcd_nodes *nodes)
{
    nodes->count = 0;
    nodes->refused = 0;
}

/* The index where id is, or where it would be inserted. */
static size_t
etcd_node_position(const struct etcd_nodes *nodes, uint64_t id)
{
    size_t low = 0, high = nodes->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (nodes->items[middle].member.id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool
is_at(const struct etcd_nodes *nodes, size_t at, uint64_t id)
{
    return at < nodes->count && nodes->items[at].member.id == id;
}

static int
reserve_etcd_node(struct etcd_nodes *nodes, struct error *err)
{
    size_t room = nodes->capacity ? 2 * nodes->capacity : 16;
    struct etcd_node *more;

    if (nodes->count == PEERS_MAX) {
        error_set(err, ER_UNKNOWN,
                  "etcd lists more than the %d nodes of a cluster", PEERS_MAX);
        return -1;
    }
    if (nodes->count < nodes->capacity)
        return 0;
    more = mem_realloc(nodes->items, room * sizeof(*more));
    if (!more) {
        error_memory(err, "the nodes that etcd lists");
        return -1;
    }
    nodes->items = more;
    nodes->capacity = room;
    return 0;
}

int
etcd_nodes_put(struct etcd_nodes *nodes, const struct etcd_node *node,
               struct error *err)
{
    size_t at = etcd_node_position(nodes, node->member.id);

    if (!is_at(nodes, at, node->member.id)) {
        if (reserve_etcd_node(nodes, err) != 0)
            return -1;
        memmove(nodes->items + at + 1, nodes->items + at,
                (nodes->count - at) * sizeof(*node));
        nodes->count++;
    }
    nodes->items[at] = *node;
    return 0;
}

void
etcd_nodes_remove(struct etcd_nodes *nodes, uint64_t id)
{
    size_t at = etcd_node_position(nodes, id);

    if (!is_at(nodes, at, id))
        return;
    nodes->count--;
    memmove(nodes->items + at, nodes->items + at + 1,
            (nodes->count - at) * sizeof(*nodes->items));
}

const struct etcd_node *
etcd_nodes_find(const struct etcd_nodes *nodes, uint64_t id)
{
    size_t at = etcd_node_position(nodes, id);

    return is_at(nodes, at, id) ? &nodes->items[at] : NULL;
}

void
etcd_nodes_refuse(struct etcd_nodes *nodes, const struct error *refusal)
{
    if (nodes->refused++ == 0)
        nodes->refusal = *refusal;
}

int
etcd_nodes_copy(struct etcd_nodes *out, const struct etcd_nodes *nodes,
                struct error *err)
{
    struct etcd_node *items = NULL;

    if (nodes->count > 0) {
        items = mem_alloc(nodes->count * sizeof(*items));
        if (!items) {
            error_memory(err, "the nodes that etcd lists");
            return -1;
        }
        memcpy(items, nodes->items, nodes->count * sizeof(*items));
    }
    *out = *nodes;
    out->items = items;
    out->capacity = nodes->count;
    return 0;
}

int
etcd_nodes_join(struct etcd_nodes *out, const struct etcd_nodes *nodes,
                const struct etcd_nodes *before, struct error *err)
{
    size_t room = nodes->count + before->count, i = 0;
    struct etcd_node *items = mem_alloc((room + 1) * sizeof(*items));

    if (!items) {
        error_memory(err, "the nodes that etcd lists");
        return -1;
    }
    *out = *nodes;
    out->items = items;
    out->count = 0;
    out->capacity = room + 1;
    /* Both are sorted by id: a merge. */
    for (size_t j = 0; j < before->count; j++) {
        const struct etcd_node *old = &before->items[j];

        while (i < nodes->count && nodes->items[i].member.id < old->member.id)
            items[out->count++] = nodes->items[i++];
        if (is_at(nodes, i, old->member.id) ||
            out->count + nodes->count - i >= PEERS_MAX)
            continue;
        items[out->count] = *old;
        items[out->count++].created = ETCD_PAST;
    }
    while (i < nodes->count)
        items[out->count++] = nodes->items[i++];
    return 0;
}
