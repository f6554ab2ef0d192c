/*
 * http_metrics.h - /metrics: the node's figures in Prometheus' text, or in
 * OpenMetrics'.
 *
 * Pure.  One SELECT asks for all of them, a column each, and none that needs a
 * heap dump.  A figure that is NULL is left out.
 */
#ifndef HW_HTTP_METRICS_H
#define HW_HTTP_METRICS_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct value;

#define HTTP_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define HTTP_METRICS_OPEN                                                      \
    "application/openmetrics-text; version=1.0.0; charset=utf-8"

void http_metrics_statement(struct buffer *out);
/* The only row of that statement. */
void http_metrics_write(const struct value *row, size_t count, bool open,
                        struct buffer *out);

#endif
