/*
 * statement_state.h - shared by the two halves of statement.h: the opening of a
 * statement (statement_open.c), and its rows and end (statement.c).
 */
#ifndef HW_STATEMENT_STATE_H
#define HW_STATEMENT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit.h"
#include "chunk.h"
#include "execute_values.h"
#include "pump.h"
#include "sql.h"
#include "statement.h"

/* The client's last request. */
enum request {
    REQUEST_RESULT, /* the whole result */
    REQUEST_CURSOR, /* columns, and no row yet */
    REQUEST_ROWS    /* some of a cursor's */
};

/* While the pump steps, the marked fields are the worker's, which makes the
 * next chunk of the reply. */
struct statement {
    struct pump pump;
    struct session *session;
    const struct statement_form *form; /* NULL: MySQL's packets */
    void *form_arg;
    struct prepared *prepared; /* rows are binary; NULL: they are texts */
    enum request request;
    uint64_t wanted; /* rows, of REQUEST_ROWS, not yet made; the worker's */
    uint64_t started_ms;
    uint64_t timeout_ms;
    uint64_t
        deadline_ms; /* delayed by the time that the client does not read */
    uint64_t full_since_ms; /* 0: the client is ready for more */
    size_t made;            /* rows of the pump's batch; the worker's */
    bool columns_made;      /* the worker's */
    struct chunk chunk;   /* the worker's; empty when the pump begins a step */
    int fd;               /* the session's socket, for the worker; or -1 */
    bool writes;          /* the worker may, in this step */
    uint64_t rows, bytes; /* given to the session */
    bool columns_sent;
    enum statement_end end;
    struct audit audit; /* a worker's while it is opened */

    char *packet; /* a copy of the text; of COM_STMT_EXECUTE, of the values
                     until it is open */
    size_t packet_size;
    struct memory_hold held; /* of it */
    struct span text;        /* the packet; or prepared's, which outlives us */

    /* While it is opened, perhaps by a worker: */
    bool opening;
    void (*on_opened)(struct statement *st); /* then, on the loop */
    struct sql_indirect meant;               /* by the text of COM_QUERY */
    struct execute_values values;      /* borrow the packet and long data; the
                                          worker's */
    statement_described *on_described; /* NULL: not for COM_STMT_PREPARE */
    bool described;
    struct sql_description description; /* if so */
    struct cursor *opened;
};

/* Makes it the session's running statement. */
void statement_enter(struct statement *st, const char *command,
                     struct span text);
/* The pump calls these: a worker's step has ended; make its rows, on the
 * worker. */
void statement_ready(void *arg);
bool statement_take_rows(void *arg);

/* Sends and steps until the client is full, a worker steps, or the end. */
void statement_pull(struct statement *st);
/* Sends the pump's error.  Frees it. */
void statement_fail(struct statement *st);
/* The reply is complete: error NULL for success.  Frees it. */
void statement_finish(struct statement *st, const struct error *error);

void statement_free(struct statement *st);
/* Frees what only the opening needs; fine if there is none. */
void statement_drop_opening(struct statement *st);

#endif
