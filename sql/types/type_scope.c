/* type_scope.c - see type_scope.h. */
#include "type_scope.h"

#include <string.h>

#include "arena.h"
#include "catalog.h"
#include "cursor.h"
#include "kind.h"
#include "sql_session.h"
#include "variables.h"

void *
scope_alloc(struct type_scope *s, size_t size)
{
    void *room = arena_alloc(s->job->arena, size);

    s->no_memory |= !room;
    return room;
}

/* ---- shapes ---- */

/* SQLite refuses what has more columns. */
void
shape_add(struct type_scope *s, struct shape *shape, struct span name,
          struct result_type type)
{
    size_t capacity = shape->capacity ? shape->capacity * 2 : 8;
    struct shape_column *grown;

    if (shape->count == CURSOR_COLUMNS_MAX)
        return;
    if (shape->count == shape->capacity) {
        grown = scope_alloc(s, capacity * sizeof(*grown));
        if (!grown)
            return;
        if (shape->count)
            memcpy(grown, shape->columns, shape->count * sizeof(*grown));
        shape->columns = grown;
        shape->capacity = capacity;
    }
    shape->columns[shape->count].name = name;
    shape->columns[shape->count++].type = type;
}

void
shape_rename(struct shape *shape, const struct tree_name *names)
{
    for (size_t i = 0; i < shape->count && names; i++, names = names->next)
        shape->columns[i].name = names->name;
}

void
shape_widen(struct shape *shape, const struct shape *other)
{
    for (size_t i = 0; i < shape->count && i < other->count; i++)
        shape->columns[i].type =
            result_type_widened(shape->columns[i].type, other->columns[i].type);
}

/* ---- tables ---- */

void
scope_add_table(struct type_scope *s, const struct tree_table *table,
                const struct shape *shape)
{
    struct source *source = scope_alloc(s, sizeof(*source));
    const struct known_cte *known = s->ctes;

    if (!source)
        return;
    source->name = table->alias.size > 0 ? table->alias : table->name;
    source->table = table->table;
    while (known && known->cte != table->cte)
        known = known->next;
    if (shape)
        source->shape = *shape;
    else if (table->cte && known)
        source->shape = known->shape;
    *s->sources->last = source;
    s->sources->last = &source->next;
}

struct known_cte *
scope_add_cte(struct type_scope *s, const struct tree_cte *cte)
{
    struct known_cte *known = scope_alloc(s, sizeof(*known));

    if (!known)
        return NULL;
    known->cte = cte;
    known->next = s->ctes;
    s->ctes = known;
    return known;
}

static size_t
source_columns(const struct source *source)
{
    return source->table ? source->table->column_count : source->shape.count;
}

static struct shape_column
source_column(const struct source *source, size_t i)
{
    const struct catalog_column *column;
    struct shape_column out;

    if (!source->table)
        return source->shape.columns[i];
    column = &source->table->columns[i];
    out.name = (struct span){column->name, strlen(column->name)};
    out.type = result_type_of(column->type->type);
    out.type.width = column->type->width;
    out.type.flags = catalog_flags(source->table, i);
    return out;
}

void
scope_star(struct type_scope *s, const struct tree_qualifier *of,
           struct shape *out)
{
    for (const struct source *t = s->sources->first; t; t = t->next)
        for (size_t i = 0; (!of || span_same_nocase(t->name, of->table)) &&
                           i < source_columns(t);
             i++) {
            struct shape_column column = source_column(t, i);

            shape_add(s, out, column.name, column.type);
        }
}

static const struct shape_column *
find_label(const struct shape *labels, struct span name)
{
    for (size_t i = 0; labels && i < labels->count; i++)
        if (span_same_nocase(labels->columns[i].name, name))
            return &labels->columns[i];
    return NULL;
}

/* As SQLite finds it: a SELECT's tables come before its labels. */
struct result_type
scope_column(const struct type_scope *s, const struct node *node)
{
    const struct shape_column *label;

    for (const struct sources *in = s->sources; in; in = in->outer) {
        for (const struct source *t = in->first; t; t = t->next) {
            if (node->of && !span_same_nocase(t->name, node->of->table))
                continue;
            for (size_t i = 0; i < source_columns(t); i++) {
                struct shape_column column = source_column(t, i);

                if (span_same_nocase(column.name, node->name))
                    return column.type;
            }
        }
        label = node->of ? NULL : find_label(in->labels, node->name);
        if (label)
            return label->type;
    }
    return result_type_unknown();
}

/* ---- variables and parameters ---- */

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
scope_parameter(const struct type_scope *s, size_t i)
{
    return s->job->parameters ? of_value(&s->job->parameters[i])
                              : result_type_of(COLUMN_TEXT);
}

struct result_type
scope_system_variable(const struct type_scope *s, const struct node *node)
{
    char room[VARIABLE_ROOM];
    struct value value;

    variable_get(s->job->session, node->variable, node->scope, room, &value);
    return of_value(&value);
}

static struct assigned *
find_assigned(const struct type_scope *s, struct span name)
{
    struct assigned *a = s->assigned;

    while (a && !span_same_nocase(a->name, name))
        a = a->next;
    return a;
}

struct result_type
scope_user_variable(const struct type_scope *s, struct span name)
{
    const struct session_value *setting =
        session_value_find(s->job->session, NULL, name);
    const struct assigned *assigned = find_assigned(s, name);
    struct result_type out =
        setting ? of_value(&setting->value) : result_type_of(COLUMN_TEXT);

    if (!assigned || assigned->type.type == COLUMN_NULL)
        return out;
    return setting ? result_type_widened(out, assigned->type) : assigned->type;
}

/* Names past a session's limit are left out. */
void
scope_assign(struct type_scope *s, struct span name, struct result_type type)
{
    struct assigned *a = find_assigned(s, name);

    if (a) {
        a->type = result_type_widened(a->type, type);
        return;
    }
    if (s->assigned_count == SESSION_VALUES_MAX)
        return;
    a = scope_alloc(s, sizeof(*a));
    if (!a)
        return;
    *a = (struct assigned){s->assigned, name, type};
    s->assigned = a;
    s->assigned_count++;
}
