/*
 * etcd_wire.h - requests to etcd's JSON gateway, and its answers.
 *
 * Bytes alone: no sockets.  Each node has a key of its own,
 * /heapwire/<cluster>/nodes/<id>, whose value is a JSON object.  Answers are
 * untrusted: anything that can write to etcd chooses them.
 */
#ifndef HW_ETCD_WIRE_H
#define HW_ETCD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct buffer;
struct error;
struct etcd_node;
struct etcd_nodes;

enum {
    ETCD_KEY_MAX = 256,        /* bytes of a key */
    ETCD_VALUE_MAX = 512,      /* of a node's value */
    ETCD_ANSWER_MAX = 2 << 20, /* of an answer, or of a line of the watch */
    ETCD_VALUES_MAX = ETCD_ANSWER_MAX / 16, /* JSON values in an answer */
    ETCD_REQUEST_MAX = 4 << 10,             /* of a request */
    ETCD_PAGE = 512,                        /* nodes at a time */
    ETCD_PASSWORD_MAX = 160,                /* bytes, as of a user's name */
    ETCD_TOKEN_MAX = 2048                   /* bytes of a login's token */
};

#define ETCD_PATH_LEASE     "/v3/lease/grant"
#define ETCD_PATH_KEEPALIVE "/v3/lease/keepalive"
#define ETCD_PATH_REVOKE    "/v3/lease/revoke"
#define ETCD_PATH_TXN       "/v3/kv/txn"
#define ETCD_PATH_RANGE     "/v3/kv/range"
#define ETCD_PATH_WATCH     "/v3/watch"
#define ETCD_PATH_LOGIN     "/v3/auth/authenticate"

/* Once, before there are threads that use it. */
void etcd_wire_prepare(void);

/* ---- requests, appended to out ---- */

void etcd_ask_login(struct buffer *out, const char *user, const char *password);
void etcd_ask_lease(struct buffer *out, unsigned ttl_s);
void etcd_ask_keepalive(struct buffer *out, int64_t lease); /* and to revoke */
/* Puts node's key under lease if it still has that revision (0: if there is
 * none); otherwise asks for the present one. */
void etcd_ask_put(struct buffer *out, const char *cluster,
                  const struct etcd_node *node, int64_t lease,
                  int64_t modified);
/* A page of all nodes' keys; after: the last key of the page before (size 0:
 * none), revision: that page's (0: now). */
void etcd_ask_page(struct buffer *out, const char *cluster, struct span after,
                   int64_t revision);
void etcd_ask_watch(struct buffer *out, const char *cluster, int64_t revision);

/* ---- answers: -1 with *err where they are none ---- */

/* token: of ETCD_TOKEN_MAX + 1 bytes. */
int etcd_read_login(struct span answer, char *token, struct error *err);
int etcd_read_lease(struct span answer, int64_t *lease, struct error *err);
/* *alive false: the lease is gone. */
int etcd_read_keepalive(struct span answer, bool *alive, struct error *err);
/* *done false: *holder is the node that has the key. */
int etcd_read_put(struct span answer, const char *cluster, uint64_t id,
                  bool *done, struct etcd_node *holder, struct error *err);

struct etcd_page {
    int64_t revision; /* of the page */
    bool more;
    char last[ETCD_KEY_MAX]; /* the last key */
    size_t last_size;
};

/* Puts into nodes; counts keys that are not a node's as refused. */
int etcd_read_page(struct span answer, const char *cluster,
                   struct etcd_nodes *nodes, struct etcd_page *page,
                   struct error *err);
/* Reads a line of the watch; puts and removes nodes.  *changes: how many there
 * were; *revision is left unchanged if the line has none. */
int etcd_read_watch(struct span line, const char *cluster,
                    struct etcd_nodes *nodes, size_t *changes,
                    int64_t *revision, struct error *err);

/* The text of an answer that is a failure, and its HTTP status. */
void etcd_read_failure(struct span answer, long status, struct error *err);

#endif
