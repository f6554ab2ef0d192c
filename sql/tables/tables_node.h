/* tables_node.h - words for a node's state, shared by the tables of nodes. */
#ifndef HW_TABLES_NODE_H
#define HW_TABLES_NODE_H

#include "controller.h"

struct error;

/* "connected", ... */
const char *node_state_name(enum node_state state);
/* Explains in *why what keeps profiling from being switched on; "": nothing
 * does. */
const char *node_explain(const struct node_status *status, struct error *why);

#endif
