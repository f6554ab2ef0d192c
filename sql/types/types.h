/*
 * types.h - the declared types of a SELECT's columns, out of its tree.
 *
 * SQLite gives types to values and not to expressions, but a client gets the
 * columns' types before the first value.
 */
#ifndef HW_TYPES_H
#define HW_TYPES_H

#include "result_type.h"
#include "select_tree.h"

struct arena;
struct sql_session;
struct value;

struct typing {
    const struct tree_query *query; /* NULL: no column is found */
    const struct sql_session *session;
    const struct value *parameters; /* the values of the ?; NULL: unknown */
    struct arena *arena;
};

/* Finds the types of the columns labelled names, in order.  -1: out of memory
 * in the arena. */
int types_find(const struct typing *typing, const char *const *names,
               size_t count, struct result_type *out);

#endif
