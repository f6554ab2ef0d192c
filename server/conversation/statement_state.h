/*
 * statement_state.h - shared by the parts of statement.h: how a statement
 * begins and goes on (statement_open.c), its rows and end (statement.c), and
 * how it leaves the loop to another thread and comes back
 * (statement_off_loop.c).
 */
#ifndef HW_STATEMENT_STATE_H
#define HW_STATEMENT_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit.h"
#include "await.h"
#include "cursor.h"
#include "errors.h"
#include "execute_values.h"
#include "sql.h"
#include "statement.h"
#include "scheduler.h"

/* The client's last request. */
enum request {
    REQUEST_RESULT, /* the whole result */
    REQUEST_CURSOR, /* columns, and no row yet */
    REQUEST_ROWS    /* some of a cursor's */
};

/* Belongs to the thread that runs it: with the loop's lock, or off it. */
struct statement {
    struct await await;
    struct scheduler_entry slots;
    struct session *session;
    const struct statement_form *form; /* NULL: MySQL's packets */
    void *form_arg;
    struct prepared *prepared; /* rows are binary; NULL: they are texts */
    enum request request;
    uint64_t wanted; /* rows, of REQUEST_ROWS, not yet made */
    uint64_t started_ms, reported_ms;
    uint64_t timeout_ms;
    /* delayed by the time that the client does not read */
    atomic_uint_fast64_t deadline_ms;
    uint64_t full_since_ms; /* 0: the client is ready for more */
    uint64_t rows, bytes;   /* made */
    enum statement_end end; /* with the lock */
    struct audit audit;

    bool off_loop;        /* its thread has left the loop */
    bool waits;           /* for a thread slot, and no thread has it */
    bool is_short;        /* needs none */
    struct error refusal; /* why it could not leave; code 0: it could */

    struct cursor *cursor; /* NULL: it is not open */
    struct value *row;     /* borrowed from the cursor until its next step */
    bool has_row, columns_made;
    enum step outcome; /* of the last step */
    struct error error;

    char *packet; /* a copy of the text; of COM_STMT_EXECUTE, of the values
                     until it is open */
    size_t packet_size;
    struct memory_reservation reserved; /* for the packet */
    struct span text; /* the packet's; or prepared's, which outlives this */

    /* Until it is open: */
    struct sql_indirect redirected;    /* by the text of COM_QUERY */
    struct execute_values values;      /* borrow the packet and long data */
    statement_described *on_described; /* NULL: not for COM_STMT_PREPARE */
    struct sql_description description;
};

/* Makes it the running statement of the session. */
void statement_enter(struct statement *st, const char *command,
                     struct span text);
/* Once it has a thread slot: opens it, if it is not open, and sends its rows
 * until the client is full or the end, which frees it.  With the lock, before
 * and afterwards. */
void statement_run(struct statement *st);
void statement_pull(struct statement *st);
/* Time that the client does not read is not the statement's. */
void statement_note_full(struct statement *st, bool full);
/* Sends st->error.  Frees it. */
void statement_fail(struct statement *st);
/* The reply is complete: error NULL for success.  Frees it. */
void statement_finish(struct statement *st, const struct error *error);

void statement_free(struct statement *st);
/* Closes what the opening has left. */
void statement_close_opening(struct statement *st);

/* ---- statement_off_loop.c ---- */

/* For st->await. */
void statement_on_park(void *arg, bool waits);
void statement_on_tick(void *arg);
/* For st->slots. */
void statement_on_slot(void *arg);

/* The statement is about to compute, or to send, for long.  False: it cannot
 * leave: see refusal. */
bool statement_leave_loop(struct statement *st);
/* With the lock again, and without the slot.  False: the session is closed,
 * and st freed. */
bool statement_rejoin_loop(struct statement *st);
/* Is its text, or are its values, long? */
bool statement_is_long(const struct statement *st);
/* False: it waits for a thread slot, and goes on once it has one. */
bool statement_take_slot(struct statement *st);
/* Tells another node, which waits for the statement, that it is alive. */
void statement_report_waiting(struct statement *st, uint64_t now_ms);

#endif
