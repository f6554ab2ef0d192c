/*
 * rewriter_operator.c - operators: their precedence, and their form for SQLite.
 *
 * Where MySQL's operator differs from SQLite's in meaning or precedence, its
 * operands become a function's arguments.  An operator waits in r->pending
 * until one follows that binds no tighter; then its text, which depends on the
 * kind of its right side, goes between them.  A comparison with a column stays
 * SQLite's own: the column knows how it compares.
 */
#include "rewriter.h"

#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "handle.h"
#include "sql_session.h"
#include "variables.h"

enum {
    BINDS_CASE,   /* only END closes it */
    BINDS_ASSIGN, /* its value is all that follows */
    BINDS_OR,
    BINDS_XOR,
    BINDS_AND,
    BINDS_NOT,
    BINDS_BETWEEN,
    BINDS_COMPARISON,
    BINDS_BIT_OR,
    BINDS_BIT_AND,
    BINDS_SHIFT,
    BINDS_SUM,
    BINDS_PRODUCT,
    BINDS_BIT_XOR,
    BINDS_SIGN,
    BINDS_BANG,
    BINDS_BINARY
};

enum shape {
    SHAPE_NATIVE,   /* written as SQLite's operator */
    SHAPE_FUNCTION, /* always a function call */
    SHAPE_EQUAL,    /* a function call, unless one side is a column */
    SHAPE_ORDER,    /* a function call, unless columns and texts are compared */
    SHAPE_IN,
    SHAPE_BETWEEN,
    SHAPE_PREFIX, /* written as SQLite's operator */
    SHAPE_WRAPPING_PREFIX,
    SHAPE_CASE,
    SHAPE_ASSIGN,    /* @x := y; its call has begun before */
    SHAPE_INTERVAL,  /* x + INTERVAL n UNIT */
    SHAPE_QUANTIFIED /* x > ALL (SELECT y) */
};

struct operator
{
    const char *text;
    uint8_t binds;
    enum shape shape;
    const char *native, *function;
};

static const struct operator binaries[] = {
    {"=", BINDS_COMPARISON, SHAPE_EQUAL, " =", " hw_eq("},
    {"<=>", BINDS_COMPARISON, SHAPE_EQUAL, " IS", " hw_is("},
    {"<>", BINDS_COMPARISON, SHAPE_EQUAL, " <>", " hw_ne("},
    {"!=", BINDS_COMPARISON, SHAPE_EQUAL, " <>", " hw_ne("},
    {"<", BINDS_COMPARISON, SHAPE_ORDER, " <", " hw_lt("},
    {"<=", BINDS_COMPARISON, SHAPE_ORDER, " <=", " hw_le("},
    {">", BINDS_COMPARISON, SHAPE_ORDER, " >", " hw_gt("},
    {">=", BINDS_COMPARISON, SHAPE_ORDER, " >=", " hw_ge("},
    {"AND", BINDS_AND, SHAPE_NATIVE, " AND", NULL},
    {"&&", BINDS_AND, SHAPE_NATIVE, " AND", NULL},
    {"OR", BINDS_OR, SHAPE_NATIVE, " OR", NULL},
    {"||", BINDS_OR, SHAPE_NATIVE, " OR", NULL},
    {"XOR", BINDS_XOR, SHAPE_FUNCTION, " XOR", " hw_xor("},
    {"+", BINDS_SUM, SHAPE_FUNCTION, " +", " hw_plus("},
    {"-", BINDS_SUM, SHAPE_FUNCTION, " -", " hw_minus("},
    {"*", BINDS_PRODUCT, SHAPE_FUNCTION, " *", " hw_times("},
    {"/", BINDS_PRODUCT, SHAPE_FUNCTION, " /", " hw_divide("},
    {"%", BINDS_PRODUCT, SHAPE_FUNCTION, " %", " mod("},
    {"MOD", BINDS_PRODUCT, SHAPE_FUNCTION, " %", " mod("},
    {"DIV", BINDS_PRODUCT, SHAPE_FUNCTION, " /", " hw_div("},
    {"^", BINDS_BIT_XOR, SHAPE_FUNCTION, " ^", " hw_bit_xor("},
    {"&", BINDS_BIT_AND, SHAPE_FUNCTION, " &", " hw_bit_and("},
    {"|", BINDS_BIT_OR, SHAPE_FUNCTION, " |", " hw_bit_or("},
    {"<<", BINDS_SHIFT, SHAPE_FUNCTION, " <<", " hw_shift_left("},
    {">>", BINDS_SHIFT, SHAPE_FUNCTION, " >>", " hw_shift_right("},
    {"IS", BINDS_COMPARISON, SHAPE_NATIVE, " IS", NULL},
    {"LIKE", BINDS_COMPARISON, SHAPE_NATIVE, " LIKE", NULL},
    {"ESCAPE", BINDS_BIT_OR, SHAPE_NATIVE, " ESCAPE", NULL},
    {"REGEXP", BINDS_COMPARISON, SHAPE_NATIVE, " REGEXP", NULL},
    {"RLIKE", BINDS_COMPARISON, SHAPE_NATIVE, " REGEXP", NULL},
    {"IN", BINDS_COMPARISON, SHAPE_IN, " IN", NULL},
    {"BETWEEN", BINDS_BETWEEN, SHAPE_BETWEEN, " BETWEEN", " hw_between("},
    {"->", BINDS_BINARY, SHAPE_NATIVE, " ->", NULL},
    {"->>", BINDS_BINARY, SHAPE_NATIVE, " ->>", NULL},
};

static const struct operator prefixes[] = {
    {"-", BINDS_SIGN, SHAPE_WRAPPING_PREFIX, " -", " hw_negative("},
    {"+", BINDS_SIGN, SHAPE_PREFIX, " +", NULL},
    {"~", BINDS_SIGN, SHAPE_WRAPPING_PREFIX, " ~", " hw_bit_not("},
    {"!", BINDS_BANG, SHAPE_WRAPPING_PREFIX, " NOT", " (NOT "},
    {"NOT", BINDS_NOT, SHAPE_PREFIX, " NOT", NULL},
    {"BINARY", BINDS_BINARY, SHAPE_WRAPPING_PREFIX, " BINARY", " hw_binary("},
};

static const struct operator concatenation = {
    "||", BINDS_BIT_XOR, SHAPE_FUNCTION, " ||", " concat("};
static const struct operator case_marker = {"CASE", BINDS_CASE, SHAPE_CASE,
                                            NULL, NULL};
/* Comparison operators that ALL and ANY may follow, in the order of those
 * above. */
static const struct operator quantifieds[] = {
    {"=", BINDS_COMPARISON, SHAPE_QUANTIFIED, " =", NULL},
    {"<>", BINDS_COMPARISON, SHAPE_QUANTIFIED, " <>", NULL},
    {"<", BINDS_COMPARISON, SHAPE_QUANTIFIED, " <", NULL},
    {"<=", BINDS_COMPARISON, SHAPE_QUANTIFIED, " <=", NULL},
    {">", BINDS_COMPARISON, SHAPE_QUANTIFIED, " >", NULL},
    {">=", BINDS_COMPARISON, SHAPE_QUANTIFIED, " >=", NULL},
};
static const struct operator assignment = {":=", BINDS_ASSIGN, SHAPE_ASSIGN,
                                           NULL, NULL};
static const struct operator intervals[] = {
    {"+", BINDS_SUM, SHAPE_INTERVAL, NULL, " date_add("},
    {"-", BINDS_SUM, SHAPE_INTERVAL, NULL, " date_sub("},
};

static bool
is_text(enum operand_kind kind)
{
    return kind == OPERAND_STRING || kind == OPERAND_MOMENT;
}

/* A column of a derived table has no type in SQLite: beside a literal it does
 * not know how to compare.  A selected column may be such a one, for FROM comes
 * later; elsewhere '=' names the snapshot, the node and the key, and only a
 * number is compared so: see vtab_find_function. */
static bool
may_be_derived(struct rewriter *r, enum operand_kind other)
{
    bool listed = false;

    if (other != OPERAND_NUMBER && other != OPERAND_STRING)
        return false;
    for (size_t i = 0; i <= r->depth; i++) {
        if (other == OPERAND_NUMBER && r->levels[i].reads_select)
            return true;
        if (r->levels[i].clause != CLAUSE_NONE)
            listed = r->levels[i].clause == CLAUSE_LIST;
    }
    return listed;
}

static bool
is_native(struct rewriter *r, const struct operator* op, enum operand_kind left,
          enum operand_kind right)
{
    bool columns = left == OPERAND_COLUMN || right == OPERAND_COLUMN;

    if (op->shape == SHAPE_FUNCTION || op->shape == SHAPE_BETWEEN)
        return false;
    if (left == OPERAND_ROW || right == OPERAND_ROW || right == OPERAND_NONE)
        return true;
    if (op->shape == SHAPE_EQUAL)
        return columns && left != OPERAND_BINARY && right != OPERAND_BINARY &&
               left != OPERAND_HEX && right != OPERAND_HEX &&
               !may_be_derived(r, left == OPERAND_COLUMN ? right : left);
    if (op->shape == SHAPE_ORDER)
        return (left == OPERAND_COLUMN || is_text(left)) &&
               (right == OPERAND_COLUMN || is_text(right)) && columns;
    return true;
}

/* The last argument of the functions of function_compare.c: COMPARE_... */
static const char *
how_compared(enum operand_kind left, enum operand_kind right)
{
    return left == OPERAND_BINARY || right == OPERAND_BINARY ? ",1" : "";
}

/* x IN (a, b).  A column knows how it compares, and so does a SELECT's; other
 * operands get that as an argument, or are compared one by one, as texts or
 * numbers. */
static void
close_in(struct rewriter *r, struct pending *p)
{
    enum operand_kind left = p->left.kind;
    size_t listed = rewriter_top(r)->operand.listed, at = p->middle;

    if ((left != OPERAND_COLUMN || may_be_derived(r, OPERAND_STRING)) &&
        left != OPERAND_ROW && listed > 0 && listed <= REWRITE_LISTED_MAX) {
        while (at < r->sql->size && r->sql->data[at] == ' ')
            at++;
        if (at < r->sql->size) /* its parenthesis becomes the call's */
            r->sql->data[at] = ',';
        if (p->negated)
            buffer_char(r->sql, ')');
        rewriter_insert(r, p->left.start,
                        left == OPERAND_BINARY ? " hw_in(1," : " hw_in(0,");
        if (p->negated)
            rewriter_insert(r, p->left.start, " (NOT");
        return;
    }
    rewriter_insert(r, p->middle, p->negated ? " NOT IN" : " IN");
    if (is_text(left) || left == OPERAND_OTHER) {
        rewriter_insert(r, p->middle, ") COLLATE NOCASE");
        rewriter_insert(r, p->left.start, " (");
    }
}

static void
close_binary(struct rewriter *r, struct pending *p)
{
    struct operand *right = &rewriter_top(r)->operand;
    char text[40];

    if (p->op->shape == SHAPE_IN) {
        close_in(r, p);
        return;
    }
    if (p->op->shape == SHAPE_INTERVAL) { /* INTERVAL without its unit */
        rewriter_insert(r, p->middle, " ,");
        buffer_char(r->sql, ')');
        rewriter_insert(r, p->left.start, p->op->function);
        return;
    }
    if (p->op->shape == SHAPE_QUANTIFIED) {
        rewriter_insert(r, p->middle, ",");
        buffer_format(r->sql, ",'%s',%d)", p->op->native + 1, p->all);
        rewriter_insert(r, p->left.start, " hw_quantified(");
        return;
    }
    if (p->op->native && strcmp(p->op->native, " LIKE") == 0 &&
        right->kind == OPERAND_BINARY) {
        rewriter_insert(r, p->middle, " hw_binary(");
        buffer_char(r->sql, ')');
    }
    if (is_native(r, p->op, p->left.kind, right->kind)) {
        snprintf(text, sizeof(text), "%s%s", p->negated ? " NOT" : "",
                 p->op->native);
        rewriter_insert(r, p->middle, text);
        return;
    }
    rewriter_insert(r, p->middle, ",");
    if (strpbrk(p->op->text, "+-*") &&
        (is_text(p->left.kind) || is_text(right->kind)))
        buffer_format(r->sql, ",%d",
                      is_text(p->left.kind) + 2 * is_text(right->kind));
    if (p->op->shape != SHAPE_FUNCTION)
        buffer_text(r->sql, how_compared(p->left.kind, right->kind));
    buffer_text(r->sql, p->negated ? "))" : ")");
    rewriter_insert(r, p->left.start, p->op->function);
    if (p->negated)
        rewriter_insert(r, p->left.start, " (NOT");
}

static void
close_prefix(struct rewriter *r, const struct pending *p)
{
    if (p->op->shape != SHAPE_WRAPPING_PREFIX)
        return;
    buffer_char(r->sql, ')');
    rewriter_insert(r, p->left.start, p->op->function);
}

/* Makes the innermost pending operator and its operands one operand. */
static void
reduce(struct rewriter *r)
{
    struct pending p = r->pending[--r->pending_count];
    struct operand *operand = &rewriter_top(r)->operand;
    enum operand_kind kind = OPERAND_OTHER;

    if (operand->depth < p.left.depth)
        operand->depth = p.left.depth;
    operand->depth++;
    switch (p.op->shape) {
    case SHAPE_CASE:
        break;
    case SHAPE_ASSIGN:
        buffer_char(r->sql, ')');
        break;
    case SHAPE_PREFIX:
    case SHAPE_WRAPPING_PREFIX:
        close_prefix(r, &p);
        if (operand->kind == OPERAND_NUMBER && p.op->binds == BINDS_SIGN)
            kind = OPERAND_NUMBER;
        if (p.op->binds == BINDS_BINARY)
            kind = OPERAND_BINARY;
        break;
    default:
        close_binary(r, &p);
        break;
    }
    operand->kind = kind;
    operand->start = p.left.start;
}

static bool
has_pending(struct rewriter *r)
{
    return r->pending_count > rewriter_top(r)->pending_base;
}

static struct pending *
last_pending(struct rewriter *r)
{
    return &r->pending[r->pending_count - 1];
}

static void
reduce_to(struct rewriter *r, unsigned binds)
{
    while (has_pending(r) && last_pending(r)->op->binds >= binds)
        reduce(r);
}

void
rewriter_expression_end(struct rewriter *r)
{
    while (has_pending(r))
        reduce(r);
    rewriter_top(r)->operand.kind = OPERAND_NONE;
    rewriter_top(r)->negated = false;
}

/* ---- operators ---- */

static int
push(struct rewriter *r, const struct operator* op, bool binary)
{
    struct level *level = rewriter_top(r);
    struct pending *p;

    if (r->pending_count == REWRITE_PENDING_MAX ||
        (binary && level->operand.depth > SELECT_DEPTH_MAX))
        return rewriter_fail_deep(r);
    p = &r->pending[r->pending_count++];
    memset(p, 0, sizeof(*p));
    p->op = op;
    if (binary)
        p->left = level->operand;
    else
        p->left.start = r->sql->size;
    p->middle = r->sql->size;
    p->negated = level->negated;
    level->negated = false;
    level->operand.kind = OPERAND_NONE;
    level->operand.start = r->sql->size;
    level->operand.depth = level->operand.listed = 0;
    return 0;
}

/* Whether the AND belongs to a BETWEEN that waits for it. */
static bool
continue_between(struct rewriter *r)
{
    while (has_pending(r)) {
        struct pending *p = last_pending(r);

        if (p->op->shape == SHAPE_BETWEEN && !p->continued) {
            p->continued = true;
            buffer_char(r->sql, ',');
            rewriter_top(r)->operand.kind = OPERAND_NONE;
            return true;
        }
        if (p->op->binds < BINDS_BETWEEN)
            return false;
        reduce(r);
    }
    return false;
}

/* = ANY (SELECT ...) and <> ALL (SELECT ...) are IN and NOT IN. */
static const struct operator*
    quantified(struct rewriter *r, const struct operator* op)
{
    bool any = token_is(&r->ahead, "ANY") || token_is(&r->ahead, "SOME");
    bool all = token_is(&r->ahead, "ALL");

    if (!any && !all)
        return op;
    rewriter_advance(r);
    if (!token_is_operator(&r->ahead, "(") || r->slots == SLOTS_MAX)
        return NULL;
    for (size_t i = 0; i < sizeof(quantifieds) / sizeof(quantifieds[0]); i++)
        if (strcmp(op->native, quantifieds[i].native) == 0 &&
            i != (any ? 0 : 1)) {
            r->quantified = any ? 'a' : 'A';
            return &quantifieds[i];
        }
    rewriter_top(r)->negated = all;
    for (size_t i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++)
        if (binaries[i].shape == SHAPE_IN)
            return &binaries[i];
    return NULL;
}

static int
binary(struct rewriter *r, const struct operator* op)
{
    if (op->binds == BINDS_AND && continue_between(r))
        return 0;
    if ((op->text[0] == '+' || op->text[0] == '-') && !op->text[1] &&
        token_is(&r->ahead, "INTERVAL")) {
        rewriter_advance(r);
        op = &intervals[op->text[0] == '-'];
    }
    reduce_to(r, op->binds);
    if (op->shape == SHAPE_EQUAL || op->shape == SHAPE_ORDER)
        op = quantified(r, op);
    if (!op)
        return rewriter_fail(r);
    if (op->shape == SHAPE_IN) {
        r->rows_follow = rewriter_top(r)->operand.kind == OPERAND_ROW;
        if (!token_is_operator(&r->ahead, "(")) {
            /* SQLite would accept a table's name, too */
            rewriter_advance(r);
            return rewriter_fail(r);
        }
    }
    if (push(r, op, true) != 0)
        return -1;
    last_pending(r)->all =
        op->shape == SHAPE_QUANTIFIED && r->quantified == 'A';
    return 0;
}

static int
prefix(struct rewriter *r, const struct operator* op)
{
    if (push(r, op, false) != 0)
        return -1;
    if (op->shape == SHAPE_PREFIX) {
        buffer_text(r->sql, op->native);
        rewriter_top(r)->operand.start = r->sql->size;
    }
    return 0;
}

static bool
is_operator(const struct token *token, const struct operator* op)
{
    return token_is_operator(token, op->text) || token_is(token, op->text);
}

int
rewriter_operator(struct rewriter *r, bool *known)
{
    bool first = rewriter_wants_operand(r);
    const struct operator* list = first ? prefixes : binaries;
    size_t count = first ? sizeof(prefixes) / sizeof(prefixes[0])
                         : sizeof(binaries) / sizeof(binaries[0]);

    *known = true;
    if ((first && token_is_operator(&r->token, "*")) ||
        token_is_operator(&r->previous, "."))
        goto unknown;
    /* IS NOT is one operator */
    if (first && token_is(&r->token, "NOT") && token_is(&r->previous, "IS") &&
        has_pending(r)) {
        last_pending(r)->negated = false;
        rewriter_emit(r, "NOT");
        return 0;
    }
    if (!first && token_is(&r->token, "NOT")) {
        rewriter_top(r)->negated = true;
        return 0;
    }
    if (!first && token_is_operator(&r->token, "||") &&
        variable_sql_mode(r->job->session, "PIPES_AS_CONCAT"))
        return binary(r, &concatenation);
    for (size_t i = 0; i < count; i++)
        if (is_operator(&r->token, &list[i]))
            return first ? prefix(r, &list[i]) : binary(r, &list[i]);
unknown:
    *known = false;
    return 0;
}

/* ---- := ---- */

int
rewriter_assign(struct rewriter *r)
{
    struct span name;

    if (rewriter_decode(r, &r->token, &name) != 0)
        return -1;
    rewriter_advance(r);
    if (rewriter_top(r)->clause == CLAUSE_LIST)
        rewriter_label_note(rewriter_top(r), &r->token);
    if (push(r, &assignment, false) != 0)
        return -1;
    buffer_text(r->sql, " hw_assign(");
    rewriter_emit_text(r, name);
    buffer_char(r->sql, ',');
    rewriter_top(r)->operand.start = r->sql->size;
    r->result->assigns = true;
    return 0;
}

/* ---- CASE ---- */

int
rewriter_case(struct rewriter *r)
{
    struct pending *p;

    if (push(r, &case_marker, false) != 0)
        return -1;
    rewriter_emit(r, "CASE");
    if (token_is(&r->ahead, "WHEN"))
        return 0;
    if (r->slots == SLOTS_MAX)
        return rewriter_fail_deep(r);
    p = last_pending(r);
    p->slot = r->slots++;
    p->compares = true;
    buffer_format(r->sql, " hw_case(%u,", p->slot);
    return 0;
}

/* WHEN, THEN, ELSE; the compared value ends at the first WHEN. */
void
rewriter_case_part(struct rewriter *r, const char *out)
{
    bool when = token_is(&r->token, "WHEN"), then = token_is(&r->token, "THEN");
    struct pending *p;

    reduce_to(r, BINDS_CASE + 1);
    rewriter_top(r)->operand.kind = OPERAND_NONE;
    p = has_pending(r) && last_pending(r)->compares ? last_pending(r) : NULL;
    if (p && ((when && !p->continued) || then))
        buffer_char(r->sql, ')');
    rewriter_emit(r, out);
    if (p && when)
        buffer_format(r->sql, " hw_when(%u,", p->slot);
    if (p)
        p->continued = true;
}

void
rewriter_case_end(struct rewriter *r)
{
    reduce_to(r, BINDS_CASE + 1);
    rewriter_emit(r, "END");
    if (has_pending(r))
        reduce(r);
    rewriter_top(r)->operand.kind = OPERAND_OTHER;
}

/* ---- INTERVAL ---- */

bool
rewriter_interval_unit(struct rewriter *r, struct span unit)
{
    struct pending *p;
    size_t i = r->pending_count, base = rewriter_top(r)->pending_base;

    while (i > base && r->pending[i - 1].op->shape != SHAPE_INTERVAL &&
           r->pending[i - 1].op->shape != SHAPE_CASE)
        i--;
    if (i == base || r->pending[i - 1].op->shape != SHAPE_INTERVAL)
        return false;
    while (r->pending_count > i)
        reduce(r);
    p = &r->pending[--r->pending_count];
    rewriter_insert(r, p->middle, ",");
    buffer_format(r->sql, ",'%.*s')", (int)unit.size, unit.data);
    rewriter_insert(r, p->left.start, p->op->function);
    rewriter_top(r)->operand =
        (struct operand){OPERAND_OTHER, p->left.start, p->left.depth + 1};
    return true;
}

void
rewriter_collate_binary(struct rewriter *r)
{
    struct operand *operand = &rewriter_top(r)->operand;

    if (operand->kind == OPERAND_COLUMN)
        rewriter_emit(r, "COLLATE BINARY");
    else if (operand->kind != OPERAND_NONE)
        operand->kind = OPERAND_BINARY;
}
