/*
 * sql_session.h - what a session is inside sql/.
 *
 * server/ lets one statement at a time touch it.
 */
#ifndef HW_SQL_SESSION_H
#define HW_SQL_SESSION_H

#include <stdatomic.h>

#include "cursor.h"
#include "sql.h"
#include "warnings.h"

enum {
    IDLE_MAX_S = 31536000,    /* of wait_timeout, as MySQL has it */
    TIMEOUT_DEFAULT_S = 60,   /* of a statement */
    TIMEOUT_MAX_S = 86400,    /* heapwire_timeout */
    PARALLEL_MAX = 16384,     /* heapwire_parallel */
    SESSION_VALUES_MAX = 256, /* variables that a session may change or make */
    SESSION_VALUE_MAX = 4096  /* bytes of one */
};

struct prepared_text;
struct sql_statement;
struct variable;

/* One changed system variable, or a user variable. */
struct session_value {
    struct session_value *next;
    const struct variable *variable; /* NULL: a user variable */
    struct value value;              /* its data points into bytes */
    char name[SQL_NAME_MAX + 1];     /* of a user variable */
    char bytes[];
};

struct sql_session {
    const struct sql_node *node;
    struct sql_identity who;
    uint32_t connection_id;
    const struct peer_channel *channel; /* another node's session; or NULL */
    bool forwarded; /* for another node's session: may ask no other node */
    char database[SQL_NAME_MAX + 1]; /* "": none */
    atomic_bool interrupted;         /* statements that it opens now fail */
    bool autocommit, in_transaction;
    uint32_t idle_s;      /* wait_timeout, where SET changed it; or 0 */
    uint32_t timeout_ms;  /* max_execution_time; 0: none */
    uint32_t statement_s; /* heapwire_timeout, where SET changed it; or 0 */
    uint32_t parallel;    /* heapwire_parallel; 0: none */
    uint64_t found_rows;  /* that the last SELECT or SHOW gave */
    struct warnings warnings;
    struct session_value *values;   /* NULL while nothing was changed */
    struct prepared_text *prepared; /* by SQL's PREPARE; NULL: none */
};

/* The session's own value of variable, or the user variable name; or NULL. */
const struct session_value *
session_value_find(const struct sql_session *session,
                   const struct variable *variable, struct span name);

/* A copy of value, not yet the session's.  NULL with *err. */
struct session_value *session_value_new(const struct variable *variable,
                                        struct span name,
                                        const struct value *value,
                                        struct error *err);
/* Puts all of list (linked by next) in force, taking it.  -1, with nothing
 * changed, past SESSION_VALUES_MAX. */
int session_value_apply(struct sql_session *session, struct session_value *list,
                        struct error *err);
void session_value_free(struct session_value *list);

/* heapwire_timeout and heapwire_parallel: the statement's, else the session's.
 */
uint32_t session_timeout_s(const struct sql_session *session,
                           const struct sql_statement *statement);
uint32_t session_parallel(const struct sql_session *session,
                          const struct sql_statement *statement);

#endif
