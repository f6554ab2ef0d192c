/*
 * http_answer.h - an answer of HTTP/1.x: its head, and its body in chunks.
 *
 * Pure: appends to a buffer.  A body whose length is known goes out with it;
 * any other in chunks, or until the connection closes (HTTP/1.0).  One thread
 * at a time.
 */
#ifndef HW_HTTP_ANSWER_H
#define HW_HTTP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct buffer;
struct column;
struct value;
struct z_stream_s;
struct server_answer;

enum { HTTP_ETAG_MAX = 128 };

struct http_answer {
    bool head_alone;             /* HEAD: no body follows */
    bool http_1_0, closes, gzip; /* as the request has them */
    bool from_page; /* our page asked: a 401 must not make its browser prompt */
    unsigned retry_s;   /* of 429: when to come again */
    const char *more;   /* further header lines, each with CR LF; static */
    const char *policy; /* what a page may do; NULL: nothing */
    const char *etag;   /* quoted; NULL: must not be kept */
    bool begun, chunked;
    struct z_stream_s *packer; /* NULL: not packed */
};

#define HTTP_TEXT   "text/plain; charset=utf-8"
#define HTTP_JSON   "application/json"
#define HTTP_BINARY "application/octet-stream"

/* The whole answer. */
void http_answer_with_body(struct http_answer *a, struct buffer *out,
                           unsigned status, const char *type, struct span body);

/* Head; parts of the body; end.  may_pack: the body may be gzipped, if the
 * client takes that. */
void http_answer_begin(struct http_answer *a, struct buffer *out,
                       unsigned status, const char *type, bool may_pack);
void http_answer_part(struct http_answer *a, struct buffer *out,
                      const void *data, size_t size);
void http_answer_end(struct http_answer *a, struct buffer *out);
void http_answer_fini(struct http_answer *a); /* zeroed is fine */

/* Appends the body as gzip: for a whole answer with HTTP_PACKED. */
#define HTTP_PACKED "Content-Encoding: gzip\r\n"
void http_answer_pack(struct span body, struct buffer *out);

/* Appends a value as text; NULL is nothing. */
void http_answer_value(struct buffer *out, const struct value *v);
/* As JSON: a number stands bare where json_is_number() lets it. */
void http_answer_json(struct buffer *out, const struct column *column,
                      const struct value *v);

enum {
    HTTP_SHARED_MS = 250,     /* one request in this time makes the body anew */
    HTTP_SHARED_MAX_MS = 1000 /* age up to which it is shown meanwhile */
};

/* True: its body is the answer.  False: the caller makes it now, and others
 * show the old one meanwhile. */
bool http_shared_try_reuse(struct server_answer *shared, uint64_t now_ms);
/* Takes the bytes of body, which was asked for at that time, unless it has
 * newer ones. */
void http_shared_keep(struct server_answer *shared, struct buffer *body,
                      uint64_t asked_ms);

#endif
