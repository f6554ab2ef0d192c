/*
 * find_node.h - finds the node of this machine that is meant if none is named.
 */
#ifndef HW_FIND_NODE_H
#define HW_FIND_NODE_H

#include <stddef.h>

enum { NODE_PATH = 128, NODES_TEXT = 512 };

#define NODE_SOCKETS "/run/heapwire/*/mysql.sock"

/* Writes the socket of the only node.  If there is none, or more than one,
 * writes NODE_SOCKETS: nobody listens there, and connection_explain() knows
 * that text. */
void node_find_socket(char out[NODE_PATH]);

/* Writes which nodes there are, and what to do to choose one. */
void node_list_others(char out[NODES_TEXT]);

#endif
