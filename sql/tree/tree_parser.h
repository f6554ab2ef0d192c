/*
 * tree_parser.h - the parsers of a tree's parts, for each other.
 *
 * Each begins at its first token, and ends behind its last one.  NULL, false or
 * -1: it failed, with *p->err.
 */
#ifndef HW_TREE_PARSER_H
#define HW_TREE_PARSER_H

#include "lexer.h"
#include "parser.h"
#include "select_tree.h"

/* From the loosest to the closest. */
enum binds {
    BINDS_ALL,
    BINDS_OR,
    BINDS_XOR,
    BINDS_AND,
    BINDS_NOT,
    BINDS_COMPARISON,
    BINDS_PREDICATE, /* LIKE, IN, BETWEEN */
    BINDS_BIT_OR,
    BINDS_BIT_AND,
    BINDS_SHIFT,
    BINDS_SUM,
    BINDS_PRODUCT,
    BINDS_BIT_XOR,
    BINDS_SIGN,
    BINDS_BANG,
    BINDS_BINARY,
    BINDS_COLLATE
};

/* The two parsers that lower files call back: an operand may contain any
 * expression, and any query. */
struct tree_grammar {
    struct node *(*operators)(struct parser *p, enum binds least);
    /* first: one in parentheses that was read before; or NULL. */
    struct tree_query *(*query)(struct parser *p, struct tree_query *first);
};

/* ---- tree_node.c ---- */

struct node *tree_node(struct parser *p, enum node_kind kind,
                       const char *start);
struct node *tree_start(struct parser *p,
                        enum node_kind kind); /* at the token */
void *tree_fail(struct parser *p);            /* 1064; NULL */
/* Sets the end of the node's text: behind the last token consumed.  Returns
 * node. */
struct node *tree_end(const struct parser *p, struct node *node);
/* Appends child, or what an expression from here on becomes. */
int tree_adopt(struct parser *p, struct node *parent, struct node *child);
int tree_take(struct parser *p, struct node *parent, enum binds least);
/* Reads an expression that becomes no node's operand, as a WHERE. */
int tree_value(struct parser *p, struct node **out);
/* Call these before and after parsing what lies below a node without being its
 * operand (a subquery, OVER): the node's depth then counts it. */
size_t tree_below(struct parser *p);
int tree_above(struct parser *p, struct node *node, size_t around);
/* "(", which nests; tree_close takes the ")". */
int tree_open(struct parser *p);
int tree_close(struct parser *p);
int tree_names(struct parser *p, struct tree_name **out); /* (a, b) */
/* [AS] alias; *found: there is one. */
int tree_alias(struct parser *p, bool text, struct span *out, bool *found);
int tree_check_size(struct parser *p);
/* Appends expressions, a comma between them. */
int tree_list(struct parser *p, struct node *parent);
int tree_order_by(struct parser *p, struct tree_order **out); /* if any */

/* The keywords of a SELECT. */
extern const char *const tree_reserved[]; /* ascending */
extern const size_t tree_reserved_count;

/* Whether the word can be no name unless it is quoted or behind a dot. */
bool tree_word_reserved(struct span word);
/* A word that is not reserved, or `quoted`. */
bool tree_is_name(const struct token *token);
/* The same, or a reserved word: for what follows a dot. */
bool tree_may_name(const struct token *token);

bool tree_word_unit(const struct token *token); /* of an INTERVAL */
/* The type of a CAST as hw_cast names it; NULL: unknown. */
const char *tree_word_type(struct span word);

bool tree_at_query(const struct token *token); /* SELECT and its like */
bool tree_at_set(const struct token *token);   /* UNION, ... */

/* ---- tree_call.c ---- */

struct node *tree_call_read(struct parser *p);
/* Appends INTERVAL amount unit, behind INTERVAL; *unit is the unit. */
int tree_interval(struct parser *p, struct node *parent, struct span *unit);
/* Whether INTERVAL, the token, is a function here. */
bool tree_interval_calls(struct parser *p);

/* ---- tree_operand.c ---- */

struct node *tree_operand(struct parser *p);
/* Behind "(". */
struct node *tree_query_or_expression(struct parser *p);

/* ---- tree_expression.c ---- */

struct node *tree_operators(struct parser *p, enum binds least);

/* ---- tree_from.c ---- */

int tree_from(struct parser *p, struct tree_select *select);
/* [database.]name, without an alias. */
struct tree_table *tree_table_named(struct parser *p);
struct tree_window *tree_over(struct parser *p); /* behind OVER */
int tree_windows(struct parser *p, struct tree_window **out);

#endif
