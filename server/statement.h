/*
 * statement.h - one statement of a session: opened, pulled, answered, logged.
 *
 * Rows are pulled only while the client takes them.  All on the loop.
 */
#ifndef HW_STATEMENT_H
#define HW_STATEMENT_H

#include <stdint.h>

#include "reader.h"

struct session;
struct statement;

/* Why a statement is cut short; the first reason counts. */
enum statement_end { END_NONE, END_KILLED, END_TIMEOUT, END_SHUTDOWN };

/* From SESSION_READY; text is borrowed for this call. */
void statement_start(struct session *session, struct span text);

/* Of the session's statement: fine if there is none. */
void statement_resume(struct session *session); /* there is room again */
void statement_cancel(struct session *session, enum statement_end why);
void statement_tick(struct session *session, uint64_t now_ms);
/* The session is closed: gives everything back, now or when a worker has
 * finished its step. */
void statement_abandon(struct session *session);

#endif
