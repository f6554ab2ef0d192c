/* types.c - see types.h: walks a query, FROM before the list. */
#include "types.h"

#include "type_rules.h"
#include "type_scope.h"

static struct shape of_query(struct type_scope *s,
                             const struct tree_query *query,
                             struct known_cte *cte);

static struct result_type expression(struct type_scope *s,
                                     const struct node *node);

/* ---- expressions ---- */

/* Takes what holds each value behind THEN or ELSE. */
static struct result_type
of_case(struct type_scope *s, const struct node *node)
{
    struct result_type out = result_type_of(COLUMN_NULL), type;
    size_t i = node->has_operand ? 0 : 1; /* WHEN is odd, THEN is even */

    for (const struct node *n = node->first; n; n = n->next, i++) {
        type = expression(s, n);
        if ((i > 0 && i % 2 == 0) || (!n->next && node->has_else))
            out = result_type_widened(out, type);
    }
    return out;
}

static struct result_type
of_value_query(struct type_scope *s, const struct tree_query *query)
{
    struct shape shape = of_query(s, query, NULL);

    return shape.count > 0 ? shape.columns[0].type
                           : result_type_of(COLUMN_TEXT);
}

static struct result_type
expression(struct type_scope *s, const struct node *node)
{
    struct operands given = operands_none();

    switch (node->kind) {
    case NODE_COLUMN:
        return scope_column(s, node);
    case NODE_PARAMETER:
        return scope_parameter(s, node->parameter);
    case NODE_SYSTEM:
        return scope_system_variable(s, node);
    case NODE_USER:
        return scope_user_variable(s, node->name);
    case NODE_QUERY:
        return of_value_query(s, node->query);
    case NODE_CASE:
        return of_case(s, node);
    default:
        break;
    }
    for (const struct node *n = node->first; n; n = n->next)
        operands_add(&given, expression(s, n));
    if (node->kind != NODE_ASSIGN)
        return type_of_node(node, &given);
    scope_assign(s, node->name, given.first);
    return given.first;
}

/* ---- SELECT ---- */

static void
add_tables(struct type_scope *s, struct sources *own,
           const struct tree_table *table)
{
    struct sources *outer = s->sources;

    for (; table; table = table->next) {
        struct shape shape;

        if (table->inner) {
            add_tables(s, own, table->inner);
            continue;
        }
        if (table->query) { /* it sees no tables beside it */
            shape = of_query(s, table->query, NULL);
            shape_rename(&shape, table->columns);
        }
        s->sources = own;
        scope_add_table(s, table, table->query ? &shape : NULL);
        s->sources = outer;
    }
}

/* VALUES: columns without names. */
static void
add_rows(struct type_scope *s, struct shape *shape, const struct node *rows)
{
    static const struct span unnamed = {"", 0};

    for (const struct node *row = rows; row; row = row->next) {
        struct shape cells = {0};

        for (const struct node *n = row->first; n; n = n->next)
            shape_add(s, row == rows ? shape : &cells, unnamed,
                      expression(s, n));
        shape_widen(shape, &cells);
    }
}

static struct shape
of_select(struct type_scope *s, const struct tree_select *select)
{
    struct sources sources = {.outer = s->sources, .last = &sources.first};
    struct shape shape = {0};

    add_tables(s, &sources, select->from);
    s->sources = &sources;
    for (const struct tree_item *i = select->items; i; i = i->next)
        if (i->value->kind == NODE_STAR)
            scope_star(s, i->value->of, &shape);
        else
            shape_add(s, &shape, i->label, expression(s, i->value));
    add_rows(s, &shape, select->rows);
    s->sources = sources.outer;
    return shape;
}

/* What the other parts of a recursive WITH see is the first one's shape, which
 * cte takes. */
static struct shape
of_query(struct type_scope *s, const struct tree_query *query,
         struct known_cte *cte)
{
    struct known_cte *outer = s->ctes;
    struct shape shape = {0};

    for (const struct tree_cte *c = query->ctes; c; c = c->next) {
        struct known_cte *known = scope_add_cte(s, c);

        if (known)
            known->shape = of_query(s, c->query, known);
    }
    for (const struct tree_arm *a = query->arms; a; a = a->next) {
        struct shape part =
            a->select ? of_select(s, a->select) : of_query(s, a->query, NULL);

        if (a != query->arms) {
            shape_widen(&shape, &part);
            continue;
        }
        shape = part;
        if (!cte)
            continue;
        shape_rename(&shape, cte->cte->columns);
        cte->shape = shape;
    }
    s->ctes = outer;
    return shape;
}

/* ---- all ---- */

/* Finds a column's type by its label: NATURAL JOIN and USING give fewer columns
 * than the tables have, so positions differ. */
static struct result_type
by_name(const struct shape *shape, const char *name)
{
    for (size_t i = 0; i < shape->count; i++)
        if (span_is_nocase(shape->columns[i].name, name))
            return shape->columns[i].type;
    return result_type_unknown();
}

int
types_find(const struct typing *typing, const char *const *names, size_t count,
           struct result_type *out)
{
    struct type_scope s = {.job = typing};
    struct shape shape = {0};

    if (typing->query)
        shape = of_query(&s, typing->query, NULL);
    for (size_t i = 0; i < count; i++)
        out[i] = shape.count == count ? shape.columns[i].type
                                      : by_name(&shape, names[i]);
    return s.no_memory ? -1 : 0;
}
