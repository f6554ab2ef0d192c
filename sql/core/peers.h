/*
 * peers.h - the nodes of the cluster, as statements see them.
 *
 * server/ implements struct sql_peers, also for a node without a cluster.  Any
 * thread may call the functions, and none blocks.  This node is among the nodes
 * and is asked like all others.
 */
#ifndef HW_PEERS_H
#define HW_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "errors.h"
#include "reader.h"
#include "sql.h"
#include "waker.h"

struct arena;

enum peer_role { PEER_BACKEND, PEER_COMPUTE_NODE };

enum {
    PEERS_MAX = 16384,                /* nodes of a cluster */
    PEERS_LEFT_MAX = 64,              /* nodes that left and are still shown */
    PEERS_LEFT_MS = 24 * 3600 * 1000, /* ... for so long */
    /* A node that did not answer counts as silent so long; less than the five
     * minutes of docker/'s alert, so that one failure is none. */
    PEER_SILENT_MS = 3 * 60 * 1000,
    PEER_VERSION_MAX = 32,       /* bytes of "0.1.0" and the like */
    PEER_COLUMNS_MAX = 64,       /* columns of an answer */
    PEER_BLOCK_BYTES = 64 << 10, /* bytes of an answer in one block, roughly */
    PEER_UNREAD_MAX = 4 << 20, /* bytes of all answers that wait to be taken */
    PEER_CELL_MAX =
        16 << 20 /* bytes of one row, which is one packet, and so of a value */
};

/* A node, as its last answer showed it. */
struct peer_row {
    uint64_t id;
    char address[SQL_HOST_MAX + 1]; /* numeric */
    uint16_t port;
    enum peer_role role;
    bool self;
    bool known;       /* this node has asked it at least once */
    bool alive;       /* known, and its last answer came */
    int64_t since_ms; /* wall clock: alive or not since then; 0: unknown */
    char version[PEER_VERSION_MAX + 1]; /* heapwire's version; "": unknown */
    uint64_t
        round_trip_us; /* until the first byte of its last answer; 0: unknown */
    char last_error[ERROR_TEXT_MAX]; /* the last error; "": none; and its time,
                                        wall clock */
    int64_t last_error_ms;
    bool troubled; /* last_error still holds: the list of members is in doubt */
};

enum peer_verb {
    PEER_SCRIPT, /* answers as ADMIN EXECUTE ON the node '<text>' does */
    PEER_SELECT  /* answers a SELECT */
};

struct peer_request {
    /* Ascending and distinct.  Each id gets its end, even one that is no
     * member. */
    const uint64_t *ids;
    size_t id_count;
    enum peer_verb verb;
    struct span text;    /* copied */
    size_t column_count; /* each answer must have this many columns */
    unsigned timeout_ms; /* of all together; a node that has not answered by
                            then has failed */
    unsigned
        parallel; /* nodes at a time, each begun with jitter; 0: all at once */
    bool stops;   /* once one has failed no other is begun: it tunes */
    size_t node_bytes_max; /* of one answer; the rest is cut */
    size_t bytes_max;      /* of all answers together; the rest is cut */
    const struct sql_identity *caller; /* copied */
    uint32_t connection_id;            /* the caller's */
    struct waker waker;                /* called when an event can be taken */
};

/* Rows of one node's answer, in order; one allocation, which mem_free frees. */
struct peer_block {
    size_t id_index; /* index into the request's ids */
    size_t row_count;
    size_t bytes; /* of all cells */
    /* row_count * column_count cells; data NULL: the value NULL. */
    struct span cells[];
};

/* How one node's answer ended. */
struct peer_end {
    size_t id_index;
    struct error error; /* code 0: the node answered */
    bool truncated;     /* cut at a ceiling */
    uint64_t elapsed_us;
};

enum peer_event {
    PEER_NOTHING_YET, /* the waker is called when there is an event */
    PEER_BLOCK,
    PEER_END,
    PEER_ALL_ENDED
};

struct peer_fanout;

/* The error's text of an id that no node has; callers put the id into theirs.
 * The code alone does not say it: nodes answer with ER_KEY_NOT_FOUND, too. */
#define PEER_NOT_FOUND "node not found"

struct sql_peers {
    void *arg;
    /* Lists all nodes, this one included, ascending by id.  Copies at most
     * max; returns the number of all.  The membership does not change
     * within a call. */
    size_t (*list)(void *arg, struct peer_row *out, size_t max);
    /* Sends the request.  NULL with *err: nothing was sent.  An unreachable
     * node does not fail the call: its end reports it. */
    struct peer_fanout *(*ask)(void *arg, const struct peer_request *request,
                               struct error *err);
    /* Takes the next event: each node's blocks in order, then its end.  The
     * caller frees *block. */
    enum peer_event (*take)(struct peer_fanout *fanout,
                            struct peer_block **block, struct peer_end *end);
    /* Closes the connections of nodes that have no end yet, which cancels their
     * statements.  The waker is not called once this returns.  NULL is fine. */
    void (*release)(struct peer_fanout *fanout);
    /* Lists nodes that left in the last hours and have not answered since; at
     * most PEERS_LEFT_MAX.  NULL: unknown. */
    size_t (*left)(void *arg, struct peer_row *out);
};

/* Lists all members, with their last known state.  The caller frees *out; NULL:
 * out of memory. */
size_t peers_list(const struct sql_session *session, struct peer_row **out);
/* How long a fan-out samples, if each node samples that many seconds,
 * `parallel` at a time (0: all); a day at most. */
uint32_t peers_sampling_ms(uint32_t seconds, size_t nodes, unsigned parallel);
/* Whether there is another node and the session may ask it. */
bool peers_can_ask(const struct sql_session *session);

/* ---- the other side: a session that another node opened ---- */

/* The contents of an envelope whose seal was verified. */
struct peer_forwarded {
    enum peer_verb verb;
    struct span text; /* borrowed from the arena */
    struct sql_identity caller;
    uint64_t origin;        /* node id */
    uint32_t connection_id; /* the caller's, on the origin */
    unsigned timeout_ms;    /* the time that the caller has left */
};

/* The session of another node, which may run ADMIN FORWARD alone. */
struct peer_channel {
    void *arg;
    /* Opens an envelope, the text of ADMIN FORWARD.  Envelopes are numbered and
     * each opens once.  -1 with *err, and the session ends. */
    int (*open)(void *arg, struct span envelope, struct arena *arena,
                struct peer_forwarded *out, struct error *err);
};

#endif
