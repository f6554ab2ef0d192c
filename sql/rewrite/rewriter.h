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

/* The kind of an expression so far, which decides how it compares. */
enum operand_kind {
    OPERAND_NONE, /* nothing yet: an operand must follow */
    OPERAND_COLUMN,
    OPERAND_NUMBER,
    OPERAND_STRING,
    OPERAND_MOMENT, /* DATE'2026-01-31': a string, except in arithmetic */
    OPERAND_ROW,    /* (a, b) */
    OPERAND_BINARY, /* COLLATE utf8mb4_bin */
    OPERAND_HEX,    /* 0x1f: bytes, but a number beside a number */
    OPERAND_OTHER
};

struct operand {
    enum operand_kind kind;
    size_t start;   /* offset in sql */
    unsigned depth; /* levels of the expression */
    size_t listed;  /* expressions in its parentheses */
};

struct operator;

/* An operator whose right side is still being read. */
struct pending {
    const struct operator* op;
    struct operand left; /* for a prefix operator: where it starts */
    size_t middle;       /* offset in sql, behind the left side */
    bool negated;        /* NOT LIKE */
    bool continued;      /* a BETWEEN has its AND, a CASE its WHEN */
    bool compares;       /* CASE x WHEN y */
    bool all;            /* ALL, not ANY */
    unsigned slot;       /* of CASE, ANY and ALL; see slots.h */
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

/* A pair of parentheses, or the whole text. */
struct level {
    enum clause clause;
    struct operand operand;
    size_t pending_base;
    bool negated; /* NOT precedes LIKE, IN, BETWEEN or REGEXP */
    bool is_row;  /* it has a comma */
    bool is_call;
    bool is_binary; /* CAST(x AS BINARY) */
    bool is_text;   /* CHAR(x USING utf8mb4) */
    bool rows;      /* of IN: its rows are written as VALUES */
    bool wrapped;   /* a SELECT in parentheses of its own */
    bool after_union;
    bool derived;       /* in a FROM: a SELECT in it needs an alias */
    bool is_query;      /* it has SELECT, VALUES or TABLE */
    bool is_compound;   /* and UNION */
    bool is_short;      /* and LIMIT 1 */
    bool scalar;        /* a query in it is one value */
    bool quantified;    /* a query in it belongs to ANY or ALL */
    unsigned slot;      /* for these; see slots.h */
    bool in_list;       /* of IN */
    bool in_using;      /* of USING */
    bool bare;          /* written without its parentheses */
    size_t columns;     /* columns that its SELECT has so far */
    size_t listed;      /* commas directly inside */
    const char *where;  /* the clause, as faults name it */
    bool window, frame; /* OVER (, its ROWS or RANGE */
    bool interval;      /* DATE_ADD has its INTERVAL */
    bool distinct;      /* of GROUP_CONCAT, COUNT */
    enum special special;
    struct group_concat *group;
    size_t content; /* offset in sql, behind the parenthesis */
    /* Of its SELECT; the first two are offsets in sql. */
    size_t select, having;
    bool has_group, has_aggregate, has_having;
    bool selects_aggregate; /* before HAVING */
    bool has_over, has_from;
    bool reads_select; /* its FROM contains a SELECT */
    bool counts;       /* it has SQL_CALC_FOUND_ROWS */
    bool windows;      /* in its WINDOW */
    bool conditional;  /* HAVING filters rows, not groups */
    struct span condition;
    size_t having_parameters; /* number of ? before HAVING; at its end, before
                                 that */
    bool condition_has_parameters;
    bool expects_table; /* FROM: the next name is a table's */
    size_t cte_count;   /* number of names known outside */
    /* The expression that is being selected, in CLAUSE_LIST. */
    size_t count; /* tokens */
    bool aliased; /* it has AS */
    bool plain;   /* only names and dots */
    const char *start;
    struct token last, before;
};

/* The place in the source of the byte at an offset in sql. */
struct mark {
    size_t offset;
    const char *source, *where;
};

enum {
    REWRITE_PENDING_MAX = 1024, /* operators that wait at one time */
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
    bool rows_follow;  /* IN follows a row, so its list has rows */
    bool call_follows; /* the next parenthesis is a function call's */
    bool window_follows;
    char quantified; /* the next SELECT is ALL's (A) or ANY's (a); 0: neither */
    enum special special_follows;
    size_t cte_count;
    size_t parameters;  /* number of ? so far */
    unsigned slots;     /* number of slots so far; see slots.h */
    struct mark *marks; /* where tokens are in sql, only to locate a fault */
    size_t mark_count, mark_capacity;
    bool marking, ansi_quotes;
    bool counts;         /* a level has SQL_CALC_FOUND_ROWS */
    bool joins_snapshot; /* the next column called snapshot is joined */
    struct span snapshot_alias;
    struct error *err;
    /* Large, and not cleared: each level is written before it is read. */
    struct level levels[NESTING_MAX + 1];
    struct pending pending[REWRITE_PENDING_MAX];
    struct span ctes[REWRITE_CTES_MAX];
};

/* rewriter.c */
struct level *rewriter_top(struct rewriter *r); /* the innermost */
void rewriter_advance(struct rewriter *r);      /* moves to the next token */
const char *rewriter_where(
    const struct rewriter *r); /* the clause's name, as in struct level */
bool rewriter_is_name(const struct token *token); /* not a keyword */
bool rewriter_may_name(
    const struct token *token); /* a name, or a keyword that may be one */
bool rewriter_wants_operand(struct rewriter *r);
/* Begins an operand, unless one has begun. */
void rewriter_operand(struct rewriter *r, enum operand_kind kind);
void rewriter_insert(struct rewriter *r, size_t at, const char *text);

/* rewriter_word.c: handles the token, which is a word. */
int rewriter_word(struct rewriter *r);

/* rewriter_name.c: handles the token, a name or in backquotes. */
int rewriter_name(struct rewriter *r);

/* rewriter_operator.c */
void rewriter_expression_end(struct rewriter *r);
/* Handles the token if it is an operator (*known). */
int rewriter_operator(struct rewriter *r, bool *known);
int rewriter_assign(
    struct rewriter *r); /* the token is a variable, followed by := */
int rewriter_case(struct rewriter *r);
void rewriter_case_part(struct rewriter *r, const char *out);
void rewriter_case_end(struct rewriter *r);
bool rewriter_interval_unit(struct rewriter *r, struct span unit);
void rewriter_collate_binary(struct rewriter *r);

/* rewriter_call.c: calls with a syntax of their own. */
enum special rewriter_special(struct span name, const char **out);
bool rewriter_is_unit(const struct token *token); /* of an INTERVAL */
int rewriter_call_open(struct rewriter *r);
/* Handles the token inside such a call (*known). */
int rewriter_call_token(struct rewriter *r, bool *known);
int rewriter_call_close(struct rewriter *r);
int rewriter_convert_type(struct rewriter *r); /* the type of CONVERT, CAST */

/* rewriter_clause.c: clauses that end or surround parts of a SELECT. */
int rewriter_having(struct rewriter *r);
int rewriter_having_end(struct rewriter *r);
int rewriter_select_end(struct rewriter *r);
int rewriter_limit(struct rewriter *r);
int rewriter_into(struct rewriter *r);
int rewriter_locking(struct rewriter *r);
int rewriter_index_hint(struct rewriter *r);

/* rewriter_subquery.c: call them behind "(" in an expression, and before
 * ")". */
bool rewriter_is_scalar(const struct rewriter *r, const struct level *outer);
void rewriter_scalar_end(struct rewriter *r);

/* rewriter_snapshot.c: call them at a column's name, and at a value. */
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

/* rewriter_label.c: call them at each token of a selected expression, and at
 * its end. */
void rewriter_label_note(struct level *level, const struct token *token);
int rewriter_label_end(struct rewriter *r, struct level *level);

#endif
