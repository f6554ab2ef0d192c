/*
 * types.h - the declared types of a SELECT's expressions, out of its tree.
 *
 * SQLite gives types to values and not to expressions.  But a client gets the
 * columns' types before the first value, and how two values compare depends on
 * both types.
 */
#ifndef HW_TYPES_H
#define HW_TYPES_H

#include "result_type.h"
#include "select_tree.h"

struct arena;
struct catalog_table;
struct sql_session;
struct tree;
struct value;

struct typing {
    const struct sql_session *session;
    const struct value *parameters;    /* the values of the ?; NULL: unknown */
    const struct catalog_table *table; /* of a condition alone, or NULL */
    struct arena *arena;
};

/* Notes the types in the tree, whose tables are looked up.  -1: out of memory
 * in the arena. */
int types_read(const struct typing *typing, const struct tree *tree);

/* The types of the columns labelled names, in order, in a tree that was read;
 * they are unknown in one that is no query. */
void types_find(const struct tree *tree, const char *const *names, size_t count,
                struct result_type *out);
/* That of a column of an operand of a comparison: (a, b), a SELECT of as many
 * columns, or the operand itself, whose column is 0. */
struct result_type types_operand(const struct node *node, size_t column);
size_t types_columns(const struct node *query); /* of a NODE_QUERY */

#endif
