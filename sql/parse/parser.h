/*
 * parser.h - the parser's tools, and the parsers of the statements.
 *
 * parser.c and parser_parameter.c are the tools, which look one token ahead.
 * Each statement has a parse_ function; parse_statement.c has the table of all.
 */
#ifndef HW_PARSER_H
#define HW_PARSER_H

#include "parse_statement.h"

struct parser {
    struct lexer lexer;
    struct token token;   /* the next token, not consumed yet */
    struct lexer before;  /* stands on token */
    const char *consumed; /* end of the last consumed token */
    struct span source;
    const struct parsing *how;
    struct arena *arena;
    size_t parameters; /* number of ? consumed so far */
    struct error *err;
    /* Parses any statement, from its first word on; SET STATEMENT contains
     * one. */
    int (*any)(struct parser *p, struct sql_statement *out);
};

void parser_advance(struct parser *p);
bool parser_accept(struct parser *p, const char *word);
bool parser_accept_operator(struct parser *p, const char *text);
int parser_expect(struct parser *p, const char *word); /* -1: 1064 */
int parser_fail(struct parser *p);                     /* 1064 at the token */
bool
parser_done(struct parser *p); /* at the end of the text or of the statement */

/* A word or `quoted` name, or a string where MySQL allows one. */
int parser_name(struct parser *p, struct span *out);
int parser_name_or_string(struct parser *p, struct span *out);

/* [database.]table */
int parser_table(struct parser *p, struct show *out);

/* Decodes the token and consumes it. */
int parser_decode(struct parser *p, struct span *out);

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

/* Takes all tokens up to the statement's end or, with stop_at_comma, up to a
 * comma outside of parentheses.  Fails on an empty run. */
int parser_fragment(struct parser *p, bool stop_at_comma, struct fragment *out);

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
int parse_transaction(struct parser *p, struct sql_statement *out);
int parse_savepoint(struct parser *p, struct sql_statement *out);
int parse_change(struct parser *p, struct sql_statement *out); /* 1290 */
int parse_other(struct parser *p, struct sql_statement *out);

#endif
