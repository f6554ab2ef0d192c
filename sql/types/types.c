/*
 * types.c - finds the declared types of a SELECT's columns and notes the type
 * of each expression in its tree (types.h).
 *
 * SQLite has types of values alone, but a client wants a column's type before
 * the first row, and how values compare depends on both types.  So names are
 * resolved as SQLite would: columns of FROM's tables, labels of the list,
 * WITH's queries, and the same of the queries around.  A query is walked once,
 * FROM and the list first.  A name is searched linearly; one that is not found
 * gets an unknown type, and SQLite refuses it later, with the better error.
 * The recursion is bounded by TREE_DEPTH_MAX.
 */
#include "types.h"

#include <stdio.h>
#include <string.h>

#include "catalog.h"
#include "cursor.h"

struct shape_column {
    struct span name;
    struct result_type type;
};

/* The columns of a query. */
struct shape {
    struct shape_column *columns;
    size_t count, capacity;
};

/* A table in FROM: one of the catalog's, or the rows of a query. */
struct source {
    struct source *next;
    struct span name;
    const struct catalog_table *table; /* NULL: a query's rows */
    struct shape shape;
};

struct sources { /* of one SELECT */
    struct sources *outer;
    struct source *first, **last;
    const struct shape *labels; /* its list, once that is read */
};

struct known_cte {
    struct known_cte *next;
    const struct tree_cte *cte;
    struct shape shape;
};

struct type_scope {
    struct sources *sources; /* the innermost ones */
    struct known_cte *ctes;
    struct type_values values;
};

static struct shape of_query(struct type_scope *s, struct tree_query *query,
                             struct known_cte *cte);

static struct result_type find_expression_type(struct type_scope *s,
                                               struct node *node);

/* ---- shapes ---- */

/* Appends a column; a query with more is refused by SQLite. */
static void
shape_add(struct type_scope *s, struct shape *shape, struct span name,
          struct result_type type)
{
    size_t capacity = shape->capacity ? shape->capacity * 2 : 8;
    struct shape_column *grown;

    if (shape->count == CURSOR_COLUMNS_MAX)
        return;
    if (shape->count == shape->capacity) {
        /* The smaller array stays in the arena until the statement ends. */
        grown = type_alloc(&s->values, capacity * sizeof(*grown));
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

static void
shape_rename(struct shape *shape, const struct tree_name *names)
{
    for (size_t i = 0; i < shape->count && names; i++, names = names->next)
        shape->columns[i].name = names->name;
}

/* Widens each column so that it also holds the other query's, as in a UNION. */
static void
shape_widen(struct shape *shape, const struct shape *other)
{
    for (size_t i = 0; i < shape->count && i < other->count; i++)
        shape->columns[i].type =
            result_type_widened(shape->columns[i].type, other->columns[i].type);
}

/* ---- tables ---- */

/* Adds a table to the innermost sources. */
static void
add_source(struct type_scope *s, const struct tree_table *table,
           const struct shape *shape)
{
    struct source *source = type_alloc(&s->values, sizeof(*source));
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

static struct known_cte *
add_cte(struct type_scope *s, const struct tree_cte *cte)
{
    struct known_cte *known = type_alloc(&s->values, sizeof(*known));

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

/* Adds the columns that * or table.* means. */
static void
add_star(struct type_scope *s, const struct tree_qualifier *of,
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

/* Finds a column as SQLite does: a SELECT's tables come before its labels, and
 * inner queries before outer ones. */
static struct result_type
of_column(const struct type_scope *s, const struct node *node)
{
    const struct shape_column *label;
    struct result_type type;

    for (const struct sources *in = s->sources; in; in = in->outer) {
        for (const struct source *t = in->first; t; t = t->next) {
            if (node->of && !span_same_nocase(t->name, node->of->table))
                continue;
            for (size_t i = 0; i < source_columns(t); i++) {
                struct shape_column column = source_column(t, i);

                if (!span_same_nocase(column.name, node->name))
                    continue;
                column.type.derived = !t->table;
                return column.type;
            }
        }
        label = node->of ? NULL : find_label(in->labels, node->name);
        if (label) {
            type = label->type;
            type.derived = true;
            return type;
        }
    }
    return result_type_unknown();
}

/* ---- expressions ---- */

/* The type of CASE holds each value behind THEN and ELSE. */
static struct result_type
of_case(struct type_scope *s, struct node *node)
{
    struct result_type out = result_type_of(COLUMN_NULL), type;
    size_t i = node->has_operand ? 0 : 1; /* WHEN is odd, THEN is even */

    for (struct node *n = node->first; n; n = n->next, i++) {
        type = find_expression_type(s, n);
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
find_list_types(struct type_scope *s, struct node *first)
{
    for (struct node *n = first; n; n = n->next)
        find_expression_type(s, n);
}

static void
find_order_by_types(struct type_scope *s, struct tree_order *order)
{
    for (; order; order = order->next)
        find_expression_type(s, order->value);
}

static void
find_window_types(struct type_scope *s, struct tree_window *of)
{
    find_list_types(s, of->partition);
    find_order_by_types(s, of->order);
}

static struct result_type
of_operands(struct type_scope *s, struct node *node)
{
    struct operands given = operands_none();

    for (struct node *n = node->first; n; n = n->next)
        operands_add(&given, find_expression_type(s, n));
    if (node->kind == NODE_CALL) {
        find_order_by_types(s, node->call->order);
        if (node->call->over)
            find_window_types(s, node->call->over);
    }
    if (node->kind != NODE_ASSIGN)
        return type_of_node(node, &given);
    type_assign(&s->values, node->name, given.first);
    return given.first;
}

static struct result_type
find_type(struct type_scope *s, struct node *node)
{
    switch (node->kind) {
    case NODE_COLUMN:
        return of_column(s, node);
    case NODE_PARAMETER:
        return type_of_parameter(&s->values, node->parameter);
    case NODE_SYSTEM:
        return type_of_system_variable(&s->values, node);
    case NODE_USER:
        return type_of_user_variable(&s->values, node->name);
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
find_expression_type(struct type_scope *s, struct node *node)
{
    struct result_type type = find_type(s, node);

    node->type = (uint8_t)type.type;
    node->loose = type.loose;
    node->derived = type.derived;
    /* A BIGINT has no precision: 1 says that it may exceed 63 bits. */
    node->precision = type.past ? 1 : type.precision;
    node->decimals = type.decimals;
    return type;
}

/* ---- SELECT ---- */

static void
add_from_sources(struct type_scope *s, struct sources *own,
                 struct tree_table *table)
{
    struct sources *outer = s->sources;

    for (; table; table = table->next) {
        struct shape shape;

        if (table->inner) {
            add_from_sources(s, own, table->inner);
            continue;
        }
        if (table->query) { /* a query in FROM sees no tables beside it */
            shape = of_query(s, table->query, NULL);
            shape_rename(&shape, table->columns);
        }
        /* Its rows join this SELECT's tables. */
        s->sources = own;
        add_source(s, table, table->query ? &shape : NULL);
        s->sources = outer;
    }
}

/* Conditions of joins see all tables, so they come after these. */
static void
find_join_condition_types(struct type_scope *s, struct tree_table *table)
{
    for (; table; table = table->next) {
        find_join_condition_types(s, table->inner);
        if (table->on)
            find_expression_type(s, table->on);
    }
}

/* A column of VALUES, as deparse.c names it. */
static struct span
name_column(struct type_scope *s, size_t i)
{
    char text[32];
    size_t size = (size_t)snprintf(text, sizeof(text), "column_%zu", i);
    char *name = type_alloc(&s->values, size);

    if (!name)
        return (struct span){"", 0};
    return (struct span){memcpy(name, text, size), size};
}

static void
add_values_row_types(struct type_scope *s, struct shape *shape,
                     struct node *rows)
{
    struct span name = {"", 0};

    for (struct node *row = rows; row; row = row->next) {
        struct shape cells = {0};

        for (struct node *n = row->first; n; n = n->next) {
            if (row == rows)
                name = name_column(s, shape->count);
            shape_add(s, row == rows ? shape : &cells, name,
                      find_expression_type(s, n));
        }
        shape_widen(shape, &cells);
    }
}

/* Finds the types in what stands behind the list.  HAVING without groups sees
 * the list alone, as deparse.c writes it. */
static void
find_clause_types(struct type_scope *s, struct sources *sources,
                  const struct tree_select *select, struct tree_order *order)
{
    struct sources labels = {.outer = sources->outer,
                             .labels = sources->labels};

    if (select->where)
        find_expression_type(s, select->where);
    find_list_types(s, select->group);
    for (struct tree_window *w = select->windows; w; w = w->next)
        find_window_types(s, w);
    find_order_by_types(s, order);
    if (!select->having)
        return;
    if (select->filters_rows)
        s->sources = &labels;
    find_expression_type(s, select->having);
    s->sources = sources;
}

/* order: as select_alone() of deparse.c has it. */
static struct shape
of_select(struct type_scope *s, struct tree_select *select,
          struct tree_order *order)
{
    struct sources sources = {.outer = s->sources, .last = &sources.first};
    struct shape shape = {0};

    add_from_sources(s, &sources, select->from);
    s->sources = &sources;
    find_join_condition_types(s, select->from);
    for (const struct tree_item *i = select->items; i; i = i->next)
        if (i->value->kind == NODE_STAR)
            add_star(s, i->value->of, &shape);
        else
            shape_add(s, &shape, i->label, find_expression_type(s, i->value));
    add_values_row_types(s, &shape, select->rows);
    sources.labels = &shape;
    find_clause_types(s, &sources, select, order);
    s->sources = sources.outer;
    return shape;
}

/* Finds the types in the ORDER BY of a UNION, which sees the first arm's
 * labels. */
static void
order_of_all(struct type_scope *s, struct tree_query *query,
             const struct shape *shape)
{
    struct sources labels = {.outer = s->sources, .labels = shape};

    s->sources = &labels;
    find_order_by_types(s, query->order);
    s->sources = labels.outer;
}

static const struct shape *
keep_shape(struct type_scope *s, struct shape shape)
{
    struct shape *kept = type_alloc(&s->values, sizeof(*kept));

    if (kept)
        *kept = shape;
    return kept;
}

/* Finds the columns of a query.  The other arms of a recursive WITH see the
 * first one's shape, which cte takes as soon as it is known. */
static struct shape
of_query(struct type_scope *s, struct tree_query *query, struct known_cte *cte)
{
    bool one = query->arms->select && !query->arms->next;
    struct known_cte *outer = s->ctes;
    struct shape shape = {0};

    for (const struct tree_cte *c = query->ctes; c; c = c->next) {
        struct known_cte *known = add_cte(s, c);

        if (known)
            known->shape = of_query(s, c->query, known);
    }
    for (struct tree_arm *a = query->arms; a; a = a->next) {
        struct shape part =
            a->select ? of_select(s, a->select, one ? query->order : NULL)
                      : of_query(s, a->query, NULL);

        a->shape = keep_shape(s, part);
        if (a != query->arms) {
            if (part.count != shape.count) /* SQLite refuses it */
                a->shape = NULL;
            shape_widen(&shape, &part);
            continue;
        }
        for (size_t i = 0; i < part.count; i++) /* copied: it widens */
            shape_add(s, &shape, part.columns[i].name, part.columns[i].type);
        if (!cte)
            continue;
        shape_rename(&shape, cte->cte->columns);
        /* Its own later arms read it under its name. */
        cte->shape = shape;
    }
    if (!one)
        order_of_all(s, query, &shape);
    s->ctes = outer;
    query->shape = keep_shape(s, shape);
    return shape;
}

/* ---- all ---- */

/* Finds a column's type by its label: NATURAL JOIN and USING give fewer columns
 * than the tables have, so positions differ. */
static struct result_type
find_column_type_by_name(const struct shape *shape, const char *name)
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
    struct type_scope s = {.sources = &sources, .values = {.job = typing}};

    if (typing->table)
        add_source(&s, &named, NULL);
    if (tree->query)
        of_query(&s, tree->query, NULL);
    for (const struct tree_item *i = tree->items; i; i = i->next)
        find_expression_type(&s, i->value);
    return s.values.no_memory ? -1 : 0;
}

void
types_find(const struct tree *tree, const char *const *names, size_t count,
           struct result_type *out)
{
    const struct shape *shape = tree->query ? tree->query->shape : NULL;

    for (size_t i = 0; i < count; i++)
        out[i] = !shape ? result_type_unknown()
                 : shape->count == count
                     ? shape->columns[i].type
                     : find_column_type_by_name(shape, names[i]);
}

static struct result_type
recorded_node_type(const struct node *node)
{
    struct result_type out = result_type_of((enum column_type)node->type);

    out.loose = node->loose;
    out.past = out.type == COLUMN_BIGINT && node->precision > 0;
    out.precision = node->precision;
    out.decimals = node->decimals;
    return out;
}

static struct result_type
column_type(const struct shape *shape, size_t column)
{
    return shape && column < shape->count ? shape->columns[column].type
                                          : result_type_unknown();
}

size_t
types_columns(const struct tree_query *query)
{
    return query->shape ? query->shape->count : 0;
}

struct result_type
types_column(const struct tree_query *query, size_t column)
{
    return column_type(query->shape, column);
}

struct span
types_label(const struct tree_query *query, size_t column)
{
    return query->shape->columns[column].name;
}

struct result_type
types_arm(const struct tree_arm *arm, size_t column)
{
    return column_type(arm->shape, column);
}

struct result_type
types_operand(const struct node *node, size_t column)
{
    const struct node *n = node->first;

    if (node->kind == NODE_QUERY)
        return types_column(node->query, column);
    if (node->kind != NODE_ROW)
        return recorded_node_type(node);
    for (; n && column > 0; column--)
        n = n->next;
    return n ? recorded_node_type(n) : result_type_unknown();
}
