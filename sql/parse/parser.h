/*
 * parser.h - the parser's tools, and its statements.
 *
 * parser.c and parser_parameter.c are the tools: one token ahead.  Each
 * statement has its parse_ function above them; parse_statement.c has the table
 * of all.
 */
#ifndef HW_PARSER_H
#define HW_PARSER_H

#include "parse_statement.h"

struct parser {
    struct lexer lexer;
    struct token token;   /* not consumed yet */
    struct lexer before;  /* stands on token */
    const char *consumed; /* behind the last consumed token */
    struct span source;
    const struct parsing *how;
    struct arena *arena;
    size_t parameters; /* ? consumed so far */
    struct error *err;
    /* Any statement, from its first word on: SET STATEMENT holds one. */
    int (*any)(struct parser *p, struct sql_statement *out);
};

void parser_advance(struct parser *p);
bool parser_accept(struct parser *p, const char *word);
bool parser_accept_operator(struct parser *p, const char *text);
int parser_expect(struct parser *p, const char *word); /* -1: 1064 */
int parser_fail(struct parser *p);                     /* 1064 at the token */
bool parser_done(struct parser *p); /* end of text, or of the statement */

/* A word or `quoted` name; a string too where MySQL allows it. */
int parser_name(struct parser *p, struct span *out);
int parser_name_or_string(struct parser *p, struct span *out);

/* [database.]table */
int parser_table(struct parser *p, struct show *out);

/* A decoded token; consumes it. */
int parser_decode(struct parser *p, struct span *out);

/* A string, or a ? for one: *unknown, and "", without its value.  unknown NULL
 * where the value says nothing. */
int parser_string(struct parser *p, struct span *out, bool *unknown);
/* Bytes: x'...', 0x..., a string, with _binary before it or not, or a ?. */
int parser_bytes(struct parser *p, struct span *out);
/* Whether text is nothing but digits, of a number that fits. */
bool parser_digits(struct span text, uint64_t *out);
/* Decimal digits, or a ? for them. */
int parser_number(struct parser *p, uint64_t *out, bool *unknown);

/* At the end: as many values as ?. */
int parser_count_parameters(struct parser *p);

/* All tokens up to the statement's end, or, with stop_at_comma, to a comma
 * outside parentheses.  At least one. */
int parser_fragment(struct parser *p, bool stop_at_comma, struct fragment *out);

/* SET STATEMENT name = number [, ...] FOR statement, behind STATEMENT. */
int parse_set_statement(struct parser *p, struct sql_statement *out);
/* A hint between what was consumed and the token; none is fine. */
int parse_hint(struct parser *p, struct sql_statement *out);
/* MAX_EXECUTION_TIME behind the SELECT that is the token. */
void parse_select_hint(const struct parser *p, struct sql_statement *out);

/* The statements, each from its first word on. */
int parse_admin(struct parser *p, struct sql_statement *out);
int parse_admin_call(struct parser *p, struct sql_statement *out);
int parse_import(struct parser *p, struct sql_statement *out);
int parse_show(struct parser *p, struct sql_statement *out);
int parse_set(struct parser *p, struct sql_statement *out);
int parse_describe(struct parser *p, struct sql_statement *out);
int parse_transaction(struct parser *p, struct sql_statement *out);
int parse_savepoint(struct parser *p, struct sql_statement *out);
int parse_change(struct parser *p, struct sql_statement *out); /* 1290 */
int parse_other(struct parser *p, struct sql_statement *out);

#endif
