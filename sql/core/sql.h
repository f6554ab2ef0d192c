/*
 * sql.h - the statement language: text in, cursor out.
 *
 * What server/ calls, and what server/ must offer in return (struct sql_host).
 * No packets and no sockets here.
 */
#ifndef HW_SQL_H
#define HW_SQL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct arena;
struct await;
struct budgets;
struct column;
struct controller;
struct cursor;
struct error;
struct heap_trends;
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
    SQL_AUDIT_ROWS_MAX = 1000 /* statements that the log keeps */
};

enum privilege {
    PRIVILEGE_STATUS = 1,  /* read the state */
    PRIVILEGE_PROFILE = 2, /* take snapshots */
    PRIVILEGE_CONTROL = 4, /* enable, disable, reset */
    PRIVILEGE_CLUSTER = 8, /* reach other nodes */
    PRIVILEGE_ADMIN = 16,  /* manage other users' sessions, and accounts */
    PRIVILEGE_TUNE = 32,   /* change the allocator for a time */
    PRIVILEGE_ALL = 63
};

/* Reads "status, profile" into bits; -1 with *err, which names an unknown
 * word. */
int privileges_parse(const char *text, uint32_t *out, struct error *err);

struct sql_identity {
    char user[SQL_NAME_MAX + 1];
    char host[SQL_HOST_MAX + 1]; /* "localhost" or the address */
    uint32_t privileges;
    const char *tls_version, *tls_cipher; /* static; NULL without TLS */
    /* The operating system names the user, without a password; an account of
     * the same name is another identity. */
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

/* A row of heapwire.users, without secrets. */
struct sql_user_row {
    char name[SQL_NAME_MAX + 1];
    bool native; /* its login may be mysql_native_password */
    uint32_t privileges;
    uint64_t connections; /* open at present */
    bool token;           /* a bearer token of HTTP, and no password */
};

/* A row of heapwire.audit_log: one ADMIN EXECUTE that has ended. */
struct sql_audit_row {
    int64_t at_ms; /* wall clock, at its end */
    uint32_t connection_id;
    char user[SQL_NAME_MAX + 1];
    char host[SQL_HOST_MAX + 1];
    uint16_t error; /* code; 0: it succeeded */
    uint64_t rows, bytes, elapsed_ms;
    char text[SQL_AUDIT_TEXT_MAX + 1];
};

/* Counts since heapwired started. */
struct sql_counts {
    uint64_t questions, connections;
    uint64_t most_connections; /* the most at one time */
    uint64_t failed_logins;    /* and connections without one, or a request */
    uint64_t lost_clients;     /* logged in, but closed without COM_QUIT */
    uint64_t received, sent;   /* bytes */
    uint64_t failed_statements;
    uint64_t mysql_open, http_open; /* connections at present */
};

/* What statements need from the server; any thread may call it.  Each list
 * copies at most max rows and returns their number. */
struct sql_host {
    void *arg;
    /* Ascending by id. */
    size_t (*list_sessions)(void *arg, struct sql_session_row *out, size_t max);
    /* Ends session id, or only its statement.  Its own user may do that, and
     * PRIVILEGE_ADMIN.  -1 with 1094 (unknown) or 1095 (not the owner). */
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
    char address[SQL_HOST_MAX +
                 1];    /* where it listens; "": on a socket file alone */
    atomic_ushort port; /* 0 until it is bound */
    atomic_bool
        requires_tls;   /* TCP clients must use TLS; a reload may change it */
    int64_t started_ms; /* wall clock */
    uint32_t max_connections;
    atomic_uint idle_timeout_s; /* wait_timeout, unless SET changed it */
    atomic_uint
        statement_timeout_s; /* heapwire_timeout, unless SET changed it */
    struct controller *controller;
    struct view_cache *views;
    const struct sql_peers *peers; /* peers.h; never NULL */
    struct history *history;       /* NULL: no history is kept */
    struct heap_trends *trends;    /* NULL: no snapshots are kept by default */
    struct budgets *budgets;       /* NULL: none are kept */
    const char *state_dir;         /* NULL: nothing is kept on disk */
    const char *socket;            /* its path; NULL: none */
    struct sql_host host;
};

/* What the greeting names and SELECT VERSION() answers. */
#define SQL_SERVER_VERSION "8.0.36-heapwire-" HW_VERSION

/* Registers all tables; called once, before any thread or session. */
void sql_start(void);

/* node outlives the session; who is copied.  NULL: out of memory. */
struct sql_session *sql_session_new(const struct sql_node *node,
                                    const struct sql_identity *who,
                                    uint32_t connection_id);
/* Turns it into another node's session, which may run ADMIN FORWARD alone.
 * channel outlives it. */
void sql_session_set_channel(struct sql_session *session,
                             const struct peer_channel *channel);
void sql_session_free(struct sql_session *session); /* NULL is fine */
/* COM_RESET_CONNECTION: variables and transaction become as after login. */
void sql_session_reset(struct sql_session *session);
/* COM_INIT_DB and USE.  -1 with 1049: unknown database. */
int sql_session_use(struct sql_session *session, struct span database,
                    struct error *err);
const char *sql_session_database(const struct sql_session *session);
bool sql_session_autocommit(const struct sql_session *session);
/* wait_timeout: seconds that the session may be idle. */
uint32_t sql_session_idle_s(const struct sql_session *session);
/* heapwire_timeout: seconds that a statement may take; 0: not set. */
uint32_t sql_session_statement_s(const struct sql_session *session);
/* max_execution_time: milliseconds that a timed cursor may take; 0: no
 * limit. */
uint32_t sql_session_timeout_ms(const struct sql_session *session);
/* The number of warnings of the last statement, for its OK or EOF. */
uint16_t sql_session_warnings(const struct sql_session *session);
/* Their texts, in order; NULL behind the last that is kept. */
const char *sql_session_warning(const struct sql_session *session, size_t i);
/* Checks a row before it is sent, on the statement's thread: in a column
 * that is not BLOB, bytes that are not UTF-8 become NULL, with a warning.
 * Clients decode every text, and some lose their place in the stream where
 * they cannot. */
void sql_session_check_row(struct sql_session *session,
                           const struct column *columns, struct value *values,
                           size_t count);
bool sql_session_in_transaction(const struct sql_session *session);

/* The values of a prepared statement's ?, in order. */
struct sql_parameters {
    const struct value *values;
    size_t count;
};

/*
 * Parses text, checks the privilege and opens a cursor; NULL with *err. text
 * outlives the cursor; parameters (NULL: a ? is a syntax error) are copied
 * where they must last.  Once await, which outlives the cursor, is cancelled,
 * an opening that runs or waits soon fails with ER_QUERY_INTERRUPTED, and so
 * does a step.  Free the cursor before the session.
 */
struct cursor *sql_open(struct sql_session *session, struct span text,
                        const struct sql_parameters *parameters,
                        struct await *await, struct error *err);

/* Is it a statement that takes no time to speak of and never waits?  Its words
 * alone tell.  So is a text that is refused. */
bool sql_is_short_statement(struct sql_session *session, struct span text);

/* The text that a statement stands for, and the values of its ?. */
struct sql_indirect {
    struct arena
        *arena; /* NULL: the statement stands for itself and has no values */
    struct span text;
    struct sql_parameters parameters;
};

/* Finds the text to run: EXECUTE stands for the statement prepared by that
 * name, with the values of its variables; any other statement for itself.
 * Borrows text; cheap.  -1 with 1243: the name is unknown. */
int sql_indirect(struct sql_session *session, struct span text,
                 struct sql_indirect *out, struct error *err);
void sql_indirect_fini(struct sql_indirect *indirect);

/* The user variable @name, borrowed; NULL: not set. */
const struct value *sql_session_variable(const struct sql_session *session,
                                         struct span name);

/* What COM_STMT_PREPARE answers about a statement, found without running it. */
struct sql_description {
    size_t parameter_count;
    const struct column
        *columns; /* borrowed from arena; the columns of the cursor, except
                     where they depend on parameters */
    size_t column_count;
    struct arena *arena;
};

/* Parses and checks as sql_open does.  -1 with *err, and there is nothing to
 * free. */
int sql_describe(struct sql_session *session, struct span text,
                 struct await *await, struct sql_description *out,
                 struct error *err);
void sql_description_fini(struct sql_description *description);

/* COM_FIELD_LIST: opens a cursor with the table's columns and no rows. */
struct cursor *sql_open_fields(struct sql_session *session, struct span table,
                               struct error *err);

/* -1 with 1227 unless has contains all of needed. */
int privilege_check(uint32_t has, uint32_t needed, struct error *err);

/* Writes "STATUS,PROFILE"; "" for none. */
void privileges_list(uint32_t has, char *out, size_t size);

#endif
