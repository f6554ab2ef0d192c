/* script_lexer.h - the tokens of a script. */
#ifndef HW_SCRIPT_LEXER_H
#define HW_SCRIPT_LEXER_H

#include <stddef.h>

#include "reader.h"

struct arena;
struct error;

enum script_token_kind {
    SCRIPT_TOKEN_END,
    SCRIPT_TOKEN_BREAK, /* newline or ; */
    SCRIPT_TOKEN_NAME,
    SCRIPT_TOKEN_TEXT, /* a string literal */
    SCRIPT_TOKEN_NUMBER,
    SCRIPT_TOKEN_PUNCTUATION /* one of ( ) , . = + - */
};

struct script_token {
    enum script_token_kind kind;
    size_t offset;    /* of the token in the script */
    struct span text; /* as typed; for a string, its decoded value */
    double number;
    bool semicolon; /* the BREAK is a semicolon */
};

struct script_lexer {
    struct span text;
    size_t pos;
    struct arena *arena; /* holds decoded strings */
};

/* Reads the next token.  -1 with 1064. */
int script_lex(struct script_lexer *lexer, struct script_token *out,
               struct error *err);

/* Sets 1064 with the line and column of offset.  Returns -1. */
int script_error(struct span text, size_t offset, struct error *err,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Puts line and column before the text of *err, whose code stays. */
void script_add_position(struct span text, size_t offset, struct error *err);

unsigned script_line(struct span text, size_t offset); /* from 1 */

#endif
