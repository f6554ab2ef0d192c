/*
 * peer_login.h - another node of the cluster as a client: its login, and its
 * envelopes.
 *
 * A handshake response that names the plugin heapwire_peer comes here: no user,
 * no password.  All on the loop, but for the channel, which a worker may use
 * while it opens a long statement.
 */
#ifndef HW_PEER_LOGIN_H
#define HW_PEER_LOGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"
#include "sql.h"

struct audit;
struct session;

/* Of a session that is another node's, or wants to be. */
struct peer_session;

/* Challenges whoever says that it is a node. */
void peer_login_begin(struct session *session);
/* The packet of SESSION_PEER: the proof. */
void peer_login_answer(struct session *session, struct span packet);
void peer_session_free(struct peer_session *peer); /* NULL is fine */

/* Who logged in with another key than the server has now; peer NULL: no. */
bool peer_session_is_outdated(const struct peer_session *peer);
/* An envelope was not what it must be: the session ends with the statement. */
bool peer_session_is_broken(const struct peer_session *peer);

/* Of the statement that has been opened: what is audited of it moves there. */
void peer_session_audit(struct peer_session *peer, struct audit *audit);
/* Whose statement it is: *who is the caller, where it was
 * connected in its host; returns the connection there. */
uint32_t peer_session_caller(const struct peer_session *peer,
                             struct sql_identity *who);

#endif
