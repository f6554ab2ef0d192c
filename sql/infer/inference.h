/* inference.h - the state of infer.h's work, shared by its files. */
#ifndef HW_INFERENCE_H
#define HW_INFERENCE_H

#include "infer.h"
#include "rewrite_words.h"

enum {
    INFERENCE_DEPTH_MAX = 1000, /* nested calls; past them the text is lost */
    DECIMALS_MAX = 30,          /* decimals of a DECIMAL */
    QUOTIENT_DECIMALS = 4       /* decimals that "/" and AVG add */
};

struct piece { /* a token, read once */
    struct token token;
    enum rewrite_word word; /* WORD_NAME unless it is a keyword */
    size_t match;           /* for "(": the index of its ")" */
    size_t parameters;      /* number of ? before it */
};

struct shape_column {
    struct span name;
    struct result_type type;
};

/* The columns of a SELECT. */
struct shape {
    struct shape_column *columns;
    size_t count, capacity;
};

/* A table in FROM: one of the catalog's, or the rows of a SELECT. */
struct source {
    struct source *next;
    struct span name;
    const struct catalog_table *table; /* NULL: a SELECT's rows */
    struct shape shape;
};

struct sources { /* of one SELECT */
    struct sources *outer;
    struct source *first, **last;
};

struct cte {
    struct cte *outer;
    struct span name;
    struct shape shape;
};

/* The type that @x := y gave last. */
struct assigned {
    struct assigned *next;
    struct span name;
    struct result_type type;
};

struct inference {
    const struct rewrite *job;
    struct result_type (*expression)(struct inference *); /* infer_operators */
    struct piece *pieces; /* the last one is TOKEN_END */
    size_t at, count;
    struct sources *sources;
    struct cte *ctes;
    struct assigned *assigned;
    size_t assigned_count;
    size_t depth;
    bool lost;      /* the text is not understood from here on */
    bool no_memory; /* sticks */
};

/* inference.c */
const struct piece *inference_here(const struct inference *p);
bool inference_is(const struct inference *p, const char *word);
bool inference_is_operator(const struct inference *p, const char *text);
bool inference_accept(struct inference *p, const char *word);
bool inference_accept_operator(struct inference *p, const char *text);
/* Continues behind the parenthesis at end; text that was lost inside of it is
 * not lost outside. */
void inference_leave(struct inference *p, size_t end);
bool inference_at_name(const struct inference *p);
void inference_skip(
    struct inference *p); /* skips one token, or a whole pair of parentheses */
struct span inference_name(struct inference *p, const struct token *token);
void *inference_alloc(struct inference *p, size_t size);
/* Calls infer_operators on behalf of the parts of an expression, since each may
 * contain the other. */
struct result_type infer_expression(struct inference *p);

/* infer_expression.c: the type of the expression at the place.  Afterwards the
 * place is behind it, or p->lost is set. */
struct result_type infer_operators(struct inference *p);

/* infer_call.c: each begins at its first word. infer_interval takes the type of
 * the value that the interval is added to or subtracted from. */
struct result_type infer_case(struct inference *p);
struct result_type infer_cast(struct inference *p);
struct result_type infer_call(struct inference *p);
struct result_type infer_interval(struct inference *p, struct result_type from);

/* infer_variable.c: for a user variable, the place is behind it afterwards, and
 * behind the value assigned to it. */
struct result_type infer_value(const struct value *value);
struct result_type infer_system_variable(const struct inference *p,
                                         const struct token *token);
struct result_type infer_user_variable(struct inference *p);

/* infer_select.c: reads SELECT or WITH, up to its ")" or the end. */
struct shape infer_select(struct inference *p);
bool infer_at_select(const struct inference *p);
/* Type of [[database.]table.]column; TEXT if no source has it. */
struct result_type infer_column(const struct inference *p,
                                const struct span *table, struct span name);

#endif
