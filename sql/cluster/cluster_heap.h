/*
 * cluster_heap.h - the snapshots of several nodes as one.
 *
 * Each node sends its snapshot, which is added to the sum and freed.  For a
 * difference, each node's own difference is made first: two snapshots of one
 * process are compared, never those of two.
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
