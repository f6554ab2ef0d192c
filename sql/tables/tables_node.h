/* tables_node.h - how the tables of nodes say how a node is. */
#ifndef HW_TABLES_NODE_H
#define HW_TABLES_NODE_H

#include "controller.h"

struct error;

/* "connected", ... */
const char *node_state_name(enum node_state state);
/* Why profiling cannot be switched on there, or ""; in *why. */
const char *node_explain(const struct node_status *status, struct error *why);

#endif
