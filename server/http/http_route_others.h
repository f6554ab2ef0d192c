/*
 * http_route_others.h - the paths under which Doris, GreptimeDB and Databend
 * give their heap profiles, for scripts that were written for those.
 */
#ifndef HW_HTTP_ROUTE_OTHERS_H
#define HW_HTTP_ROUTE_OTHERS_H

#include <stddef.h>

#include "http_route.h"

extern const struct http_route http_route_others[];
extern const size_t http_route_others_count;

#endif
