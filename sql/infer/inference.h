/* inference.h - the state of infer.h's work, shared by its files. */
#ifndef HW_INFERENCE_H
#define HW_INFERENCE_H

#include "infer.h"
#include "rewrite_words.h"

enum {
    INFERENCE_DEPTH_MAX = 1000, /* calls within calls; then it is lost */
    DECIMALS_MAX = 30,          /* of a DECIMAL */
    QUOTIENT_DECIMALS = 4       /* that "/" and AVG add */
};

struct piece { /* a token, read once */
    struct token token;
    enum rewrite_word word; /* WORD_NAME unless it is a keyword */
    size_t match;           /* of "(": the place of its ")" */
    size_t parameters;      /* ? before it */
};

struct shape_column {
    struct span name;
    struct result_type type;
};

/* What a SELECT gives. */
struct shape {
    struct shape_column *columns;
    size_t count, capacity;
};

/* A table in FROM: one of the catalog's, or a SELECT's rows. */
struct source {
    struct source *next;
    struct span name;
    const struct catalog_table *table; /* or NULL */
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

/* What @x := y gave so far. */
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
    bool lost;      /* the text makes no sense from here on */
    bool no_memory; /* sticks */
};

/* inference.c */
const struct piece *inference_here(const struct inference *p);
bool inference_is(const struct inference *p, const char *word);
bool inference_is_operator(const struct inference *p, const char *text);
bool inference_accept(struct inference *p, const char *word);
bool inference_accept_operator(struct inference *p, const char *text);
/* Goes on behind the parenthesis that ends at end: what was lost within is not
 * lost outside. */
void inference_leave(struct inference *p, size_t end);
bool inference_at_name(const struct inference *p);
void inference_skip(struct inference *p); /* a token, or parentheses */
struct span inference_name(struct inference *p, const struct token *token);
void *inference_alloc(struct inference *p, size_t size);
/* infer_operators, for what an expression consists of: each may contain the
 * other. */
struct result_type infer_expression(struct inference *p);

/* infer_expression.c: the expression here; afterwards the place is behind it,
 * or p->lost. */
struct result_type infer_operators(struct inference *p);

/* infer_call.c: from their first word on.  An interval that is added to from,
 * or taken from it. */
struct result_type infer_case(struct inference *p);
struct result_type infer_cast(struct inference *p);
struct result_type infer_call(struct inference *p);
struct result_type infer_interval(struct inference *p, struct result_type from);

/* infer_variable.c; a user variable's place is behind it afterwards, and
 * behind what is assigned to it. */
struct result_type infer_value(const struct value *value);
struct result_type infer_system_variable(const struct inference *p,
                                         const struct token *token);
struct result_type infer_user_variable(struct inference *p);

/* infer_select.c: SELECT or WITH, up to its ")" or the end. */
struct shape infer_select(struct inference *p);
bool infer_at_select(const struct inference *p);
/* [[database.]table.]column; TEXT if no source has it. */
struct result_type infer_column(const struct inference *p,
                                const struct span *table, struct span name);

#endif
