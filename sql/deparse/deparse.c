/*
 * deparse.c - writes a SELECT's tree as SQLite's text: SELECT, VALUES, FROM,
 * WITH, UNION, and clauses that SQLite has in another form.
 *
 * SQLite plans and runs the query, so nothing is optimized here; the text must
 * only mean in SQLite what the tree means in MySQL.  Where the two differ, a
 * rewriting is written instead: VALUES with MySQL's names of columns, HAVING
 * without groups as an outer WHERE, casts around an arm of a UNION,
 * hw_recursed() in a recursive query.  Tables are looked up and privileges
 * checked before anything is written.
 *
 * The output has a ceiling (DEPARSE_OUTPUT_MAX), since a rewriting may repeat
 * its operand.  When SQLite finds a fault, the text is written a second time,
 * noting positions, to find the place in the client's text.
 */
#include "deparse.h"

#include <string.h>

#include "arena.h"
#include "errors.h"
#include "memory.h"
#include "sql_session.h"
#include "types.h"
#include "writer.h"

static void write_query(struct writer *w, const struct tree_query *query);

/* (a, b) */
static void
write_names(struct writer *w, const struct tree_name *names)
{
    const char *before = "(";

    for (; names; names = names->next) {
        buffer_text(w->sql, before);
        write_identifier(w, names->name);
        before = ",";
    }
    buffer_text(w->sql, ")");
}

/* ---- the list ---- */

static void
note_snapshot_item(struct writer *w, const struct tree_item *item)
{
    if (item->has_alias && write_is_snapshot(w, item->value))
        w->snapshot_alias = item->label;
}

static void
write_select_items(struct writer *w, const struct tree_select *select)
{
    for (const struct tree_item *i = select->items; i; i = i->next) {
        note_snapshot_item(w, i);
        write_expression(w, i->value);
        if (i->value->kind != NODE_STAR) {
            buffer_text(w->sql, " AS");
            write_label(w, i);
        }
        buffer_text(w->sql, i->next ? "," : "");
    }
}

/* VALUES' columns are column_0 and so on; SQLite counts them from 1. */
static void
write_values_select(struct writer *w, const struct tree_select *select)
{
    const char *before = " SELECT";

    for (size_t i = 0; i < select->columns; i++) {
        buffer_format(w->sql, "%s column%zu AS column_%zu", before, i + 1, i);
        before = ",";
    }
    before = " FROM (VALUES";
    for (const struct node *row = select->rows; row; row = row->next) {
        buffer_text(w->sql, before);
        write_expression(w, row);
        before = ",";
    }
    buffer_text(w->sql, ")");
}

/* ---- FROM ---- */

/* Writes (SELECT ...) AS alias.  SQLite names columns only in a WITH, so alias
 * (a, b) becomes one.  Its name, hw_named, cannot be that of a table in the
 * query. */
static void
write_derived_table(struct writer *w, const struct tree_table *table)
{
    buffer_text(w->sql, " (");
    if (table->columns) {
        buffer_text(w->sql, " WITH hw_named");
        write_names(w, table->columns);
        buffer_text(w->sql, " AS (");
    }
    write_query(w, table->query);
    buffer_text(w->sql, table->columns ? ") SELECT * FROM hw_named)" : ")");
}

static void write_from_clause(struct writer *w, const struct tree_table *first);

static void
table_alone(struct writer *w, const struct tree_table *table)
{
    struct span alias = table->alias;

    write_mark(w, table->text.data);
    if (table->query) {
        write_derived_table(w, table);
    } else if (table->inner) {
        buffer_text(w->sql, " (");
        write_from_clause(w, table->inner);
        buffer_text(w->sql, ")");
    } else if (table->cte) {
        write_cte_name(w, table->name);
        w->recurs |= table->cte == w->recursive;
        alias = alias.size > 0 ? alias : table->name;
    } else {
        buffer_format(w->sql, " \"%s\".\"%s\"", table->table->database,
                      table->table->name);
    }
    if (alias.size > 0) {
        buffer_text(w->sql, " AS");
        write_identifier(w, alias);
    }
}

static void
write_from_clause(struct writer *w, const struct tree_table *first)
{
    static const char *const joins[] = {[JOIN_FIRST] = "",
                                        [JOIN_COMMA] = ",",
                                        [JOIN_INNER] = " JOIN",
                                        [JOIN_LEFT] = " LEFT JOIN",
                                        [JOIN_RIGHT] = " RIGHT JOIN"};

    for (const struct tree_table *t = first; t; t = t->next) {
        buffer_text(w->sql, t->natural ? " NATURAL" : "");
        buffer_text(w->sql, joins[t->join]);
        table_alone(w, t);
        if (t->on) {
            buffer_text(w->sql, " ON");
            write_expression(w, t->on);
        } else if (t->using) {
            buffer_text(w->sql, " USING ");
            write_names(w, t->using);
        }
    }
}

/* ---- the clauses ---- */

static void
write_condition_clause(struct writer *w, const char *word, const char *where,
                       const struct node *node)
{
    if (!node)
        return;
    w->scope->where = where;
    buffer_text(w->sql, word);
    write_expression(w, node);
}

static void
write_window_clause(struct writer *w, const struct tree_window *window)
{
    const char *before = " WINDOW";

    for (; window; window = window->next) {
        buffer_text(w->sql, before);
        write_identifier(w, window->name);
        buffer_text(w->sql, " AS");
        write_window(w, window);
        before = ",";
    }
}

static void
write_order_by_clause(struct writer *w, const struct tree_order *order)
{
    if (order && w->scope)
        w->scope->where = "order clause";
    write_order(w, order, true);
}

/* The ORDER BY of a UNION; it names columns of its first SELECT. */
static void
order_all(struct writer *w, const struct tree_query *query)
{
    const struct tree_query *first = query;
    struct scope scope = {w->scope, NULL, "order clause", false, query};

    while (!first->arms->select)
        first = first->arms->query;
    scope.select = first->arms->select;
    w->scope = &scope;
    write_order(w, query->order, true);
    w->scope = scope.outer;
}

/* Writes WHERE.  In a recursive query each row that it reads of itself is
 * counted, so that it ends. */
static void
write_where_clause(struct writer *w, const struct tree_select *select,
                   bool recurs)
{
    if (!recurs) {
        write_condition_clause(w, " WHERE", "where clause", select->where);
        return;
    }
    buffer_text(w->sql, " WHERE hw_recursed()");
    write_condition_clause(w, " AND (", "where clause", select->where);
    buffer_text(w->sql, select->where ? ")" : "");
}

static void
write_select_clauses(struct writer *w, const struct tree_select *select)
{
    struct scope *scope = w->scope;
    bool around = w->recurs;

    w->recurs = false;
    if (select->from) {
        scope->where = "on clause";
        buffer_text(w->sql, " FROM");
        write_from_clause(w, select->from);
    }
    write_where_clause(w, select, w->recurs);
    w->recurs = around;
    if (select->group) {
        scope->where = "group statement";
        buffer_text(w->sql, " GROUP BY");
        write_sorted_list(w, select->group);
    }
    if (select->filters_rows)
        return;
    if (select->having && !select->group && !select->lists_aggregates)
        buffer_text(w->sql, " GROUP BY NULL"); /* SQLite allows HAVING only
                                                * with GROUP BY */
    write_condition_clause(w, " HAVING", "having clause", select->having);
}

/* Writes one SELECT. order: what follows, if it belongs to this SELECT alone.
 * HAVING without groups is a condition on the rows: SELECT * FROM (SELECT ...)
 * WHERE ... */
static void
select_alone(struct writer *w, const struct tree_select *select,
             const struct tree_order *order)
{
    struct scope scope = {w->scope, select, "field list", true, NULL};

    write_mark(w, select->text.data);
    if (select->rows) {
        write_values_select(w, select);
        write_order_by_clause(w, order);
        return;
    }
    w->scope = &scope;
    buffer_text(w->sql, select->filters_rows ? " SELECT * FROM (" : "");
    buffer_text(w->sql, select->distinct ? " SELECT DISTINCT" : " SELECT");
    write_select_items(w, select);
    scope.lists = false;
    write_select_clauses(w, select);
    write_window_clause(w, select->windows);
    write_order_by_clause(w, order);
    if (select->filters_rows)
        write_condition_clause(w, ") WHERE", "having clause", select->having);
    w->scope = scope.outer;
}

/* ---- WITH, UNION, LIMIT ---- */

static void
write_with_clause(struct writer *w, const struct tree_query *query)
{
    const char *before = query->recursive ? " WITH RECURSIVE" : " WITH";
    const struct tree_cte *around = w->recursive;

    for (const struct tree_cte *cte = query->ctes; cte; cte = cte->next) {
        buffer_text(w->sql, before);
        write_cte_name(w, cte->name);
        if (cte->columns)
            write_names(w, cte->columns);
        buffer_text(w->sql, " AS (");
        w->recursive = query->recursive ? cte : around;
        write_query(w, cte->query);
        buffer_text(w->sql, ")");
        before = ",";
    }
    w->recursive = around;
}

/* Are its rows ordered by a column that must become a key?  SQLite orders a
 * UNION only by its columns, so these need a SELECT around. */
static bool
orders_by_key(const struct tree_query *query)
{
    bool any = false;

    for (size_t i = 0; query->order && i < types_columns(query); i++)
        any = any || result_type_is_long(types_column(query, i));
    return any;
}

/* The cast that a column of an arm needs: a number where other arms have a
 * text, anything beside bytes; NULL: none.  MySQL gives all rows of a UNION
 * one type, SQLite each its own. */
static const char *
cast_of(const struct tree_query *query, const struct tree_arm *arm, size_t i)
{
    enum column_type all = types_column(query, i).type;
    struct result_type own = types_arm(arm, i);

    if (own.type == COLUMN_NULL || own.type == all || own.unknown)
        return NULL;
    if (all == COLUMN_BLOB)
        return "BINARY";
    return (all == COLUMN_TEXT || all == COLUMN_LONGTEXT) &&
                   result_type_is_number(own)
               ? "CHAR"
               : NULL;
}

/* Does an arm need casts?  A recursive query stays as it is, since SQLite
 * takes it in no other form. */
static bool
needs_casts(const struct writer *w, const struct tree_query *query,
            const struct tree_arm *arm)
{
    bool any = false;

    if (!query->arms->next || (w->recursive && w->recursive->query == query))
        return false;
    for (size_t i = 0; i < types_columns(query); i++)
        any = any || cast_of(query, arm, i);
    return any;
}

/* Writes the SELECT around an arm: SELECT hw_cast(hw_v0, 'CHAR', -1, -1) AS a,
 * hw_v1 AS b FROM (WITH hw_rows(hw_v0, hw_v1) AS (...) SELECT * FROM hw_rows).
 * The columns get names of their own first, since two may have one label. arm
 * NULL: no casts. */
static void
begin_columns(struct writer *w, const struct tree_query *query,
              const struct tree_arm *arm)
{
    for (size_t i = 0; i < types_columns(query); i++) {
        const char *type = arm ? cast_of(query, arm, i) : NULL;
        struct result_type own =
            type ? types_arm(arm, i) : result_type_of(COLUMN_NULL);

        buffer_text(w->sql, i ? "," : " SELECT");
        buffer_text(w->sql, type ? " hw_cast(" : "");
        write_begin_kind(w, own);
        buffer_format(w->sql, " hw_v%zu", i);
        write_end_kind(w, own);
        if (type)
            buffer_format(w->sql, ",'%s',-1,-1)", type);
        buffer_text(w->sql, " AS");
        write_column_label(w, types_label(query, i));
    }
    buffer_text(w->sql, " FROM ( WITH hw_rows");
    for (size_t i = 0; i < types_columns(query); i++)
        buffer_format(w->sql, "%shw_v%zu", i ? "," : "(", i);
    buffer_text(w->sql, ") AS (");
}

static void
end_columns(struct writer *w)
{
    buffer_text(w->sql, ") SELECT * FROM hw_rows)");
}

static void
write_query_arms(struct writer *w, const struct tree_query *query)
{
    static const char *const sets[] = {[SET_FIRST] = "",
                                       [SET_UNION] = " UNION",
                                       [SET_UNION_ALL] = " UNION ALL",
                                       [SET_EXCEPT] = " EXCEPT",
                                       [SET_EXCEPT_ALL] = " EXCEPT ALL",
                                       [SET_INTERSECT] = " INTERSECT",
                                       [SET_INTERSECT_ALL] = " INTERSECT ALL"};
    const struct tree_arm *first = query->arms;
    bool one = !first->next, alone = one && first->select;
    bool keyed = !alone && orders_by_key(query);

    if (keyed)
        begin_columns(w, query, NULL);
    for (const struct tree_arm *arm = first; arm; arm = arm->next) {
        bool cast = needs_casts(w, query, arm);

        buffer_text(w->sql, sets[arm->set]);
        if (cast)
            begin_columns(w, query, arm);
        if (arm->select) {
            select_alone(w, arm->select, one ? query->order : NULL);
        } else {
            buffer_text(w->sql, " SELECT * FROM (");
            write_query(w, arm->query);
            buffer_text(w->sql, ")");
        }
        if (cast)
            end_columns(w);
    }
    if (keyed)
        end_columns(w);
    if (!alone)
        order_all(w, query);
}

/* Writes the number of LIMIT.  SQLite would take -1 for all rows; MySQL's
 * manual has LIMIT 5, 18446744073709551615 for that, which is cut. */
static void
limit_number(struct writer *w, const struct node *node)
{
    if (node->kind == NODE_PARAMETER) {
        buffer_text(w->sql, " hw_limit(");
        write_expression(w, node);
        buffer_text(w->sql, ")");
    } else if (node->text.size >= sizeof("9223372036854775807") - 1) {
        buffer_text(w->sql, " 9223372036854775807");
    } else {
        write_expression(w, node);
    }
}

/* Is the query nothing but another one in parentheses? */
static bool
is_parenthesis(const struct tree_query *query)
{
    return !query->arms->select && !query->arms->next && !query->ctes &&
           !query->order && !query->limit;
}

static void
write_query(struct writer *w, const struct tree_query *query)
{
    while (is_parenthesis(query))
        query = query->arms->query;
    if (query->ctes)
        write_with_clause(w, query);
    write_query_arms(w, query);
    if (query->limit) {
        buffer_text(w->sql, " LIMIT");
        limit_number(w, query->limit);
    }
    if (query->offset) {
        buffer_text(w->sql, " OFFSET");
        limit_number(w, query->offset);
    }
}

static void
write_tree(struct writer *w)
{
    const struct tree *tree = w->tree;

    if (tree->form == TREE_QUERY) {
        write_query(w, tree->query);
        return;
    }
    buffer_text(w->sql, tree->form == TREE_EXPRESSIONS ? " SELECT" : "");
    for (const struct tree_item *i = tree->items; i; i = i->next) {
        write_expression(w, i->value);
        buffer_text(w->sql, i->next ? "," : "");
    }
}

static int
deparse_writer_init(struct writer *w, const struct deparse *deparse,
                    struct deparsed *result, struct buffer *sql,
                    struct error *err)
{
    memset(w, 0, sizeof(*w));
    memset(result, 0, sizeof(*result));
    w->job = deparse;
    w->tree = deparse->tree;
    w->result = result;
    w->sql = sql;
    w->err = err;
    w->query = write_query;
    w->node = write_node;
    result->may_null = w->tree->may_null;
    w->positions = arena_alloc(deparse->arena, (w->tree->parameters + 1) *
                                                   sizeof(*w->positions));
    result->positions = w->positions;
    return w->positions ? 0 : -1;
}

/* Looks all tables up. */
static int
resolve_tree_tables(const struct deparse *job, struct deparsed *out,
                    struct error *err)
{
    for (struct tree_table *t = job->tree->tables; t; t = t->named) {
        t->table = catalog_resolve(
            job->session, t->has_database ? &t->database : NULL, t->name, err);
        if (!t->table || privilege_check(job->session->who.privileges,
                                         t->table->privilege, err) != 0)
            return -1;
        table_set_add(&out->tables, catalog_index(t->table));
    }
    return 0;
}

int
deparse_run(const struct deparse *deparse, struct buffer *sql,
            struct deparsed *out, struct error *err)
{
    struct typing typing = {deparse->session, deparse->parameters,
                            deparse->table, deparse->arena};
    struct writer w;

    if (deparse_writer_init(&w, deparse, out, sql, err) == 0) {
        if (resolve_tree_tables(deparse, out, err) != 0)
            return -1;
        if (types_read(&typing, deparse->tree) != 0)
            goto no_memory;
        write_tree(&w);
        if (w.failed)
            return -1;
        if (!sql->failed)
            return 0;
    }
no_memory:
    error_memory(err, "the statement");
    return -1;
}

/* SQLite reports a fault as an offset into its text.  This writes the text
 * again, noting where each node begins, and finds the last one before the
 * offset; it runs for errors only. */
const char *
deparse_locate(const struct deparse *deparse, size_t start, size_t offset,
               const char **where)
{
    struct buffer sql;
    struct deparsed result;
    struct error again; /* the error that is being located, again */
    const char *located = deparse->source.data + deparse->source.size;
    struct writer w;
    size_t at = 0;

    *where = "field list";
    offset = offset > start ? offset - start : 0;
    buffer_init(&sql, DEPARSE_OUTPUT_MAX);
    if (deparse_writer_init(&w, deparse, &result, &sql, &again) == 0) {
        w.marking = true;
        write_tree(&w);
    }
    for (size_t i = 0; i < w.mark_count && w.marks[i].offset <= offset; i++)
        at = i + 1;
    if (at > 0) {
        located = w.marks[at - 1].source;
        *where = w.marks[at - 1].where;
    }
    buffer_fini(&sql);
    mem_free(w.marks);
    return located;
}
