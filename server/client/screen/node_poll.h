/*
 * node_poll.h - polls the nodes again and again, for the screen or for tables.
 *
 * A poll is a few statements, one at a time: the states of the nodes, their
 * memory, the view.  On a new connection others come first: how long a
 * statement may take, which tables there are, and what TOP_DIFF compares to.
 * Nothing waits here.
 */
#ifndef HW_NODE_POLL_H
#define HW_NODE_POLL_H

#include <stdbool.h>
#include <stdint.h>

struct asker;
struct node_poll;
struct screen;

struct node_poll *node_poll_new(struct asker *asker,
                                struct screen *screen); /* NULL: no memory */
void node_poll_free(struct node_poll *poll);            /* NULL is fine */

/* Begins a poll if one is due by the interval or by screen->hurry.  Answers
 * true if it did; the screen may have changed. */
bool node_poll_begin(struct node_poll *poll);

/* The asker's statement is done: reads its answer, and asks the next one. */
void node_poll_continue(struct node_poll *poll);

bool node_poll_is_running(const struct node_poll *poll);
int node_poll_wait_ms(
    const struct node_poll *poll); /* until a poll is due; -1 means never */
unsigned
node_poll_asking_s(const struct node_poll *poll); /* age of the statement */
/* polls that are done */
unsigned node_poll_count(const struct node_poll *poll);
bool node_poll_has_failed(
    const struct node_poll *poll); /* the last one got no rows */

#endif
