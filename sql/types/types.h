/*
 * types.h - the declared types of a SELECT's expressions, out of its tree.
 *
 * SQLite gives types to values and not to expressions.  But a client gets the
 * columns' types before the first value, and how two values compare depends on
 * both types.
 */
#ifndef HW_TYPES_H
#define HW_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cursor.h"
#include "select_tree.h"

struct arena;
struct catalog_table;
struct sql_session;
struct tree;
struct value;

enum {
    PRECISION_MAX = 65,       /* digits of a DECIMAL, as in MySQL's terms */
    PRECISION_OF_DOUBLE = 15, /* of one that is surely a double in SQLite */
    QUOTIENT_DECIMALS = 4     /* that "/" and AVG add; there are more, unseen */
};

struct result_type {
    enum column_type type;
    uint32_t width;
    uint16_t flags;
    uint8_t decimals;
    uint8_t precision; /* of a DECIMAL: its digits, or more */
    bool past;         /* an integer that may exceed 63 bits */
    bool hex;          /* 0x1f: bytes, but an integer beside a number */
    bool unknown;      /* text, because the type was not found */
    /* A moment whose text has no one form: it may have a fraction, or no time
     * of day. */
    bool loose;
    /* A column of a query's rows, or a label: SQLite may not know its type. */
    bool derived;
};

/* A type with its usual width. */
struct result_type result_type_of(enum column_type type);
struct result_type result_type_unknown(void);
/* The type that holds both, as for the branches of an IF. */
struct result_type result_type_widened(struct result_type a,
                                       struct result_type b);
bool result_type_is_integer(struct result_type t);
bool result_type_is_number(struct result_type t);
/* An unsigned integer, which may exceed 63 bits. */
struct result_type result_type_unsigned(void);
/* Whether it is an integer or a DECIMAL, so that arithmetic gives a DECIMAL. */
bool result_type_is_exact(struct result_type t);
bool result_type_is_temporal(enum column_type type);
/* Its type where it is used as a number: 20260131101112. */
struct result_type result_type_number(struct result_type t);
/* A DECIMAL of that many digits before and behind the point, at most of what
 * MySQL allows. */
struct result_type result_type_decimal(size_t whole, size_t decimals);
/* Digits of an integer or a DECIMAL before its point. */
size_t result_type_integer_digits(struct result_type t);
/* Whether SQLite may hold some of its values as texts. */
bool result_type_is_long(struct result_type t);

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
/* The type of one column of a comparison's operand: (a, b), a SELECT of as
 * many columns, or the operand itself, whose column is 0. */
struct result_type types_operand(const struct node *node, size_t column);
size_t types_columns(const struct tree_query *query);
/* types_column and types_label give the type and label of a UNION's column;
 * types_arm gives its type in one arm. */
struct result_type types_column(const struct tree_query *query, size_t column);
struct span types_label(const struct tree_query *query, size_t column);
struct result_type types_arm(const struct tree_arm *arm, size_t column);

/* ---- by a node's operands ---- */

/* Their types. */
struct operands {
    size_t count;
    struct result_type first, last;
    struct result_type all, behind_first; /* what holds each of them */
};

struct operands operands_none(void);
void operands_add(struct operands *o, struct result_type type);

/* The type of a literal, an operator or a call; a condition is a BIGINT. */
struct result_type type_of_node(const struct node *node,
                                const struct operands *given);

/* ---- parameters and variables ---- */

/* The type that @x := y gave last. */
struct assigned {
    struct assigned *next;
    struct span name;
    struct result_type type;
};

struct type_values {
    const struct typing *job;
    struct assigned *assigned;
    size_t assigned_count;
    bool no_memory; /* sticks */
};

/* In the arena; without room, notes that. */
void *type_alloc(struct type_values *v, size_t size);

struct result_type type_of_parameter(const struct type_values *v, size_t i);
struct result_type type_of_system_variable(const struct type_values *v,
                                           const struct node *node);
/* The type of the session's value, or of what the SELECT assigned. */
struct result_type type_of_user_variable(const struct type_values *v,
                                         struct span name);
void type_assign(struct type_values *v, struct span name,
                 struct result_type type);

#endif
