/*
 * sql_session.h - a session as sql/ sees it.
 *
 * server/ lets one statement at a time use it.
 */
#ifndef HW_SQL_SESSION_H
#define HW_SQL_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cursor.h"
#include "reader.h"
#include "sql.h"
#include "waker.h"

struct sql_statement;
struct variable;

enum {
    IDLE_MAX_S = 31536000,  /* largest wait_timeout, as in MySQL */
    TIMEOUT_DEFAULT_S = 60, /* of a statement, in seconds */
    TIMEOUT_MAX_S = 86400,  /* largest heapwire_timeout */
    PARALLEL_MAX = 16384,   /* largest heapwire_parallel */
    SESSION_VALUES_MAX =
        256,                 /* variables that a session may change or create */
    SESSION_VALUE_MAX = 4096 /* bytes of one variable's value */
};

enum {
    WARNINGS_MAX = 64 /* kept; the count includes all */
};

struct warning {
    struct warning *next;
    uint16_t code;
    char text[];
};

/* The warnings of the last statement, for SHOW WARNINGS.  That does not
 * replace them, nor does a SELECT without tables, as in MySQL. */
struct warnings {
    struct warning *first, **last;
    size_t kept;
    uint64_t total;
    /* They are of an earlier statement, and the first new warning drops them.
     * Set when a statement begins. */
    bool old;
};

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
    uint64_t found_rows;     /* rows of the last SELECT or SHOW */
    uint64_t last_insert_id; /* as LAST_INSERT_ID(x) set it */
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

/* Adds a warning; without memory it is only counted. */
void warnings_add(struct sql_session *session, uint16_t code,
                  const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Drops the older ones, for a statement that does not read them. */
void warnings_drop_old(struct sql_session *session);

/* ---- texts prepared by PREPARE, by name ----
 *
 * The server keeps what COM_STMT_PREPARE prepares. */

enum {
    PREPARED_TEXTS_MAX = 32, /* of one session */
    PREPARED_TEXT_BYTES_MAX = 64 * 1024,
    PREPARED_TEXTS_BYTES_MAX = 16 * 1024 * 1024 /* in all sessions together */
};

struct prepared_text {
    struct prepared_text *next;
    char name[SQL_NAME_MAX + 1];
    size_t size;
    char text[];
};

/* Keeps the text, and replaces an earlier one of that name.  -1 with 1461 past
 * a ceiling. */
int prepared_text_keep(struct sql_session *session, struct span name,
                       struct span text, struct error *err);
/* NULL: the name is unknown. */
const struct prepared_text *prepared_text_find(struct sql_session *session,
                                               struct span name);
/* False: the name is unknown. */
bool prepared_text_drop(struct sql_session *session, struct span name);
/* -1 with 1243. */
int prepared_text_unknown(struct span name, const char *given_to,
                          struct error *err);
void prepared_texts_free(struct prepared_text *list);

/* ---- the names that sessions of this node lock with GET_LOCK() ----
 *
 * A session owns a lock, which counts how often it was taken.  Any thread. */

enum {
    USER_LOCK_NAME_MAX = 64, /* bytes, compared without case */
    USER_LOCKS_MAX = 256     /* locks of all sessions together */
};

enum user_lock { USER_LOCK_DONE, USER_LOCK_BUSY, USER_LOCK_NONE };

/* BUSY: another owner has it; NONE: all slots are taken. */
enum user_lock user_lock_take(struct span name,
                              const struct sql_session *owner);
/* BUSY: another owner has it; NONE: it is not locked. */
enum user_lock user_lock_release(struct span name,
                                 const struct sql_session *owner);
/* Releases all locks of owner; returns how many times it had taken them. */
unsigned user_locks_release(const struct sql_session *owner);

/* Woken whenever a lock is released. */
struct user_lock_watch {
    struct waker waker;
    struct user_lock_watch *next;
};

void user_locks_watch(struct user_lock_watch *watch, struct waker waker);
/* The watch is not woken any more once this returns.  It need not have been
 * watched. */
void user_locks_unwatch(const struct user_lock_watch *watch);

/* Its owner's connection id; 0: the name is not locked. */
uint32_t user_lock_owner(struct span name);

#endif
