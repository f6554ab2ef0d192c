/*
 * cluster_heap.h - the snapshots of several nodes as one.
 *
 * Each node sends its own, which is added to the sum and dropped.  Of a
 * difference each node's is made first, so that what is compared is always two
 * snapshots of one process.
 */
#ifndef HW_CLUSTER_HEAP_H
#define HW_CLUSTER_HEAP_H

#include <stdbool.h>

struct handle;
struct snapshot;

/* How name and base (NULL: no difference) are written, for as long as the
 * statement's questions are kept. */
struct cluster_sum {
    struct snapshot *snapshot; /* the question's */
    const char *name, *base;
};

/* SQLite's codes as select_need.  name or base is one that cluster_name_is;
 * force compares what cannot be compared. */
int cluster_heap_need(struct handle *handle, const char *name, const char *base,
                      bool force, struct cluster_sum *out);

#endif
