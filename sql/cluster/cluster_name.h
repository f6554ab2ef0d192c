/*
 * cluster_name.h - the names of sums of snapshots, where one of a snapshot may
 * stand:
 *
 *     cluster[_by_node][@id,id,...][:name]
 *
 * Each node's fresh one without a name.  No kept snapshot is called so.
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
    uint64_t ids[CLUSTER_IDS_MAX];    /* ascending, each once */
    size_t id_count;                  /* 0: all nodes */
    char name[SNAPSHOT_NAME_MAX + 1]; /* SNAPSHOT_NOW, or a kept one's */
};

/* Whether it is meant to be one. */
bool cluster_name_is(const char *text);
/* -1 with *err. */
int cluster_name_parse(const char *text, struct cluster_name *out,
                       struct error *err);
/* Whether both are of the same nodes. */
bool cluster_name_same_nodes(const struct cluster_name *a,
                             const struct cluster_name *b);

#endif
