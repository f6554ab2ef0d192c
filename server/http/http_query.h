/*
 * http_query.h - the parameters behind the ? of a target.
 *
 * Pure.
 */
#ifndef HW_HTTP_QUERY_H
#define HW_HTTP_QUERY_H

#include <stdbool.h>
#include <stddef.h>

#include "reader.h"

/* The value of that name, decoded, with its NUL; "" if it has none or there is
 * no such parameter.  -1: it is given twice, is too long or has control
 * characters. */
int http_query_get(struct span query, const char *name, char *out, size_t size);
/* The name of a parameter that is none of the words (blanks between them), or
 * size 0. */
struct span http_query_unknown(struct span query, const char *words);

#endif
