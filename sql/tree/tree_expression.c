/*
 * tree_expression.c - parses operators by precedence climbing: one function,
 * and two tables of operators with how closely they bind.
 *
 * A function per level of MySQL's grammar would recur some 17 times for each
 * literal.  Here one call reads a prefix or an operand, and then takes every
 * operator that binds at least as closely; operators of one level make a
 * left-deep tree in a loop.  So only parentheses, prefixes and closer
 * operators on the right recur, at most TREE_DEPTH_MAX deep, which protects
 * the thread's stack. a AND b AND ... is as deep a tree as it has operators;
 * tree_adopt() bounds that, since later readers of the tree recur over it.
 */
#include "sql_statement.h"
#include "tree_parser.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct infix {
    const char *text;
    enum binds binds;
    enum node_kind kind;
    enum tree_operator op;
} words[] =
    {
        {"AND", BINDS_AND, NODE_BINARY, OP_AND},
        {"OR", BINDS_OR, NODE_BINARY, OP_OR},
        {"XOR", BINDS_XOR, NODE_BINARY, OP_XOR},
        {"IS", BINDS_COMPARISON, NODE_IS, OP_NONE},
        {"LIKE", BINDS_PREDICATE, NODE_LIKE, OP_NONE},
        {"REGEXP", BINDS_PREDICATE, NODE_REGEXP, OP_NONE},
        {"RLIKE", BINDS_PREDICATE, NODE_REGEXP, OP_NONE},
        {"IN", BINDS_PREDICATE, NODE_IN, OP_NONE},
        {"BETWEEN", BINDS_PREDICATE, NODE_BETWEEN, OP_NONE},
        {"MOD", BINDS_PRODUCT, NODE_BINARY, OP_MOD},
        {"DIV", BINDS_PRODUCT, NODE_BINARY, OP_DIV},
        {"COLLATE", BINDS_COLLATE, NODE_COLLATE, OP_NONE},
},
  signs[] = {
      {"=", BINDS_COMPARISON, NODE_BINARY, OP_EQUAL},
      {"<=>", BINDS_COMPARISON, NODE_BINARY, OP_IS_EQUAL},
      {"<>", BINDS_COMPARISON, NODE_BINARY, OP_NOT_EQUAL},
      {"!=", BINDS_COMPARISON, NODE_BINARY, OP_NOT_EQUAL},
      {"<", BINDS_COMPARISON, NODE_BINARY, OP_LESS},
      {"<=", BINDS_COMPARISON, NODE_BINARY, OP_LESS_EQUAL},
      {">", BINDS_COMPARISON, NODE_BINARY, OP_GREATER},
      {">=", BINDS_COMPARISON, NODE_BINARY, OP_GREATER_EQUAL},
      {"&&", BINDS_AND, NODE_BINARY, OP_AND},
      {"||", BINDS_OR, NODE_BINARY, OP_OR},
      {"+", BINDS_SUM, NODE_BINARY, OP_PLUS},
      {"-", BINDS_SUM, NODE_BINARY, OP_MINUS},
      {"*", BINDS_PRODUCT, NODE_BINARY, OP_TIMES},
      {"/", BINDS_PRODUCT, NODE_BINARY, OP_DIVIDE},
      {"%", BINDS_PRODUCT, NODE_BINARY, OP_MOD},
      {"^", BINDS_BIT_XOR, NODE_BINARY, OP_BIT_XOR},
      {"&", BINDS_BIT_AND, NODE_BINARY, OP_BIT_AND},
      {"|", BINDS_BIT_OR, NODE_BINARY, OP_BIT_OR},
      {"<<", BINDS_SHIFT, NODE_BINARY, OP_SHIFT_LEFT},
      {">>", BINDS_SHIFT, NODE_BINARY, OP_SHIFT_RIGHT},
      {"->", BINDS_BINARY, NODE_BINARY, OP_ARROW},
      {"->>", BINDS_BINARY, NODE_BINARY, OP_ARROW_TEXT},
};

/* || binds closer with PIPES_AS_CONCAT: a || b = c compares a text then. */
static const struct infix concatenation = {"||", BINDS_BIT_XOR, NODE_BINARY,
                                           OP_CONCAT};

static const struct prefix {
    const char *text;
    enum binds binds;
    enum tree_operator op;
} prefixes[] = {
    {"-", BINDS_SIGN, OP_NEGATIVE}, {"+", BINDS_SIGN, OP_POSITIVE},
    {"~", BINDS_SIGN, OP_BIT_NOT},  {"!", BINDS_BANG, OP_BANG},
    {"NOT", BINDS_NOT, OP_NOT},     {"BINARY", BINDS_BINARY, OP_BINARY},
};

static const struct infix *
infix_of(const struct parser *p, const struct token *token)
{
    if (token->kind == TOKEN_WORD) {
        for (size_t i = 0; i < COUNT(words); i++)
            if (token_is(token, words[i].text))
                return &words[i];
        return NULL;
    }
    if (token->kind != TOKEN_OPERATOR)
        return NULL;
    if (token_is_operator(token, "||") && parser_mode(p, "PIPES_AS_CONCAT"))
        return &concatenation;
    for (size_t i = 0; i < COUNT(signs); i++)
        if (token_is_operator(token, signs[i].text))
            return &signs[i];
    return NULL;
}

/* Consumes and returns the operator at the token, if it binds at least so
 * closely; else NULL, and nothing is consumed. *negated: NOT stands before it,
 * which only LIKE, REGEXP, IN and BETWEEN allow. */
static const struct infix *
accept_infix(struct parser *p, enum binds least, bool *negated)
{
    const struct infix *infix;

    *negated = token_is(&p->token, "NOT");
    if (*negated) {
        /* NOT is consumed only if what follows belongs to it: a NOT b is an
         * error at the NOT. */
        infix = infix_of(p, parser_ahead(p));
        if (!infix || infix->binds != BINDS_PREDICATE || infix->binds < least)
            return NULL;
        parser_advance(p);
    } else {
        infix = infix_of(p, &p->token);
        if (!infix || infix->binds < least)
            return NULL;
    }
    parser_advance(p);
    return infix;
}

/* ---- what stands on the right ---- */

/* Reads NULL, TRUE, FALSE or UNKNOWN, which is NULL of a condition. */
static int
right_of_is(struct parser *p, struct node *node)
{
    struct node *unknown;

    node->negated = parser_accept(p, "NOT");
    if (token_is_any(&p->token, "NULL TRUE FALSE"))
        return tree_adopt(p, node, tree_operand(p));
    unknown = tree_start(p, NODE_NULL);
    if (!unknown || parser_expect(p, "UNKNOWN") != 0)
        return -1;
    return tree_adopt(p, node, tree_end(p, unknown));
}

static int
right_of_like(struct parser *p, struct node *node)
{
    if (tree_take(p, node, BINDS_BIT_OR) != 0)
        return -1;
    return parser_accept(p, "ESCAPE") ? tree_take(p, node, BINDS_BIT_OR) : 0;
}

static int
right_of_between(struct parser *p, struct node *node)
{
    if (tree_take(p, node, BINDS_BIT_OR) != 0 || parser_expect(p, "AND") != 0)
        return -1;
    /* The AND belongs to BETWEEN: its operands bind closer than any AND. */
    return tree_take(p, node, BINDS_PREDICATE);
}

/* Reads IN's (a, b) or (SELECT a).  IN ((SELECT a)) is a list of one value. */
static int
right_of_in(struct parser *p, struct node *node)
{
    if (tree_open(p) != 0 ||
        tree_adopt(p, node, tree_query_or_expression(p)) != 0 ||
        (parser_accept_operator(p, ",") && tree_list(p, node) != 0))
        return -1;
    return tree_close(p);
}

/* x > ALL (SELECT y); = ANY and <> ALL are IN and NOT IN. */
static int
right_of_quantifier(struct parser *p, struct node *node)
{
    struct node *right;

    node->kind = NODE_QUANTIFIED;
    node->all = token_is(&p->token, "ALL");
    parser_advance(p);
    /* IN is what SQLite can look up; the rest becomes hw_quantified(). */
    if (node->op == (node->all ? OP_NOT_EQUAL : OP_EQUAL)) {
        node->kind = NODE_IN;
        node->negated = node->all;
    }
    right = tree_operand(p);
    if (right && right->kind != NODE_QUERY)
        return parser_fail(p);
    return tree_adopt(p, node, right);
}

static int
right_of_collate(struct parser *p, struct node *node)
{
    size_t size;

    if (!tree_may_name(&p->token) && p->token.kind != TOKEN_STRING)
        return parser_fail(p);
    if (parser_decode(p, &node->name) != 0)
        return -1;
    size = node->name.size;
    node->binary =
        span_is_nocase(node->name, "binary") ||
        (size > 4 &&
         span_is_nocase((struct span){node->name.data + size - 4, 4}, "_bin"));
    return 0;
}

static int
right_of(struct parser *p, const struct infix *infix, struct node *node)
{
    switch (infix->kind) {
    case NODE_IS:
        return right_of_is(p, node);
    case NODE_LIKE:
        return right_of_like(p, node);
    case NODE_BETWEEN:
        return right_of_between(p, node);
    case NODE_IN:
        return right_of_in(p, node);
    case NODE_COLLATE:
        return right_of_collate(p, node);
    default:
        break;
    }
    if (infix->binds == BINDS_COMPARISON && infix->op != OP_IS_EQUAL &&
        token_is_any(&p->token, "ANY SOME ALL") &&
        token_is_operator(parser_ahead(p), "("))
        return right_of_quantifier(p, node);
    if ((infix->op == OP_PLUS || infix->op == OP_MINUS) &&
        token_is(&p->token, "INTERVAL") && !tree_interval_calls(p)) {
        node->kind = NODE_INTERVAL;
        parser_advance(p);
        return tree_interval(p, node, &node->word);
    }
    /* One level closer on the right makes a - b - c (a - b) - c. */
    return tree_take(p, node, infix->binds + 1);
}

static struct node *
make_infix_node(struct parser *p, const struct infix *infix, bool negated,
                struct node *left, const char *start)
{
    struct node *node;

    /* Of two COLLATEs in a row the last one counts. */
    if (infix->kind == NODE_COLLATE && left->kind == NODE_COLLATE)
        return right_of_collate(p, left) == 0 ? left : NULL;
    node = tree_node(p, infix->kind, start);
    if (!node)
        return NULL;
    node->op = infix->op;
    node->negated = negated;
    if (tree_adopt(p, node, left) != 0 || right_of(p, infix, node) != 0)
        return NULL;
    return tree_end(p, node);
}

static struct node *
read_prefix(struct parser *p, enum binds least)
{
    struct node *node;

    for (size_t i = 0; i < COUNT(prefixes); i++) {
        if (!token_is(&p->token, prefixes[i].text) &&
            !token_is_operator(&p->token, prefixes[i].text))
            continue;
        /* a = NOT b is an error in MySQL, but a = -b is not. */
        if (prefixes[i].binds < least && prefixes[i].op == OP_NOT)
            break;
        node = tree_start(p, NODE_PREFIX);
        if (!node)
            return NULL;
        node->op = prefixes[i].op;
        parser_advance(p);
        return tree_take(p, node, prefixes[i].binds) == 0 ? tree_end(p, node)
                                                          : NULL;
    }
    return tree_operand(p);
}

struct node *
tree_operators(struct parser *p, enum binds least)
{
    const char *start = p->token.text.data;
    const struct infix *infix;
    struct node *left;
    bool negated;

    if (p->recursion == TREE_DEPTH_MAX) {
        parser_fail_deep(p);
        return NULL;
    }
    p->recursion++;
    left = read_prefix(p, least);
    while (left && (infix = accept_infix(p, least, &negated)))
        left = make_infix_node(p, infix, negated, left, start);
    p->recursion--;
    return left;
}
