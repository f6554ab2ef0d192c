/*
 * tree_operand.c - parses what operators stand between: literals, names,
 * variables, parentheses, subqueries, CASE.
 *
 * The difficulty is that "(" may begin an expression, a row, or a query, and
 * that a query in parentheses may turn out to be the first arm of a UNION only
 * behind its ")". tree_query_or_expression() decides then; nothing is read
 * twice.
 */
#include <string.h>

#include "tree_parser.h"
#include "variables.h"

/* ---- literals ---- */

/* A node of the token's text alone. */
static struct node *
read_token_literal(struct parser *p, enum node_kind kind)
{
    struct node *node = tree_start(p, kind);

    if (!node)
        return NULL;
    parser_advance(p);
    return tree_end(p, node);
}

/* Counts the bytes of adjacent strings as typed, which bounds the joined
 * string. */
static size_t
typed_size(const struct parser *p)
{
    struct lexer lexer = p->lexer;
    struct token token = p->token;
    size_t size = 0;

    for (; token.kind == TOKEN_STRING; token = lexer_next(&lexer))
        size += token.text.size;
    return size;
}

/* 'a' 'b' is one string. */
static struct node *
read_string_literal(struct parser *p)
{
    struct node *node = tree_start(p, NODE_STRING);
    struct span piece;
    char *joined;

    if (!node || parser_decode(p, &node->name) != 0)
        return NULL;
    if (p->token.kind != TOKEN_STRING)
        return tree_end(p, node);
    /* One allocation: joining piece by piece would be quadratic in the number
     * of pieces. */
    joined = parser_alloc(p, node->name.size + typed_size(p));
    if (!joined)
        return NULL;
    memcpy(joined, node->name.data, node->name.size);
    while (p->token.kind == TOKEN_STRING) {
        if (parser_decode(p, &piece) != 0)
            return NULL;
        memcpy(joined + node->name.size, piece.data, piece.size);
        node->name.size += piece.size;
    }
    node->name.data = joined;
    return tree_end(p, node);
}

/* DATE'2026-01-31' */
static struct node *
read_temporal_literal(struct parser *p)
{
    struct node *node = tree_start(p, NODE_TEMPORAL);

    if (!node)
        return NULL;
    node->word = p->token.text;
    parser_advance(p);
    return parser_decode(p, &node->name) == 0 ? tree_end(p, node) : NULL;
}

/* Reads _utf8mb4'a' or _binary x'61'.  The character set itself is ignored, as
 * all texts are UTF-8. */
static struct node *
read_introduced_literal(struct parser *p)
{
    bool binary = token_is(&p->token, "_BINARY");
    struct node *node;

    parser_advance(p);
    node = tree_operand(p);
    if (!node)
        return NULL;
    node->introduced = true;
    node->binary = binary;
    return node;
}

/* Reads @x or @x := y; := binds most loosely, so y is all that follows. */
static struct node *
read_user_variable(struct parser *p)
{
    bool assigns = token_is_operator(parser_ahead(p), ":=");
    struct node *node = tree_start(p, assigns ? NODE_ASSIGN : NODE_USER);

    if (!node || parser_decode(p, &node->name) != 0)
        return NULL;
    if (!assigns)
        return tree_end(p, node);
    p->tree->assigns = true;
    parser_advance(p);
    if (tree_take(p, node, BINDS_ALL) != 0)
        return NULL;
    return tree_end(p, node);
}

static struct node *
read_parameter_marker(struct parser *p)
{
    size_t index = p->parameters;
    struct node *node;

    if (p->how->use == PARAMETERS_NONE)
        return tree_fail(p);
    node = read_token_literal(p, NODE_PARAMETER);
    if (node)
        node->parameter = index;
    return node;
}

static struct node *
system_variable(struct parser *p)
{
    struct node *node = tree_start(p, NODE_SYSTEM);
    struct span name;

    if (!node)
        return NULL;
    token_variable(&p->token, &node->scope, &name);
    node->variable = variable_find(name, p->err);
    if (!node->variable)
        return NULL;
    parser_advance(p);
    return tree_end(p, node);
}

/* ---- names ---- */

/* [[database.]table.]column; any word may follow a dot. */
static struct node *
read_column_reference(struct parser *p)
{
    struct node *node = tree_start(p, NODE_COLUMN);
    struct tree_qualifier *of = NULL;

    if (!node || parser_name(p, &node->name) != 0)
        return NULL;
    while (token_is_operator(&p->token, ".")) {
        if (of && of->has_database) {
            parser_fail(p);
            return NULL;
        }
        if (of) {
            of->has_database = true;
            of->database = of->table;
        } else {
            of = parser_alloc(p, sizeof(*of));
            if (!of)
                return NULL;
        }
        of->table = node->name;
        parser_advance(p);
        if (parser_name(p, &node->name) != 0)
            return NULL;
    }
    node->of = of;
    return tree_end(p, node);
}

/* ---- parentheses ---- */

/* Reads a query into node; if node->query is set, it is the first arm. */
static struct node *
read_query_operand(struct parser *p, struct node *node)
{
    size_t around = tree_below(p);

    if (!node)
        return NULL;
    node->query = p->grammar->query(p, node->query);
    if (!node->query || tree_above(p, node, around) != 0)
        return NULL;
    return tree_end(p, node);
}

struct node *
tree_query_or_expression(struct parser *p)
{
    const char *start = p->token.text.data;
    struct node *node;

    if (tree_at_query(&p->token))
        return read_query_operand(p, tree_start(p, NODE_QUERY));
    node = p->grammar->operators(p, BINDS_ALL);
    if (!node || node->kind != NODE_QUERY ||
        !(tree_at_set(&p->token) || token_is_any(&p->token, "ORDER LIMIT")))
        return node;
    /* What was an expression in parentheses becomes the first arm, and the
     * text begins with its "(". */
    node->text.data = node->query->text.data = start;
    return read_query_operand(p, node); /* (SELECT 1) UNION SELECT 2 in
                                         * parentheses */
}

/* (a), (a, b), (SELECT a) */
static struct node *
read_parenthesised_operand(struct parser *p, bool row)
{
    const char *start = p->token.text.data;
    struct node *first, *node;

    if (tree_open(p) != 0)
        return NULL;
    first = tree_query_or_expression(p);
    if (!first)
        return NULL;
    if (!token_is_operator(&p->token, ",") && !row)
        return tree_close(p) == 0 ? first : NULL;
    node = tree_node(p, NODE_ROW, start);
    if (!node)
        return NULL;
    if (tree_adopt(p, node, first) != 0 ||
        (parser_accept_operator(p, ",") && tree_list(p, node) != 0) ||
        tree_close(p) != 0)
        return NULL;
    return tree_end(p, node);
}

static struct node *
read_exists_predicate(struct parser *p)
{
    const char *start = p->token.text.data;
    struct node *node;

    parser_advance(p);
    node = read_parenthesised_operand(p, false);
    if (!node)
        return NULL;
    if (node->kind != NODE_QUERY)
        return tree_fail(p);
    node->kind = NODE_EXISTS;
    node->text.data = start;
    return tree_end(p, node);
}

/* CASE [x] WHEN y THEN z ... [ELSE w] END */
static struct node *
read_case(struct parser *p)
{
    struct node *node = tree_start(p, NODE_CASE);

    if (!node)
        return NULL;
    parser_advance(p);
    node->has_operand = !token_is(&p->token, "WHEN");
    if (node->has_operand && tree_take(p, node, BINDS_ALL) != 0)
        return NULL;
    do {
        if (parser_expect(p, "WHEN") != 0 ||
            tree_take(p, node, BINDS_ALL) != 0 ||
            parser_expect(p, "THEN") != 0 || tree_take(p, node, BINDS_ALL) != 0)
            return NULL;
    } while (token_is(&p->token, "WHEN"));
    node->has_else = parser_accept(p, "ELSE");
    if (node->has_else && tree_take(p, node, BINDS_ALL) != 0)
        return NULL;
    return parser_expect(p, "END") == 0 ? tree_end(p, node) : NULL;
}

/* Reads {d '2026-01-31'}, {t '10:00'} or {ts '2026-01-31 10:00'}, which are
 * ODBC's literals.  Behind any other word stands an expression, as in {fn
 * NOW()}. */
static struct node *
read_odbc_escape(struct parser *p)
{
    static const struct {
        const char *word, *type;
    } types[] = {{"D", "DATE"}, {"T", "TIME"}, {"TS", "TIMESTAMP"}};
    const char *start = p->token.text.data;
    struct node *node;
    struct span word;

    parser_advance(p);
    word = p->token.text;
    if (p->token.kind != TOKEN_WORD)
        return tree_fail(p);
    parser_advance(p);
    node = p->grammar->operators(p, BINDS_ALL);
    if (!node || parser_expect_operator(p, "}") != 0)
        return NULL;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (node->kind == NODE_STRING && !node->introduced &&
            span_is_nocase(word, types[i].word)) {
            node->kind = NODE_TEMPORAL;
            node->word = (struct span){types[i].type, strlen(types[i].type)};
            node->text.data = start;
            tree_end(p, node);
        }
    return node;
}

/* INTERVAL 1 DAY + x */
static struct node *
leading_interval(struct parser *p)
{
    struct node *node = tree_start(p, NODE_INTERVAL);
    struct node amount = {0};

    if (!node)
        return NULL;
    parser_advance(p);
    /* The amount is read first but is the second operand: x + INTERVAL 1
     * DAY. */
    if (tree_interval(p, &amount, &node->word) != 0 ||
        parser_expect_operator(p, "+") != 0 ||
        tree_take(p, node, BINDS_PRODUCT) != 0 ||
        tree_adopt(p, node, amount.first) != 0)
        return NULL;
    node->op = OP_PLUS;
    return tree_end(p, node);
}

/* ---- all ---- */

static struct node *
read_word_operand(struct parser *p)
{
    const struct token *ahead = parser_ahead(p);
    bool open = token_is_operator(ahead, "(");

    /* Any word with an underscore before a string is a character set. */
    if (p->token.text.data[0] == '_' &&
        (ahead->kind == TOKEN_STRING || ahead->kind == TOKEN_HEX))
        return read_introduced_literal(p);
    if (ahead->kind == TOKEN_STRING &&
        token_is_any(&p->token, "DATE TIME TIMESTAMP"))
        return read_temporal_literal(p);
    if (token_is(&p->token, "MATCH") && (open || tree_is_name(ahead))) {
        parser_refuse(p, "MATCH ... AGAINST", "use LIKE or REGEXP");
        return NULL;
    }
    if (!tree_word_reserved(p->token.text)) {
        if (!open)
            return read_column_reference(p);
        if (!token_is(&p->token, "ROW"))
            return tree_call_read(p);
        parser_advance(p);
        return read_parenthesised_operand(p, true);
    }
    if (token_is(&p->token, "NULL"))
        return read_token_literal(p, NODE_NULL);
    if (token_is(&p->token, "TRUE"))
        return read_token_literal(p, NODE_TRUE);
    if (token_is(&p->token, "FALSE"))
        return read_token_literal(p, NODE_FALSE);
    if (token_is(&p->token, "CASE"))
        return read_case(p);
    if (token_is(&p->token, "EXISTS"))
        return read_exists_predicate(p);
    if (token_is(&p->token, "INTERVAL") && !tree_interval_calls(p))
        return leading_interval(p);
    if (token_is_any(&p->token,
                     "CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER "
                     "LOCALTIME LOCALTIMESTAMP UTC_DATE UTC_TIME "
                     "UTC_TIMESTAMP") ||
        (open && token_is_any(&p->token, "INTERVAL LEFT MOD RIGHT")))
        return tree_call_read(p);
    return tree_fail(p);
}

struct node *
tree_operand(struct parser *p)
{
    switch (p->token.kind) {
    case TOKEN_WORD:
        return read_word_operand(p);
    case TOKEN_QUOTED:
        return token_is_operator(parser_ahead(p), "(")
                   ? tree_call_read(p)
                   : read_column_reference(p);
    case TOKEN_STRING:
        return read_string_literal(p);
    case TOKEN_INTEGER:
        return read_token_literal(p, NODE_INTEGER);
    case TOKEN_DECIMAL:
        return read_token_literal(p, NODE_DECIMAL);
    case TOKEN_HEX:
        return read_token_literal(p, NODE_HEX);
    case TOKEN_SYSTEM:
        return system_variable(p);
    case TOKEN_USER:
        return read_user_variable(p);
    case TOKEN_PARAMETER:
        return read_parameter_marker(p);
    default:
        break;
    }
    if (token_is_operator(&p->token, "("))
        return read_parenthesised_operand(p, false);
    if (token_is_operator(&p->token, "{"))
        return read_odbc_escape(p);
    return tree_fail(p);
}
