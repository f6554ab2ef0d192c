/*
 * http_metrics.h - /metrics: the figures of a node, or of all, in Prometheus'
 * text or in OpenMetrics'.  METRICS.md lists them.
 *
 * Pure.  One SELECT asks for all figures, a column each, and none that needs a
 * heap dump.  A figure that is NULL is left out.
 */
#ifndef HW_HTTP_METRICS_H
#define HW_HTTP_METRICS_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct http_metrics;
struct value;

#define HTTP_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define HTTP_METRICS_OPEN                                                      \
    "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* node: "" for this one, an id, or "all": then each has a row, and its samples
 * the label node. */
void http_metrics_statement(const char *node, struct buffer *out);

/* The samples of one family stand together, so all rows come before the text.
 * NULL: no memory. */
struct http_metrics *http_metrics_new(bool all);
void http_metrics_free(struct http_metrics *metrics); /* NULL is fine */
void http_metrics_row(struct http_metrics *metrics, const struct value *row,
                      size_t count);
void http_metrics_write(const struct http_metrics *metrics, bool open,
                        struct buffer *out);

#endif
