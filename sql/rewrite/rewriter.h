/* rewriter.h - the rewriter's state, shared by its files. */
#ifndef HW_REWRITER_H
#define HW_REWRITER_H

#include "rewrite.h"
#include "slots.h"

enum clause {
    CLAUSE_NONE, /* an expression, or not in a SELECT */
    CLAUSE_WITH, /* names of common table expressions */
    CLAUSE_LIST, /* what is selected */
    CLAUSE_FROM,
    CLAUSE_REST
};

/* What an expression so far is, as far as comparing it goes. */
enum operand_kind {
    OPERAND_NONE, /* nothing: an operand must follow */
    OPERAND_COLUMN,
    OPERAND_NUMBER,
    OPERAND_STRING,
    OPERAND_MOMENT, /* DATE'2026-01-31': a string, but not where it counts */
    OPERAND_ROW,    /* (a, b) */
    OPERAND_BINARY, /* COLLATE utf8mb4_bin */
    OPERAND_HEX,    /* 0x1f: bytes, but a number beside a number */
    OPERAND_OTHER
};

struct operand {
    enum operand_kind kind;
    size_t start;   /* in sql */
    unsigned depth; /* of the expression */
    size_t listed;  /* expressions in the parentheses that it is */
};

struct operator;

/* An operator whose right side is still being read. */
struct pending {
    const struct operator* op;
    struct operand left; /* of a prefix: where it starts */
    size_t middle;       /* in sql: behind the left side */
    bool negated;        /* NOT LIKE */
    bool continued;      /* a BETWEEN had its AND, a CASE its WHEN */
    bool compares;       /* CASE x WHEN y */
    bool all;            /* > ALL, not > ANY */
    unsigned slot;       /* then */
};

/* Functions with a syntax of their own. */
enum special {
    SPECIAL_NONE,
    SPECIAL_AGGREGATE,
    SPECIAL_CAST,
    SPECIAL_CHAR,      /* (65 USING charset) */
    SPECIAL_CONVERT,   /* (x, type), (x USING charset) */
    SPECIAL_COUNT,     /* (DISTINCT a, b) */
    SPECIAL_DATE_ADD,  /* (x, INTERVAL n unit) */
    SPECIAL_EXTRACT,   /* (unit FROM x) */
    SPECIAL_GROUP,     /* _CONCAT(DISTINCT x ORDER BY y SEPARATOR z) */
    SPECIAL_POSITION,  /* (x IN y) */
    SPECIAL_SUBSTRING, /* (x FROM n FOR m) */
    SPECIAL_TIMESTAMP, /* DIFF(unit, x, y) */
    SPECIAL_TRIM,      /* (LEADING x FROM y) */
};

/* One pair of parentheses, or the whole. */
struct level {
    enum clause clause;
    struct operand operand;
    size_t pending_base;
    bool negated; /* NOT was there: LIKE, IN, BETWEEN or REGEXP follow */
    bool is_row;  /* a comma was there */
    bool is_call;
    bool is_binary; /* CAST(x AS BINARY) */
    bool is_text;   /* CHAR(x USING utf8mb4) */
    bool rows;      /* IN (: rows of it are VALUES */
    bool wrapped;   /* a SELECT in parentheses of its own */
    bool after_union;
    bool derived;       /* in a FROM: a SELECT of it needs an alias */
    bool is_query;      /* SELECT, VALUES or TABLE was there, */
    bool is_compound;   /* and UNION, */
    bool is_short;      /* and LIMIT 1 */
    bool scalar;        /* a query in it is one value */
    bool quantified;    /* likewise, of ANY or ALL */
    unsigned slot;      /* then */
    bool in_list;       /* of IN */
    bool in_using;      /* of USING */
    bool bare;          /* it is written without its parentheses */
    size_t columns;     /* of its SELECT, as far as they are listed */
    size_t listed;      /* commas, at this depth */
    const char *where;  /* the clause, as faults name it */
    bool window, frame; /* OVER (, its ROWS or RANGE */
    bool interval;      /* DATE_ADD: INTERVAL was there */
    bool distinct;      /* of GROUP_CONCAT, COUNT */
    enum special special;
    struct group_concat *group;
    size_t content; /* in sql: behind the parenthesis */
    /* Of its SELECT: */
    size_t select, having; /* in sql: where they start */
    bool has_group, has_aggregate, has_having;
    bool selects_aggregate; /* before HAVING */
    bool has_over, has_from;
    bool reads_select; /* a table of its FROM is a SELECT */
    bool counts;       /* SQL_CALC_FOUND_ROWS was there */
    bool windows;      /* in its WINDOW */
    bool conditional;  /* HAVING filters rows, not groups */
    struct span condition;
    size_t having_parameters; /* ? before HAVING, later: up to its end */
    bool condition_has_parameters;
    bool expects_table; /* FROM: the next name is a table's */
    size_t cte_count;   /* of names that were known outside */
    /* The expression being selected, in CLAUSE_LIST. */
    size_t count; /* tokens */
    bool aliased; /* AS was there */
    bool plain;   /* nothing but names and dots */
    const char *start;
    struct token last, before;
};

/* A token's first byte in sql. */
struct mark {
    size_t offset;
    const char *source, *where;
};

enum {
    REWRITE_PENDING_MAX = 1024, /* operators that wait at once */
    REWRITE_LISTED_MAX = 90     /* hw_in's: SQLite's functions take 100 */
};

struct rewriter {
    const struct rewrite *job;
    struct rewritten *result;
    struct lexer lexer;
    struct token token, ahead, previous;
    struct buffer *sql;
    size_t depth;
    size_t pending_count;
    bool rows_follow;  /* IN, its left side a row: so is its list */
    bool call_follows; /* the coming parenthesis is a function's */
    bool window_follows;
    char quantified; /* the coming SELECT is of ALL, A, or of ANY, a; or 0 */
    enum special special_follows;
    size_t cte_count;
    size_t parameters;  /* so far */
    unsigned slots;     /* likewise: see slots.h */
    struct mark *marks; /* where tokens are in sql; only to locate a fault */
    size_t mark_count, mark_capacity;
    bool marking, ansi_quotes;
    bool counts;         /* a level does */
    bool joins_snapshot; /* the coming column of that name is joined */
    struct span snapshot_alias;
    struct error *err;
    /* Large, and not cleared: what is in use was written. */
    struct level levels[NESTING_MAX + 1];
    struct pending pending[REWRITE_PENDING_MAX];
    struct span ctes[REWRITE_CTES_MAX];
};

/* rewriter.c */
struct level *rewriter_top(struct rewriter *r);       /* the innermost */
void rewriter_advance(struct rewriter *r);            /* the next token */
const char *rewriter_where(const struct rewriter *r); /* as in struct level */
bool rewriter_is_name(const struct token *token);     /* no keyword */
bool rewriter_may_name(const struct token *token);    /* keywords, too */
bool rewriter_wants_operand(struct rewriter *r);
/* An operand begins here, unless one is there. */
void rewriter_operand(struct rewriter *r, enum operand_kind kind);
void rewriter_insert(struct rewriter *r, size_t at, const char *text);

/* rewriter_word.c: the token, a word. */
int rewriter_word(struct rewriter *r);

/* rewriter_name.c: the token, a word that is no keyword or in backquotes. */
int rewriter_name(struct rewriter *r);

/* rewriter_operator.c */
void rewriter_expression_end(struct rewriter *r);
/* The token, when it is an operator (*known). */
int rewriter_operator(struct rewriter *r, bool *known);
int rewriter_assign(struct rewriter *r); /* the token, behind which is := */
int rewriter_case(struct rewriter *r);
void rewriter_case_part(struct rewriter *r, const char *out);
void rewriter_case_end(struct rewriter *r);
bool rewriter_interval_unit(struct rewriter *r, struct span unit);
void rewriter_collate_binary(struct rewriter *r);

/* rewriter_call.c: calls with a syntax of their own. */
enum special rewriter_special(struct span name, const char **out);
bool rewriter_is_unit(const struct token *token); /* of an INTERVAL */
int rewriter_call_open(struct rewriter *r);
/* The token (*known), inside of one. */
int rewriter_call_token(struct rewriter *r, bool *known);
int rewriter_call_close(struct rewriter *r);
int rewriter_convert_type(struct rewriter *r); /* the type of CONVERT, CAST */

/* rewriter_clause.c: what ends or surrounds a SELECT's parts. */
int rewriter_having(struct rewriter *r);
int rewriter_having_end(struct rewriter *r);
int rewriter_select_end(struct rewriter *r);
int rewriter_limit(struct rewriter *r);
int rewriter_into(struct rewriter *r);
int rewriter_locking(struct rewriter *r);
int rewriter_index_hint(struct rewriter *r);

/* rewriter_subquery.c: behind "(" of an expression; before ")". */
bool rewriter_is_scalar(const struct rewriter *r, const struct level *outer);
void rewriter_scalar_end(struct rewriter *r);

/* rewriter_snapshot.c: the token, a column's name; a value of the statement. */
void rewriter_snapshot_column(struct rewriter *r);
void rewriter_snapshot_value(struct rewriter *r, const struct value *value);

/* rewriter_emit.c */
void rewriter_emit(struct rewriter *r, const char *text);
void rewriter_emit_span(struct rewriter *r, struct span text);
void rewriter_emit_identifier(struct rewriter *r, struct span name);
void rewriter_emit_text(struct rewriter *r, struct span text);
int rewriter_emit_decoded(struct rewriter *r, const struct token *token);
int rewriter_emit_string(struct rewriter *r, const struct token *token);
/* DATE, TIME or TIMESTAMP, and the string behind it. */
int rewriter_emit_moment(struct rewriter *r);
void rewriter_emit_number(struct rewriter *r, const struct token *token);
int rewriter_emit_hex(struct rewriter *r, const struct token *token);
int rewriter_emit_system_variable(struct rewriter *r,
                                  const struct token *token);
int rewriter_emit_user_variable(struct rewriter *r, const struct token *token);
int rewriter_fail(struct rewriter *r);      /* 1064 at the token */
int rewriter_fail_deep(struct rewriter *r); /* 1436 */
int rewriter_decode(struct rewriter *r, const struct token *token,
                    struct span *out);

/* rewriter_label.c: a token of a selected expression; its end. */
void rewriter_label_note(struct level *level, const struct token *token);
int rewriter_label_end(struct rewriter *r, struct level *level);

#endif
