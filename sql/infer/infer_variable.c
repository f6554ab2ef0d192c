/*
 * infer_variable.c - types of known values: variables and parameters.
 *
 * @x has the type of the session's value, or of an @x := y to its left.
 */
#include <strings.h>

#include "inference.h"
#include "sql_session.h"
#include "variables.h"

struct result_type
infer_value(const struct value *value)
{
    struct result_type out;

    switch (value->type) {
    case VALUE_INT:
        return result_type_of(COLUMN_BIGINT);
    case VALUE_DOUBLE:
        return result_type_of(COLUMN_DOUBLE);
    case VALUE_BLOB:
        out = result_type_of(COLUMN_BLOB);
        break;
    default:
        out = result_type_of(COLUMN_TEXT);
        break;
    }
    if (value->size > out.width)
        out.width = (uint32_t)value->size;
    return out;
}

struct result_type
infer_system_variable(const struct inference *p, const struct token *token)
{
    const struct variable *variable;
    enum variable_scope scope;
    char room[VARIABLE_ROOM];
    struct value value;
    struct span name;

    token_variable(token, &scope, &name);
    variable = variable_find(name, NULL);
    if (!variable)
        return result_type_of(COLUMN_TEXT);
    variable_get(p->job->session, variable, scope, room, &value);
    return infer_value(&value);
}

/* The assignment to name so far, or NULL. */
static struct assigned *
find(const struct inference *p, struct span name)
{
    struct assigned *a = p->assigned;

    while (a && (a->name.size != name.size ||
                 strncasecmp(a->name.data, name.data, name.size) != 0))
        a = a->next;
    return a;
}

/* Records the type assigned to name.  Names past a session's limit are left
 * out. */
static void
note(struct inference *p, struct span name, struct result_type type)
{
    struct assigned *a = find(p, name);

    if (a) {
        a->type = result_type_widened(a->type, type);
        return;
    }
    if (p->assigned_count == SESSION_VALUES_MAX)
        return;
    a = inference_alloc(p, sizeof(*a));
    if (!a)
        return;
    *a = (struct assigned){p->assigned, name, type};
    p->assigned = a;
    p->assigned_count++;
}

struct result_type
infer_user_variable(struct inference *p)
{
    const struct token *token = &inference_here(p)->token;
    struct span name = token->text;
    const struct session_value *setting;
    const struct assigned *assigned;
    struct result_type out;

    if (token_decode(token, p->job->arena, &name) != 0) {
        p->no_memory = p->lost = true;
        return result_type_of(COLUMN_TEXT);
    }
    p->at++;
    if (inference_accept_operator(p, ":=")) {
        out = infer_expression(p);
        note(p, name, out);
        return out;
    }
    setting = session_value_find(p->job->session, NULL, name);
    assigned = find(p, name);
    out = setting ? infer_value(&setting->value) : result_type_of(COLUMN_TEXT);
    if (!assigned || assigned->type.type == COLUMN_NULL)
        return out;
    return setting ? result_type_widened(out, assigned->type) : assigned->type;
}
