/*
 * cluster_ask.h - the questions that a SELECT asks the cluster's nodes, each
 * once.
 *
 * A table or a view that needs an answer waits until all nodes have answered or
 * failed.  Each failed node is a warning; if all failed, the statement fails.
 */
#ifndef HW_CLUSTER_ASK_H
#define HW_CLUSTER_ASK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "snapshot.h"

struct arena;
struct catalog_table;
struct cluster_ask;
struct cluster_rows;
struct error;
struct handle;
struct peer_block;
struct peer_fanout;
struct peer_request;
struct snapshot;
struct sql_peers;
struct value;
struct view_options;

enum {
    CLUSTER_ASKS_MAX = 16, /* questions of one statement */
    CLUSTER_ROLLING = 2    /* nodes at a time, where each takes a profile */
};

/* Why a node failed; text NULL: it did not. */
struct cluster_failure {
    uint16_t code;
    const char *text;
};

struct cluster_ask_ops {
    /* Called once the ids are known, before any node is asked. -1: out of
     * memory. */
    int (*start)(struct cluster_ask *ask);
    /* Takes rows of one node, and may fail that node. -1 with *err: the whole
     * question fails. */
    int (*take)(struct cluster_ask *ask, const struct peer_block *block,
                struct error *err);
    /* Called once all nodes have ended and at least one answered. -1 with
     * *err. */
    int (*finish)(struct cluster_ask *ask, struct error *err);
    void (*free)(struct cluster_ask *ask);
};

struct cluster_ask {
    const struct cluster_ask_ops *ops;
    struct cluster_ask *next; /* of the same statement */
    struct buffer key;        /* questions with equal keys are the same */
    struct arena *arena; /* holds ids, failures, and what the asker needs */
    const struct sql_peers *peers;
    struct peer_fanout *fanout;
    atomic_size_t answered;       /* nodes, for the progress */
    const atomic_bool *cancelled; /* or NULL */
    uint32_t seconds;             /* that each node samples; 0: it does not */
    uint64_t *ids;                /* ascending and distinct */
    size_t id_count;
    /* Those that are asked: ids, and indices into ids.  A node that did not
     * answer an earlier question of the statement in time is not asked again,
     * and fails for the same reason. */
    uint64_t *asked_ids;
    size_t *asked, asked_count;
    struct cluster_failure *failures; /* one for each id */
    bool *truncated;                  /* one for each id */
    size_t missing;                   /* number of failed nodes */
};

/*
 * Finds the statement's question with this key.  Returns SQLite's codes, as
 * fetch_needs does.  OK: *out has its answer, or is NULL when the caller has to
 * ask.
 */
int cluster_find(struct handle *handle, const struct buffer *key,
                 struct cluster_ask **out);
/*
 * Asks the question, and waits for its answer: OK.  The caller zeroes ask but
 * for ops and seconds; the statement owns it from now on, also on failure, and
 * key is taken. ids ascend; none: all nodes. request has verb, text, columns,
 * bytes, and parallel not 0 if the nodes take turns.
 */
int cluster_begin(struct handle *handle, struct cluster_ask *ask,
                  struct buffer *key, const uint64_t *ids, size_t id_count,
                  struct peer_request *request);

/* ---- for cluster_ask_ops ---- */

/* Marks the node as failed; the first reason stays. */
void cluster_fail(struct cluster_ask *ask, size_t id_index, uint16_t code,
                  const char *text);

void cluster_ask_free(struct cluster_ask *ask);

/* ---- the rows of one table on all nodes ----
 *
 * Nodes answer with texts, which become values of the columns' types; one that
 * does not fit its type becomes NULL. */

enum {
    CLUSTER_NODE_ROWS_MAX = 100000,   /* rows of one node */
    CLUSTER_NODE_BYTES_MAX = 8 << 20, /* bytes of one node */
    CLUSTER_BYTES_MAX = 64 << 20,     /* bytes of all nodes */
    CLUSTER_CELLS_MAX = 4 << 20       /* values of all nodes */
};

/* Rows of that time and later are enough. */
struct cluster_since {
    const char *column;
    char text[20]; /* "2026-11-21 12:00:00", or its day */
};

/* Asks once per statement; returns SQLite's codes, as fetch_needs does.
 * table->of is not NULL; ids are as for cluster_begin.  snapshot NULL: each
 * node sends the rows it has by itself, or, if kept, those of all kept
 * snapshots. fresh: those of a fresh one are among them.  since: NULL, or of a
 * table without snapshots; of two in one statement nodes are asked for all. */
int cluster_rows_need(struct handle *handle, const struct catalog_table *table,
                      const uint64_t *ids, size_t id_count,
                      const char *snapshot, bool kept, bool fresh,
                      const struct cluster_since *since,
                      const struct cluster_rows **out);

/* One row of the answers. */
struct cluster_position {
    const struct cluster_rows *rows;
    size_t node, row;
};

void cluster_position_first(struct cluster_position *position,
                            const struct cluster_rows *rows);
void cluster_position_next(struct cluster_position *position);
bool cluster_position_done(const struct cluster_position *position);
/* The caller sets *out to NULL; texts last as long as the rows. */
void cluster_position_cell(const struct cluster_position *position,
                           size_t column, struct value *out);

/* ---- the snapshots of several nodes as one ----
 *
 * Each node sends its snapshot, which is added to the sum and freed.  A
 * difference is made for each node first, since only two snapshots of one
 * process can be compared. */

/* name and base as they were written (base NULL: no difference); they last as
 * long as the statement's questions. */
struct cluster_sum {
    struct snapshot *snapshot; /* borrowed from the question */
    const char *name, *base;
};

/* Returns SQLite's codes, as fetch_needs does.  One of name and base satisfies
 * cluster_name_is; force compares snapshots that do not match; options (or
 * NULL) may root each node's stacks (profile_root.h). */
int cluster_heap_need(struct handle *handle, const char *name, const char *base,
                      bool force, const struct view_options *options,
                      struct cluster_sum *out);

/*
 * Names for sums of snapshots, valid where a snapshot's name is:
 *
 *      cluster[_by_node][@id,id,...][:name]
 *
 * Without :name, each node takes a fresh snapshot; a name may also be that of a
 * profile to be taken (observed_name.h), by all of them at the same time.  No
 * kept snapshot has such a name.
 */
enum {
    CLUSTER_NAME_MAX = 511, /* bytes */
    CLUSTER_IDS_MAX = 64
};

/* Whether text begins as such a name does; it may still be wrong. */
bool cluster_name_is(const char *text);
/* The part of it that each node is asked for, or text itself if it is none;
 * "": a fresh snapshot. */
const char *cluster_name_rest(const char *text);

#endif
