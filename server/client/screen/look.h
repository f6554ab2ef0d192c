/*
 * look.h - one look after the other at the nodes, for the screen or for tables.
 *
 * A look is a few statements, one at a time: the nodes' states, their memory,
 * the view; on a new connection before these how long one may take, which
 * tables there are, and what differences begin at.  Nothing waits here.
 */
#ifndef HW_LOOK_H
#define HW_LOOK_H

#include <stdbool.h>
#include <stdint.h>

struct asker;
struct look;
struct screen;

struct look *look_new(struct asker *asker, struct screen *screen); /* or NULL */
void look_free(struct look *look); /* NULL is fine */

/* What is due: a look by the interval, or at once (screen->hurry).  True: the
 * screen has changed. */
bool look_begin(struct look *look);

/* The asker's statement is done: reads its answer, and asks the next. */
void look_go_on(struct look *look);

bool look_is_under_way(const struct look *look);
int look_wait_ms(const struct look *look); /* until one is due; -1: never */
unsigned look_asking_s(const struct look *look); /* its statement, so long */
unsigned look_count(const struct look *look);    /* that are done */
bool look_failed(const struct look *look);       /* the last one got no rows */

#endif
