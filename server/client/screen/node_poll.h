/*
 * node_poll.h - polls the nodes, one poll after the other, for the screen or
 * for tables.
 *
 * A poll is a few statements, one at a time: the nodes' states, their memory,
 * the view; on a new connection before these how long one may take, which
 * tables there are, and what differences begin at.  Nothing waits here.
 */
#ifndef HW_NODE_POLL_H
#define HW_NODE_POLL_H

#include <stdbool.h>
#include <stdint.h>

struct asker;
struct node_poll;
struct screen;

struct node_poll *node_poll_new(struct asker *asker,
                                struct screen *screen); /* or NULL */
void node_poll_free(struct node_poll *poll);            /* NULL is fine */

/* What is due: a poll by the interval, or at once (screen->hurry).  True: the
 * screen has changed. */
bool node_poll_begin(struct node_poll *poll);

/* The asker's statement is done: reads its answer, and asks the next. */
void node_poll_continue(struct node_poll *poll);

bool node_poll_is_running(const struct node_poll *poll);
int node_poll_wait_ms(
    const struct node_poll *poll); /* until one is due; -1: never */
unsigned
node_poll_asking_s(const struct node_poll *poll); /* its statement, so long */
unsigned node_poll_count(const struct node_poll *poll); /* that are done */
bool node_poll_has_failed(
    const struct node_poll *poll); /* the last one got no rows */

#endif
