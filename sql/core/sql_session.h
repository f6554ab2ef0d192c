/*
 * sql_session.h - a session as sql/ sees it.
 *
 * server/ lets one statement at a time use it.
 */
#ifndef HW_SQL_SESSION_H
#define HW_SQL_SESSION_H

#include "cursor.h"
#include "sql.h"
#include "warnings.h"

enum {
    IDLE_MAX_S = 31536000,  /* largest wait_timeout, as in MySQL */
    TIMEOUT_DEFAULT_S = 60, /* of a statement, in seconds */
    TIMEOUT_MAX_S = 86400,  /* largest heapwire_timeout */
    PARALLEL_MAX = 16384,   /* largest heapwire_parallel */
    SESSION_VALUES_MAX =
        256,                 /* variables that a session may change or create */
    SESSION_VALUE_MAX = 4096 /* bytes of one variable's value */
};

struct prepared_text;
struct sql_statement;
struct variable;

/* One changed system variable, or a user variable. */
struct session_value {
    struct session_value *next;
    const struct variable *variable; /* NULL: a user variable */
    struct value value;              /* its data points into bytes */
    char name[SQL_NAME_MAX + 1];     /* name of a user variable */
    char bytes[];
};

struct sql_session {
    const struct sql_node *node;
    struct sql_identity who;
    uint32_t connection_id;
    const struct peer_channel
        *channel;   /* set in another node's session, else NULL */
    bool forwarded; /* runs another node's statement: may ask no other node */
    char database[SQL_NAME_MAX + 1]; /* "": no database */
    bool autocommit, in_transaction;
    uint32_t idle_s;     /* wait_timeout as SET changed it; 0: not changed */
    uint32_t timeout_ms; /* max_execution_time; 0: none */
    uint32_t
        statement_s;   /* heapwire_timeout as SET changed it; 0: not changed */
    uint32_t parallel; /* heapwire_parallel; 0: none */
    uint64_t found_rows; /* rows of the last SELECT or SHOW */
    struct warnings warnings;
    struct session_value *values; /* NULL: nothing was changed */
    struct prepared_text
        *prepared; /* texts prepared by SQL's PREPARE; NULL: none */
};

/* The session's own value of variable or, if that is NULL, of the user variable
 * name.  NULL: it has none. */
const struct session_value *
session_value_find(const struct sql_session *session,
                   const struct variable *variable, struct span name);

/* Copies value; the copy is not in force yet.  NULL with *err. */
struct session_value *session_value_new(const struct variable *variable,
                                        struct span name,
                                        const struct value *value,
                                        struct error *err);
/* Puts every value of list (linked by next) in force and takes the list.  -1
 * past SESSION_VALUES_MAX, with nothing changed. */
int session_value_apply(struct sql_session *session, struct session_value *list,
                        struct error *err);
void session_value_free(struct session_value *list);

/* heapwire_timeout and heapwire_parallel: the statement's own, else the
 * session's. */
uint32_t session_timeout_s(const struct sql_session *session,
                           const struct sql_statement *statement);
uint32_t session_parallel(const struct sql_session *session,
                          const struct sql_statement *statement);

#endif
