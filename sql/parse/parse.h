/*
 * parse.h - the parsers of the statements, and their tools.
 *
 * Each statement has a parse_ function; parse_statement.c has the table of all.
 */
#ifndef HW_PARSE_H
#define HW_PARSE_H

#include "parse_statement.h"
#include "parser.h"
#include "tree_parse.h"

/* A word, or a string where MySQL allows one. */
int parser_name_or_string(struct parser *p, struct span *out);

/* [database.]table */
int parser_table(struct parser *p, struct show *out);

/* A string, or a ? for one.  Without the ?'s value: *unknown, and "". unknown
 * NULL: the value does not matter. */
int parser_string(struct parser *p, struct span *out, bool *unknown);
/* Bytes: x'...', 0x..., a string, each possibly after _binary, or a ?. */
int parser_bytes(struct parser *p, struct span *out);
/* Whether text has digits alone and the number fits into *out. */
bool parser_digits(struct span text, uint64_t *out);
/* Decimal digits, or a ? for them; *unknown as for parser_string. */
int parser_number(struct parser *p, uint64_t *out, bool *unknown);

/* Call it at the end: checks that there are as many values as ?. */
int parser_count_parameters(struct parser *p);

/* SET STATEMENT name = number [, ...] FOR statement; STATEMENT is consumed. */
int parse_set_statement(struct parser *p, struct sql_statement *out);
/* Reads a hint before the token, if one stands there. */
int parse_hint(struct parser *p, struct sql_statement *out);
/* Reads MAX_EXECUTION_TIME behind SELECT, which is the token. */
void parse_select_hint(const struct parser *p, struct sql_statement *out);

/* The statements; each begins at its first word. */
int parse_admin(struct parser *p, struct sql_statement *out);
int parse_admin_call(struct parser *p, struct sql_statement *out);
int parse_import(struct parser *p, struct sql_statement *out);
int parse_show(struct parser *p, struct sql_statement *out);
int parse_set(struct parser *p, struct sql_statement *out);
int parse_describe(struct parser *p, struct sql_statement *out);
int parse_change(struct parser *p, struct sql_statement *out); /* 1290 */
int parse_other(struct parser *p, struct sql_statement *out);

#endif
