/*
 * http_login.h - proves a request's identity: each request, for a connection
 * may carry those of several users.
 *
 * With the loop's lock.
 */
#ifndef HW_HTTP_LOGIN_H
#define HW_HTTP_LOGIN_H

#include <stdbool.h>

#include "auth.h"
#include "reader.h"
#include "sql.h"

struct error;
struct http_request;
struct session;

/* Whose password a connection proved last; zeroed: nobody's. */
struct http_proven {
    bool user;     /* session->who: it is not refused, whatever others at this
                      address try */
    unsigned load; /* server->loads of then */
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

#endif
