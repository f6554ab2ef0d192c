/* login.h - proves a client's identity. */
#ifndef HW_LOGIN_H
#define HW_LOGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"

struct error;
struct session;

void login_begin(struct session *session); /* greets */
/* The packets of SESSION_LOGIN and SESSION_SWITCH. */
void login_response(struct session *session, struct span packet);
void login_answer(struct session *session, struct span packet);
/* COM_CHANGE_USER: logs in again, with a fresh nonce. */
void login_change(struct session *session, struct span packet);

/* The session ends; an unanswered wrong password counts now. */
void login_given_up(struct session *session);

/* ---- for logins of session->wanted_user by another protocol ---- */
/* On the unix socket, root and heapwired's own user need no password: both as
 * 'root', the latter also under its own name. */
bool login_is_trusted(const struct session *session);
/* Gives the session that identity, and an SQL session of it; -1 with *err. */
int login_admit(struct session *session, uint32_t privileges, bool by_password,
                struct error *err);
/* The user has proven the password or token.  -1 with *err: it may not come in
 * all the same. */
int login_admit_user(struct session *session, struct error *err);
/* An answer was wrong: counts it, and sets *err. */
void login_deny(struct session *session, bool with_password, struct error *err);

/* May a proof of session->wanted_user be looked at?  Call it once for each. */
enum login_admission {
    LOGIN_NOW,
    LOGIN_LATER,  /* the packet comes again: see session_delay */
    LOGIN_REFUSED /* with *err (1129): too many wait, or it may not */
};

enum login_admission login_check_admission(struct session *session,
                                           bool may_wait, struct error *err);

#endif
