/*
 * loopback_peers.h - the cluster of a node that is alone, and asks itself.
 *
 * What it is asked runs as in the product: in a session of another node's,
 * which ADMIN FORWARD opens one of the caller's in.  No envelope is sealed, and
 * nothing is sent: the asker steps it.
 */
#ifndef HW_LOOPBACK_PEERS_H
#define HW_LOOPBACK_PEERS_H

#include "peers.h"

/* node outlives them. */
struct sql_peers loopback_peers(struct sql_node *node);

#endif
