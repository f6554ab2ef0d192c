/*
 * http.h - HTTP as a session's conversation: requests in, statements run,
 * answers out.
 *
 * See README.md.
 */
#ifndef HW_HTTP_H
#define HW_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "auth.h"
#include "buffer.h"
#include "http_answer.h"
#include "reader.h"
#include "sql.h"

struct conversation;
struct error;
struct http_metrics;
struct http_request;
struct http_route;
struct server_answer;
struct session;
struct statement_form;

extern const struct conversation http_conversation; /* for session_accept */

/* ---- http_login.c ----
 * Proves a request's identity: each request, for a connection may carry those
 * of several users.  With the loop's lock. */

/* Whose password the connection proved last; zeroed: nobody's. */
struct http_proven {
    /* session->who: that user is not refused, whatever others at this address
     * try */
    bool user;
    unsigned load;               /* server->loads of then */
    uint8_t digest[AUTH_SHA256]; /* of the header, keyed by session->nonce */
};

/* Makes it the session's identity, with heapwire as its database.  1: not yet,
 * and it comes again; not of a head without its body (whole false).  -1 with
 * *err: 1045 not proven, 1129 too many wrong logins, 1226 too many
 * connections, 3159 TLS is required.  A header that is equal to the one before
 * needs no second proof, until the accounts are read again. */
int http_login(struct session *session, const struct http_request *request,
               struct http_proven *proven, bool whole, struct error *err);

enum { HTTP_DECODED_MAX = SQL_NAME_MAX + 1 + AUTH_PASSWORD_MAX };

/* What the header Authorization says. */
struct http_proof {
    bool token;               /* is secret one, or a password? */
    struct span name, secret; /* borrow bytes, or the header */
    char bytes[4 * (HTTP_DECODED_MAX / 3 + 2)]; /* of Basic, decoded */
};

/* Pure.  False: it is neither "Basic" nor "Bearer", or malformed. */
bool http_proof_read(struct span authorization, struct http_proof *out);

/* ---- http_show.c ----
 * The answer to one request: the rows of its statement as a body, or an error.
 * Belongs to the statement while that runs, maybe off the loop. */

struct http_show_state {
    struct http_answer answer;
    const struct http_route *route;
    bool open_metrics, all_nodes;
    struct http_metrics *metrics; /* so far; or NULL */
    struct server_answer
        /* an answer that requests of this moment share; NULL: none */
        *shared;
    uint64_t asked_ms; /* with it: when this request asked */
    bool kept;         /* shows what never changes: has an ETag */
    char if_none_match[HTTP_ETAG_MAX]; /* the client's; "": none */
    char etag[HTTP_ETAG_MAX];
    bool has_value;
    struct buffer value; /* of HTTP_SHOW_VALUE by POST, if has_value; or lines
                            of nodes that failed, while all did */
    bool complete;       /* nothing more comes */
    /* it stopped in the middle: the connection must close */
    bool broken;
};

void http_show_fini(struct http_show_state *show); /* zeroed is fine */

/* arg is the struct http_show_state. */
extern const struct statement_form http_form;

unsigned http_error_status(const struct error *err);
/* An answer that is an error, or a plain text of ours. */
void http_show_message(struct http_answer *answer, struct buffer *out,
                       unsigned status, const char *text);
/* The route's own text, with an ETag. */
void http_show_text(struct http_show_state *show, struct buffer *out);
/* The answer that show->shared has. */
void http_show_shared(struct http_show_state *show, struct buffer *out);
void http_show_error(struct http_answer *answer, struct buffer *out,
                     const struct error *err);

#endif
