/* write_expression.c - expressions: lists, columns, queries, CASE. */
#include "writer.h"

static void
column(struct writer *w, const struct node *node)
{
    write_snapshot_column(w, node);
    if (node->of && node->of->has_database) {
        write_identifier(w, node->of->database);
        write_text(w, ".");
    }
    if (node->of) {
        write_identifier(w, node->of->table);
        write_text(w, ".");
    }
    write_identifier(w, node->name);
}

/* SQLite has no database.table.*, and no two tables of one name. */
static void
star(struct writer *w, const struct node *node)
{
    if (node->of) {
        write_identifier(w, node->of->table);
        write_text(w, ".");
    }
    write_text(w, " *");
}

/* hw_assign does it as the row is read. */
static void
assignment(struct writer *w, const struct node *node)
{
    write_text(w, " hw_assign(");
    write_string(w, node->name);
    write_text(w, ",");
    write_expression(w, node->first);
    write_text(w, ")");
}

static void
row(struct writer *w, const struct node *node)
{
    write_text(w, " (");
    for (const struct node *n = node->first; n; n = n->next) {
        write_collated(w, n);
        write_text(w, n->next ? "," : ")");
    }
}

/* ---- CASE: hw_case and hw_when compare as = does ---- */

static void
write_case(struct writer *w, const struct node *node)
{
    const struct node *n = node->first;
    enum moments as = MOMENTS_NONE;
    unsigned slot = 0;

    write_text(w, " CASE");
    if (node->has_operand) {
        slot = write_slot(w);
        as = write_case_moments(node);
        buffer_format(w->sql, " hw_case(%u,", slot);
        write_scalar(w, n, as, TIGHT_OR);
        write_text(w, ")");
        n = n->next;
    }
    while (n && n->next) {
        write_text(w, " WHEN");
        if (node->has_operand) {
            buffer_format(w->sql, " hw_when(%u,", slot);
            write_scalar(w, n, as, TIGHT_OR);
            write_text(w, ")");
        } else {
            write_expression(w, n);
        }
        write_text(w, " THEN");
        write_expression(w, n->next);
        n = n->next->next;
    }
    if (n) {
        write_text(w, " ELSE");
        write_expression(w, n);
    }
    write_text(w, " END");
}

/* ---- queries ---- */

static bool
is_short(const struct node *limit)
{
    return limit && limit->text.size == 1 &&
           (limit->text.data[0] == '0' || limit->text.data[0] == '1');
}

/* Whether it may have more rows than one. */
static bool
may_have_rows(const struct tree_query *query)
{
    const struct tree_select *select = query->arms->select;

    if (is_short(query->limit))
        return false;
    if (query->arms->next)
        return true;
    if (!select)
        return may_have_rows(query->arms->query);
    return select->group || select->rows ||
           (select->from && (!select->aggregates || select->has_over));
}

static size_t
columns_of(const struct tree_query *query)
{
    while (!query->arms->select)
        query = query->arms->query;
    return query->arms->select->columns;
}

/* A SELECT in place of a value may have one row at most, and SQLite takes the
 * first of many.  So hw_one(), an aggregate that fails at the second row, reads
 * a SELECT that may have several. */
static void
scalar(struct writer *w, const struct node *node)
{
    bool many = columns_of(node->query) == 1 && may_have_rows(node->query);

    w->result->may_null = true;
    write_text(w, many ? " ( WITH hw_rows(v) AS (" : " (");
    w->query(w, node->query);
    write_text(w, many ? ") SELECT hw_one(v) FROM hw_rows)" : ")");
}

void
write_node(struct writer *w, const struct node *node)
{
    switch (node->kind) {
    case NODE_ASSIGN:
        assignment(w, node);
        break;
    case NODE_COLUMN:
        column(w, node);
        break;
    case NODE_STAR:
        star(w, node);
        break;
    case NODE_CALL:
        write_call(w, node);
        break;
    case NODE_ROW:
        row(w, node);
        break;
    case NODE_CASE:
        write_case(w, node);
        break;
    case NODE_QUERY:
        scalar(w, node);
        break;
    case NODE_EXISTS:
        write_text(w, " EXISTS");
        write_rows(w, node, NULL);
        break;
    default:
        if (node->kind <= NODE_SYSTEM)
            write_literal(w, node);
        else
            write_operator(w, node);
        break;
    }
}
