/* script_resolve.c - names of classes and methods, and what exists instead. */
#include "script_parser.h"

#include <string.h>

#include "errors.h"

enum { NAME_SHOWN = 64 }; /* bytes of an unknown name in its error */

static size_t
shown(struct span name)
{
    return name.size < NAME_SHOWN ? name.size : NAME_SHOWN;
}

const char *
script_class(struct span name)
{
    for (size_t i = 0; i < script_method_count; i++)
        if (span_is(name, script_methods[i].class_name))
            return script_methods[i].class_name;
    return NULL;
}

/* "HeapProf, System": every class once, as the table has them. */
static void
list_classes(struct buffer *out)
{
    for (size_t i = 0; i < script_method_count; i++) {
        const char *name = script_methods[i].class_name;

        if (i > 0 && strcmp(name, script_methods[i - 1].class_name) == 0)
            continue;
        buffer_format(out, "%s%s", i ? ", " : "", name);
    }
}

static void
list_methods(struct buffer *out, const char *class_name, bool is_static)
{
    bool any = false;

    for (size_t i = 0; i < script_method_count; i++) {
        const struct script_method *m = &script_methods[i];

        if (strcmp(m->class_name, class_name) != 0 || m->is_static != is_static)
            continue;
        buffer_format(out, "%s%s(%s)", any ? ", " : "", m->name,
                      m->arity_max ? "_" : "");
        any = true;
    }
    if (!any)
        buffer_text(out, "no methods");
}

void
script_unknown_name(struct script_parser *p)
{
    static const char *const wren[] = {
        "class",     "if",    "else",     "for",   "while",  "return",
        "import",    "is",    "this",     "super", "static", "foreign",
        "construct", "break", "continue", "as",    "in"};
    struct buffer known;

    for (size_t i = 0; i < sizeof(wren) / sizeof(wren[0]); i++)
        if (span_is(p->token.text, wren[i])) {
            fail_at(p, p->token.offset,
                    "'%s' is not part of this language: calls and variables "
                    "only",
                    wren[i]);
            return;
        }
    buffer_init(&known, ERROR_TEXT_MAX);
    list_classes(&known);
    fail_at(p, p->token.offset, "unknown name '%.*s'; the classes are %s",
            (int)shown(p->token.text), p->token.text.data,
            known.data ? known.data : "");
    buffer_fini(&known);
}

const char *
script_describe(const struct node *node)
{
    static const char *const names[] = {
        [SCRIPT_NULL] = "Null",     [SCRIPT_BOOL] = "Bool",
        [SCRIPT_NUMBER] = "Num",    [SCRIPT_STRING] = "String",
        [SCRIPT_CLASS] = "a class", [SCRIPT_INSTANCE] = "an instance"};

    return node->class_name ? node->class_name : names[node->type];
}

static int
fail_unknown_method(struct script_parser *p, const struct node *receiver,
                    const struct script_token *name, size_t arguments)
{
    struct buffer known;

    buffer_init(&known, ERROR_TEXT_MAX);
    list_methods(&known, receiver->class_name ? receiver->class_name : "",
                 receiver->type == SCRIPT_CLASS);
    fail_at(p, name->offset,
            "%s%s has no method '%.*s' with %zu argument%s; it has %s",
            receiver->type == SCRIPT_INSTANCE ? "an instance of " : "",
            script_describe(receiver), (int)shown(name->text), name->text.data,
            arguments, arguments == 1 ? "" : "s",
            known.data ? known.data : "no methods");
    buffer_fini(&known);
    return -1;
}

int
script_resolve(struct script_parser *p, struct node *call,
               const struct script_token *name)
{
    const struct node *receiver = call->left;
    const struct script_method *m = NULL;

    for (size_t i = 0; i < script_method_count && receiver->class_name; i++) {
        const struct script_method *row = &script_methods[i];

        if (strcmp(row->class_name, receiver->class_name) == 0 &&
            row->is_static == (receiver->type == SCRIPT_CLASS) &&
            span_is(name->text, row->name) &&
            call->argument_count >= row->arity_min &&
            call->argument_count <= row->arity_max)
            m = row;
    }
    if (!m)
        return fail_unknown_method(p, receiver, name, call->argument_count);
    for (size_t i = 0; i < call->argument_count; i++)
        if (m->takes != SCRIPT_ANY && call->arguments[i]->type != m->takes)
            return fail_at(p, call->arguments[i]->offset,
                           "%s takes a String, not %s", m->name,
                           script_describe(call->arguments[i]));
    call->method = m;
    call->type = m->returns;
    call->class_name = m->returns == SCRIPT_INSTANCE ? m->class_name : NULL;
    if (m->returns != SCRIPT_ANY)
        return 0;
    call->type = SCRIPT_NULL;
    if (call->argument_count > 0) {
        call->type = call->arguments[0]->type;
        call->class_name = call->arguments[0]->class_name;
    }
    return 0;
}
