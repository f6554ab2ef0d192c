/* types.c - see types.h: walks a query, FROM and the list before the rest. */
#include "types.h"

#include "type_rules.h"
#include "type_scope.h"

static struct shape of_query(struct type_scope *s, struct tree_query *query,
                             struct known_cte *cte);

static struct result_type expression(struct type_scope *s, struct node *node);

/* ---- expressions ---- */

/* Takes what holds each value behind THEN or ELSE. */
static struct result_type
of_case(struct type_scope *s, struct node *node)
{
    struct result_type out = result_type_of(COLUMN_NULL), type;
    size_t i = node->has_operand ? 0 : 1; /* WHEN is odd, THEN is even */

    for (struct node *n = node->first; n; n = n->next, i++) {
        type = expression(s, n);
        if ((i > 0 && i % 2 == 0) || (!n->next && node->has_else))
            out = result_type_widened(out, type);
    }
    return out;
}

static struct result_type
of_value_query(struct type_scope *s, struct tree_query *query)
{
    struct shape shape = of_query(s, query, NULL);

    return shape.count > 0 ? shape.columns[0].type
                           : result_type_of(COLUMN_TEXT);
}

static void
list(struct type_scope *s, struct node *first)
{
    for (struct node *n = first; n; n = n->next)
        expression(s, n);
}

static void
order_by(struct type_scope *s, struct tree_order *order)
{
    for (; order; order = order->next)
        expression(s, order->value);
}

static void
window(struct type_scope *s, struct tree_window *of)
{
    list(s, of->partition);
    order_by(s, of->order);
}

static struct result_type
of_operands(struct type_scope *s, struct node *node)
{
    struct operands given = operands_none();

    for (struct node *n = node->first; n; n = n->next)
        operands_add(&given, expression(s, n));
    if (node->kind == NODE_CALL) {
        order_by(s, node->call->order);
        if (node->call->over)
            window(s, node->call->over);
    }
    if (node->kind != NODE_ASSIGN)
        return type_of_node(node, &given);
    scope_assign(s, node->name, given.first);
    return given.first;
}

static struct result_type
find_type(struct type_scope *s, struct node *node)
{
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
    case NODE_EXISTS:
        of_value_query(s, node->query);
        return of_operands(s, node);
    case NODE_CASE:
        return of_case(s, node);
    default:
        return of_operands(s, node);
    }
}

static struct result_type
expression(struct type_scope *s, struct node *node)
{
    struct result_type type = find_type(s, node);

    node->type = (uint8_t)type.type;
    node->loose = type.loose;
    return type;
}

/* ---- SELECT ---- */

static void
add_tables(struct type_scope *s, struct sources *own, struct tree_table *table)
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

/* They see all tables. */
static void
conditions(struct type_scope *s, struct tree_table *table)
{
    for (; table; table = table->next) {
        conditions(s, table->inner);
        if (table->on)
            expression(s, table->on);
    }
}

/* VALUES: columns without names. */
static void
add_rows(struct type_scope *s, struct shape *shape, struct node *rows)
{
    static const struct span unnamed = {"", 0};

    for (struct node *row = rows; row; row = row->next) {
        struct shape cells = {0};

        for (struct node *n = row->first; n; n = n->next)
            shape_add(s, row == rows ? shape : &cells, unnamed,
                      expression(s, n));
        shape_widen(shape, &cells);
    }
}

/* What stands behind the list.  HAVING without groups sees the list alone, as
 * write_select.c writes it. */
static void
clauses(struct type_scope *s, struct sources *sources,
        const struct tree_select *select, struct tree_order *order)
{
    struct sources labels = {.outer = sources->outer,
                             .labels = sources->labels};

    if (select->where)
        expression(s, select->where);
    list(s, select->group);
    for (struct tree_window *w = select->windows; w; w = w->next)
        window(s, w);
    order_by(s, order);
    if (!select->having)
        return;
    if (select->filters_rows)
        s->sources = &labels;
    expression(s, select->having);
    s->sources = sources;
}

/* order: as select_alone() of write_select.c has it. */
static struct shape
of_select(struct type_scope *s, struct tree_select *select,
          struct tree_order *order)
{
    struct sources sources = {.outer = s->sources, .last = &sources.first};
    struct shape shape = {0};

    add_tables(s, &sources, select->from);
    s->sources = &sources;
    conditions(s, select->from);
    for (const struct tree_item *i = select->items; i; i = i->next)
        if (i->value->kind == NODE_STAR)
            scope_star(s, i->value->of, &shape);
        else
            shape_add(s, &shape, i->label, expression(s, i->value));
    add_rows(s, &shape, select->rows);
    sources.labels = &shape;
    clauses(s, &sources, select, order);
    s->sources = sources.outer;
    return shape;
}

/* ORDER BY of a UNION, which sees the first one's labels. */
static void
order_of_all(struct type_scope *s, struct tree_query *query,
             const struct shape *shape)
{
    struct sources labels = {.outer = s->sources, .labels = shape};

    s->sources = &labels;
    order_by(s, query->order);
    s->sources = labels.outer;
}

/* What the other parts of a recursive WITH see is the first one's shape, which
 * cte takes. */
static struct shape
of_query(struct type_scope *s, struct tree_query *query, struct known_cte *cte)
{
    bool one = query->arms->select && !query->arms->next;
    struct known_cte *outer = s->ctes;
    struct shape shape = {0}, *kept;

    for (const struct tree_cte *c = query->ctes; c; c = c->next) {
        struct known_cte *known = scope_add_cte(s, c);

        if (known)
            known->shape = of_query(s, c->query, known);
    }
    for (const struct tree_arm *a = query->arms; a; a = a->next) {
        struct shape part =
            a->select ? of_select(s, a->select, one ? query->order : NULL)
                      : of_query(s, a->query, NULL);

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
    if (!one)
        order_of_all(s, query, &shape);
    s->ctes = outer;
    kept = scope_alloc(s, sizeof(*kept));
    if (kept)
        *kept = shape;
    query->shape = kept;
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
types_read(const struct typing *typing, const struct tree *tree)
{
    struct tree_table named = {.table = typing->table};
    struct sources sources = {.last = &sources.first};
    struct type_scope s = {.job = typing, .sources = &sources};

    if (typing->table)
        scope_add_table(&s, &named, NULL);
    if (tree->query)
        of_query(&s, tree->query, NULL);
    for (const struct tree_item *i = tree->items; i; i = i->next)
        expression(&s, i->value);
    return s.no_memory ? -1 : 0;
}

void
types_find(const struct tree *tree, const char *const *names, size_t count,
           struct result_type *out)
{
    const struct shape *shape = tree->query ? tree->query->shape : NULL;

    for (size_t i = 0; i < count; i++)
        out[i] = !shape                  ? result_type_unknown()
                 : shape->count == count ? shape->columns[i].type
                                         : by_name(shape, names[i]);
}

static struct result_type
noted(const struct node *node)
{
    struct result_type out = result_type_of((enum column_type)node->type);

    out.loose = node->loose;
    return out;
}

size_t
types_columns(const struct node *query)
{
    return query->query->shape ? query->query->shape->count : 0;
}

struct result_type
types_operand(const struct node *node, size_t column)
{
    const struct shape *shape;
    const struct node *n = node->first;

    if (node->kind == NODE_QUERY) {
        shape = node->query->shape;
        return shape && column < shape->count ? shape->columns[column].type
                                              : result_type_unknown();
    }
    if (node->kind != NODE_ROW)
        return noted(node);
    for (; n && column > 0; column--)
        n = n->next;
    return n ? noted(n) : result_type_unknown();
}
