/*
 * admin_task.h - ADMIN EXECUTE with its script parsed and its nodes resolved.
 *
 * Three cursors run a task: on this node alone, on one other node, whose lines
 * are passed on as they come, and on many nodes, with a row for each.
 */
#ifndef HW_ADMIN_TASK_H
#define HW_ADMIN_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cursor.h"
#include "reader.h"

struct arena;
struct await;
struct error;
struct peer_fanout;
struct script;
struct sql_cursor;
struct sql_session;

enum {
    ADMIN_CELL_MAX = 8 * 1024 * 1024, /* bytes of one node's output in a list */
    /* bytes of all nodes' outputs together */
    ADMIN_LIST_MAX = 64 * 1024 * 1024,
    /* bytes kept free for the note that the output was cut */
    ADMIN_CELL_NOTE = 100,
    ADMIN_ID_TEXT = 21, /* digits of an id, and a NUL */
    /* longer than the nodes have, to send rows that report a timeout */
    ADMIN_GRACE_MS = 2000,
    /* nodes at a time, unless heapwire_parallel says otherwise */
    ADMIN_SLOW_PARALLEL = 2
};

struct admin_task {
    struct sql_session *session; /* outlives the cursor */
    struct arena *arena; /* the cursor's once opened; holds text and ids */
    struct script *script;
    struct span text; /* of the script */
    bool list;        /* a row for each node, even for one: admin_open_fanout */
    bool bytes;       /* the script's output is one value, not lines */
    /* ascending and distinct; exactly one unless this is a list */
    const uint64_t *ids;
    size_t id_count;
    unsigned timeout_ms;
    unsigned parallel; /* nodes at a time; 0: all */
    bool stops;        /* after a node's failure no other one is asked */
    struct await *await;
};

/* Sets what all three cursors share; the caller zeroes cursor first. */
void admin_cursor_init(struct sql_cursor *cursor, const struct cursor_ops *ops,
                       const struct admin_task *task);

struct cursor *admin_open_remote(const struct admin_task *task,
                                 struct error *err);
struct cursor *admin_open_fanout(const struct admin_task *task,
                                 struct error *err);

/* One row of a list; the texts are borrowed. */
struct admin_row {
    const char *id; /* digits */
    /* NULL: the node succeeded; output and bytes are valid */
    const char *failure;
    struct span output;
    bool bytes;
};

void admin_put_row(const struct admin_row *row, struct value out[3]);

/* Sends the script to the nodes.  NULL with *err. */
struct peer_fanout *admin_ask(const struct admin_task *task, struct error *err);

#endif
