/*
 * cluster_name.h - names for sums of snapshots, valid where a snapshot's name
 * is:
 *
 *      cluster[_by_node][@id,id,...][:name]
 *
 * Without :name, each node takes a fresh snapshot.  No kept snapshot has such a
 * name.
 */
#ifndef HW_CLUSTER_NAME_H
#define HW_CLUSTER_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot.h"

struct error;

enum {
    CLUSTER_NAME_MAX = 511, /* bytes */
    CLUSTER_IDS_MAX = 64
};

struct cluster_name {
    bool by_node;
    uint64_t ids[CLUSTER_IDS_MAX]; /* ascending and distinct */
    size_t id_count;               /* 0: all nodes */
    char name[SNAPSHOT_NAME_MAX +
              1]; /* SNAPSHOT_NOW, or the name of a kept one */
};

/* Whether text begins as such a name does; it may still be wrong. */
bool cluster_name_is(const char *text);
/* -1 with *err if text is not such a name. */
int cluster_name_parse(const char *text, struct cluster_name *out,
                       struct error *err);
/* Whether both name the same nodes. */
bool cluster_name_same_nodes(const struct cluster_name *a,
                             const struct cluster_name *b);

#endif
