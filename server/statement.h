/*
 * statement.h - one statement of a session: opened, pulled, answered, logged.
 *
 * Rows are pulled only while the client takes them.  All on the loop.
 */
#ifndef HW_STATEMENT_H
#define HW_STATEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"

struct prepared;
struct session;
struct sql_parameters;
struct statement;

/* Why a statement is cut short; the first reason counts. */
enum statement_end { END_NONE, END_KILLED, END_TIMEOUT, END_SHUTDOWN };

/* COM_QUERY.  From SESSION_READY; text is borrowed for this call. */
void statement_start(struct session *session, struct span text);
/* COM_STMT_EXECUTE: rows are binary.  cursor: the first ones are made, and wait
 * in prepared->cursor for COM_STMT_FETCH.  It has none open. */
void statement_execute(struct session *session, struct prepared *prepared,
                       const struct sql_parameters *parameters, bool cursor);
/* COM_STMT_FETCH: at most count rows of prepared->cursor, which is NULL once
 * there are no more. */
void statement_fetch(struct prepared *prepared, uint32_t count);
/* Ends prepared->cursor, which does not run; fine if there is none. */
void statement_drop(struct prepared *prepared);

/* Of the session's statement: fine if there is none. */
void statement_resume(struct session *session); /* there is room again */
void statement_cancel(struct session *session, enum statement_end why);
void statement_tick(struct session *session, uint64_t now_ms);
/* The session is closed: gives everything back, now or when a worker has
 * finished its step. */
void statement_abandon(struct session *session);

#endif
