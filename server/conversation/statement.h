/*
 * statement.h - one statement of a session: opened, pulled, answered, logged.
 *
 * Rows are pulled only while the client takes them.  All with the loop's lock,
 * which a statement that waits or computes for long gives up meanwhile: what
 * starts one may return long afterwards, with the lock again.
 */
#ifndef HW_STATEMENT_H
#define HW_STATEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"
#include "session.h"

struct cursor;
struct error;
struct prepared;
struct value;
struct sql_description;
struct sql_session;
struct statement;

/* An answer that is no MySQL packets.  Each appends to the reply; row may be
 * called without the lock. */
struct statement_form {
    /* -1 with *err, and nothing was appended. */
    int (*row)(void *arg, struct reply *reply, const struct cursor *cursor,
               const struct value *row, struct error *err);
    /* After the last row, or instead of one; cursor NULL: it only opened.
     * sql has its warnings. */
    void (*end)(void *arg, struct reply *reply, const struct cursor *cursor,
                const struct sql_session *sql);
    void (*fail)(void *arg, struct reply *reply, const struct error *err);
    /* Must the session close then? */
    bool (*is_last)(const void *arg);
};

/* From SESSION_READY. Texts and packets are copied. */
/* COM_QUERY. */
void statement_start(struct session *session, struct span text);
/* The same in that form; it and arg outlive the statement.  opens_only: parses
 * and checks the statement, and answers with the end alone. */
void statement_answer(struct session *session, struct span text,
                      const struct statement_form *form, void *arg,
                      bool opens_only);
/* COM_STMT_EXECUTE: rows are binary.  packet: the bytes behind the iteration
 * count.  Takes long data, also on failure.  cursor: makes the first rows and
 * keeps them in prepared->cursor, which is NULL before, for COM_STMT_FETCH. */
void statement_execute(struct session *session, struct prepared *prepared,
                       struct span packet, bool cursor);

/* Sends the reply. */
typedef void statement_described(struct session *session, struct span text,
                                 const struct sql_description *description);
/* COM_STMT_PREPARE: calls on_described, unless that fails. */
void statement_describe(struct session *session, struct span text,
                        statement_described *on_described);
/* COM_STMT_FETCH: at most count rows of prepared->cursor, which becomes NULL
 * after the last. */
void statement_fetch(struct prepared *prepared, uint32_t count);
/* Ends prepared->cursor, which does not run; fine if there is none. */
void statement_drop(struct prepared *prepared);

/* For the session's statement: fine if there is none. */
void statement_resume(struct session *session); /* there is room again */
void statement_cancel(struct session *session, enum statement_end why);
void statement_tick(struct session *session, uint64_t now_ms);
/* The session is closed: gives everything back, now or once the statement's
 * thread is back. */
void statement_abandon(struct session *session);

#endif
