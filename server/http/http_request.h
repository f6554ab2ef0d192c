/*
 * http_request.h - one request of HTTP/1.x: bytes in, its parts out.
 *
 * Pure.  Takes the part of RFC 9112 that this interface needs, and that
 * strictly: what two readers could understand differently is refused, never
 * mended.  No chunked bodies, no folded lines, no bare line feeds, one length
 * at most.
 */
#ifndef HW_HTTP_REQUEST_H
#define HW_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "reader.h"

enum {
    HTTP_HEAD_MAX = 16 * 1024, /* request line and header lines */
    HTTP_HEADERS_MAX = 64,
    HTTP_BODY_MAX = 1024 * 1024 /* addresses, for /pprof/symbol */
};

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_OTHER };

enum http_state {
    HTTP_MORE, /* feed further bytes */
    HTTP_COMPLETE,
    HTTP_BAD /* status and why say why; nothing after it can be read */
};

/* Spans borrow the bytes; size 0: there is none. */
struct http_request {
    enum http_method method;
    struct span path, query; /* as they came, valid percent-encoding */
    struct span host, authorization, origin, if_none_match;
    /* Sec-Fetch-Site: says which site's page made the browser ask */
    struct span site;
    struct span own; /* X-Heapwire, which no page of another origin can set */
    struct span body;
    bool http_1_0;
    bool closes;  /* no further request on this connection */
    bool expects; /* waits for 100 before it sends the body */
    bool gzip;    /* the client takes it, */
    bool open;    /* and OpenMetrics */
    size_t size;  /* of the whole request; 0 until its head is there */
    unsigned status;
    const char *why; /* static */
};

enum http_state http_request_read(struct span bytes, struct http_request *out);

/* Of the parameters behind the ?: the value of that name, decoded, with its
 * NUL; "" if it has none or there is no such parameter.  -1: it is given twice,
 * is too long or has control characters. */
int http_query_get(struct span query, const char *name, char *out, size_t size);
/* The name of a parameter that is none of the words (blanks between them), or
 * size 0. */
struct span http_query_unknown(struct span query, const char *words);

#endif
