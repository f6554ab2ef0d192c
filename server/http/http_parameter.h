/*
 * http_parameter.h - a request's parameters, for the statement that it stands
 * for.
 *
 * Pure.  Each is checked before SQL sees it; -1 with *err.
 */
#ifndef HW_HTTP_PARAMETER_H
#define HW_HTTP_PARAMETER_H

#include <stdint.h>

struct buffer;
struct error;
struct http_request;

enum { HTTP_VALUE_ROOM = 160 };

/* out: HTTP_VALUE_ROOM bytes; "": not given. */
int http_parameter_text(const struct http_request *request, const char *name,
                        char *out, struct error *err);
/* 0: not given. */
int http_parameter_number(const struct http_request *request, const char *name,
                          uint32_t max, uint32_t *out, struct error *err);
/* A kept snapshot's name; "": not given.  What SQL reads has no quotes. */
int http_parameter_name(const struct http_request *request, const char *name,
                        char *out, struct error *err);

enum http_node { HTTP_THIS_NODE, HTTP_ONE_NODE, HTTP_ALL_NODES };

/* ?node=: which; of HTTP_ONE_NODE, *id. */
int http_parameter_node(const struct http_request *request, uint32_t node_id,
                        uint32_t *id, struct error *err);
/* ADMIN EXECUTE of that script on ?node=. */
int http_parameter_script(const struct http_request *request, uint32_t node_id,
                          const char *script, struct buffer *out,
                          struct error *err);
/* -1; *err says that the parameter takes what. */
int http_parameter_wrong(struct error *err, const char *name, const char *what);

#endif
