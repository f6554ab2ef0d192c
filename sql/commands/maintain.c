/*
 * maintain.c - CHECK, ANALYZE, OPTIMIZE and REPAIR TABLE.
 *
 * Each table is answered with MySQL's note that its engine has nothing to do.
 * mysqlcheck names all tables of a database in one statement.
 */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "catalog.h"
#include "errors.h"
#include "opening.h"
#include "privileges.h"
#include "rowset.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "sql_statement.h"

enum { NAME_MAX = 2 * SQL_NAME_MAX + 2, NOTE_MAX = 80 };

static const struct catalog_column columns[] = {
    {"Table", &type_name},
    {"Op", &type_name},
    {"Msg_type", &type_name},
    {"Msg_text", &type_mediumtext},
};

static const struct catalog_table maintenance = {
    CATALOG_HIDDEN, "maintenance", CATALOG_COLUMNS(columns), catalog_nothing};

static int
add_table(const struct opening *o, const struct named_table *named,
          struct rowset *out, struct error *err)
{
    const char *operation = o->statement->maintain.operation;
    const struct catalog_table *table = catalog_resolve(
        o->session, named->has_database ? &named->database : NULL, named->table,
        err);
    char name[NAME_MAX], note[NOTE_MAX];

    if (!table ||
        privilege_check(o->session->who.privileges, table->privilege, err) != 0)
        return -1;
    snprintf(name, sizeof(name), "%s.%s", table->database, table->name);
    snprintf(note, sizeof(note),
             "The storage engine for the table doesn't support %s", operation);
    ROWSET_TEXTS(out, name, operation, "note", note);
    return 0;
}

struct cursor *
maintain_open(struct opening *o, struct error *err)
{
    struct rowset rows;

    rowset_init(&rows, maintenance.column_count);
    for (const struct named_table *t = o->statement->maintain.tables; t;
         t = t->next)
        if (add_table(o, t, &rows, err) != 0)
            goto fail;
    if (rowset_done(&rows, err) == 0)
        return sql_cursor_rows(&maintenance, &rows, NULL, err);
fail:
    rowset_fini(&rows);
    return NULL;
}
