/*
 * tree_call.c - parses calls of functions, also those with a syntax of their
 * own: CAST(x AS type), TRIM(LEADING x FROM y), aggregates, OVER.
 *
 * Functions are not looked up here: any name with parentheses is a call, and
 * the deparser refuses those that do not exist.  Only names whose arguments
 * MySQL's grammar writes otherwise have a form, and a form has one reader.
 */
#include <string.h>

#include "errors.h"
#include "sql_statement.h"
#include "tree_parser.h"

enum {
    LENGTH_MAX = 100 * 1000 * 1000
}; /* a longer length of a CAST means
    * the same */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static enum call_form
find_call_form(struct span name)
{
    static const struct {
        const char *name;
        enum call_form form;
    } calls[] = {
        {"ADDDATE", CALL_DATE_ADD},
        {"AVG", CALL_AGGREGATE},
        {"BIT_AND", CALL_AGGREGATE},
        {"BIT_OR", CALL_AGGREGATE},
        {"BIT_XOR", CALL_AGGREGATE},
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

static int
read_call_argument(struct parser *p, struct node *node)
{
    return tree_take(p, node, BINDS_ALL);
}

static int
more_arguments(struct parser *p, struct node *node)
{
    return parser_accept_operator(p, ",") ? tree_list(p, node) : 0;
}

static int
read_plain_arguments(struct parser *p, struct node *node)
{
    return token_is_operator(&p->token, ")") ? 0 : tree_list(p, node);
}

/* ---- CAST and CONVERT ---- */

/* Reads a length, at most LENGTH_MAX.  It stops there, since any number of
 * digits may follow. */
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
read_lengths(struct parser *p, struct node *node)
{
    size_t count = 0;

    if (!token_is_operator(&p->token, "("))
        return 0;
    if (tree_open(p) != 0)
        return -1;
    do {
        if (count == 2 || p->token.kind != TOKEN_INTEGER)
            return parser_fail(p);
        node->call->lengths[count++] = length_of(p->token.text);
        parser_advance(p);
    } while (parser_accept_operator(p, ","));
    return tree_close(p);
}

/* Checks DECIMAL(digits, decimals) against MySQL's limits, with MySQL's
 * errors; what is left out is -1. */
static int
check_decimal(struct parser *p, const struct node *node)
{
    enum { DIGITS = 65, DECIMALS = 30, DIGITS_USUAL = 10 };
    long digits = node->call->lengths[0], decimals = node->call->lengths[1];

    if (decimals > DECIMALS)
        error_set(p->err, ER_TOO_BIG_SCALE,
                  "Too big scale %ld specified for DECIMAL. Maximum is %d.",
                  decimals, DECIMALS);
    else if (digits > DIGITS)
        error_set(p->err, ER_TOO_BIG_PRECISION,
                  "Too-big precision %ld specified for DECIMAL. Maximum is %d.",
                  digits, DIGITS);
    else if (decimals > (digits > 0 ? digits : DIGITS_USUAL))
        error_set(p->err, ER_SCALE_PAST_PRECISION,
                  "For decimal(M,D), M must be >= D.");
    else
        return 0;
    return -1;
}

static int
read_type(struct parser *p, struct node *node)
{
    if (token_is_any(&p->token,
                     "GEOMETRYCOLLECTION LINESTRING MULTILINESTRING MULTIPOINT "
                     "MULTIPOLYGON POINT POLYGON"))
        return parser_refuse(p, "a CAST to a spatial type",
                             "there is no spatial data");
    if (p->token.kind == TOKEN_WORD)
        node->call->type = tree_word_type(p->token.text);
    if (!node->call->type)
        return parser_fail(p);
    node->call->is_binary = token_is(&p->token, "BINARY");
    parser_advance(p);
    if (read_lengths(p, node) != 0 ||
        (strcmp(node->call->type, "DECIMAL") == 0 &&
         check_decimal(p, node) != 0))
        return -1;
    while (p->token.kind == TOKEN_WORD) /* CHARACTER SET x; INTEGER of SIGNED
                                         * INTEGER */
        parser_advance(p);
    return 0;
}

static int
read_using(struct parser *p, struct node *node)
{
    if (!parser_accept(p, "USING"))
        return 0;
    node->call->has_using = true;
    node->call->is_binary = token_is(&p->token, "BINARY");
    if (p->token.kind != TOKEN_WORD && p->token.kind != TOKEN_STRING)
        return parser_fail(p);
    parser_advance(p);
    return 0;
}

static int
read_cast(struct parser *p, struct node *node)
{
    if (read_call_argument(p, node) != 0 || parser_expect(p, "AS") != 0)
        return -1;
    return read_type(p, node);
}

static int
read_convert(struct parser *p, struct node *node)
{
    if (read_call_argument(p, node) != 0)
        return -1;
    if (parser_accept_operator(p, ","))
        return read_type(p, node);
    if (!token_is(&p->token, "USING"))
        return parser_fail(p);
    return read_using(p, node);
}

/* ---- aggregates ---- */

static void
read_quantifier(struct parser *p, struct node *node)
{
    node->call->distinct = parser_accept(p, "DISTINCT");
    if (!node->call->distinct)
        parser_accept(p, "ALL");
}

static int
read_count_arguments(struct parser *p, struct node *node)
{
    struct node *star;

    read_quantifier(p, node);
    if (!token_is_operator(&p->token, "*"))
        return tree_list(p, node);
    star = tree_start(p, NODE_STAR);
    if (!star)
        return -1;
    parser_advance(p);
    return tree_adopt(p, node, tree_end(p, star));
}

static int
read_group_concat(struct parser *p, struct node *node)
{
    node->call->separator = (struct span){",", 1};
    read_quantifier(p, node);
    if (tree_list(p, node) != 0 || tree_order_by(p, &node->call->order) != 0)
        return -1;
    if (!parser_accept(p, "SEPARATOR"))
        return 0;
    if (p->token.kind != TOKEN_STRING)
        return parser_fail(p);
    return parser_decode(p, &node->call->separator);
}

/* ---- dates ---- */

static int
read_interval_unit(struct parser *p, struct span *out)
{
    if (!tree_word_unit(&p->token))
        return parser_fail(p);
    *out = p->token.text;
    parser_advance(p);
    return 0;
}

int
tree_interval(struct parser *p, struct node *parent, struct span *unit)
{
    return tree_take(p, parent, BINDS_ALL) != 0 ? -1
                                                : read_interval_unit(p, unit);
}

/* Is INTERVAL at the token a function?  INTERVAL(1, 2) is one, INTERVAL (1)
 * DAY is not: a comma in the parentheses, or no unit behind them, tells.  The
 * scan ends at NESTING_MAX levels, since the parser refuses deeper ones
 * anyway; without that bound nested INTERVALs would be scanned once per
 * level. */
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

/* ADDDATE and SUBDATE take days, too. */
static int
read_date_add(struct parser *p, struct node *node)
{
    if (read_call_argument(p, node) != 0 || parser_expect_operator(p, ",") != 0)
        return -1;
    if (token_is(&p->token, "INTERVAL") && !tree_interval_calls(p)) {
        parser_advance(p);
        return tree_interval(p, node, &node->call->unit);
    }
    if (!span_is_any(node->name, "ADDDATE SUBDATE"))
        return parser_fail(p);
    return read_call_argument(p, node);
}

static int
read_extract(struct parser *p, struct node *node)
{
    if (read_interval_unit(p, &node->call->unit) != 0 ||
        parser_expect(p, "FROM") != 0)
        return -1;
    return read_call_argument(p, node);
}

static int
read_timestamp(struct parser *p, struct node *node)
{
    return read_interval_unit(p, &node->call->unit) != 0
               ? -1
               : more_arguments(p, node);
}

/* ---- texts ---- */

static int
read_position(struct parser *p, struct node *node)
{
    if (tree_take(p, node, BINDS_BIT_OR) != 0 || parser_expect(p, "IN") != 0)
        return -1;
    return read_call_argument(p, node);
}

/* (x, n, m), (x FROM n FOR m) */
static int
read_substring(struct parser *p, struct node *node)
{
    if (read_call_argument(p, node) != 0)
        return -1;
    if (!parser_accept(p, "FROM"))
        return more_arguments(p, node);
    if (read_call_argument(p, node) != 0)
        return -1;
    return parser_accept(p, "FOR") ? read_call_argument(p, node) : 0;
}

/* (x), (y FROM x), (LEADING [y] FROM x) */
static int
read_trim(struct parser *p, struct node *node)
{
    /* LEADING alone in the parentheses is a column of that name. */
    bool side = token_is_any(&p->token, "LEADING TRAILING BOTH") &&
                !token_is_operator(parser_ahead(p), ")");

    if (side) {
        node->call->unit = p->token.text;
        parser_advance(p);
    }
    if (!(side && token_is(&p->token, "FROM")) &&
        read_call_argument(p, node) != 0)
        return -1;
    if (!side && !token_is(&p->token, "FROM"))
        return 0;
    return parser_expect(p, "FROM") != 0 ? -1 : read_call_argument(p, node);
}

/* ---- all ---- */

/* Reads the one argument of an aggregate; JSON_OBJECTAGG has a name and a
 * value. */
static int
read_aggregate(struct parser *p, struct node *node)
{
    read_quantifier(p, node);
    if (read_call_argument(p, node) != 0)
        return -1;
    if (!span_is_nocase(node->name, "JSON_OBJECTAGG"))
        return 0;
    return parser_expect_operator(p, ",") != 0 ? -1
                                               : read_call_argument(p, node);
}

static int
read_char(struct parser *p, struct node *node)
{
    return read_plain_arguments(p, node) != 0 ? -1 : read_using(p, node);
}

static int
read_arguments(struct parser *p, struct node *node)
{
    static int (*const readers[])(struct parser *, struct node *) = {
        [CALL_PLAIN] = read_plain_arguments,
        [CALL_AGGREGATE] = read_aggregate,
        [CALL_CAST] = read_cast,
        [CALL_CHAR] = read_char,
        [CALL_CONVERT] = read_convert,
        [CALL_COUNT] = read_count_arguments,
        [CALL_DATE_ADD] = read_date_add,
        [CALL_EXTRACT] = read_extract,
        [CALL_GROUP_CONCAT] = read_group_concat,
        [CALL_POSITION] = read_position,
        [CALL_SUBSTRING] = read_substring,
        [CALL_TIMESTAMP] = read_timestamp,
        [CALL_TRIM] = read_trim,
    };

    if (tree_open(p) != 0 || readers[node->call->form](p, node) != 0)
        return -1;
    if (token_is(&p->token, "AS") &&
        span_is_nocase(node->name, "WEIGHT_STRING"))
        return parser_refuse(p, "WEIGHT_STRING", "use HEX");
    return tree_close(p);
}

/* Skips FROM FIRST and RESPECT NULLS, which say what SQLite does anyway. */
static int
skip_order_of_values(struct parser *p, const struct node *node)
{
    if (token_is(&p->token, "FROM") &&
        span_is_nocase(node->name, "NTH_VALUE") &&
        token_is_any(parser_ahead(p), "FIRST LAST")) {
        parser_advance(p);
        if (parser_accept(p, "LAST"))
            return parser_refuse(p, "FROM LAST",
                                 "reverse the window's ORDER BY");
        parser_advance(p);
    }
    if (token_is(&p->token, "RESPECT") && token_is(parser_ahead(p), "NULLS")) {
        parser_advance(p);
        parser_advance(p);
    }
    return 0;
}

static int
read_over_clause(struct parser *p, struct node *node)
{
    enum call_form form = node->call->form;

    if (skip_order_of_values(p, node) != 0)
        return -1;
    if (parser_accept(p, "OVER")) {
        node->call->over = tree_over(p);
        p->tree->has_over = true;
        if (p->select)
            p->select->has_over = true;
        return node->call->over ? 0 : -1;
    }
    /* An aggregate without OVER makes its SELECT a grouped one; how SQLite's
     * text is written depends on it. */
    if (p->select && (form == CALL_AGGREGATE || form == CALL_COUNT ||
                      form == CALL_GROUP_CONCAT))
        p->select->aggregates = true;
    return 0;
}

struct node *
tree_call_read(struct parser *p)
{
    struct node *node = tree_start(p, NODE_CALL);
    struct tree_call *call = parser_alloc(p, sizeof(*call));
    size_t around;

    if (!node || !call || parser_decode(p, &node->name) != 0)
        return NULL;
    node->call = call;
    call->lengths[0] = call->lengths[1] = -1;
    if (!token_is_operator(&p->token, "(")) {
        call->form = CALL_NILADIC;
        return tree_end(p, node);
    }
    call->form = find_call_form(node->name);
    around = tree_below(p);
    if (read_arguments(p, node) != 0 || read_over_clause(p, node) != 0 ||
        tree_above(p, node, around) != 0)
        return NULL;
    return tree_end(p, node);
}
