/* type_values.c - see type_values.h. */
#include "type_values.h"

#include "arena.h"
#include "cursor.h"
#include "kind.h"
#include "sql_session.h"
#include "variables.h"

void *
type_alloc(struct type_values *v, size_t size)
{
    void *room = arena_alloc(v->job->arena, size);

    v->no_memory |= !room;
    return room;
}

static struct result_type
of_value(const struct value *value)
{
    struct result_type out;

    if (value->kind == KIND_UNSIGNED)
        return result_type_unsigned();
    if (value->kind >= KIND_EXACT)
        return result_type_decimal(value->kind % (KIND_QUOTIENT - KIND_EXACT));
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
type_of_parameter(const struct type_values *v, size_t i)
{
    return v->job->parameters ? of_value(&v->job->parameters[i])
                              : result_type_of(COLUMN_TEXT);
}

struct result_type
type_of_system_variable(const struct type_values *v, const struct node *node)
{
    char room[VARIABLE_ROOM];
    struct value value;

    variable_get(v->job->session, node->variable, node->scope, room, &value);
    return of_value(&value);
}

static struct assigned *
find_assigned(const struct type_values *v, struct span name)
{
    struct assigned *a = v->assigned;

    while (a && !span_same_nocase(a->name, name))
        a = a->next;
    return a;
}

struct result_type
type_of_user_variable(const struct type_values *v, struct span name)
{
    const struct session_value *setting =
        session_value_find(v->job->session, NULL, name);
    const struct assigned *assigned = find_assigned(v, name);
    struct result_type out =
        setting ? of_value(&setting->value) : result_type_of(COLUMN_TEXT);

    if (!assigned || assigned->type.type == COLUMN_NULL)
        return out;
    return setting ? result_type_widened(out, assigned->type) : assigned->type;
}

/* Names past a session's limit are left out. */
void
type_assign(struct type_values *v, struct span name, struct result_type type)
{
    struct assigned *a = find_assigned(v, name);

    if (a) {
        a->type = result_type_widened(a->type, type);
        return;
    }
    if (v->assigned_count == SESSION_VALUES_MAX)
        return;
    a = type_alloc(v, sizeof(*a));
    if (!a)
        return;
    *a = (struct assigned){v->assigned, name, type};
    v->assigned = a;
    v->assigned_count++;
}
