/*
 * prepared_commands.h - the COM_STMT_... commands of a session.
 *
 * body is the packet behind its command byte, borrowed for the call.  Faults of
 * a packet are answered; CLOSE and SEND_LONG_DATA have no reply.
 */
#ifndef HW_PREPARED_COMMANDS_H
#define HW_PREPARED_COMMANDS_H

#include "reader.h"

struct session;

void prepared_prepare(struct session *session, struct span body);
void prepared_execute(struct session *session, struct span body);
void prepared_send_long_data(struct session *session, struct span body);
void prepared_close(struct session *session, struct span body);
void prepared_reset(struct session *session, struct span body);
void prepared_fetch(struct session *session, struct span body);

/* Drops all prepared statements and cursors; none of them runs. */
void prepared_drop_all(struct session *session);

#endif
