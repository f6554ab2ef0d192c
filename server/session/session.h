/*
 * session.h - one client: its socket, its state, what goes in and out.
 *
 * All on the loop.  The state changes in session_enter only; what a packet
 * means in which state is the conversation's.  Every event ends in
 * session_turn, which frees nothing under the feet of a handler.  It alone
 * writes, except for the long result of a statement: while session_unsent is 0,
 * a worker may write to a duplicate of the socket (conversation/chunk.h).
 */
#ifndef HW_SESSION_H
#define HW_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

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
    SESSION_CLOSED   /* libuv is closing the handle */
};

struct session {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } io;
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
    struct wake more; /* takes the packets that are left when it paused */
    bool paused;
    struct span delayed;     /* a packet that waits, */
    uint64_t delayed_ms;     /* until then; 0: there is none */
    bool waited;             /* and that has */
    struct memory_hold held; /* of it */
    struct memory_hold owed; /* of the reply */
    struct reply reply;
    struct buffer writing; /* what libuv has of it */
    size_t unsent;         /* of that, when last looked at */
    uint64_t progress_ms;  /* when it last shrank */
    uv_write_t write;
    uv_shutdown_t shutdown;
    bool reading, counted; /* counted: in server->logins */
    bool shut;             /* no more will be written */
    bool ended;            /* no more will be read */
    bool quit;             /* the client sent COM_QUIT */
    bool handle_closed;    /* libuv has let go */

    uint8_t nonce[AUTH_NONCE];
    char wanted_user[SQL_NAME_MAX + 1];
    char wanted_database[SQL_NAME_MAX + 1];

    bool by_password; /* by a password, not as a trusted local user */
    bool guessed;     /* a wrong password came that does not count yet */
    bool noted_peer;  /* in server->peers */
    bool spare;       /* in server->spares */

    struct sql_identity who;
    struct sql_session *sql;        /* once logged in */
    struct statement *statement;    /* that runs */
    struct prepared_list *prepared; /* NULL: none so far */
    struct peer_session *peer;      /* if it is another node's; else NULL */
    struct http_session *http;      /* if it speaks HTTP; else NULL */
};

/* Why a statement is cut short; the first reason wins. */
enum statement_end { END_NONE, END_KILLED, END_TIMEOUT, END_SHUTDOWN };

/* What a session carries: logins, commands, statements, in MySQL's protocol or
 * in HTTP.  The session calls it, on the loop, and knows nothing of it. */
struct conversation {
    bool web;         /* HTTP's, whose sessions are counted apart */
    uint32_t idle_ms; /* between two requests; 0: as the session's
                         wait_timeout says */
    void (*greet)(struct session *session);
    /* The next whole packet of session->in. */
    enum packet_state (*next)(struct session *session, struct span *packet);
    /* Appends the error as a reply that nothing follows. */
    void (*say_error)(struct reply *reply, const struct error *err);
    /* One packet, whole and in order; the payload is borrowed for the call. */
    void (*on_packet)(struct session *session, struct span packet);
    void (*on_room)(struct session *session); /* what was to be sent is sent */
    void (*on_closed)(struct session *session); /* what runs must end, soon */
    void (*on_tick)(struct session *session, uint64_t now_ms);
    /* Ends the statement that runs; fine if there is none. */
    void (*cancel)(struct session *session, enum statement_end why);
    /* Bytes of a reply that wait for room. */
    size_t (*unsent)(const struct session *session);
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
void session_end_delay(struct session *session);
/* One error, then the end. */
void session_fail(struct session *session, const struct error *err);
/* The same, where what it sends finds no room. */
void session_refuse_more(struct session *session);
/* At once, with nothing said. */
void session_close(struct session *session);
/* What every event ends with: takes packets, writes, reads on. */
void session_turn(struct session *session);
/* The same, for session->more. */
void session_more(struct wake *wake);
/* For server->logins_more. */
void session_read_logins(struct wake *wake);

/* Bytes that the client has not taken yet, as far as known. */
size_t session_unsent(const struct session *session);
bool session_output_full(const struct session *session);
/* Takes status bits and database from the SQL session. */
void session_refresh(struct session *session);

void session_kill(struct session *session, enum registry_kill kill);
void session_tick(struct session *session, uint64_t now_ms);
void session_say_farewell(struct session *session);
/* The statement has let go of a session that is closed. */
void session_released(struct session *session);

#endif
