/*
 * http_show.h - the answer to one request: the rows of its statement as a body,
 * or an error.
 *
 * Belongs to the statement while that runs, maybe aside.
 */
#ifndef HW_HTTP_SHOW_H
#define HW_HTTP_SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "http_answer.h"

struct error;
struct http_metrics;
struct http_route;
struct server_answer;
struct statement_form;

struct http_show_state {
    struct http_answer answer;
    const struct http_route *route;
    bool open_metrics, all_nodes;
    struct http_metrics *metrics; /* so far; or NULL */
    struct server_answer
        *shared;       /* theirs, by requests of now; NULL: by none */
    uint64_t asked_ms; /* if so: when */
    bool kept;         /* of what never changes: has an ETag */
    char if_none_match[HTTP_ETAG_MAX]; /* the client's; "": none */
    char etag[HTTP_ETAG_MAX];
    bool has_value;
    struct buffer value; /* of HTTP_SHOW_VALUE by POST, if has_value; or lines
                            of nodes that failed, while all did */
    bool whole;          /* nothing more comes */
    bool broken;         /* it stops in the middle: the connection must close */
};

void http_show_fini(struct http_show_state *show); /* zeroed is fine */

/* arg is the struct http_show_state. */
extern const struct statement_form http_form;

unsigned http_error_status(const struct error *err);
/* An answer that is an error, or a plain text of ours. */
void http_say(struct http_answer *answer, struct buffer *out, unsigned status,
              const char *text);
/* The route's own text, with an ETag. */
void http_show_text(struct http_show_state *show, struct buffer *out);
/* What show->shared has. */
void http_show_shared(struct http_show_state *show, struct buffer *out);
void http_say_error(struct http_answer *answer, struct buffer *out,
                    const struct error *err);

#endif
