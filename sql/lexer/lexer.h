/*
 * lexer.h - MySQL's tokens, one at a time, from borrowed text.
 *
 * Comments are skipped; a versioned comment (one that starts with an
 * exclamation mark) is read as code if its number is at most LEXER_VERSION.
 * Every call takes time in proportion to the text it consumes; none recurses.
 */
#ifndef HW_LEXER_H
#define HW_LEXER_H

#include <stdbool.h>

#include "reader.h"

struct arena;
struct error;

enum {
    LEXER_VERSION = 80036, /* versioned comments up to this one are code */
    LEXER_NEAR_MAX = 80    /* bytes of text that a syntax error quotes */
};

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,      /* identifier or keyword */
    TOKEN_QUOTED,    /* `identifier` */
    TOKEN_STRING,    /* '...', "...", N'...' */
    TOKEN_INTEGER,   /* decimal digits */
    TOKEN_DECIMAL,   /* with a point or an exponent */
    TOKEN_HEX,       /* 0x1f, x'1f', 0b01, b'01', as typed */
    TOKEN_SYSTEM,    /* @@name, @@session.name */
    TOKEN_USER,      /* @name, @'name' */
    TOKEN_PARAMETER, /* ? */
    TOKEN_OPERATOR,  /* punctuation, the longest that matches */
    TOKEN_INVALID    /* unterminated, or not a token */
};

struct token {
    enum token_kind kind;
    struct span text; /* as typed, quotes included */
};

struct lexer {
    const char *pos, *end;
    bool versioned; /* inside the body of a versioned comment */
};

enum variable_scope { SCOPE_DEFAULT, SCOPE_SESSION, SCOPE_GLOBAL };

struct lexer lexer_of(struct span text);
struct token lexer_next(struct lexer *lexer); /* END and INVALID repeat */

bool token_is(const struct token *token, const char *word);      /* keyword */
bool token_is_any(const struct token *token, const char *words); /* "A B" */
bool token_is_operator(const struct token *token, const char *text);

/* Decodes a string, quoted identifier, word or user variable into arena,
 * without quotes and escapes.  -1: out of memory. */
int token_decode(const struct token *token, struct arena *arena,
                 struct span *out);

/* Splits a TOKEN_SYSTEM into scope and name; the name is borrowed. */
void token_variable(const struct token *token, enum variable_scope *scope,
                    struct span *name);

/* Sets MySQL's 1064, which quotes the source from `at` on.  Returns -1. */
int syntax_error(struct span source, const char *at, struct error *err);

#endif
