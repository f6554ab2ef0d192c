/* login.h - who a client is, and how it proves that. */
#ifndef HW_LOGIN_H
#define HW_LOGIN_H

#include "reader.h"

struct session;

void login_begin(struct session *session); /* greets */
/* The packets of SESSION_LOGIN and SESSION_SWITCH. */
void login_response(struct session *session, struct span packet);
void login_answer(struct session *session, struct span packet);
/* COM_CHANGE_USER: all over again, with a fresh nonce. */
void login_change(struct session *session, struct span packet);

#endif
