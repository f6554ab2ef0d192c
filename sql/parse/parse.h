/*
 * parse.h - the parsers of the statements, and their tools.
 *
 * Each statement has a parse_ function; parse_statement.c has the table of all.
 */
#ifndef HW_PARSE_H
#define HW_PARSE_H

#include "parse_statement.h"
#include "parser.h"
#include "select_tree.h"

/* [database.]table */
int parser_table(struct parser *p, struct show *out);

/* Reads a hint before the token, if one stands there. */
int parse_hint(struct parser *p, struct sql_statement *out);
/* Reads MAX_EXECUTION_TIME behind SELECT, which is the token. */
void parse_select_hint(const struct parser *p, struct sql_statement *out);

/* The statements; each begins at its first word. */
int parse_admin(struct parser *p, struct sql_statement *out);
int parse_show(struct parser *p, struct sql_statement *out);
int parse_set(struct parser *p, struct sql_statement *out);
int parse_change(struct parser *p, struct sql_statement *out); /* 1290 */
int parse_other(struct parser *p, struct sql_statement *out);

#endif
