/*
 * infer.h - what the columns of a SELECT are declared to be, out of its text.
 *
 * In SQLite values have types and expressions have none, but a client gets the
 * columns' types before the first value.  SQLite has accepted the statement
 * already: an expression that is not understood here is a text, never an error.
 */
#ifndef HW_INFER_H
#define HW_INFER_H

#include "result_type.h"
#include "rewrite.h"

/* The types of the columns labelled by names.  -1 without memory in the
 * rewrite's arena. */
int infer_types(const struct rewrite *rewrite, const char *const *names,
                size_t count, struct result_type *out);

#endif
