/*
 * tree_node.c - what all parsers of a tree share: nodes, their depth,
 * parentheses, lists, reserved words.
 *
 * A node's depth is kept while the tree grows, so that a tree that is too deep
 * is refused at the node that makes it so: readers of types and the deparser
 * recur over it without a check of their own.  The size of the text is checked
 * as often, since the arena's limit alone would give a client "out of memory".
 */
#include "errors.h"
#include "sql_statement.h"
#include "tree_parser.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* clang-format off */
/* Words that cannot be a name or an alias in a SELECT without making it
 * ambiguous.  MySQL reserves more; here the others may be names.  Sorted, for
 * a search by halves. */
const char *const tree_reserved[] = {
    "ALL", "AND", "AS", "ASC", "BETWEEN", "BINARY", "BY", "CASE", "COLLATE",
    "CROSS", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP",
    "CURRENT_USER", "DESC", "DISTINCT", "DISTINCTROW", "DIV", "ELSE",
    "EXCEPT", "EXISTS", "FALSE", "FOR", "FORCE", "FROM", "GROUP",
    "HAVING", "HIGH_PRIORITY", "IGNORE", "IN", "INNER", "INTERSECT",
    "INTERVAL", "INTO", "IS", "JOIN", "LEFT", "LIKE", "LIMIT", "LOCALTIME",
    "LOCALTIMESTAMP", "LOCK", "MOD", "NATURAL", "NOT", "NULL", "ON",
    "OR", "ORDER", "OUTER", "OVER", "PARTITION", "PROCEDURE", "RECURSIVE",
    "REGEXP", "RIGHT", "RLIKE", "SELECT", "SQL_BIG_RESULT",
    "SQL_CALC_FOUND_ROWS", "SQL_SMALL_RESULT", "STRAIGHT_JOIN", "TABLE", "THEN", "TRUE", "UNION",
    "USE", "USING", "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP", "VALUES", "WHEN",
    "WHERE", "WINDOW", "WITH", "XOR"
};
/* clang-format on */
const size_t tree_reserved_count = COUNT(tree_reserved);

bool
tree_word_reserved(struct span word)
{
    size_t low = 0, high = COUNT(tree_reserved);

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = span_compare_nocase(word, tree_reserved[middle]);

        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

bool
tree_is_name(const struct token *token)
{
    return token->kind == TOKEN_QUOTED ||
           (token->kind == TOKEN_WORD && !tree_word_reserved(token->text));
}

bool
tree_may_name(const struct token *token)
{
    return token->kind == TOKEN_QUOTED || token->kind == TOKEN_WORD;
}

bool
tree_word_unit(const struct token *token)
{
    return token_is_any(
        token, "MICROSECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR "
               "SECOND_MICROSECOND MINUTE_MICROSECOND MINUTE_SECOND "
               "HOUR_MICROSECOND HOUR_SECOND HOUR_MINUTE DAY_MICROSECOND "
               "DAY_SECOND DAY_MINUTE DAY_HOUR YEAR_MONTH SQL_TSI_SECOND "
               "SQL_TSI_MINUTE SQL_TSI_HOUR SQL_TSI_DAY SQL_TSI_WEEK "
               "SQL_TSI_MONTH SQL_TSI_QUARTER SQL_TSI_YEAR");
}

const char *
tree_word_type(struct span word)
{
    static const struct {
        const char *word, *type;
    } types[] = {
        {"BINARY", "BINARY"},      {"CHAR", "CHAR"},
        {"DATE", "DATE"},          {"DATETIME", "DATETIME"},
        {"DEC", "DECIMAL"},        {"DECIMAL", "DECIMAL"},
        {"DOUBLE", "DOUBLE"},      {"FLOAT", "DOUBLE"},
        {"INT", "SIGNED"},         {"INTEGER", "SIGNED"},
        {"JSON", "JSON"},          {"NCHAR", "CHAR"},
        {"NUMERIC", "DECIMAL"},    {"REAL", "DOUBLE"},
        {"SIGNED", "SIGNED"},      {"TIME", "TIME"},
        {"TIMESTAMP", "DATETIME"}, {"UNSIGNED", "UNSIGNED"},
        {"VARCHAR", "CHAR"},       {"YEAR", "YEAR"},
    };

    for (size_t i = 0; i < COUNT(types); i++)
        if (span_is_nocase(word, types[i].word))
            return types[i].type;
    return NULL;
}

bool
tree_at_query(const struct token *token)
{
    return token_is_any(token, "SELECT WITH VALUES TABLE");
}

bool
tree_at_set(const struct token *token)
{
    return token_is_any(token, "UNION EXCEPT INTERSECT");
}

int
tree_check_size(struct parser *p)
{
    if ((size_t)(p->token.text.data - p->start) <= TREE_SOURCE_MAX)
        return 0;
    error_set(p->err, ER_NOT_SUPPORTED,
              "This version of heapwire doesn't yet support 'SELECT of "
              "more than %d bytes'",
              TREE_SOURCE_MAX);
    return -1;
}

struct node *
tree_node(struct parser *p, enum node_kind kind, const char *start)
{
    struct node *node;

    if (tree_check_size(p) != 0)
        return NULL;
    node = parser_alloc(p, sizeof(*node));
    if (!node)
        return NULL;
    node->kind = kind;
    node->text.data = start;
    node->depth = 1;
    p->deepest = p->deepest > 0 ? p->deepest : 1;
    return node;
}

struct node *
tree_start(struct parser *p, enum node_kind kind)
{
    return tree_node(p, kind, p->token.text.data);
}

void *
tree_fail(struct parser *p)
{
    parser_fail(p);
    return NULL;
}

struct node *
tree_end(const struct parser *p, struct node *node)
{
    node->text.size = (size_t)(p->consumed - node->text.data);
    return node;
}

int
tree_adopt(struct parser *p, struct node *parent, struct node *child)
{
    if (!child)
        return -1;
    if (child->depth >= TREE_DEPTH_MAX)
        return parser_fail_deep(p);
    if (parent->depth <= child->depth)
        parent->depth = (uint16_t)(child->depth + 1);
    if (p->deepest < parent->depth)
        p->deepest = parent->depth;
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    return 0;
}

int
tree_take(struct parser *p, struct node *parent, enum binds least)
{
    return tree_adopt(p, parent, p->grammar->operators(p, least));
}

int
tree_value(struct parser *p, struct node **out)
{
    *out = p->grammar->operators(p, BINDS_ALL);
    return *out ? 0 : -1;
}

size_t
tree_below(struct parser *p)
{
    size_t around = p->deepest;

    p->deepest = 0;
    return around;
}

int
tree_above(struct parser *p, struct node *node, size_t around)
{
    if (p->deepest >= TREE_DEPTH_MAX)
        return parser_fail_deep(p);
    if (node->depth < p->deepest) /* it has something below that is no
                                   * operand */
        node->depth = (uint16_t)(p->deepest + 1);
    p->deepest = around > node->depth ? around : node->depth;
    return 0;
}

int
tree_open(struct parser *p)
{
    if (p->nesting == NESTING_MAX)
        return parser_fail_deep(p);
    if (parser_expect_operator(p, "(") != 0)
        return -1;
    p->nesting++;
    return 0;
}

int
tree_close(struct parser *p)
{
    /* No check: on failure the whole parse ends. */
    p->nesting--;
    return parser_expect_operator(p, ")");
}

int
tree_names(struct parser *p, struct tree_name **out)
{
    if (tree_open(p) != 0)
        return -1;
    do {
        struct tree_name *name = parser_alloc(p, sizeof(*name));

        if (!name)
            return -1;
        if (!tree_is_name(&p->token))
            return parser_fail(p);
        if (parser_decode(p, &name->name) != 0)
            return -1;
        *out = name;
        out = &name->next;
    } while (parser_accept_operator(p, ","));
    return tree_close(p);
}

int
tree_list(struct parser *p, struct node *parent)
{
    do
        if (tree_take(p, parent, BINDS_ALL) != 0)
            return -1;
    while (parser_accept_operator(p, ","));
    return 0;
}

int
tree_order_by(struct parser *p, struct tree_order **out)
{
    if (!parser_accept(p, "ORDER"))
        return 0;
    if (parser_expect(p, "BY") != 0)
        return -1;
    do {
        struct tree_order *order = parser_alloc(p, sizeof(*order));

        if (!order || tree_value(p, &order->value) != 0)
            return -1;
        order->descending = parser_accept(p, "DESC");
        if (!order->descending)
            parser_accept(p, "ASC");
        *out = order;
        out = &order->next;
    } while (parser_accept_operator(p, ","));
    return 0;
}

int
tree_alias(struct parser *p, bool text, struct span *out, bool *found)
{
    bool as = parser_accept(p, "AS");
    bool string = text && p->token.kind == TOKEN_STRING;

    /* Without AS a word here would become an alias, and the error come later
     * and mean nothing: SELECT a AT TIME ZONE ... */
    if (!as && parser_refuse_missing(p, parser_ahead(p)) != 0)
        return -1;
    *found = string || tree_is_name(&p->token);
    if (*found)
        return parser_decode(p, out);
    return as ? parser_fail(p) : 0;
}
