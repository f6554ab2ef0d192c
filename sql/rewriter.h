/* rewriter.h - the rewriter's state, shared by its files. */
#ifndef HW_REWRITER_H
#define HW_REWRITER_H

#include "rewrite.h"

enum clause {
    CLAUSE_NONE, /* an expression, or not in a SELECT */
    CLAUSE_WITH, /* names of common table expressions */
    CLAUSE_LIST, /* what is selected */
    CLAUSE_FROM,
    CLAUSE_REST
};

/* One pair of parentheses, or the whole. */
struct level {
    enum clause clause;
    bool expects_table; /* FROM: the next name is a table's */
    bool cast, convert; /* inside of CAST(, CONVERT( */
    size_t cte_count;   /* of names that were known outside */
    /* The expression being selected, in CLAUSE_LIST. */
    size_t count; /* tokens */
    bool aliased; /* AS was there */
    bool plain;   /* nothing but names and dots */
    const char *start;
    struct token last, before;
};

struct rewriter {
    const struct rewrite *job;
    struct rewritten *result;
    struct lexer lexer;
    struct token token, ahead, previous;
    struct buffer *sql;
    size_t depth;
    bool next_is_cast, next_is_convert; /* of the coming parenthesis */
    struct span ctes[REWRITE_CTES_MAX];
    size_t cte_count;
    size_t parameters;   /* so far: each fragment's count from 1 */
    size_t locate;       /* offset in sql whose source is asked for */
    const char *located; /* the last token that began before it */
    struct error *err;
    /* Last, and not cleared before they are used: many bytes. */
    struct level levels[NESTING_MAX + 1];
};

/* rewrite.c */
struct level *rewriter_top(struct rewriter *r); /* the innermost */
void rewriter_advance(struct rewriter *r);      /* the next token */

/* rewriter_word.c: the token, a word; a name in backquotes; and what stands
 * behind the expression of CONVERT(x, type) or CONVERT(x USING charset), which
 * are CASTs. */
int rewriter_word(struct rewriter *r);
int rewriter_name(struct rewriter *r);
int rewriter_convert_tail(struct rewriter *r, bool is_using);

/* rewriter_emit.c */
void rewriter_emit(struct rewriter *r, const char *text);
void rewriter_emit_span(struct rewriter *r, struct span text);
void rewriter_emit_identifier(struct rewriter *r, struct span name);
int rewriter_emit_decoded(struct rewriter *r, const struct token *token);
int rewriter_emit_string(struct rewriter *r, const struct token *token);
int rewriter_emit_hex(struct rewriter *r, const struct token *token);
int rewriter_emit_system_variable(struct rewriter *r,
                                  const struct token *token);
int rewriter_emit_user_variable(struct rewriter *r, const struct token *token);
int rewriter_fail(struct rewriter *r); /* 1064 at the token */
int rewriter_decode(struct rewriter *r, const struct token *token,
                    struct span *out);

/* rewriter_label.c: a token of a selected expression; its end. */
void rewriter_label_note(struct level *level, const struct token *token);
int rewriter_label_end(struct rewriter *r, struct level *level);

#endif
