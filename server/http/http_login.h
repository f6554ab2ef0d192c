/*
 * http_login.h - proves a request's identity: each request, for a connection
 * may carry those of several users.
 *
 * On the loop.
 */
#ifndef HW_HTTP_LOGIN_H
#define HW_HTTP_LOGIN_H

#include <stdbool.h>

struct error;
struct http_request;
struct session;

/* Makes it the session's identity, with heapwire as its database.  -1 with
 * *err: 1045 not proven, 1129 the address is refused, 1226 too many
 * connections, 3159 TLS is required. *proven: was the request before proven by
 * a password?  Then its user is not refused, whatever others at this address
 * try. */
int http_login(struct session *session, const struct http_request *request,
               bool *proven, struct error *err);

#endif
