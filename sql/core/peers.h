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
    PEERS_MAX = 16384, /* of a cluster */
    PEERS_LEFT_MAX = 64,
    PEERS_LEFT_MS = 24 * 3600 * 1000,
    PEER_VERSION_MAX = 32,       /* bytes of "0.1.0" and the like */
    PEER_COLUMNS_MAX = 64,       /* of an answer */
    PEER_BLOCK_BYTES = 64 << 10, /* about as much of an answer at a time */
    PEER_UNREAD_MAX = 4 << 20,   /* bytes of all answers that wait */
    PEER_CELL_MAX = 16 << 20     /* of one value: libmysqlclient's packet */
};

/* A node, as its last answer showed it. */
struct peer_row {
    uint64_t id;
    char address[SQL_HOST_MAX + 1]; /* numeric */
    uint16_t port;
    enum peer_role role;
    bool self;
    bool known;       /* it was asked at least once */
    bool alive;       /* and answered, the last time */
    int64_t since_ms; /* wall clock: alive or not, for so long; 0: not known */
    char version[PEER_VERSION_MAX + 1]; /* heapwire's; "" not known */
    uint64_t round_trip_us; /* of the last answer's first byte; 0: not known */
    char last_error[ERROR_TEXT_MAX]; /* and when, wall clock; "" none yet */
    int64_t last_error_ms;
    bool troubled; /* last_error holds now: its list of members is in doubt */
};

enum peer_verb {
    PEER_SCRIPT, /* as ADMIN EXECUTE ON it '<text>' would answer */
    PEER_SELECT  /* a SELECT */
};

struct peer_request {
    /* Ascending, each once.  Each gets its end, whether it is a member or
     * not. */
    const uint64_t *ids;
    size_t id_count;
    enum peer_verb verb;
    struct span text;    /* copied */
    size_t column_count; /* that the answers must have */
    unsigned timeout_ms; /* of the whole: a node without an answer has failed */
    unsigned parallel;   /* nodes at a time, each begun with jitter; 0: all */
    size_t node_bytes_max;             /* of one answer: what is more is cut */
    size_t bytes_max;                  /* of all answers together, likewise */
    const struct sql_identity *caller; /* copied */
    uint32_t connection_id;            /* the caller's */
    struct waker waker; /* there is something to take, or the end */
};

/* Rows of one node's answer, in order; one block, freed with mem_free. */
struct peer_block {
    size_t id_index; /* which of the request's ids */
    size_t row_count;
    size_t bytes; /* of all cells */
    /* row_count times the request's column_count; data NULL: NULL. */
    struct span cells[];
};

/* How one node's answer ended. */
struct peer_end {
    size_t id_index;
    struct error error; /* code 0: it answered */
    bool truncated;     /* cut at a ceiling */
    uint64_t elapsed_us;
};

enum peer_event {
    PEER_NOTHING_YET, /* the waker will be called */
    PEER_BLOCK,
    PEER_END,
    PEER_ALL_ENDED
};

struct peer_fanout;

struct sql_peers {
    void *arg;
    /* Ascending by id, this node among them; returns how many there are, of
     * which at most max are copied.  The same membership throughout. */
    size_t (*list)(void *arg, struct peer_row *out, size_t max);
    /* NULL with *err: nothing was sent.  A node that cannot be reached is no
     * such failure: its end reports it. */
    struct peer_fanout *(*ask)(void *arg, const struct peer_request *request,
                               struct error *err);
    /* The next event: a node's blocks in order, then its end.  The caller
     * frees *block. */
    enum peer_event (*take)(struct peer_fanout *fanout,
                            struct peer_block **block, struct peer_end *end);
    /* Closes the connections of nodes without an end, which cancels their
     * statements.  The waker is not called after this returns.  NULL is
     * fine. */
    void (*release)(struct peer_fanout *fanout);
    /* Nodes that left in the last hours and have not answered since, at most
     * PEERS_LEFT_MAX; NULL: not known. */
    size_t (*left)(void *arg, struct peer_row *out);
};

/* All members, as they are known.  The caller frees *out; NULL without memory.
 */
size_t peers_list(const struct sql_session *session, struct peer_row **out);
/* Whether the cluster has another node, and the session may ask it. */
bool peers_can_ask(const struct sql_session *session);

/* ---- the other end: a session in which another node asks ---- */

/* What an envelope said, once its seal was proven. */
struct peer_forwarded {
    enum peer_verb verb;
    struct span text; /* borrowed from the arena given */
    struct sql_identity caller;
    uint64_t origin;        /* node id */
    uint32_t connection_id; /* the caller's, there */
    unsigned timeout_ms;    /* what is left of it */
};

/* Another node's session, which runs ADMIN FORWARD alone. */
struct peer_channel {
    void *arg;
    /* envelope: the text of ADMIN FORWARD.  Envelopes are numbered, and each is
     * opened once.  -1 with *err, and the session ends. */
    int (*open)(void *arg, struct span envelope, struct arena *arena,
                struct peer_forwarded *out, struct error *err);
};

#endif
