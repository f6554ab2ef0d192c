/*
 * peer_login.h - another node of the cluster as a client: its login, and its
 * envelopes.
 *
 * A handshake response that names the plugin heapwire_peer comes here: no user,
 * no password.  With the loop's lock, except for the channel, which a statement
 * that is off the loop uses.
 */
#ifndef HW_PEER_LOGIN_H
#define HW_PEER_LOGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"
#include "sql.h"

struct audit;
struct session;

/* The part of a session that has challenged another node, or admitted it. */
struct peer_session;

/* Challenges a client that claims to be a node. */
void peer_login_begin(struct session *session);
/* The packet of SESSION_PEER: the proof. */
void peer_login_answer(struct session *session, struct span packet);
void peer_session_free(struct peer_session *peer); /* NULL is fine */

/* The session used another key than the server has now; peer NULL: no. */
bool peer_session_is_outdated(const struct peer_session *peer);
/* An envelope was invalid: the session ends with the statement. */
bool peer_session_is_broken(const struct peer_session *peer);

/* Moves the audit record of the statement just opened to audit. */
void peer_session_audit(struct peer_session *peer, struct audit *audit);
/* The caller of the statement: *who, whose host says where it is connected;
 * returns its connection there. */
uint32_t peer_session_caller(const struct peer_session *peer,
                             struct sql_identity *who);
/* Whose slots it takes: the caller's, apart from a user of that name here.
 * Lasts until the next statement. */
const char *peer_session_owner(struct peer_session *peer);

#endif
