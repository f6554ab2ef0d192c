/*
 * cluster_heap.h - the snapshots of several nodes as one.
 *
 * Each node sends its snapshot, which is added to the sum and freed.  A
 * difference is made for each node first, since only two snapshots of one
 * process can be compared.
 */
#ifndef HW_CLUSTER_HEAP_H
#define HW_CLUSTER_HEAP_H

#include <stdbool.h>

struct handle;
struct snapshot;

/* name and base as they were written (base NULL: no difference); they last as
 * long as the statement's questions. */
struct cluster_sum {
    struct snapshot *snapshot; /* borrowed from the question */
    const char *name, *base;
};

/* Returns SQLite's codes, as fetch_needs does.  One of name and base satisfies
 * cluster_name_is; force compares snapshots that do not match. */
int cluster_heap_need(struct handle *handle, const char *name, const char *base,
                      bool force, struct cluster_sum *out);

#endif
