/*
 * infer.h - infers from a SELECT's text the declared types of its columns.
 *
 * SQLite gives types to values and not to expressions, but a client gets the
 * columns' types before the first value.  SQLite has accepted the statement
 * before: an expression that is not understood here is a text, never an error.
 */
#ifndef HW_INFER_H
#define HW_INFER_H

#include "result_type.h"
#include "rewrite.h"

/* Finds the types of the columns labelled names, in order.  -1: out of memory
 * in the rewrite's arena. */
int infer_types(const struct rewrite *rewrite, const char *const *names,
                size_t count, struct result_type *out);

#endif
