/* infer_expression.c - the type of an expression, from its operators. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "function_table.h"
#include "inference.h"
#include "variables.h"

static struct result_type
of(enum column_type type)
{
    return result_type_of(type);
}

/* ---- operands ---- */

static struct result_type
parameter(const struct inference *p)
{
    const struct fragment *fragment = p->job->fragment;

    if (!p->job->parameters)
        return of(COLUMN_TEXT);
    return infer_value(
        &p->job->parameters[fragment->first + inference_here(p)->parameters]);
}

/* An unsigned integer, which may exceed 63 bits. */
static struct result_type
unsigned_type(void)
{
    struct result_type out = of(COLUMN_BIGINT);

    out.flags = COLUMN_UNSIGNED;
    out.past = true;
    return out;
}

/* An integer literal; past 64 bits it is a DECIMAL. */
static struct result_type
integer(const struct token *token)
{
    struct result_type out = of(COLUMN_BIGINT);
    uint64_t value;

    errno = 0;
    value = strtoull(token->text.data, NULL, 10);
    if (errno == ERANGE)
        out = of(COLUMN_DECIMAL);
    else if (value > INT64_MAX)
        out = unsigned_type();
    out.width = (uint32_t)token->text.size;
    return out;
}

/* 1.50 has two decimals; 1.5e0 is a DOUBLE. */
static struct result_type
decimal(const struct token *token)
{
    const char *point = memchr(token->text.data, '.', token->text.size);
    const char *end = token->text.data + token->text.size;

    if (!point || token->text.size - 1 > EXACT_DIGITS_MAX ||
        memchr(token->text.data, 'e', token->text.size) ||
        memchr(token->text.data, 'E', token->text.size))
        return of(COLUMN_DOUBLE);
    return result_type_decimal((size_t)(end - point - 1));
}

/* 'a' 'b' is one string. */
static struct result_type
string(struct inference *p)
{
    struct result_type out = of(COLUMN_TEXT);

    out.width = 0;
    while (inference_here(p)->token.kind == TOKEN_STRING) {
        out.width += (uint32_t)inference_here(p)->token.text.size - 2;
        p->at++;
    }
    return out;
}

/* _utf8mb4'a', _binary x'61' */
static struct result_type
introduced(struct inference *p)
{
    bool binary = token_is(&inference_here(p)->token, "_BINARY");
    struct result_type out = of(COLUMN_TEXT);

    p->at++;
    if (inference_here(p)->token.kind == TOKEN_STRING)
        out = string(p);
    else
        p->at++;
    return binary ? of(COLUMN_BLOB) : out;
}

/* [[database.]table.]column */
static struct result_type
column(struct inference *p)
{
    struct span table = {NULL, 0};
    struct span name = inference_name(p, &inference_here(p)->token);
    bool qualified = false;

    p->at++;
    while (inference_accept_operator(p, ".")) {
        qualified = true;
        table = name;
        name = inference_name(p, &inference_here(p)->token);
        inference_skip(p);
    }
    return infer_column(p, qualified ? &table : NULL, name);
}

/* ---- operators ---- */

static struct result_type
parenthesis(struct inference *p)
{
    size_t end = inference_here(p)->match;
    struct result_type out = of(COLUMN_TEXT);
    struct shape shape;

    p->at++;
    if (infer_at_select(p)) {
        shape = infer_select(p);
        if (shape.count > 0)
            out = shape.columns[0].type;
    } else {
        out = infer_expression(p);
    }
    inference_leave(p, end);
    return out;
}

static struct result_type
word(struct inference *p)
{
    static const struct {
        const char *word;
        enum column_type type;
    } literals[] = {{"DATE", COLUMN_DATE},
                    {"TIME", COLUMN_TIME},
                    {"TIMESTAMP", COLUMN_DATETIME}};
    const struct piece *here = inference_here(p);
    bool called = token_is_operator(&here[1].token, "(");
    struct result_type out = of(COLUMN_BIGINT);

    for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); i++)
        if (here[1].token.kind == TOKEN_STRING &&
            token_is(&here->token, literals[i].word)) {
            p->at += 2;
            return of(literals[i].type);
        }

    if (here->token.text.data[0] == '_' &&
        (here[1].token.kind == TOKEN_STRING || here[1].token.kind == TOKEN_HEX))
        return introduced(p);
    if (called &&
        (token_is(&here->token, "CAST") || token_is(&here->token, "CONVERT")))
        return infer_cast(p);
    if (called || here->word == WORD_NILADIC) {
        if (!token_is(&here->token, "EXISTS"))
            return infer_call(p);
        p->at++;
        inference_skip(p);
        return out;
    }
    if (token_is(&here->token, "CASE"))
        return infer_case(p);
    if (here->word != WORD_VALUE && here->word != WORD_NAME) {
        p->lost = true;
        return of(COLUMN_TEXT);
    }
    if (here->word == WORD_NAME)
        return column(p);
    out.width = 1; /* TRUE and FALSE */
    p->at++;
    return token_is(&here->token, "NULL") ? of(COLUMN_NULL) : out;
}

static struct result_type
operand(struct inference *p)
{
    const struct token *token = &inference_here(p)->token;
    struct result_type out;

    switch (token->kind) {
    case TOKEN_STRING:
        return string(p);
    case TOKEN_WORD:
        return word(p);
    case TOKEN_QUOTED:
        return token_is_operator(&inference_here(p)[1].token, "(")
                   ? infer_call(p)
                   : column(p);
    case TOKEN_INTEGER:
        out = integer(token);
        break;
    case TOKEN_DECIMAL:
        out = decimal(token);
        break;
    case TOKEN_HEX:
        out = of(COLUMN_BLOB);
        break;
    case TOKEN_SYSTEM:
        out = infer_system_variable(p, token);
        break;
    case TOKEN_USER:
        return infer_user_variable(p);
    case TOKEN_PARAMETER:
        out = parameter(p);
        break;
    default:
        if (token_is_operator(token, "("))
            return parenthesis(p);
        if (token_is_operator(token, "*")) { /* COUNT(*) */
            p->at++;
            return of(COLUMN_BIGINT);
        }
        p->lost = true;
        return of(COLUMN_TEXT);
    }
    p->at++;
    return out;
}

enum operator_class {
    OPERATOR_LOGIC, /* the result is 1 or 0; comparisons are of this kind, too
                     */
    OPERATOR_PIPES,
    OPERATOR_IN, /* its right side is in parentheses */
    OPERATOR_BETWEEN,
    OPERATOR_BITS,
    OPERATOR_SUM,
    OPERATOR_DIVIDE,
    OPERATOR_DIV
};

enum { BINDS_NOT = 4, BINDS_COMPARISON = 5, BINDS_BITS = 6 };

static const struct operation {
    const char *text;
    unsigned binds; /* a larger number binds more closely */
    enum operator_class class;
} operators[] = {
    {"OR", 1, OPERATOR_LOGIC},    {"||", 1, OPERATOR_PIPES},
    {"XOR", 2, OPERATOR_LOGIC},   {"AND", 3, OPERATOR_LOGIC},
    {"&&", 3, OPERATOR_LOGIC},    {"=", 5, OPERATOR_LOGIC},
    {"<=>", 5, OPERATOR_LOGIC},   {">=", 5, OPERATOR_LOGIC},
    {">", 5, OPERATOR_LOGIC},     {"<=", 5, OPERATOR_LOGIC},
    {"<", 5, OPERATOR_LOGIC},     {"<>", 5, OPERATOR_LOGIC},
    {"!=", 5, OPERATOR_LOGIC},    {"IS", 5, OPERATOR_LOGIC},
    {"LIKE", 5, OPERATOR_LOGIC},  {"REGEXP", 5, OPERATOR_LOGIC},
    {"RLIKE", 5, OPERATOR_LOGIC}, {"ESCAPE", 5, OPERATOR_LOGIC},
    {"IN", 5, OPERATOR_IN},       {"BETWEEN", 5, OPERATOR_BETWEEN},
    {"|", 6, OPERATOR_BITS},      {"&", 7, OPERATOR_BITS},
    {"<<", 8, OPERATOR_BITS},     {">>", 8, OPERATOR_BITS},
    {"-", 9, OPERATOR_SUM},       {"+", 9, OPERATOR_SUM},
    {"*", 10, OPERATOR_SUM},      {"/", 10, OPERATOR_DIVIDE},
    {"%", 10, OPERATOR_SUM},      {"MOD", 10, OPERATOR_SUM},
    {"DIV", 10, OPERATOR_DIV},    {"^", 11, OPERATOR_BITS},
};

static const struct operation *
operator_here(const struct inference *p)
{
    const struct token *token = &inference_here(p)->token;

    if (token->kind != TOKEN_WORD && token->kind != TOKEN_OPERATOR)
        return NULL;
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
        if (token_is_operator(token, operators[i].text) ||
            token_is(token, operators[i].text))
            return &operators[i];
    return NULL;
}

static struct result_type infix(struct inference *p, unsigned binds);

static struct result_type
unary(struct inference *p)
{
    struct result_type out;
    bool negated = false, truth = false, bits = false, binary = false;

    for (;; p->at++) {
        if (inference_is_operator(p, "+"))
            continue;
        if (inference_is_operator(p, "-"))
            negated = true;
        else if (inference_is_operator(p, "~"))
            bits = true;
        else if (inference_is_operator(p, "!"))
            truth = true;
        else if (inference_is(p, "BINARY"))
            binary = true;
        else
            break;
    }
    if (inference_accept(p, "NOT")) {
        infix(p, BINDS_NOT);
        return of(COLUMN_BIGINT);
    }
    out = operand(p);
    while (inference_here(p)->word == WORD_COLLATE && !p->lost) {
        p->at++;
        inference_skip(p);
    }
    if (truth)
        return of(COLUMN_BIGINT);
    if (bits)
        return unsigned_type();
    if (binary)
        return of(COLUMN_BLOB);
    if (negated && out.past)
        return of(COLUMN_DECIMAL);
    if (!negated || result_type_is_exact(out))
        return result_type_is_integer(out) && negated ? of(COLUMN_BIGINT) : out;
    return of(result_type_is_integer(out) ? COLUMN_BIGINT : COLUMN_DOUBLE);
}

/* A sum has the decimals of the longer operand, a product those of both, a
 * quotient four more than its dividend. */
static struct result_type
calculated(const struct operation *op, struct result_type left,
           struct result_type right)
{
    size_t more =
        left.decimals > right.decimals ? left.decimals : right.decimals;

    if (!result_type_is_exact(left) || !result_type_is_exact(right))
        return of(COLUMN_DOUBLE);
    if (op->class == OPERATOR_DIVIDE)
        return result_type_decimal(left.decimals + QUOTIENT_DECIMALS);
    if (result_type_is_integer(left) && result_type_is_integer(right))
        return left.past || (right.past && *op->text != '%')
                   ? unsigned_type()
                   : of(COLUMN_BIGINT);
    return result_type_decimal(
        op->text[0] == '*' ? left.decimals + right.decimals : more);
}

static struct result_type
applied(struct inference *p, const struct operation *op,
        struct result_type left)
{
    struct result_type right;

    if (op->class == OPERATOR_IN) {
        inference_skip(p);
        return of(COLUMN_BIGINT);
    }
    if (op->class == OPERATOR_BETWEEN) {
        infix(p, BINDS_BITS);
        inference_accept(p, "AND");
        infix(p, BINDS_BITS);
        return of(COLUMN_BIGINT);
    }
    if (op->class == OPERATOR_SUM && inference_is(p, "INTERVAL"))
        return infer_interval(p, left);
    if (op->binds == BINDS_COMPARISON) /* IS NOT NULL */
        inference_accept(p, "NOT");
    right = infix(p, op->binds + 1);
    switch (op->class) {
    case OPERATOR_SUM:
    case OPERATOR_DIVIDE:
        return calculated(op, left, right);
    case OPERATOR_PIPES:
        return of(variable_sql_mode(p->job->session, "PIPES_AS_CONCAT")
                      ? COLUMN_TEXT
                      : COLUMN_BIGINT);
    case OPERATOR_BITS:
        return unsigned_type();
    case OPERATOR_DIV:
        return left.past || right.past ? unsigned_type() : of(COLUMN_BIGINT);
    default:
        return of(COLUMN_BIGINT);
    }
}

static struct result_type
infix(struct inference *p, unsigned binds)
{
    const struct operation *op;
    struct result_type left;

    if (++p->depth > INFERENCE_DEPTH_MAX)
        p->lost = true;
    left = p->lost ? of(COLUMN_TEXT) : unary(p);
    while (!p->lost) {
        size_t before = p->at;

        if (binds <= BINDS_COMPARISON) /* NOT LIKE, NOT IN, NOT BETWEEN */
            inference_accept(p, "NOT");
        op = operator_here(p);
        if (!op || op->binds < binds) {
            p->at = before;
            break;
        }
        p->at++;
        left = applied(p, op, left);
    }
    p->depth--;
    return left;
}

struct result_type
infer_operators(struct inference *p)
{
    return infix(p, 1);
}
