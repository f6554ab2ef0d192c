/*
 * fake_peers.h - a cluster of nodes that answer as a test says.
 *
 * One statement asks it at a time.  A node that is not held answers at once
 * when it is asked, in the order in which the nodes were added; one that is
 * held, when it is let go.
 */
#ifndef HW_FAKE_PEERS_H
#define HW_FAKE_PEERS_H

#include "peers.h"

enum { FAKE_NODES_MAX = PEERS_MAX, FAKE_COLUMNS_MAX = 8, FAKE_REAL_MAX = 4 };

/* What a node answers: rows of text, cells between bars, or an error. */
struct fake_node {
    struct peer_row row;
    const char *rows;  /* "a|b\nc|d"; \N is NULL; "" one row; NULL: none; \v is
                        * a line's end within a cell */
    struct span value; /* if it has data: one row with this one cell */
    uint16_t error;    /* 0: it answers rows */
    const char *why;
    bool held, asked, truncated;
    const struct sql_peers *real; /* a node alone, which answers instead of it,
                                     to a few; or NULL */
};

struct fake_peers {
    struct sql_peers peers;  /* for sql_node */
    struct fake_node *nodes; /* ascending by id is the caller's to see to */
    size_t count, room;
    unsigned asked, released;    /* fan-outs */
    struct peer_request request; /* the last: its pointers are not kept */
    uint64_t *ids;               /* but copied here, */
    struct span text;            /* and here, with a NUL */
    struct sql_identity caller;
    bool refuses;               /* ask() fails */
    struct peer_fanout *fanout; /* the last, until it is released */
};

extern struct fake_peers fake_peers;

/* No nodes; what lends it is fake_peers.peers. */
void fake_peers_reset(void);
void fake_peers_fini(void);
/* Stays where it is until the next one is added. */
struct fake_node *fake_peers_add(uint64_t id, enum peer_role role);
/* A held node answers now, to the last fan-out; the rest is its own. */
void fake_peers_let_go(uint64_t id);
/* Rows of one that is held, before its end. */
void fake_peers_say(uint64_t id, const char *rows);
/* Blocks and ends not taken yet. */
size_t fake_peers_waiting(void);

#endif
