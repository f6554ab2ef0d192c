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

struct arena;
struct column;
struct controller;
struct cursor;
struct error;
struct history;
struct peer_channel;
struct sql_peers;
struct sql_session;
struct value;
struct view_cache;

enum {
    SQL_NAME_MAX = 64, /* characters of a user or database name */
    SQL_HOST_MAX = 64,
    SQL_INFO_MAX = 1024, /* of a statement, as SHOW PROCESSLIST cuts */
    SQL_PARAMETERS_MAX = 65535,
    SQL_AUDIT_TEXT_MAX = 512, /* bytes of a statement in the audit log */
    SQL_AUDIT_ROWS_MAX = 1000 /* kept */
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
    const char *tls_version, *tls_cipher; /* static; NULL without TLS */
    /* By the operating system's word, without a password: an account of that
     * name is another identity. */
    bool trusted;
};

/* A row of SHOW PROCESSLIST. */
struct sql_session_row {
    uint32_t id;
    char user[SQL_NAME_MAX + 1];
    bool trusted;                /* as in struct sql_identity */
    char host[SQL_HOST_MAX + 8]; /* with the port */
    char database[SQL_NAME_MAX + 1];
    char command[16]; /* "Query", "Sleep", ... */
    char state[64];
    uint64_t seconds; /* in this state */
    bool has_info;
    char info[SQL_INFO_MAX + 1];
};

/* A row of heapwire.settings. */
struct sql_setting_row {
    char name[64];
    char value[1024];
    bool reloadable; /* SIGHUP changes it */
};

/* A row of heapwire.users: nothing secret. */
struct sql_user_row {
    char name[SQL_NAME_MAX + 1];
    bool native; /* may log in with mysql_native_password */
    uint32_t privileges;
    uint64_t connections; /* open now */
};

/* A row of heapwire.audit_log: one ADMIN EXECUTE that has ended. */
struct sql_audit_row {
    int64_t at_ms; /* wall clock, of its end */
    uint32_t connection_id;
    char user[SQL_NAME_MAX + 1];
    char host[SQL_HOST_MAX + 1];
    uint16_t error; /* code; 0: it succeeded */
    uint64_t rows, bytes, elapsed_ms;
    char text[SQL_AUDIT_TEXT_MAX + 1];
};

/* Since the start. */
struct sql_counts {
    uint64_t questions, connections;
    uint64_t most_connections; /* at once */
    uint64_t failed_logins;    /* and connections that never logged in */
    uint64_t lost_clients;     /* that logged in and said no farewell */
    uint64_t received, sent;   /* bytes */
};

/* What statements need of the server.  Callable from any thread.  The lists
 * copy at most max rows and return how many. */
struct sql_host {
    void *arg;
    /* Copies at most max rows, ascending by id; returns how many. */
    size_t (*list_sessions)(void *arg, struct sql_session_row *out, size_t max);
    /* Ends session id, or only its statement.  A session may be ended by its
     * own user and by PRIVILEGE_ADMIN.  1094 unknown, 1095 not the owner. */
    int (*kill)(void *arg, uint32_t id, bool query_only,
                const struct sql_identity *by, struct error *err);
    void (*count)(void *arg, struct sql_counts *out);
    size_t (*list_settings)(void *arg, struct sql_setting_row *out, size_t max);
    size_t (*list_users)(void *arg, struct sql_user_row *out, size_t max);
    /* Newest first. */
    size_t (*list_audit)(void *arg, struct sql_audit_row *out, size_t max);
};

/* The node that all sessions of a heapwired share. */
struct sql_node {
    uint32_t id;
    char address[SQL_HOST_MAX + 1]; /* where it listens; "" socket only */
    atomic_ushort port;             /* 0 until it is bound */
    atomic_bool requires_tls;       /* of TCP; a reload may change it */
    int64_t started_ms;             /* wall clock */
    uint32_t max_connections;
    atomic_uint idle_timeout_s; /* wait_timeout, where SET has not changed it */
    atomic_uint statement_timeout_s; /* heapwire_timeout, likewise */
    struct controller *controller;
    struct view_cache *views;
    const struct sql_peers *peers; /* peers.h; never NULL */
    struct history *history;       /* NULL: there is none */
    const char *state_dir;         /* likewise */
    struct sql_host host;
};

/* What the greeting names and SELECT VERSION() answers. */
#define SQL_SERVER_VERSION "8.0.36-heapwire-" HW_VERSION

/* Once, before any thread and before any session: the tables are known. */
void sql_start(void);

/* node outlives the session; who is copied.  NULL: out of memory. */
struct sql_session *sql_session_new(const struct sql_node *node,
                                    const struct sql_identity *who,
                                    uint32_t connection_id);
/* Makes it another node's session, which runs ADMIN FORWARD alone.  channel
 * outlives it. */
void sql_session_set_channel(struct sql_session *session,
                             const struct peer_channel *channel);
void sql_session_free(struct sql_session *session); /* NULL is fine */
/* COM_RESET_CONNECTION: variables and transaction as after login. */
void sql_session_reset(struct sql_session *session);
/* COM_INIT_DB and USE: 1049 when there is no such database. */
int sql_session_use(struct sql_session *session, struct span database,
                    struct error *err);
const char *sql_session_database(const struct sql_session *session);
bool sql_session_autocommit(const struct sql_session *session);
/* Seconds that it may wait for a statement: its wait_timeout. */
uint32_t sql_session_idle_s(const struct sql_session *session);
/* Seconds that a statement may take: its heapwire_timeout; 0: not set. */
uint32_t sql_session_statement_s(const struct sql_session *session);
/* Milliseconds that a timed cursor may take: max_execution_time; 0: any. */
uint32_t sql_session_timeout_ms(const struct sql_session *session);
/* Warnings of the last statement, for its OK or EOF. */
uint16_t sql_session_warnings(const struct sql_session *session);
/* Before a row is sent, on the statement's thread: in a column that is no BLOB,
 * bytes that are not UTF-8 become NULL, with a warning.  Clients decode every
 * text, and some lose their place in the stream where they cannot. */
void sql_session_check_row(struct sql_session *session,
                           const struct column *columns, struct value *values,
                           size_t count);
bool sql_session_in_transaction(const struct sql_session *session);

/* On: what the session opens, now or later, fails with ER_QUERY_INTERRUPTED
 * soon.  Any thread; a cursor that is open has its own cancel. */
void sql_session_interrupt(struct sql_session *session, bool on);

/* The values of a prepared statement's ?, in order. */
struct sql_parameters {
    const struct value *values;
    size_t count;
};

/*
 * Parses text, checks the privilege, opens a cursor, which text outlives;
 * parameters are copied where they must last.  NULL: a ? is a syntax error.
 * waker is called when a cursor that said STEP_WAIT can go on; it is not called
 * any more once the cursor has been freed.  The cursor must be freed before the
 * session.  NULL with *err.
 */
struct cursor *sql_open(struct sql_session *session, struct span text,
                        const struct sql_parameters *parameters,
                        struct waker waker, struct error *err);

/* The text, with the values of its ?, that another one stands for. */
struct sql_indirect {
    struct arena *arena; /* NULL: it stands for itself, without values */
    struct span text;
    struct sql_parameters parameters;
};

/* What text means: EXECUTE is the statement that was prepared by that name,
 * with the values of its variables; all others are themselves.  Borrows text.
 * It takes little.  -1: 1243 where there is none of that name. */
int sql_indirect(struct sql_session *session, struct span text,
                 struct sql_indirect *out, struct error *err);
void sql_indirect_fini(struct sql_indirect *indirect);

/* The user variable @name; NULL: it is not set.  Borrowed. */
const struct value *sql_session_variable(const struct sql_session *session,
                                         struct span name);

enum { SQL_BRIEF_MAX = 512 };

/* Whether the event loop may open or describe text, whatever its parameters
 * are: it has at most SQL_BRIEF_MAX bytes, and takes time in proportion to
 * them. */
bool sql_is_brief(struct span text);

/* What COM_STMT_PREPARE answers about a statement without running it. */
struct sql_description {
    size_t parameter_count;
    const struct column *columns; /* borrow arena; the cursor's, as far as
                                     they do not depend on parameters */
    size_t column_count;
    struct arena *arena;
};

/* Parses and checks as sql_open does.  -1 with *err and nothing to free. */
int sql_describe(struct sql_session *session, struct span text,
                 struct sql_description *out, struct error *err);
void sql_description_fini(struct sql_description *description);

/* COM_FIELD_LIST: a cursor with the table's columns and no rows. */
struct cursor *sql_open_fields(struct sql_session *session, struct span table,
                               struct error *err);

#endif
