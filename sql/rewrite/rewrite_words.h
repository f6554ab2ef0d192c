/* rewrite_words.h - the keywords of a SELECT. */
#ifndef HW_REWRITE_WORDS_H
#define HW_REWRITE_WORDS_H

#include "reader.h"

enum rewrite_word {
    WORD_NAME,       /* not a keyword */
    WORD_PLAIN,      /* means the same in SQLite */
    WORD_VALUE,      /* as WORD_PLAIN, and can end an expression */
    WORD_SELECT,     /* a list of expressions begins */
    WORD_QUANTIFIER, /* DISTINCT, ALL */
    WORD_FROM,
    WORD_JOIN, /* a table follows */
    WORD_SIDE, /* LEFT, RIGHT: joins, unless functions */
    WORD_TAIL, /* WHERE, GROUP, ...: no more tables follow */
    WORD_LIMIT,
    WORD_UNION, /* another SELECT follows */
    WORD_AS,
    WORD_WITH,
    WORD_OPERATOR,
    WORD_CASE,
    WORD_CASE_PART, /* WHEN, THEN, ELSE */
    WORD_END,
    WORD_GROUP,
    WORD_HAVING,
    WORD_EXISTS,
    WORD_OVER,
    WORD_WINDOW, /* WINDOW w AS (...) */
    WORD_TABLE,  /* TABLE t */
    WORD_VALUES, /* VALUES ROW(1), ROW(2) */
    WORD_INTO,
    WORD_LOCKING, /* FOR UPDATE, LOCK IN SHARE MODE */
    WORD_HINT,    /* USE INDEX (x) */
    WORD_COLLATE, /* dropped, with its name */
    WORD_NILADIC, /* a function without parentheses */
    WORD_DROP,    /* dropped */
    WORD_CALC,    /* SQL_CALC_FOUND_ROWS */
    WORD_REFUSE   /* a syntax error */
};

struct rewrite_entry {
    const char *word;
    enum rewrite_word kind;
    const char *out; /* NULL: the same word */
};

extern const struct rewrite_entry rewrite_words[]; /* sorted by word */
extern const size_t rewrite_word_count;

/* Finds a keyword; *out is how SQLite writes it. */
enum rewrite_word rewrite_word(struct span word, const char **out);

/* The type of a CAST as hw_cast names it; NULL: unknown. */
const char *rewrite_type(struct span word);

#endif
