/*
 * agent_client_children.h - the served process's children that nothing looks
 * into, in node->status.children.
 *
 * Belongs to the channel thread.
 */
#ifndef HW_AGENT_CLIENT_CHILDREN_H
#define HW_AGENT_CLIENT_CHILDREN_H

struct agent_client;

/* Looks, at most every few seconds, and for a hundredth of the time where /proc
 * is long. */
void agent_client_children_look(struct agent_client *client);

#endif
