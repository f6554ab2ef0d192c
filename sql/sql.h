/*
 * sql.h - the statement language: text in, cursor out.
 *
 * What server/ calls, and what server/ must offer in return (struct
 * sql_host).  No packets here, no sockets.
 */
#ifndef HW_SQL_H
#define HW_SQL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"
#include "waker.h"

struct controller;
struct cursor;
struct error;
struct sql_session;

enum {
    SQL_NAME_MAX = 64, /* characters of a user or database name */
    SQL_HOST_MAX = 64,
    SQL_INFO_MAX = 1024 /* of a statement, as SHOW PROCESSLIST cuts */
};

enum privilege {
    PRIVILEGE_STATUS = 1,  /* see */
    PRIVILEGE_PROFILE = 2, /* take snapshots */
    PRIVILEGE_CONTROL = 4, /* enable, disable, reset */
    PRIVILEGE_CLUSTER = 8, /* reach other nodes */
    PRIVILEGE_ADMIN = 16,  /* other people's sessions, accounts */
    PRIVILEGE_ALL = 31
};

/* "status, profile" to bits; -1 with *err naming the unknown word. */
int privileges_parse(const char *text, uint32_t *out, struct error *err);

struct sql_identity {
    char user[SQL_NAME_MAX + 1];
    char host[SQL_HOST_MAX + 1]; /* "localhost" or the address */
    uint32_t privileges;
};

/* A row of SHOW PROCESSLIST. */
struct sql_session_row {
    uint32_t id;
    char user[SQL_NAME_MAX + 1];
    char host[SQL_HOST_MAX + 8]; /* with the port */
    char database[SQL_NAME_MAX + 1];
    char command[16]; /* "Query", "Sleep", ... */
    char state[64];
    uint64_t seconds; /* in this state */
    bool has_info;
    char info[SQL_INFO_MAX + 1];
};

/* What statements need of the server.  Callable from any thread. */
struct sql_host {
    void *arg;
    /* Copies at most max rows, ascending by id; returns how many. */
    size_t (*list_sessions)(void *arg, struct sql_session_row *out, size_t max);
    /* Ends session id, or only its statement.  A session may be ended by its
     * own user and by PRIVILEGE_ADMIN.  1094 unknown, 1095 not the owner. */
    int (*kill)(void *arg, uint32_t id, bool query_only,
                const struct sql_identity *by, struct error *err);
    uint64_t (*count_questions)(void *arg);
};

/* The node that all sessions of a heapwired share. */
struct sql_node {
    uint32_t id;
    char address[SQL_HOST_MAX + 1]; /* where it listens; "" socket only */
    atomic_ushort port;             /* told once bound, which may be later */
    int64_t started_ms;             /* wall clock */
    struct controller *controller;
    struct sql_host host;
};

/* What the greeting names and SELECT VERSION() answers. */
#define SQL_SERVER_VERSION "8.0.36-heapwire-" HW_VERSION

/* node outlives the session; who is copied.  NULL: out of memory. */
struct sql_session *sql_session_new(const struct sql_node *node,
                                    const struct sql_identity *who,
                                    uint32_t connection_id);
void sql_session_free(struct sql_session *session); /* NULL is fine */
/* COM_RESET_CONNECTION: variables and transaction as after login. */
void sql_session_reset(struct sql_session *session);
/* COM_INIT_DB and USE: 1049 when there is no such database. */
int sql_session_use(struct sql_session *session, struct span database,
                    struct error *err);
const char *sql_session_database(const struct sql_session *session);
bool sql_session_autocommit(const struct sql_session *session);
bool sql_session_in_transaction(const struct sql_session *session);

/*
 * Parses text, checks the privilege, opens a cursor.  text is copied where it
 * must last.  waker is called when a cursor that said STEP_WAIT can go on; it
 * is not called any more once the cursor has been freed.  The cursor must be
 * freed before the session.  NULL with *err.
 */
struct cursor *sql_open(struct sql_session *session, struct span text,
                        struct waker waker, struct error *err);

/* COM_FIELD_LIST: a cursor with the table's columns and no rows. */
struct cursor *sql_open_fields(struct sql_session *session, struct span table,
                               struct error *err);

#endif
