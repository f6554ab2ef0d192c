/*
 * infer.h - what the columns of a SELECT are declared to be, out of its text.
 *
 * SQLite's values have types and its expressions have none; a client is told
 * the types before there is a value.  The text is one that SQLite took: what
 * is not understood here is text, and never an error.
 */
#ifndef HW_INFER_H
#define HW_INFER_H

#include "result_type.h"
#include "rewrite.h"

/*
 * The types of the columns that names has the labels of.  -1 without memory
 * in the rewrite's arena.
 */
int infer_types(const struct rewrite *rewrite, const char *const *names,
                size_t count, struct result_type *out);

#endif
