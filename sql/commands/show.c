/*
 * show.c - SHOW: opens a hidden table of the catalog, whole, filtered by LIKE
 * or cut by LIMIT.
 *
 * What SHOW lists is produced at once when it is opened, without SQLite: that
 * is fast and works when all handles are taken, so that an operator can see the
 * process list even then.  SHOW ... WHERE and the lists that
 * ask other nodes become a SELECT over the same table instead.
 */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "catalog_tables.h"
#include "collate.h"
#include "errors.h"
#include "peers.h"
#include "select_query.h"
#include "select_tree.h"
#include "sql.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "sql_statement.h"
#include "variables.h"

enum { LABEL_MAX = 256, SESSIONS_FEW = 256 };

/* Finds the hidden table that answers; it is "full_..." if FULL has columns of
 * its own. */
static const struct catalog_table *
find_show_source_table(const struct show *show, struct error *err)
{
    char name[SQL_NAME_MAX];
    struct span full = {
        name, (size_t)snprintf(name, sizeof(name), "full_%s", show->what)};
    struct span plain = {show->what, strlen(show->what)};
    const struct catalog_table *table =
        show->full ? catalog_table(CATALOG_HIDDEN, full, NULL) : NULL;

    return table ? table : catalog_table(CATALOG_HIDDEN, plain, err);
}

static int
find_show_database(const struct show *show, struct catalog_scope *scope,
                   struct error *err)
{
    scope->database = scope->session->database;
    if (show->has_database) {
        scope->database = catalog_database(show->database);
        return scope->database ? 0
                               : catalog_unknown_database(show->database, err);
    }
    if (*scope->database)
        return 0;
    error_set(err, ER_NO_DB, "No database selected");
    return -1;
}

static int
find_show_table(const struct show *show, struct catalog_scope *scope,
                struct error *err)
{
    scope->table = catalog_resolve(scope->session,
                                   show->has_database ? &show->database : NULL,
                                   show->table, err);
    if (!scope->table || privilege_check(scope->session->who.privileges,
                                         scope->table->privilege, err) != 0)
        return -1;
    if (strcmp(show->what, "create_view") != 0)
        return 0;
    error_set(err, ER_WRONG_OBJECT, "'%s.%s' is not VIEW",
              scope->table->database, scope->table->name);
    return -1;
}

/* A user sees its own grants; those of others take the privilege ADMIN.  A
 * trusted user's name may be an account's, too, which is another identity:
 * then the account is meant. */
static int
find_show_grantee(const struct show *show, struct catalog_scope *scope,
                  struct sql_identity *other, struct error *err)
{
    const struct sql_identity *who = &scope->session->who;
    bool own = show->has_user && span_is(show->user, who->user);
    struct error no_account;

    if (!show->has_user || (own && !who->trusted))
        return 0;
    if (privilege_check(who->privileges, PRIVILEGE_ADMIN, err) != 0)
        return -1;
    if (grantee_find(scope->session, show->user, other,
                     own ? &no_account : err) != 0)
        return own ? 0 : -1;
    scope->grantee = other;
    return 0;
}

static int
find_engine(const struct show *show, const struct sql_session *session,
            struct error *err)
{
    if (span_is_nocase(show->table, variable_engine(session)) ||
        span_is_nocase(show->table, "InnoDB") ||
        span_is_nocase(show->table, CATALOG_PERFORMANCE))
        return 0;
    error_set(err, ER_UNKNOWN_ENGINE, "Unknown storage engine '%.*s'",
              show->table.size < SQL_NAME_MAX ? (int)show->table.size
                                              : SQL_NAME_MAX,
              show->table.data);
    return -1;
}

static int
find_routine(const struct show *show, struct catalog_scope *scope,
             struct error *err)
{
    bool procedure = strcmp(show->what, "create_procedure") == 0;

    if (find_show_database(show, scope, err) != 0)
        return -1;
    scope->routine = routine_find(scope->database, show->table, procedure);
    if (scope->routine)
        return 0;
    error_set(err, ER_FUNCTION_UNKNOWN, "%s %.*s does not exist",
              procedure ? "PROCEDURE" : "FUNCTION",
              show->table.size < SQL_NAME_MAX ? (int)show->table.size
                                              : SQL_NAME_MAX,
              show->table.data);
    return -1;
}

static int
find_subject(const struct show *show, struct catalog_scope *scope,
             struct sql_identity *other, struct error *err)
{
    switch (show->subject) {
    case SHOW_OF_NODE:
    case SHOW_OF_LOG:
    case SHOW_OF_CHANNEL:
        return 0;
    case SHOW_OF_DATABASE:
    case SHOW_NAMED_DATABASE:
        return find_show_database(show, scope, err);
    case SHOW_OF_TABLE:
    case SHOW_NAMED_TABLE:
        return find_show_table(show, scope, err);
    case SHOW_NAMED_ROUTINE:
        return find_routine(show, scope, err);
    case SHOW_NAMED_USER:
        return find_show_grantee(show, scope, other, err);
    case SHOW_NAMED_ENGINE:
        break;
    }
    return find_engine(show, scope->session, err);
}

/* Keeps the rows whose name is LIKE the pattern; the name is the first column,
 * or the one behind Db. */
static void
filter_show_rows(const struct catalog_table *table, struct rowset *rows,
                 struct span pattern)
{
    size_t kept = 0, count = rowset_rows(rows);
    size_t at = strcmp(table->columns[0].name, "Db") == 0;

    for (size_t i = 0; i < count; i++) {
        struct value *row = rows->values + i * rows->columns;
        struct span name = {row[at].data, row[at].size};

        if (like_match(name, pattern, '\\'))
            memmove(rows->values + kept++ * rows->columns, row,
                    rows->columns * sizeof(*row));
    }
    rows->filled = kept * rows->columns;
}

static void
limit_show_rows(struct rowset *rows, const struct show *show)
{
    size_t count = rowset_rows(rows);
    size_t first = show->offset < count ? (size_t)show->offset : count;

    count -= first;
    if (show->rows < count)
        count = (size_t)show->rows;
    if (first > 0 && count > 0)
        memmove(rows->values, rows->values + first * rows->columns,
                count * rows->columns * sizeof(*rows->values));
    rows->filled = count * rows->columns;
}

/* Writes the first column's label: "Tables_in_heapwire (pattern)", "Database
 * (pattern)", "Grants for a@b".  NULL: it is the table's own. */
static const char *
show_column_label(const struct show *show, const struct catalog_scope *scope,
                  char out[LABEL_MAX])
{
    const struct sql_identity *who =
        scope->grantee ? scope->grantee : &scope->session->who;
    int used = 0;

    if (strcmp(show->what, "tables") == 0)
        used = snprintf(out, LABEL_MAX, "Tables_in_%s", scope->database);
    else if (strcmp(show->what, "grants") == 0)
        used =
            snprintf(out, LABEL_MAX, "Grants for %s@%s", who->user, who->host);
    else if (strcmp(show->what, "create_user") == 0)
        used = snprintf(out, LABEL_MAX, "CREATE USER for %s@%s", who->user,
                        who->host);
    else if (strcmp(show->what, "databases") == 0 && show->has_like)
        used = snprintf(out, LABEL_MAX, "Database");
    if (used > 0 && show->has_like)
        snprintf(out + used, LABEL_MAX - (size_t)used, " (%.*s)",
                 show->like.size < SQL_NAME_MAX ? (int)show->like.size
                                                : SQL_NAME_MAX,
                 show->like.data);
    return used > 0 ? out : NULL;
}

/* Makes the tree of WHERE 1, in the statement's arena, since types are noted
 * in it.  NULL: out of memory. */
static struct tree *
make_true(struct arena *arena)
{
    struct {
        struct tree tree;
        struct tree_item item;
        struct node one;
    } *all = arena_alloc(arena, sizeof(*all));

    if (!all)
        return NULL;
    all->one = (struct node){.kind = NODE_INTEGER, .text = {"1", 1}};
    all->item.value = &all->one;
    all->tree.form = TREE_CONDITION;
    all->tree.items = &all->item;
    return &all->tree;
}

/* Runs SHOW ... WHERE 1: as a SELECT it can wait for other nodes, which SHOW
 * itself cannot. */
static struct cursor *
open_waiting(struct opening *o, const struct catalog_table *table,
             const struct catalog_scope *scope, struct error *err)
{
    const struct sql_statement *given = o->statement;
    struct sql_statement statement = *given;
    struct cursor *cursor;

    statement.show.where = make_true(o->arena);
    if (!statement.show.where) {
        error_memory(err, "the statement");
        return NULL;
    }
    o->statement = &statement;
    cursor = select_open_where(o, table, scope, err);
    o->statement = given;
    return cursor;
}

bool
show_is_short_statement(const struct show *show)
{
    struct error ignored;
    const struct catalog_table *table = find_show_source_table(show, &ignored);

    return !show->where && (!table || !(table->needs & NEED_PEERS));
}

/* Are there many sessions?  A few are listed at once, on the event loop and
 * without a compute slot, so that one sees whom to kill when all slots are
 * taken. */
static bool
is_long(const struct sql_session *session)
{
    const struct sql_host *host = &session->node->host;
    struct sql_counts counts;

    host->count(host->arg, &counts);
    return counts.mysql_open + counts.http_open > SESSIONS_FEW;
}

struct cursor *
show_open(struct opening *o, struct error *err)
{
    const struct show *show = &o->statement->show;
    const struct catalog_table *table = find_show_source_table(show, err);
    struct catalog_scope scope = {
        .session = o->session, .full = show->full, .global = show->global};
    struct sql_identity other;
    struct rowset rows;
    char label[LABEL_MAX];

    if (!table ||
        privilege_check(o->session->who.privileges, table->privilege, err) !=
            0 ||
        find_subject(show, &scope, &other, err) != 0)
        return NULL;
    scope.label = show_column_label(show, &scope, label);
    if (show->where)
        return select_open_where(o, table, &scope, err);
    if (table->needs == NEED_PEERS && peers_can_ask(o->session))
        return open_waiting(o, table, &scope, err);
    if ((table->needs & ~(unsigned)(NEED_PEERS | NEED_TIME)) || table->walk) {
        error_set(err, ER_NOT_SUPPORTED,
                  "only a SELECT can read a table that waits for the node");
        return NULL;
    }
    if (o->describing)
        return sql_cursor_rows(table, NULL, scope.label, err);
    if (table->needs & NEED_TIME && is_long(o->session) &&
        opening_compute(o, err) != 0)
        return NULL;
    rowset_init(&rows, table->column_count);
    table->produce(&scope, &rows);
    if (rowset_done(&rows, err) != 0) {
        rowset_fini(&rows);
        return NULL;
    }
    if (show->has_like)
        filter_show_rows(table, &rows, show->like);
    if (show->has_limit)
        limit_show_rows(&rows, show);
    o->session->found_rows = rowset_rows(&rows);
    return sql_cursor_rows(table, &rows, scope.label, err);
}
