/* find_node.h - the node of this machine that is meant where none is named. */
#ifndef HW_FIND_NODE_H
#define HW_FIND_NODE_H

#include <stddef.h>

enum { NODE_PATH = 128, NODES_TEXT = 512 };

#define NODE_SOCKETS "/run/heapwire/*/mysql.sock"

/* The socket of the only one; NODE_SOCKETS, at which nobody listens, where
 * there is none or there are several. */
void node_find_socket(char out[NODE_PATH]);

/* Which ones there are instead, and what to do. */
void node_list_others(char out[NODES_TEXT]);

#endif
