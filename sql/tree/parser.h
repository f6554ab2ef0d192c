/*
 * parser.h - the state of a parser, and the tools of all parsers.  They see
 * the next token and, on demand, the one behind it.
 */
#ifndef HW_PARSER_H
#define HW_PARSER_H

#include "lexer.h"

struct arena;
struct sql_parameters;
struct sql_session;
struct sql_statement;
struct tree;
struct tree_cte;
struct tree_grammar;
struct tree_select;
struct tree_table;

enum parameter_use {
    PARAMETERS_NONE,   /* a ? is a syntax error */
    PARAMETERS_ABSENT, /* each ? is counted and has no value */
    PARAMETERS_GIVEN
};

struct parsing {
    struct arena *arena;
    enum parameter_use use;
    const struct sql_parameters
        *parameters; /* for PARAMETERS_GIVEN; borrowed to the end */
    /* Gives the values of @names, and sql_mode; or NULL. */
    const struct sql_session *session;
};

struct parser {
    struct lexer lexer;   /* behind token */
    struct token token;   /* the next token, not consumed yet */
    struct token ahead;   /* the token behind it, if has_ahead */
    struct lexer behind;  /* behind ahead */
    bool has_ahead;       /* parser_ahead() was called since the last token
                           * was consumed */
    const char *consumed; /* end of the last consumed token */
    struct span source;
    const struct parsing *how;
    struct arena *arena;
    size_t parameters; /* number of ? consumed so far */
    struct error *err;
    /* Parses any statement, from its first word on; SET STATEMENT contains
     * one. */
    int (*any)(struct parser *p, struct sql_statement *out);
    /* While a tree is parsed: */
    struct tree *tree; /* NULL: none is */
    const struct tree_grammar *grammar;
    struct tree_table **tables; /* the end of its list */
    struct tree_select *select; /* the innermost one; NULL: none */
    struct tree_cte *ctes;      /* the known ones, the nearest first */
    size_t cte_count;
    const char *start; /* of the tree */
    size_t nesting;    /* open parentheses */
    size_t recursion;  /* calls of tree_operators() that have not returned */
    size_t deepest;    /* levels of nodes in this query so far */
};

/* Whether the session's sql_mode has the word. */
bool parser_mode(const struct parser *p, const char *word);
/* Is the token a name in a string's quotes?  It is with sql_mode
 * ANSI_QUOTES. */
bool parser_quotes(const struct parser *p, const struct token *token);
/* The lexer's next token, as a tree sees it. */
struct token parser_next(const struct parser *p, struct lexer *lexer);
void parser_advance(struct parser *p);
const struct token *parser_ahead(struct parser *p);
bool parser_accept(struct parser *p, const char *word);
bool parser_accept_any(struct parser *p, const char *words);
bool parser_accept_operator(struct parser *p, const char *text);
int parser_expect(struct parser *p, const char *word); /* -1: 1064 */
int parser_expect_operator(struct parser *p, const char *text);
/* 1064 at the token, or 1235 if MySQL would read on there. */
int parser_fail(struct parser *p);
int parser_fail_deep(struct parser *p); /* 1436 */
/* Sets 1235: a limit of heapwire is passed. */
int parser_fail_many(struct parser *p, const char *what, int most,
                     const char *where);
/* parser_refuse sets 1235 with the reason; parser_refuse_change sets 1290.
 * Both return -1. */
int parser_refuse(struct parser *p, const char *what, const char *why);
int parser_refuse_change(struct parser *p);
/* -1 with 1235 where MySQL has what heapwire has not; else 0.  next: the token
 * after the parser's, parser_ahead(). */
int parser_refuse_missing(struct parser *p, const struct token *next);
bool
parser_done(struct parser *p); /* at the end of the text or of the statement */

/* Zeroed; NULL with *p->err. */
void *parser_alloc(struct parser *p, size_t size);

/* A word or `quoted` name. */
int parser_name(struct parser *p, struct span *out);

/* Decodes the token and consumes it. */
int parser_decode(struct parser *p, struct span *out);

/* A word, or a string where MySQL allows one. */
int parser_name_or_string(struct parser *p, struct span *out);

/* A string, or a ? for one.  Without the ?'s value: *unknown, and "". unknown
 * NULL: the value does not matter. */
int parser_string(struct parser *p, struct span *out, bool *unknown);
/* Bytes: x'...', 0x..., a string, each possibly after _binary, or a ?. */
int parser_bytes(struct parser *p, struct span *out);
/* Whether text has digits alone and the number fits into *out. */
bool parser_digits(struct span text, uint64_t *out);
/* NULL, or a ? for it. */
bool parser_accept_null(struct parser *p);
/* Decimal digits, or a ? for them; *unknown as for parser_string. */
int parser_number(struct parser *p, uint64_t *out, bool *unknown);

/* Call it at the end: checks that there are as many values as ?. */
int parser_count_parameters(struct parser *p);

#endif
