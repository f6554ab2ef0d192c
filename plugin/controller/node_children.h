/*
 * node_children.h - the served process's children that nothing looks into, in
 * node->status.children.
 *
 * Belongs to the channel thread.
 */
#ifndef HW_NODE_CHILDREN_H
#define HW_NODE_CHILDREN_H

struct node;

/* Looks, at most every few seconds, and for a hundredth of the time where /proc
 * is long. */
void node_children_look(struct node *node);

#endif
