/*
 * snapshot.h - one profile with everything needed to read it later.
 *
 * Immutable once made and shared by reference count (atomic).
 */
#ifndef HW_SNAPSHOT_H
#define HW_SNAPSHOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent_protocol.h"
#include "stats.h"

enum { SNAPSHOT_NAME_MAX = 64, SNAPSHOT_REASON_MAX = 127 };

/* What views and tables call a fresh snapshot; no snapshot may have this
 * name. */
#define SNAPSHOT_NOW "now"
/* Reserved, too: the two kept heap snapshots that were taken last. */
#define SNAPSHOT_LAST     "last"
#define SNAPSHOT_PREVIOUS "previous"
/* Reserved, too: profiles that are taken from outside: cpu, cpu:10, cpu:10:99
 * (sql/cluster/observed_name.h). */
#define SNAPSHOT_CPU  "cpu"
#define SNAPSHOT_WALL "wall"
/* Reserved, too: sums over several nodes (sql/cluster/cluster_ask.h). */
#define SNAPSHOT_CLUSTER         "cluster"
#define SNAPSHOT_CLUSTER_BY_NODE "cluster_by_node"

struct error;
struct profile;

enum snapshot_cause {
    SNAPSHOT_ASKED,
    SNAPSHOT_MARK, /* the node took it by itself: memory passed a mark */
    SNAPSHOT_SCHEDULE,
    SNAPSHOT_IMPORTED,
    SNAPSHOT_RING /* kept by default: ring.h */
};

/* Figures of about the snapshot's moment, in bytes. */
struct snapshot_memory {
    /* Wall clock, when jemalloc's figures were taken, and rss and rss_file; 0:
     * unknown.  They are compared if stats_together(). */
    int64_t allocator_ms, rss_ms;
    struct stats_figure allocated, active, metadata, resident, mapped, retained;
    struct stats_figure rss, rss_file, cgroup_current, cgroup_limit;
    /* Allocated by jemallocs that are not profiled; unknown if there are
     * none. */
    struct stats_figure elsewhere;
};

struct snapshot {
    /* Unique while this heapwired lives; a snapshot that the store reads again
     * keeps it. */
    uint64_t serial;
    char name[SNAPSHOT_NAME_MAX + 1]; /* [a-z0-9_]{1,64} */
    int64_t taken_ms;                 /* wall clock */
    uint32_t node_id;
    enum snapshot_cause cause;
    char reason[SNAPSHOT_REASON_MAX + 1]; /* which mark, ...; "" */
    struct agent_hello hello; /* incarnation, rate, active since, ... */
    struct snapshot_memory memory;
    struct profile *profile;
    atomic_int references;
};

uint64_t snapshot_serial(void);      /* a new one */
struct snapshot *snapshot_new(void); /* one reference; NULL: no memory */
struct snapshot *snapshot_ref(struct snapshot *snapshot);
void snapshot_unref(struct snapshot *snapshot); /* NULL is fine */

/* [a-z0-9_]{1,64}: no name is ever a path. */
bool snapshot_is_name(const char *name, size_t size);

/* 0 if the two can be compared.  -1 with *err: they are of different kinds
 * or processes, or, of the heap, of different rates or before and after a
 * reset. */
int snapshot_comparable(const struct snapshot *snapshot,
                        const struct snapshot *base, struct error *err);

#endif
