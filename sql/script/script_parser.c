/*
 * script_parser.c - parses a script into a tree in which every type, method
 * and argument count is found and checked.
 *
 * A script runs on production nodes, and half of a script that failed at a
 * typing error would leave profiling switched on.  So the language has static
 * types without declarations (a value's type follows from the method that
 * returns it), and everything that can be wrong is found here, before the
 * first call.  Pure calls on known values run at once, which also checks their
 * arguments.  Recursive descent, one token ahead; depth and counts are
 * bounded.  It runs on the event loop.
 */
#include "script_tree.h"

#include <string.h>

#include "arena.h"
#include "errors.h"
#include "observe.h"
#include "script_methods.h"
#include "sql.h"

static struct script_node *parse_expression(struct script_parser *p);

static int
advance_script_token(struct script_parser *p)
{
    return script_lex(&p->lexer, &p->token, p->err);
}

static bool
is_at_punctuation(const struct script_parser *p, char c)
{
    return p->token.kind == SCRIPT_TOKEN_PUNCTUATION &&
           p->token.text.data[0] == c;
}

/* Skips newlines where an expression cannot end. */
static int
skip_newlines(struct script_parser *p)
{
    while (p->token.kind == SCRIPT_TOKEN_BREAK && !p->token.semicolon)
        if (advance_script_token(p) != 0)
            return -1;
    return 0;
}

/* Consumes c and the newlines behind it. */
static int
advance_over(struct script_parser *p, char c)
{
    if (!is_at_punctuation(p, c))
        return fail_at(p, p->token.offset, "'%c' is expected here", c);
    return advance_script_token(p) != 0 || skip_newlines(p) != 0 ? -1 : 0;
}

/* Skips newlines if a dot follows, which continues a method chain; else goes
 * back, since a newline ends the statement. */
static int
skip_newlines_before_dot(struct script_parser *p)
{
    struct script_lexer lexer = p->lexer;
    struct script_token token = p->token;

    if (skip_newlines(p) != 0)
        return -1;
    if (!is_at_punctuation(p, '.')) {
        p->lexer = lexer;
        p->token = token;
    }
    return 0;
}

static struct script_node *
new_node(struct script_parser *p, enum script_node_kind kind, size_t offset)
{
    struct script_node *node = arena_alloc(p->script->arena, sizeof(*node));

    if (!node) {
        error_memory(p->err, "the script");
        return NULL;
    }
    node->kind = kind;
    node->offset = offset;
    node->depth = 1;
    return node;
}

/* Bounds the tree's depth, which the runner's recursion follows. */
static int
put_above(struct script_parser *p, struct script_node *node,
          const struct script_node *part)
{
    if (part->depth + 1 > node->depth)
        node->depth = part->depth + 1;
    if (node->depth <= SCRIPT_DEPTH_MAX)
        return 0;
    return fail_at(p, node->offset, "this expression has more than %d levels",
                   SCRIPT_DEPTH_MAX);
}

static struct script_node *
parse_script_literal(struct script_parser *p, enum script_type type)
{
    struct script_node *node =
        new_node(p, SCRIPT_NODE_LITERAL, p->token.offset);

    if (!node)
        return NULL;
    node->type = node->value.type = type;
    node->value.text = p->token.text;
    node->value.number = p->token.number;
    node->done = true;
    return advance_script_token(p) == 0 ? node : NULL;
}

static struct script_node *
parse_script_name(struct script_parser *p)
{
    const char *class_name = script_class(p->token.text);
    struct script_node *node;

    if (span_is(p->token.text, "null"))
        return parse_script_literal(p, SCRIPT_NULL);
    if (span_is(p->token.text, "true") || span_is(p->token.text, "false")) {
        bool truth = span_is(p->token.text, "true");

        node = parse_script_literal(p, SCRIPT_BOOL);
        if (node)
            node->value.boolean = truth;
        return node;
    }
    for (struct script_variable *v = p->variables; v; v = v->next) {
        if (v->name.size != p->token.text.size ||
            memcmp(v->name.data, p->token.text.data, v->name.size) != 0)
            continue;
        /* A variable is another name for the node of its definition, which
         * runs once. */
        node = new_node(p, SCRIPT_NODE_VARIABLE, p->token.offset);
        if (!node)
            return NULL;
        node->left = v->value;
        node->type = v->value->type;
        node->class_name = v->value->class_name;
        node->done = v->value->done;
        node->value = v->value->value;
        return advance_script_token(p) == 0 ? node : NULL;
    }
    if (!class_name) {
        script_unknown_name(p);
        return NULL;
    }
    node = parse_script_literal(p, SCRIPT_CLASS);
    if (node)
        node->class_name = node->value.class_name = class_name;
    return node;
}

static struct script_node *
parse_primary(struct script_parser *p)
{
    size_t offset = p->token.offset;
    struct script_node *node;

    switch (p->token.kind) {
    case SCRIPT_TOKEN_TEXT:
        return parse_script_literal(p, SCRIPT_STRING);
    case SCRIPT_TOKEN_NUMBER:
        return parse_script_literal(p, SCRIPT_NUMBER);
    case SCRIPT_TOKEN_NAME:
        return parse_script_name(p);
    default:
        break;
    }
    /* There is no arithmetic, so a minus can only be a number's sign. */
    if (is_at_punctuation(p, '-')) {
        if (advance_script_token(p) != 0)
            return NULL;
        if (p->token.kind != SCRIPT_TOKEN_NUMBER) {
            fail_at(p, p->token.offset, "a number is expected here");
            return NULL;
        }
        p->token.number = -p->token.number;
        p->token.offset = offset;
        return parse_script_literal(p, SCRIPT_NUMBER);
    }
    if (is_at_punctuation(p, '(')) {
        if (advance_over(p, '(') != 0)
            return NULL;
        node = parse_expression(p);
        if (!node || skip_newlines(p) != 0)
            return NULL;
        if (is_at_punctuation(p, ')'))
            return advance_script_token(p) == 0 ? node : NULL;
        fail_at(p, p->token.offset, "')' is expected here");
        return NULL;
    }
    fail_at(p, p->token.offset, "an expression is expected here");
    return NULL;
}

/* Reads arguments, from behind the opening parenthesis to behind the closing
 * one. */
static int
parse_arguments(struct script_parser *p, struct script_node *call)
{
    while (!is_at_punctuation(p, ')')) {
        struct script_node *argument = NULL;

        if (call->argument_count == SCRIPT_ARGUMENTS_MAX)
            return fail_at(p, p->token.offset, "more than %d arguments",
                           SCRIPT_ARGUMENTS_MAX);
        argument = parse_expression(p);
        if (!argument || skip_newlines(p) != 0)
            return -1;
        if (put_above(p, call, argument) != 0)
            return -1;
        call->arguments[call->argument_count++] = argument;
        if (is_at_punctuation(p, ')'))
            break;
        if (!is_at_punctuation(p, ','))
            return fail_at(p, p->token.offset, "',' or ')' is expected here");
        if (advance_over(p, ',') != 0)
            return -1;
        if (is_at_punctuation(p, ')'))
            return fail_at(p, p->token.offset, "an argument is expected here");
    }
    return advance_script_token(p);
}

/* Checks that a script that prints bytes prints nothing else. */
static int
check_print(struct script_parser *p, const struct script_node *call)
{
    struct script *script = p->script;

    if (call->method.returns != SCRIPT_ANY)
        return 0;
    /* Bytes are one value of the result; lines of text beside them would make
     * them useless. */
    script->prints++;
    script->prints_bytes |= call->type == SCRIPT_BYTES;
    if (!script->prints_bytes || script->prints == 1)
        return 0;
    return fail_at(p, call->offset,
                   "a script that prints bytes can print nothing else");
}

/* Is the call pure, and are all its values known? */
static bool
is_constant_call(const struct script_node *call)
{
    bool known = call->method.kind == SCRIPT_PURE && call->left->done;

    for (size_t i = 0; i < call->argument_count; i++)
        known &= call->arguments[i]->done;
    return known;
}

/* Runs a pure call now, which reports wrong arguments before anything else
 * runs. */
static int
run_known(struct script_parser *p, struct script_node *call)
{
    static const struct script_host no_host;
    if (script_call_node(p->script, &no_host, call, p->err) == STEP_DONE) {
        call->done = true;
        return 0;
    }
    if (!p->script->has_position)
        script_add_position(p->script->text, call->offset, p->err);
    return -1;
}

/* How long the call samples: its first number, which is a literal, or a
 * variable of one.  A computed number does not exist in the language. */
static uint32_t
seconds_of(const struct script_node *call)
{
    const struct script_node *number = NULL;

    for (size_t i = 0; i < call->argument_count && !number; i++)
        if (call->arguments[i]->type == SCRIPT_NUMBER)
            number = call->arguments[i];
    while (number && number->kind == SCRIPT_NODE_VARIABLE)
        number = number->left;
    return cpuprof_seconds(&call->method, number ? &number->value : NULL);
}

/* Adds how long the call samples.  Such a call is not counted as slow, nor is
 * a view of its profile: it loads no node as a dump would, so a fan-out need
 * not take the nodes in turn. */
static int
count_call(struct script_parser *p, const struct script_node *call)
{
    const struct script_node *maker = call;
    struct script *script = p->script;

    script->seconds += seconds_of(call);
    if (script->seconds > OBSERVE_SECONDS_MAX)
        return fail_at(p, call->offset,
                       "a script samples for %d seconds at most, and here for "
                       "%u",
                       OBSERVE_SECONDS_MAX, script->seconds);
    while (maker && seconds_of(maker) == 0)
        maker = maker->left;
    script->slow |= call->method.kind == SCRIPT_SLOW && !maker;
    return 0;
}

/* Reads .name(arguments) of receiver; the token is the dot. */
static struct script_node *
parse_method_call(struct script_parser *p, struct script_node *receiver)
{
    struct script_token name;
    struct script_node *call;

    if (advance_over(p, '.') != 0)
        return NULL;
    name = p->token;
    if (name.kind != SCRIPT_TOKEN_NAME) {
        fail_at(p, name.offset, "a method's name is expected here");
        return NULL;
    }
    if (advance_script_token(p) != 0)
        return NULL;
    if (!is_at_punctuation(p, '(')) {
        fail_at(
            p, p->token.offset, "a method is called with parentheses: %.*s()",
            (int)(name.text.size < 64 ? name.text.size : 64), name.text.data);
        return NULL;
    }
    call = new_node(p, SCRIPT_NODE_CALL, name.offset);
    if (!call || put_above(p, call, receiver) != 0)
        return NULL;
    call->left = receiver;
    call->arguments = arena_alloc(
        p->script->arena, SCRIPT_ARGUMENTS_MAX * sizeof(struct script_node *));
    if (!call->arguments) {
        error_memory(p->err, "the script");
        return NULL;
    }
    /* Arguments have their types before the method is looked up by them. */
    if (advance_over(p, '(') != 0 || parse_arguments(p, call) != 0 ||
        script_resolve(p, call, &name) != 0 || check_print(p, call) != 0 ||
        (is_constant_call(call) && run_known(p, call) != 0))
        return NULL;
    /* From here on script_free() releases what the call holds. */
    call->next_call = p->script->calls;
    p->script->calls = call;
    if (call->method.kind > p->script->longest)
        p->script->longest = call->method.kind;
    p->script->switches_on |= call->method.call == heapprof_enable;
    p->script->tunes |= (call->method.privilege & PRIVILEGE_TUNE) != 0;
    return count_call(p, call) == 0 ? call : NULL;
}

static struct script_node *
parse_chain(struct script_parser *p)
{
    struct script_node *node = parse_primary(p);

    while (node) {
        if (skip_newlines_before_dot(p) != 0)
            return NULL;
        if (!is_at_punctuation(p, '.'))
            break;
        node = parse_method_call(p, node);
    }
    return node;
}

static struct script_node *
parse_joins(struct script_parser *p)
{
    struct script_node *left = parse_chain(p);

    while (left && is_at_punctuation(p, '+')) {
        struct script_node *join =
            new_node(p, SCRIPT_NODE_JOIN, p->token.offset);

        if (!join || advance_over(p, '+') != 0)
            return NULL;
        join->left = left;
        join->right = parse_chain(p);
        if (!join->right || put_above(p, join, left) != 0 ||
            put_above(p, join, join->right) != 0)
            return NULL;
        if (left->type != SCRIPT_STRING || join->right->type != SCRIPT_STRING) {
            fail_at(p, join->offset, "+ joins two Strings, not %s and %s",
                    script_describe(left), script_describe(join->right));
            return NULL;
        }
        join->type = SCRIPT_STRING;
        left = join;
    }
    return left;
}

static struct script_node *
parse_expression(struct script_parser *p)
{
    struct script_node *node = NULL;

    if (p->depth == SCRIPT_DEPTH_MAX) {
        fail_at(p, p->token.offset, "nested deeper than %d", SCRIPT_DEPTH_MAX);
        return NULL;
    }
    p->depth++;
    node = parse_joins(p);
    p->depth--;
    return node;
}

/* Reads var name = expression; the token is the name. */
static struct script_node *
parse_variable_definition(struct script_parser *p)
{
    struct script_variable *v = arena_alloc(p->script->arena, sizeof(*v));
    size_t offset = p->token.offset;

    if (!v) {
        error_memory(p->err, "the script");
        return NULL;
    }
    v->name = p->token.text;
    if (p->token.kind != SCRIPT_TOKEN_NAME) {
        fail_at(p, offset, "a variable's name is expected here");
        return NULL;
    }
    for (const struct script_variable *old = p->variables; old; old = old->next)
        if (old->name.size == v->name.size &&
            memcmp(old->name.data, v->name.data, v->name.size) == 0) {
            fail_at(p, offset, "this variable is defined already");
            return NULL;
        }
    if (script_class(v->name)) {
        fail_at(p, offset, "this is the name of a class");
        return NULL;
    }
    if (advance_script_token(p) != 0 || advance_over(p, '=') != 0)
        return NULL;
    v->value = parse_expression(p);
    if (!v->value)
        return NULL;
    v->next = p->variables;
    p->variables = v;
    return v->value;
}

static int
parse_statement(struct script_parser *p)
{
    struct script *script = p->script;
    struct script_node *node;

    if (script->statement_count == SCRIPT_STATEMENTS_MAX)
        return fail_at(p, p->token.offset, "more than %d statements",
                       SCRIPT_STATEMENTS_MAX);
    if (p->token.kind == SCRIPT_TOKEN_NAME && span_is(p->token.text, "var"))
        node =
            advance_script_token(p) == 0 ? parse_variable_definition(p) : NULL;
    else
        node = parse_expression(p);
    if (!node)
        return -1;
    script->statements[script->statement_count++] = node;
    if (p->token.kind != SCRIPT_TOKEN_BREAK &&
        p->token.kind != SCRIPT_TOKEN_END)
        return fail_at(p, p->token.offset,
                       "the end of the statement is expected here");
    return 0;
}

static int
parse_statements(struct script_parser *p)
{
    if (advance_script_token(p) != 0)
        return -1;
    while (p->token.kind != SCRIPT_TOKEN_END) {
        if (p->token.kind == SCRIPT_TOKEN_BREAK) {
            if (advance_script_token(p) != 0)
                return -1;
            continue;
        }
        if (parse_statement(p) != 0)
            return -1;
    }
    return 0;
}

struct script *
script_parse(struct span text, struct arena *arena, struct error *err)
{
    struct script *script = arena_alloc(arena, sizeof(*script));
    struct script_parser p = {.script = script, .err = err};

    if (!script) {
        error_memory(err, "the script");
        return NULL;
    }
    script->text = text;
    script->arena = arena;
    buffer_init(&script->output, SCRIPT_OUTPUT_MAX);
    if (text.size > SCRIPT_SIZE_MAX) {
        script_error(text, 0, err, "the script is longer than %d bytes",
                     SCRIPT_SIZE_MAX);
        return NULL;
    }
    p.lexer.text = text;
    p.lexer.arena = arena;
    if (parse_statements(&p) != 0)
        return NULL;
    return script;
}
