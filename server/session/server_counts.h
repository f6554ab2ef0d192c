/*
 * server_counts.h - counts a server's sessions by kind, and sets the pace of
 * its tick.
 *
 * With the loop's lock.  The session calls these; server.h's functions call the
 * session.
 */
#ifndef HW_SERVER_COUNTS_H
#define HW_SERVER_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "server.h"

/* Places of max that are kept: a fraction of few, so that others have some. */
size_t server_reserve(size_t max);
/* Is there room for one more user's session? */
bool server_can_admit(const struct server *server, enum transport transport);
/* The session takes no spare place any more. */
void server_settle(struct server *server, struct session *session);

/* The session begins or ends its login. */
void server_note_login(struct server *server, struct session *session,
                       bool begins);
/* The session has proven to be a user's; -1 with *err if only other nodes have
 * room. */
int server_note_user(struct server *server, struct session *session,
                     struct error *err);
void server_add(struct server *server, struct session *session);
/* The last one of a server that stops lets the loop end. */
void server_remove(struct server *server, struct session *session);

/* Milliseconds between two ticks, while there is something to look at. */
void server_set_pace(struct server *server, uint64_t ms);
/* Shortens them: a login or a statement has begun. */
void server_hurry(struct server *server);
/* Closes what keeps the loop from ending. */
void server_stop_now(struct server *server);

#endif
