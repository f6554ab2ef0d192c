/*
 * parse_set.c - parses SET in all the forms that clients send, and limits for
 * one statement: its time, and nodes at a time.
 *
 * A SET is a list of assignments; whether a variable exists and takes the
 * value is checked later (commands/set.c), so that all assignments are checked
 * before one is applied.  SET STATEMENT heapwire_timeout = 5 FOR ... is
 * MariaDB's form of a limit for one statement; the other is a hint in a
 * comment, which some clients drop as they drop comments.
 */
#include <stddef.h>
#include <string.h>

#include "errors.h"
#include "parse.h"
#include "sql_session.h"
#include "variables.h"

static const struct {
    const char *name;
    uint64_t least, most;
    size_t offset; /* of the limit's uint32_t in struct sql_statement */
} limits[] = {{"heapwire_parallel", 1, PARALLEL_MAX,
               offsetof(struct sql_statement, parallel)},
              {"heapwire_timeout", 1, TIMEOUT_MAX_S,
               offsetof(struct sql_statement, timeout_s)}};

/* Reads the number for the limit called name. */
static int
parse_statement_limit(struct parser *p, struct span name,
                      struct sql_statement *out)
{
    struct span digits = p->token.text;
    size_t i = 0, count = sizeof(limits) / sizeof(limits[0]);
    uint32_t limit;
    uint64_t value;

    while (i < count && !span_is_nocase(name, limits[i].name))
        i++;
    if (i == count) {
        error_set(p->err, ER_UNKNOWN_VARIABLE,
                  "'%.*s' cannot be set for one statement; heapwire_timeout "
                  "and heapwire_parallel can",
                  span_shown(name), name.data);
        return -1;
    }
    if (p->token.kind != TOKEN_INTEGER)
        return parser_fail(p);
    if (!parser_digits(digits, &value) || value < limits[i].least ||
        value > limits[i].most)
        return variable_refuse(limits[i].name, digits, limits[i].least,
                               limits[i].most, p->err);
    parser_advance(p);
    limit = (uint32_t)value;
    memcpy((char *)out + limits[i].offset, &limit, sizeof(limit));
    return 0;
}

/* SET STATEMENT name = number [, ...] FOR statement; STATEMENT is consumed. */
static int
parse_set_statement(struct parser *p, struct sql_statement *out)
{
    struct span name;

    do {
        if (parser_name(p, &name) != 0 || parser_expect_operator(p, "=") != 0 ||
            parse_statement_limit(p, name, out) != 0)
            return -1;
    } while (parser_accept_operator(p, ","));
    if (parser_expect(p, "FOR") != 0)
        return -1;
    /* SET in SET is refused, which also bounds the recursion. */
    return token_is(&p->token, "SET") ? parser_fail(p) : p->any(p, out);
}

/* name(number) name(number) ... */
static int
parse_hints(struct parser *p, struct sql_statement *out)
{
    while (p->token.kind != TOKEN_END) {
        struct span name;

        if (parser_name(p, &name) != 0 || parser_expect_operator(p, "(") != 0 ||
            parse_statement_limit(p, name, out) != 0 ||
            parser_expect_operator(p, ")") != 0)
            return -1;
    }
    return 0;
}

/* Looks for a hint behind a token, which ends at `at`; *inner is then a parser
 * of the hint alone.  The lexer skips comments, so a hint has to be looked for
 * in the text.  False: no hint. */
static bool
find_hint(const struct parser *p, const char *at, struct parser *inner)
{
    const char *end = p->source.data + p->source.size;
    struct span text;

    while (at < end && strchr(" \t\r\n", *at))
        at++;
    if (end - at < 5 || memcmp(at, "/*+", 3) != 0)
        return false;
    text.data = at + 3;
    end = memmem(text.data, (size_t)(end - text.data), "*/", 2);
    if (!end)
        return false;
    text.size = (size_t)(end - text.data);
    *inner = *p;
    inner->lexer = lexer_of(text);
    inner->has_ahead = false;
    parser_advance(inner);
    return true;
}

int
parse_hint(struct parser *p, struct sql_statement *out)
{
    struct parser inner;

    return find_hint(p, p->consumed, &inner) ? parse_hints(&inner, out) : 0;
}

/* Reads MAX_EXECUTION_TIME alone; MySQL's other hints address its optimizer
 * and are skipped, as are malformed ones, of which MySQL only warns. */
void
parse_select_hint(const struct parser *p, struct sql_statement *out)
{
    struct parser inner;
    uint64_t ms;

    if (!find_hint(p, p->token.text.data + p->token.text.size, &inner))
        return;
    while (inner.token.kind != TOKEN_END && inner.token.kind != TOKEN_INVALID) {
        bool found = parser_accept(&inner, "MAX_EXECUTION_TIME") &&
                     parser_accept_operator(&inner, "(");

        if (found && inner.token.kind == TOKEN_INTEGER &&
            parser_digits(inner.token.text, &ms))
            out->max_ms = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
        parser_advance(&inner);
    }
}

static struct span
make_setting_span(const char *text, size_t size)
{
    struct span span = {text, size};

    return span;
}

#define SPAN(literal) make_setting_span(literal, sizeof(literal) - 1)

static struct assignment *
add_assignment(struct parser *p, struct assignment ***tail)
{
    struct assignment *a = parser_alloc(p, sizeof(*a));

    if (!a)
        return NULL;
    **tail = a;
    *tail = &a->next;
    return a;
}

/*
 * Reads ISOLATION LEVEL x, READ ONLY or READ WRITE; each sets a variable.
 */
static int
parse_characteristic(struct parser *p, struct assignment *a)
{
    static const struct {
        const char *first, *second;
        const char *value;
        size_t size;
    } levels[] = {{"READ", "COMMITTED", "READ-COMMITTED", 14},
                  {"READ", "UNCOMMITTED", "READ-UNCOMMITTED", 16},
                  {"REPEATABLE", "READ", "REPEATABLE-READ", 15},
                  {"SERIALIZABLE", NULL, "SERIALIZABLE", 12}};

    a->kind = VALUE_IS_TEXT;
    if (parser_accept(p, "READ")) {
        a->name = SPAN("transaction_read_only");
        a->text = SPAN("1");
        if (parser_accept(p, "ONLY"))
            return 0;
        a->text = SPAN("0");
        return parser_expect(p, "WRITE");
    }
    if (parser_expect(p, "ISOLATION") != 0 || parser_expect(p, "LEVEL") != 0)
        return -1;
    a->name = SPAN("transaction_isolation");
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        struct parser saved = *p;

        if (!parser_accept(p, levels[i].first))
            continue;
        if (!levels[i].second || parser_accept(p, levels[i].second)) {
            a->text = make_setting_span(levels[i].value, levels[i].size);
            return 0;
        }
        *p = saved;
    }
    return parser_fail(p);
}

/* Parses what follows SET TRANSACTION, which is a whole statement: no other
 * assignment may follow. */
static int
parse_set_transaction(struct parser *p, struct sql_statement *out,
                      enum variable_scope scope)
{
    struct assignment **tail = &out->set, *a;

    do {
        a = add_assignment(p, &tail);
        if (!a || parse_characteristic(p, a) != 0)
            return -1;
        a->scope = scope;
    } while (parser_accept_operator(p, ","));
    return 0;
}

/* NAMES x [COLLATE y], CHARACTER SET x; x may be DEFAULT. */
static int
parse_names(struct parser *p, struct assignment *a, bool collate)
{
    a->target = ASSIGN_NAMES;
    a->kind = VALUE_IS_TEXT;
    if (parser_accept(p, "DEFAULT")) {
        a->kind = VALUE_IS_DEFAULT;
        return 0;
    }
    if (parser_name_or_string(p, &a->text) != 0)
        return -1;
    if (collate && parser_accept(p, "COLLATE"))
        return parser_name_or_string(p, &a->name);
    return 0;
}

/* Reads a value.  A bare word (utf8mb4, ON) is text and DEFAULT is itself, if
 * nothing but a comma follows; else the value is an expression, as in a
 * SELECT, and the parser goes back to read it. */
static int
parse_value(struct parser *p, struct assignment *a)
{
    struct parser saved = *p;
    enum token_kind kind = p->token.kind;
    bool expression = token_is_any(&p->token, "NULL TRUE FALSE") ||
                      (a->target == ASSIGN_USER && kind == TOKEN_WORD);

    if (!expression && (kind == TOKEN_WORD || kind == TOKEN_STRING)) {
        a->kind =
            token_is(&p->token, "DEFAULT") ? VALUE_IS_DEFAULT : VALUE_IS_TEXT;
        if (parser_decode(p, &a->text) != 0)
            return -1;
        if (parser_done(p) || token_is_operator(&p->token, ","))
            return 0;
        *p = saved;
    }
    a->kind = VALUE_IS_EXPRESSION;
    return tree_parse(p, TREE_EXPRESSIONS, true, &a->expression);
}

static int
parse_variable_assignment(struct parser *p, struct assignment *a)
{
    a->target = ASSIGN_VARIABLE;
    if (p->token.kind == TOKEN_SYSTEM) {
        token_variable(&p->token, &a->scope, &a->name);
        parser_advance(p);
    } else if (p->token.kind == TOKEN_USER) {
        a->target = ASSIGN_USER;
        if (parser_decode(p, &a->name) != 0)
            return -1;
    } else if (parser_name(p, &a->name) != 0) {
        return -1;
    }
    if (!parser_accept_operator(p, "=") && !parser_accept_operator(p, ":="))
        return parser_fail(p);
    return parse_value(p, a);
}

static bool
at_assignment(const struct parser *p)
{
    struct lexer ahead = p->lexer;
    struct token next = lexer_next(&ahead);

    return token_is_operator(&next, "=") || token_is_operator(&next, ":=");
}

static int
parse_assignment(struct parser *p, struct assignment *a,
                 enum variable_scope scope)
{
    a->scope = scope;
    if (at_assignment(p))
        return parse_variable_assignment(p, a);
    if (parser_accept(p, "NAMES"))
        return parse_names(p, a, true);
    if (parser_accept(p, "CHARSET"))
        return parse_names(p, a, false);
    if (parser_accept(p, "CHARACTER"))
        return parser_expect(p, "SET") != 0 ? -1 : parse_names(p, a, false);
    return parse_variable_assignment(p, a);
}

/* SESSION, LOCAL or GLOBAL applies only to the name behind it. */
static enum variable_scope
parse_scope(struct parser *p)
{
    if (at_assignment(p))
        return SCOPE_DEFAULT;
    if (parser_accept(p, "GLOBAL"))
        return SCOPE_GLOBAL;
    if (parser_accept(p, "SESSION") || parser_accept(p, "LOCAL"))
        return SCOPE_SESSION;
    return SCOPE_DEFAULT;
}

/* SET PASSWORD [FOR user] = ... is refused as a change. */
static int
refuse_password(struct parser *p)
{
    error_set(p->err, ER_READ_ONLY,
              "The heapwire server is running with the --read-only option so "
              "it cannot execute this statement; accounts are in its "
              "configuration file, and heapwire-passwd makes passwords for it");
    return -1;
}

/* Refuses what MySQL can set and heapwire has not. */
static int
refuse_set(struct parser *p)
{
    bool persists = token_is_any(&p->token, "PERSIST PERSIST_ONLY");

    error_set(p->err, ER_NOT_SUPPORTED,
              "This version of heapwire doesn't yet support 'SET %.*s': %s",
              (int)p->token.text.size, p->token.text.data,
              persists ? "heapwire.ini has what lasts"
                       : "there are no roles and no resource groups");
    return -1;
}

int
parse_set(struct parser *p, struct sql_statement *out)
{
    struct assignment **tail = &out->set, *a;
    enum variable_scope scope;
    size_t count = 0;

    out->kind = STATEMENT_SET;
    parser_advance(p);
    if (!at_assignment(p) && parser_accept(p, "STATEMENT"))
        return parse_set_statement(p, out);
    do {
        scope = parse_scope(p);
        /* A variable may be called transaction or password: only "=" behind it
         * tells. */
        if (count == 0 && !at_assignment(p) && parser_accept(p, "TRANSACTION"))
            return parse_set_transaction(p, out, scope);
        if (count == 0 && token_is(&p->token, "PASSWORD"))
            return refuse_password(p);
        if (!at_assignment(p) &&
            (token_is_any(&p->token, "PERSIST PERSIST_ONLY ROLE RESOURCE") ||
             (token_is(&p->token, "DEFAULT") &&
              token_is(parser_ahead(p), "ROLE"))))
            return refuse_set(p);
        if (count++ == ASSIGNMENTS_MAX)
            return parser_fail_many(p, "assignments", ASSIGNMENTS_MAX, "SET");
        a = add_assignment(p, &tail);
        if (!a || parse_assignment(p, a, scope) != 0)
            return -1;
    } while (parser_accept_operator(p, ","));
    return 0;
}
