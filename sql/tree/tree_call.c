/* tree_call.c - calls of functions, also those with a syntax of their own. */
#include "sql_statement.h"
#include "tree_parser.h"

enum { LENGTH_MAX = 100 * 1000 * 1000 }; /* as any larger one of a CAST */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static enum call_form
form_of(struct span name)
{
    static const struct {
        const char *name;
        enum call_form form;
    } calls[] = {
        {"ADDDATE", CALL_DATE_ADD},
        {"AVG", CALL_AGGREGATE},
        {"CAST", CALL_CAST},
        {"CHAR", CALL_CHAR},
        {"CONVERT", CALL_CONVERT},
        {"COUNT", CALL_COUNT},
        {"DATE_ADD", CALL_DATE_ADD},
        {"DATE_SUB", CALL_DATE_ADD},
        {"EXTRACT", CALL_EXTRACT},
        {"GROUP_CONCAT", CALL_GROUP_CONCAT},
        {"JSON_ARRAYAGG", CALL_AGGREGATE},
        {"JSON_OBJECTAGG", CALL_AGGREGATE},
        {"MAX", CALL_AGGREGATE},
        {"MID", CALL_SUBSTRING},
        {"MIN", CALL_AGGREGATE},
        {"POSITION", CALL_POSITION},
        {"STD", CALL_AGGREGATE},
        {"STDDEV", CALL_AGGREGATE},
        {"STDDEV_POP", CALL_AGGREGATE},
        {"STDDEV_SAMP", CALL_AGGREGATE},
        {"SUBDATE", CALL_DATE_ADD},
        {"SUBSTR", CALL_SUBSTRING},
        {"SUBSTRING", CALL_SUBSTRING},
        {"SUM", CALL_AGGREGATE},
        {"TIMESTAMPADD", CALL_TIMESTAMP},
        {"TIMESTAMPDIFF", CALL_TIMESTAMP},
        {"TRIM", CALL_TRIM},
        {"VAR_POP", CALL_AGGREGATE},
        {"VAR_SAMP", CALL_AGGREGATE},
        {"VARIANCE", CALL_AGGREGATE},
    };

    for (size_t i = 0; i < COUNT(calls); i++)
        if (span_is_nocase(name, calls[i].name))
            return calls[i].form;
    return CALL_PLAIN;
}

/* What is read into: the call, and the end of its arguments. */
struct reading {
    struct parser *p;
    struct node *node;
    struct node **tail;
    struct tree_call *call;
};

static int
adopt(struct reading *r, struct node *argument)
{
    return tree_adopt(r->p, r->node, &r->tail, argument) ? 0 : -1;
}

static int
argument(struct reading *r)
{
    return adopt(r, tree_expression(r->p, BINDS_ALL));
}

static int
more_arguments(struct reading *r)
{
    while (parser_accept_operator(r->p, ","))
        if (argument(r) != 0)
            return -1;
    return 0;
}

static int
arguments(struct reading *r)
{
    if (token_is_operator(&r->p->token, ")"))
        return 0;
    return argument(r) != 0 ? -1 : more_arguments(r);
}

/* ---- CAST and CONVERT ---- */

/* The number, or LENGTH_MAX; what stands behind it may not be ours to read. */
static long
length_of(struct span digits)
{
    long length = 0;

    for (size_t i = 0; i < digits.size && length < LENGTH_MAX; i++)
        length = length * 10 + (digits.data[i] - '0');
    return length < LENGTH_MAX ? length : LENGTH_MAX;
}

/* (60), (10, 2) behind a type. */
static int
read_lengths(struct reading *r)
{
    struct parser *p = r->p;
    size_t count = 0;

    if (!token_is_operator(&p->token, "("))
        return 0;
    if (tree_open(p) != 0)
        return -1;
    do {
        if (count == 2 || p->token.kind != TOKEN_INTEGER)
            return parser_fail(p);
        r->call->lengths[count++] = length_of(p->token.text);
        parser_advance(p);
    } while (parser_accept_operator(p, ","));
    return tree_close(p);
}

static int
read_type(struct reading *r)
{
    struct parser *p = r->p;

    if (p->token.kind == TOKEN_WORD)
        r->call->type = tree_word_type(p->token.text);
    if (!r->call->type)
        return parser_fail(p);
    r->call->is_binary = token_is(&p->token, "BINARY");
    parser_advance(p);
    if (read_lengths(r) != 0)
        return -1;
    while (p->token.kind == TOKEN_WORD) /* CHARACTER SET x, INTEGER */
        parser_advance(p);
    return 0;
}

static int
read_using(struct reading *r)
{
    struct parser *p = r->p;

    if (!parser_accept(p, "USING"))
        return 0;
    r->call->has_using = true;
    r->call->is_binary = token_is(&p->token, "BINARY");
    if (p->token.kind != TOKEN_WORD && p->token.kind != TOKEN_STRING)
        return parser_fail(p);
    parser_advance(p);
    return 0;
}

static int
read_cast(struct reading *r)
{
    return argument(r) != 0 || parser_expect(r->p, "AS") != 0 ? -1
                                                              : read_type(r);
}

static int
read_convert(struct reading *r)
{
    if (argument(r) != 0)
        return -1;
    if (parser_accept_operator(r->p, ","))
        return read_type(r);
    if (!token_is(&r->p->token, "USING"))
        return parser_fail(r->p);
    return read_using(r);
}

/* ---- aggregates ---- */

static void
read_quantifier(struct reading *r)
{
    r->call->distinct = parser_accept(r->p, "DISTINCT");
    if (!r->call->distinct)
        parser_accept(r->p, "ALL");
}

static int
read_count(struct reading *r)
{
    struct parser *p = r->p;
    struct node *star;

    read_quantifier(r);
    if (!token_is_operator(&p->token, "*"))
        return argument(r) != 0 ? -1 : more_arguments(r);
    star = tree_node(p, NODE_STAR, p->token.text.data);
    if (!star)
        return -1;
    parser_advance(p);
    return adopt(r, tree_end(p, star));
}

static int
read_group_concat(struct reading *r)
{
    struct parser *p = r->p;

    r->call->separator = (struct span){",", 1};
    read_quantifier(r);
    if (argument(r) != 0 || more_arguments(r) != 0)
        return -1;
    if (parser_accept(p, "ORDER")) {
        if (parser_expect(p, "BY") != 0)
            return -1;
        r->call->order = tree_order_read(p);
        if (!r->call->order)
            return -1;
    }
    if (!parser_accept(p, "SEPARATOR"))
        return 0;
    if (p->token.kind != TOKEN_STRING)
        return parser_fail(p);
    return parser_decode(p, &r->call->separator);
}

/* ---- dates ---- */

static int
read_unit(struct parser *p, struct span *out)
{
    if (!tree_word_unit(&p->token))
        return parser_fail(p);
    *out = p->token.text;
    parser_advance(p);
    return 0;
}

struct node *
tree_interval(struct parser *p, struct span *unit)
{
    struct node *amount = tree_expression(p, BINDS_ALL);

    return amount && read_unit(p, unit) == 0 ? amount : NULL;
}

/* INTERVAL(1, 2) is a function, INTERVAL (1) DAY is not.  Looks no deeper than
 * what is parsed. */
bool
tree_interval_calls(struct parser *p)
{
    struct lexer lexer;
    struct token token = *parser_ahead(p);
    size_t depth = 0;

    if (!token_is_operator(&token, "("))
        return false;
    lexer = p->behind;
    do {
        depth += token_is_operator(&token, "(");
        depth -= token_is_operator(&token, ")");
        if (depth == 1 && token_is_operator(&token, ","))
            return true;
        token = lexer_next(&lexer);
    } while (depth > 0 && depth <= NESTING_MAX && token.kind != TOKEN_END &&
             token.kind != TOKEN_INVALID);
    return !tree_word_unit(&token);
}

static int
read_date_add(struct reading *r)
{
    struct parser *p = r->p;

    if (argument(r) != 0)
        return -1;
    if (!token_is_operator(&p->token, ",") ||
        !token_is(parser_ahead(p), "INTERVAL"))
        return more_arguments(r);
    parser_advance(p);
    if (tree_interval_calls(p))
        return argument(r);
    parser_advance(p);
    return adopt(r, tree_interval(p, &r->call->unit));
}

static int
read_extract(struct reading *r)
{
    if (read_unit(r->p, &r->call->unit) != 0 ||
        parser_expect(r->p, "FROM") != 0)
        return -1;
    return argument(r);
}

static int
read_timestamp(struct reading *r)
{
    return read_unit(r->p, &r->call->unit) != 0 ? -1 : more_arguments(r);
}

/* ---- texts ---- */

static int
read_position(struct reading *r)
{
    if (adopt(r, tree_expression(r->p, BINDS_BIT_OR)) != 0 ||
        parser_expect(r->p, "IN") != 0)
        return -1;
    return argument(r);
}

/* (x, n, m), (x FROM n FOR m) */
static int
read_substring(struct reading *r)
{
    if (argument(r) != 0)
        return -1;
    if (!parser_accept(r->p, "FROM"))
        return more_arguments(r);
    if (argument(r) != 0)
        return -1;
    return parser_accept(r->p, "FOR") ? argument(r) : 0;
}

/* (x), (y FROM x), (LEADING [y] FROM x) */
static int
read_trim(struct reading *r)
{
    static const char *const sides[] = {"LEADING", "TRAILING", "BOTH"};
    struct parser *p = r->p;

    for (size_t i = 0; i < COUNT(sides); i++)
        if (token_is(&p->token, sides[i]) &&
            !token_is_operator(parser_ahead(p), ")")) {
            r->call->unit = p->token.text;
            parser_advance(p);
            break;
        }
    if (r->call->unit.size > 0 && parser_accept(p, "FROM"))
        return argument(r);
    if (argument(r) != 0)
        return -1;
    if (r->call->unit.size > 0 && !token_is(&p->token, "FROM"))
        return parser_fail(p);
    return parser_accept(p, "FROM") ? argument(r) : 0;
}

/* ---- all ---- */

/* One argument; of a name and its value, two. */
static int
read_aggregate(struct reading *r)
{
    read_quantifier(r);
    if (argument(r) != 0)
        return -1;
    if (!span_is_nocase(r->node->name, "JSON_OBJECTAGG"))
        return 0;
    return parser_expect_operator(r->p, ",") != 0 ? -1 : argument(r);
}

static int
read_char(struct reading *r)
{
    return arguments(r) != 0 ? -1 : read_using(r);
}

static int
read_arguments(struct reading *r)
{
    static int (*const readers[])(struct reading *) = {
        [CALL_PLAIN] = arguments,
        [CALL_AGGREGATE] = read_aggregate,
        [CALL_CAST] = read_cast,
        [CALL_CHAR] = read_char,
        [CALL_CONVERT] = read_convert,
        [CALL_COUNT] = read_count,
        [CALL_DATE_ADD] = read_date_add,
        [CALL_EXTRACT] = read_extract,
        [CALL_GROUP_CONCAT] = read_group_concat,
        [CALL_POSITION] = read_position,
        [CALL_SUBSTRING] = read_substring,
        [CALL_TIMESTAMP] = read_timestamp,
        [CALL_TRIM] = read_trim,
    };

    if (tree_open(r->p) != 0 || readers[r->call->form](r) != 0)
        return -1;
    return tree_close(r->p);
}

static int
finish(struct reading *r)
{
    struct parser *p = r->p;
    enum call_form form = r->call->form;

    if (parser_accept(p, "OVER")) {
        r->call->over = tree_over(p);
        p->tree->has_over = true;
        if (p->select)
            p->select->has_over = true;
        return r->call->over ? 0 : -1;
    }
    if (p->select && (form == CALL_AGGREGATE || form == CALL_COUNT ||
                      form == CALL_GROUP_CONCAT))
        p->select->aggregates = true;
    return 0;
}

struct node *
tree_call_read(struct parser *p)
{
    struct node *node = tree_node(p, NODE_CALL, p->token.text.data);
    struct tree_call *call = parser_alloc(p, sizeof(*call));
    struct reading r = {p, node, node ? &node->first : NULL, call};
    bool word = p->token.kind == TOKEN_WORD;
    size_t around;

    if (!node || !call || parser_decode(p, &node->name) != 0)
        return NULL;
    node->call = call;
    p->tree->locks += tree_word_locks(node->name);
    call->lengths[0] = call->lengths[1] = -1;
    if (!token_is_operator(&p->token, "(")) {
        call->form = CALL_NILADIC;
        return tree_end(p, node);
    }
    call->form = word ? form_of(node->name) : CALL_PLAIN;
    around = tree_below(p);
    if (read_arguments(&r) != 0 || finish(&r) != 0 ||
        !tree_above(p, node, around))
        return NULL;
    return tree_end(p, node);
}
