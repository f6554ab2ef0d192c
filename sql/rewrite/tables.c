/* tables.c - the tables of a tree, and whether the session may read them. */
#include "catalog.h"
#include "privileges.h"
#include "sql_session.h"
#include "writer.h"

int
tables_find(const struct rewrite *job, struct rewritten *out, struct error *err)
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
