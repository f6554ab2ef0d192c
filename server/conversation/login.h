/* login.h - proves a client's identity. */
#ifndef HW_LOGIN_H
#define HW_LOGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"

struct error;
struct server;
struct session;

void login_begin(struct session *session); /* greets */
/* The packets of SESSION_LOGIN and SESSION_SWITCH. */
void login_response(struct session *session, struct span packet);
void login_answer(struct session *session, struct span packet);
/* COM_CHANGE_USER: logs in again, with a fresh nonce. */
void login_change(struct session *session, struct span packet);

/* The session ends; an unanswered wrong password counts now. */
void login_given_up(struct session *session);

/* True with *err (1129): this address, shown as host, has failed too often and
 * is refused now. */
bool login_blocked(const struct server *server, uint64_t key, const char *host,
                   struct error *err);

#endif
