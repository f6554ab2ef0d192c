/* deparse.c - see deparse.h. */
#include "deparse.h"

#include <string.h>

#include "arena.h"
#include "errors.h"
#include "memory.h"
#include "privileges.h"
#include "sql_session.h"
#include "types.h"
#include "writer.h"

static void
write_tree(struct writer *w)
{
    const struct tree *tree = w->tree;

    if (tree->form == TREE_QUERY) {
        write_query(w, tree->query);
        return;
    }
    write_text(w, tree->form == TREE_EXPRESSIONS ? " SELECT" : "");
    for (const struct tree_item *i = tree->items; i; i = i->next) {
        write_expression(w, i->value);
        write_text(w, i->next ? "," : "");
    }
}

static int
begin(struct writer *w, const struct deparse *deparse, struct deparsed *result,
      struct buffer *sql, struct error *err)
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
    w->places = arena_alloc(deparse->arena,
                            (w->tree->parameters + 1) * sizeof(*w->places));
    result->places = w->places;
    return w->places ? 0 : -1;
}

/* Looks all tables up. */
static int
find_tables(const struct deparse *job, struct deparsed *out, struct error *err)
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

    if (begin(&w, deparse, out, sql, err) == 0) {
        if (find_tables(deparse, out, err) != 0)
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

/* SQLite reports a fault as a token or less of its text: finds the last node
 * that began before it. */
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
    if (begin(&w, deparse, &result, &sql, &again) == 0) {
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
