/*
 * session.h - one client: its socket, its state, what goes in and out.
 *
 * All with the loop's lock.  The state changes in session_enter only; what a
 * packet means in which state is the conversation's.  Every event ends in
 * session_process, and what is closed is freed in a later round of the loop.
 *
 * While a statement is off the loop (loop.h) its thread has the session:
 * others leave it no more than an order (a kill, a close, a farewell), and the
 * loop watches only whether the client goes.
 */
#ifndef HW_SESSION_H
#define HW_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "auth.h"
#include "memory_budget.h"
#include "packet.h"
#include "registry.h"
#include "reply.h"
#include "server.h"
#include "sql.h"

struct error;
struct http_session;
struct peer_session;
struct prepared_list;
struct statement;
struct tls_stream;

enum {
    SESSION_LOGIN_PACKET = 4096,
    SESSION_PACKET =
        16 * 1024 * 1024 + 1024,  /* max_allowed_packet, and a little more */
    SESSION_LOGIN_MS = 10 * 1000, /* for the whole login */
    SESSION_STALL_MS = 60 * 1000, /* as net_write_timeout says */
    SESSION_CLOSING_MS = 2 * 1000
};

enum session_state {
    SESSION_LOGIN,   /* greeted: the handshake response must come */
    SESSION_SWITCH,  /* asked for caching_sha2_password's proof */
    SESSION_PEER,    /* challenged: another node's proof must come */
    SESSION_READY,   /* a command may come */
    SESSION_RUNNING, /* a statement is under way */
    SESSION_CLOSING, /* last bytes go out, input is thrown away */
    SESSION_CLOSED   /* it will be freed */
};

struct session {
    struct loop_source source; /* its socket */
    struct server *server;
    const struct conversation *conversation;
    struct session *next, *previous;             /* server->sessions */
    struct session *login_next, *login_previous; /* server->logins */
    struct registry_entry entry;
    enum transport transport;
    uid_t peer_uid;       /* of TRANSPORT_LOCAL */
    uint64_t address_key; /* of TRANSPORT_TCP: see backoff.h */
    enum session_state state;
    uint64_t since_ms, login_deadline_ms;

    struct tls_stream *tls; /* NULL: in the clear */
    struct packet_reader in;
    struct loop_task more;  /* goes on after a pause, or a delay */
    struct loop_task grave; /* frees it */
    bool paused;
    struct span delayed; /* a packet that waits, ... */
    /* ... until then; 0: there is none */
    uint64_t delayed_ms;
    /* the packet comes again, after its wait */
    bool waited;
    struct memory_reservation input_reserved;  /* for `in` */
    struct memory_reservation output_reserved; /* for the reply */
    struct reply reply;
    struct buffer sealed; /* with TLS: the ciphertext under way */
    size_t sent;          /* of sealed, or without TLS of reply.out */
    uint64_t progress_ms; /* when the client last took bytes, or ceased to */
    uint64_t noted;       /* bytes sent that registry.sent lacks */
    bool counted;         /* in server->logins */
    bool shut;            /* no more will be written */
    bool ended;           /* no more will be read */
    bool quit;            /* the client sent COM_QUIT */
    bool off_loop;        /* its statement's thread has it */
    bool doomed;          /* off the loop, and to be closed */

    uint8_t nonce[AUTH_NONCE];
    char wanted_user[SQL_NAME_MAX + 1];
    char wanted_database[SQL_NAME_MAX + 1];

    bool by_password; /* by a password, not as a trusted local user */
    bool guessed;     /* a wrong password came that does not count yet */
    bool noted_peer;  /* in server->peers */
    bool spare;       /* in server->spares */

    struct sql_identity who;
    struct sql_session *sql;        /* once logged in */
    struct statement *statement;    /* the one that runs */
    struct prepared_list *prepared; /* NULL: none so far */
    struct peer_session *peer;      /* if it is another node's; else NULL */
    struct http_session *http;      /* if it speaks HTTP; else NULL */
};

/* Why a statement is cut short; the first reason wins. */
enum statement_end { END_NONE, END_KILLED, END_TIMEOUT, END_SHUTDOWN };

/* What a session carries: logins, commands, statements, in MySQL's protocol or
 * in HTTP.  The session calls it, and knows nothing of it. */
struct conversation {
    bool web;         /* HTTP's, whose sessions are counted separately */
    uint32_t idle_ms; /* between two requests; 0: as the session's
                         wait_timeout says */
    void (*greet)(struct session *session);
    /* The next whole packet of session->in. */
    enum packet_state (*next)(struct session *session, struct span *packet);
    /* Appends the error as a reply that nothing follows. */
    void (*send_error)(struct reply *reply, const struct error *err);
    /* One packet, whole and in order; the payload is borrowed for the call. */
    void (*on_packet)(struct session *session, struct span packet);
    void (*on_drained)(struct session *session); /* all output has been sent */
    /* The session closes: what runs must end, at once, or soon if it is
     * suspended. */
    void (*on_closed)(struct session *session);
    void (*on_tick)(struct session *session, uint64_t now_ms);
    /* Ends the statement that runs; fine if there is none. */
    void (*cancel)(struct session *session, enum statement_end why);
    /* Another node's session, with a key that the server has replaced; NULL:
     * never. */
    bool (*is_outdated)(const struct session *session);
    /* Frees its parts of a closed session. */
    void (*free)(struct session *session);
};

/* Takes the connected descriptor and greets.  -1: it is still the caller's. */
int session_accept(struct server *server, int fd, enum transport transport,
                   const struct conversation *conversation);

bool session_is_logging_in(enum session_state state);
void session_enter(struct session *session, enum session_state state);
/* All bytes after the current packet are TLS, in both directions. */
void session_start_tls(struct session *session);
/* From on_packet: the same packet comes again so much later, with waited set,
 * and nothing is read before. */
void session_delay(struct session *session, uint64_t ms);
/* One error, then the end. */
void session_fail(struct session *session, const struct error *err);
/* The same, if there is no memory for what the client sends. */
void session_refuse_more(struct session *session);
/* Closes at once, without a reply. */
void session_close(struct session *session);
/* Every event ends with it: takes packets, writes, reads on. */
void session_process(struct session *session);
/* The same, for session->more. */
void session_more(struct loop_task *task);
/* For server->logins_more. */
void session_read_logins(struct loop_task *task);
/* For session->source and session->grave. */
void session_on_event(struct loop_source *source, uint32_t events);
void session_free(struct loop_task *grave);

/* A statement's thread takes the session off the loop, or gives it back. */
void session_suspend(struct session *session);
void session_resume(struct session *session);
/* For the thread that has the session: has the client said goodbye in TLS,
 * which the loop does not see?  Takes what the client sends ahead, up to a
 * ceiling. */
bool session_has_left(struct session *session);
/* Sends what the client takes without waiting; the thread that has the session
 * may call it off the loop.  -1: the connection is broken. */
int session_send(struct session *session);
/* TLS's own alert, if nothing else is on its way. */
void session_send_alert(struct session *session);

/* Bytes that the client has not taken yet, as far as known. */
size_t session_unsent(const struct session *session);
bool session_output_full(const struct session *session);
/* Takes status bits and database from the SQL session. */
void session_refresh(struct session *session);

void session_kill(struct session *session, enum registry_kill kill);
void session_tick(struct session *session, uint64_t now_ms);
void session_shut_down(struct session *session);

#endif
