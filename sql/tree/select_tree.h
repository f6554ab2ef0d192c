/*
 * select_tree.h - a SELECT, or expressions of another statement, as a tree.
 *
 * No name in it is looked up; what the readers of tables and types find is
 * noted in it.  All of it is in the arena that it was parsed into; texts borrow
 * the statement.  Names and strings are decoded.
 */
#ifndef HW_SELECT_TREE_H
#define HW_SELECT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lexer.h"
#include "parser.h"

struct catalog_table;
struct shape;
struct variable;

enum {
    TREE_SOURCE_MAX = 256 * 1024, /* bytes of a SELECT */
    TREE_DEPTH_MAX = 500,         /* levels of nodes; readers may recurse */
    TREE_CTES_MAX = 32,
    TREE_INTO_MAX = 64 /* variables of SELECT ... INTO */
};

enum node_kind {
    NODE_NULL,
    NODE_TRUE,
    NODE_FALSE,
    NODE_INTEGER,   /* text */
    NODE_DECIMAL,   /* text; with a point or an exponent */
    NODE_STRING,    /* name: 'a' 'b' is one */
    NODE_HEX,       /* text */
    NODE_TEMPORAL,  /* DATE'...': word, name */
    NODE_PARAMETER, /* parameter */
    NODE_USER,      /* @name */
    NODE_SYSTEM,    /* @@name: variable, scope */
    NODE_ASSIGN,    /* @name := operand */
    NODE_COLUMN,    /* name, of */
    NODE_STAR,      /* *, of */
    NODE_CALL,      /* name, call; operands: its arguments */
    NODE_PREFIX,    /* op, operand */
    NODE_BINARY,    /* op, two operands; left-deep */
    NODE_LIKE,      /* negated; text, pattern, perhaps what escapes */
    NODE_REGEXP,    /* negated; two operands */
    NODE_IS, /* negated; two operands: the second is NULL (for UNKNOWN, too),
         TRUE, FALSE */
    NODE_IN, /* negated; an operand, and its list or a NODE_QUERY */
    NODE_BETWEEN,    /* negated; three operands */
    NODE_QUANTIFIED, /* op, all; an operand and a NODE_QUERY */
    NODE_INTERVAL,   /* op, word; value + INTERVAL amount word */
    NODE_COLLATE,    /* binary; operand */
    NODE_ROW,        /* (a, b) */
    NODE_CASE,       /* has_operand, has_else; operands in their order */
    NODE_QUERY,      /* query, as a value or a list */
    NODE_EXISTS      /* query */
};

enum tree_operator {
    OP_NONE,
    OP_OR,
    OP_XOR,
    OP_AND,
    OP_EQUAL,
    OP_IS_EQUAL, /* <=> */
    OP_NOT_EQUAL,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_GREATER,
    OP_GREATER_EQUAL,
    OP_BIT_OR,
    OP_BIT_AND,
    OP_SHIFT_LEFT,
    OP_SHIFT_RIGHT,
    OP_PLUS,
    OP_MINUS,
    OP_TIMES,
    OP_DIVIDE,
    OP_MOD,
    OP_DIV,
    OP_BIT_XOR,
    OP_CONCAT, /* || with PIPES_AS_CONCAT */
    OP_ARROW,  /* -> */
    OP_ARROW_TEXT,
    OP_NEGATIVE, /* prefixes */
    OP_POSITIVE,
    OP_BIT_NOT,
    OP_BANG,
    OP_NOT,
    OP_BINARY
};

struct node {
    struct node *next;         /* the next operand of the same parent */
    struct node *first, *last; /* its own operands, in order */
    struct span text; /* in the source, without parentheses around it */
    struct span name;
    union {
        struct span word;
        size_t parameter;                /* index of the ? in the statement */
        const struct tree_qualifier *of; /* NULL: none */
        struct tree_call *call;
        struct tree_query *query;
        const struct variable *variable;
    };
    enum variable_scope scope;
    enum node_kind kind;
    enum tree_operator op;
    uint16_t depth; /* levels below and with it */
    bool negated, all, binary, has_operand, has_else;
    bool introduced; /* _utf8mb4'x'; if binary, _binary'x': bytes */
    /* Set by the reader of types, as in struct result_type: */
    bool loose : 1, derived : 1;
    uint8_t type;                /* enum column_type */
    uint8_t precision, decimals; /* of a DECIMAL; of a BIGINT 1, 0: past */
};

struct tree_qualifier {
    bool has_database;
    struct span database, table;
};

struct tree_order { /* a list */
    struct tree_order *next;
    struct node *value;
    bool descending;
};

struct tree_name { /* a list */
    struct tree_name *next;
    struct span name;
};

struct tree_window { /* a list, of WINDOW */
    struct tree_window *next;
    struct span name;       /* WINDOW name AS, or OVER name */
    bool refers;            /* OVER name: nothing more is set */
    struct span base;       /* (base ...); size 0: none */
    struct node *partition; /* a list */
    struct tree_order *order;
    const char *frame;     /* ROWS, RANGE; NULL: none */
    const char *bounds[2]; /* CURRENT ROW, ...; the second of BETWEEN alone */
    struct node *distance[2]; /* of PRECEDING and FOLLOWING */
};

enum call_form {
    CALL_PLAIN,
    CALL_NILADIC, /* CURRENT_DATE without parentheses */
    CALL_AGGREGATE,
    CALL_CAST,         /* (x AS type) */
    CALL_CHAR,         /* (65 USING charset) */
    CALL_CONVERT,      /* (x, type), (x USING charset) */
    CALL_COUNT,        /* (*), (DISTINCT a, b) */
    CALL_DATE_ADD,     /* (x, INTERVAL n unit) */
    CALL_EXTRACT,      /* (unit FROM x) */
    CALL_GROUP_CONCAT, /* (DISTINCT x, y ORDER BY z SEPARATOR s) */
    CALL_POSITION,     /* (x IN y) */
    CALL_SUBSTRING,    /* (x FROM n FOR m) */
    CALL_TIMESTAMP,    /* DIFF(unit, x, y) */
    CALL_TRIM          /* (LEADING x FROM y); x may be absent */
};

struct tree_call {
    enum call_form form;
    bool distinct;
    bool has_using, is_binary; /* USING charset; it, or the type, is BINARY */
    struct span unit;          /* of EXTRACT, ...; of TRIM: LEADING, ... */
    const char *type;          /* of CAST and CONVERT, as hw_cast names it */
    long lengths[2];           /* behind the type; -1: absent */
    struct tree_order *order;  /* of GROUP_CONCAT */
    struct span separator;
    struct tree_window *over; /* NULL: no window */
};

struct tree_item { /* of a SELECT's list */
    struct tree_item *next;
    struct node *value;
    struct span label; /* the alias, or what MySQL makes of the text */
    bool has_alias;
};

enum tree_join { /* to what stands before it in FROM */
                 JOIN_FIRST,
                 JOIN_COMMA,
                 JOIN_INNER,
                 JOIN_LEFT,
                 JOIN_RIGHT
};

struct tree_table { /* a list: FROM, or joins in parentheses */
    struct tree_table *next;
    enum tree_join join;
    bool natural;
    struct node *on;
    struct tree_name *using;
    struct span text;
    struct span alias; /* size 0: none */
    /* One of these: */
    struct tree_table *inner;          /* joins in parentheses */
    struct tree_query *query;          /* (SELECT ...) alias (columns) */
    const struct tree_cte *cte;        /* name */
    const struct catalog_table *table; /* name; set by the reader of tables */
    struct tree_name *columns;
    bool has_database;
    struct span database, name;
    struct tree_table *named; /* the next table that needs looking up */
};

struct tree_select {
    struct span text;
    bool distinct;
    bool counts; /* SQL_CALC_FOUND_ROWS */
    struct tree_item *items;
    struct node *rows; /* VALUES: a list of rows; there are no items then */
    size_t columns;    /* items, or columns of VALUES; a star is one */
    struct tree_table *from; /* NULL: none, or DUAL */
    struct node *where;
    struct node *group; /* a list */
    struct node *having;
    struct tree_window *windows;
    bool aggregates;       /* in its list, HAVING or ORDER BY */
    bool lists_aggregates; /* before HAVING */
    bool filters_rows;     /* HAVING, but no groups: a condition on rows */
    bool has_over;
    bool reads_query; /* a SELECT or a CTE in its FROM */
};

enum tree_set {
    SET_FIRST,
    SET_UNION,
    SET_UNION_ALL,
    SET_EXCEPT,
    SET_EXCEPT_ALL,
    SET_INTERSECT,
    SET_INTERSECT_ALL
};

struct tree_arm { /* of UNION and the like: a list */
    struct tree_arm *next;
    enum tree_set set;
    const struct shape *shape; /* set by the reader of types */
    /* One of these: */
    struct tree_select *select;
    struct tree_query *query; /* in parentheses */
};

struct tree_cte {
    struct tree_cte *next;  /* of the same WITH */
    struct tree_cte *outer; /* known where it begins */
    struct span name;
    struct tree_name *columns;
    struct tree_query *query;
};

struct tree_query {
    struct span text;
    const struct shape *shape; /* set by the reader of types */
    struct tree_cte *ctes;
    bool recursive;
    struct tree_arm *arms;
    struct tree_order *order;
    struct node *limit, *offset; /* integers or parameters; NULL: none */
};

enum tree_form {
    TREE_QUERY,       /* a whole SELECT */
    TREE_EXPRESSIONS, /* items */
    TREE_CONDITION    /* one item */
};

struct tree {
    enum tree_form form;
    struct tree_query *query;
    struct tree_item *items;
    struct tree_table *tables; /* those to look up, by their member named */
    size_t first, parameters;  /* index of its first ?, and their number */
    size_t selects;            /* number of them */
    size_t table_count;        /* that it reads, beside constants */
    bool assigns;              /* @x := y */
    bool counts;               /* SQL_CALC_FOUND_ROWS anywhere */
    bool has_with, has_over, has_rows;
    bool may_null; /* a column may be NULL though its table declares NOT NULL */
    struct span *into; /* user variables of INTO */
    size_t into_count;
};

/*
 * Parses from the token on, as far as a SELECT, a list of items or, with one,
 * an expression goes; what follows is the caller's.  -1 with 1064, 1235, 1248,
 * 1290 or 1436.
 */
int tree_parse(struct parser *p, enum tree_form form, bool one,
               const struct tree **out);

#endif
