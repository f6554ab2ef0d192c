/*
 * http_route.h - what each path stands for: a statement and a form of answer.
 *
 * Pure.  The interface itself knows nothing of heaps.
 */
#ifndef HW_HTTP_ROUTE_H
#define HW_HTTP_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct error;
struct http_request;

enum http_show {
    HTTP_SHOW_TEXT,  /* the route's text itself: no statement */
    HTTP_SHOW_VALUE, /* the only row's first column as it is; if that is NULL,
                        the next may say why */
    HTTP_SHOW_LINES, /* a line for each row, tabs between its columns */
    /* {"columns": ["name", ...], "rows": [[value, ...], ...]} */
    HTTP_SHOW_JSON,
    HTTP_SHOW_METRICS, /* http_metrics.h */
    HTTP_SHOW_READY    /* is it the word "connected"? */
};

enum { HTTP_STATEMENT_MAX = 1024 * 1024 /* as HTTP_BODY_MAX */ };

struct http_route {
    const char *path;       /* with make and a / at its end: a number follows;
                               a * is a kept snapshot's name, in text, too */
    const char *parameters; /* those that it takes, blanks between them */
    const char *type;
    enum http_show show;
    uint32_t seconds;   /* of form, unless ?seconds= says otherwise */
    uint16_t status;    /* of HTTP_SHOW_TEXT; 0: 200 */
    bool packed;        /* gzip makes it smaller */
    bool open;          /* to all, without a login: it tells nothing */
    bool page;          /* the browser's: it may run its script */
    bool post;          /* POST alone, for it changes something */
    bool gets;          /* but GET, too, where http_get_changes allows it */
    bool asks;          /* takes GET and POST, which changes nothing */
    const char *output; /* the row for this ?output=; a path's first row is for
                           all that have none */
    const char *by;     /* another parameter than output */
    const char *answer; /* to GET, where POST alone asks */
    const char *more;   /* header lines of the answer, each with CR LF */
    const char *off;    /* said where the heap cannot be profiled; with a { in
                           front, the beginning of an object */
    const char *hint;   /* said behind that where the statement has no row, for
                           profiling is merely off */
    const char *text;   /* of the answer; or the statement */
    const char *script; /* or what ADMIN EXECUTE runs */
    const char *form;   /* or the view of a profile of the processor's time */
    /* Or what writes the statement; -1 with *err. */
    int (*make)(const struct http_request *request, uint32_t node_id,
                struct buffer *out, struct error *err);
};

/* Of a path that has two, the one that takes POST, or the other; of any other
 * path, the only one.  NULL: there is no such path. */
const struct http_route *http_route_find(const struct http_request *request,
                                         bool post);
/* -1 with *err (its code: http.h). */
int http_route_statement(const struct http_route *route,
                         const struct http_request *request, uint32_t node_id,
                         struct buffer *out, struct error *err);

/* ---- http_parameter.c ----
 * A request's parameters, for the statement that it stands for.  Pure.  Each is
 * checked before SQL sees it; -1 with *err. */

enum { HTTP_VALUE_BYTES = 160 };

/* out: HTTP_VALUE_BYTES bytes; "": not given. */
int http_parameter_text(const struct http_request *request, const char *name,
                        char *out, struct error *err);
/* 0: not given. */
int http_parameter_number(const struct http_request *request, const char *name,
                          uint32_t max, uint32_t *out, struct error *err);
/* A kept snapshot's name; "": not given.  What SQL reads has no quotes. */
int http_parameter_name(const struct http_request *request, const char *name,
                        char *out, struct error *err);
/* The name that stands in the path in the place of the *; size 0: there is
 * none, or the path is another. */
struct span http_path_name(struct span path, const char *route);

enum http_node { HTTP_THIS_NODE, HTTP_ONE_NODE, HTTP_ALL_NODES };

/* ?node=: which nodes; for HTTP_ONE_NODE, *id. */
int http_parameter_node(const struct http_request *request, uint32_t node_id,
                        uint32_t *id, struct error *err);
/* Writes ADMIN EXECUTE of that script on ?node=. */
int http_parameter_script(const struct http_request *request, uint32_t node_id,
                          const char *script, struct buffer *out,
                          struct error *err);
/* Sets *err, which says what the parameter takes; -1. */
int http_parameter_wrong(struct error *err, const char *name, const char *what);

/* ---- http_route_others.c ----
 * The paths under which Doris, GreptimeDB and Databend give their heap
 * profiles, for scripts that were written for those. */

extern const struct http_route http_route_others[];
extern const size_t http_route_others_count;

#endif
