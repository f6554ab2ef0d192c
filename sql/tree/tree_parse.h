/* tree_parse.h - parses SELECT and expressions into trees. */
#ifndef HW_TREE_PARSE_H
#define HW_TREE_PARSE_H

#include "parser.h"
#include "select_tree.h"

/*
 * Parses from the token on, as far as a SELECT, a list of items or, with one,
 * an expression goes; what follows is the caller's.  -1 with 1064, 1235, 1248,
 * 1290 or 1436.
 */
int tree_parse(struct parser *p, enum tree_form form, bool one,
               const struct tree **out);

#endif
