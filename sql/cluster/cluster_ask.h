/*
 * cluster_ask.h - what a SELECT asks the nodes of the cluster, once each.
 *
 * A table or a view that needs it stops the statement (select_need.h), which
 * begins anew when all nodes have answered or failed.  Each node that failed is
 * a warning; if all failed, the statement fails.
 */
#ifndef HW_CLUSTER_ASK_H
#define HW_CLUSTER_ASK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "cursor.h"

struct arena;
struct cluster_ask;
struct error;
struct handle;
struct peer_block;
struct peer_fanout;
struct peer_request;
struct sql_peers;

enum {
    CLUSTER_ASKS_MAX = 16, /* of one statement */
    CLUSTER_ROLLING = 2    /* nodes at a time, where a profile is taken */
};

/* Why a node is not in the answer; text NULL: it is. */
struct cluster_failure {
    uint16_t code;
    const char *text;
};

struct cluster_ask_ops {
    /* The ids are known; no node is asked yet.  -1 without memory. */
    int (*start)(struct cluster_ask *ask);
    /* Rows of one node.  It may fail that node.  -1 with *err: nothing of the
     * whole can be had. */
    int (*take)(struct cluster_ask *ask, const struct peer_block *block,
                struct error *err);
    /* All have ended, and some answered.  Likewise. */
    int (*finish)(struct cluster_ask *ask, struct error *err);
    void (*free)(struct cluster_ask *ask);
};

struct cluster_ask {
    const struct cluster_ask_ops *ops;
    struct cluster_ask *next; /* of the statement */
    struct buffer key;        /* equal: an equal question */
    struct arena *arena;      /* of ids and failures, and for the asker */
    const struct sql_peers *peers;
    struct peer_fanout *fanout;
    atomic_size_t *answered;      /* the statement's count of nodes */
    const atomic_bool *cancelled; /* or NULL */
    uint64_t *ids;                /* ascending */
    size_t id_count;
    struct cluster_failure *failures; /* of each */
    bool *truncated;                  /* likewise */
    size_t missing;                   /* those that failed */
    bool done, told;
};

/*
 * For tables and views, with SQLite's codes as select_need: finds the question
 * of the same key among the statement's.  OK: *out has been answered; or NULL,
 * and it is to be asked.
 */
int cluster_find(struct handle *handle, const struct buffer *key,
                 struct cluster_ask **out);
/*
 * Asks it: ask is zeroed but for ops, and the statement's from now on, also on
 * failure; key is taken.  ids ascend, none: all nodes.  request has verb, text,
 * columns, bytes and whether it rolls (parallel not 0).
 */
int cluster_begin(struct handle *handle, struct cluster_ask *ask,
                  struct buffer *key, const uint64_t *ids, size_t id_count,
                  struct peer_request *request);

/* ---- for cluster_ask_ops ---- */

/* That node failed; the first reason stays. */
void cluster_fail(struct cluster_ask *ask, size_t id_index, uint16_t code,
                  const char *text);

/* ---- for select_wait.c ---- */

/* WAIT, DONE, or FAIL with *err. */
enum step cluster_ask_step(struct cluster_ask *ask, struct error *err);
void cluster_ask_free(struct cluster_ask *ask);

#endif
