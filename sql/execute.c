/* execute.c - sql_open: parse, check, open; and the smallest statements. */
#include "execute.h"

#include <string.h>

#include "arena.h"
#include "catalog.h"
#include "errors.h"
#include "privileges.h"
#include "select_query.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "sql_statement.h"

static struct cursor *
use_open(struct opening *o, struct error *err)
{
    if (sql_session_use(o->session, o->statement->use, err) != 0)
        return NULL;
    return sql_cursor_ok(err);
}

/* KILL connection_id(), KILL @id. */
static int
kill_id(struct opening *o, uint32_t *out, struct error *err)
{
    struct rewrite rewrite = {o->session, o->statement->source,
                              &o->statement->kill.expression,
                              REWRITE_EXPRESSIONS, o->arena};
    struct value value;

    *out = o->statement->kill.id;
    if (!o->statement->kill.is_expression)
        return 0;
    if (select_evaluate(&rewrite, &value, err) != 0)
        return -1;
    if (value.type == VALUE_INT && value.integer >= 0 &&
        value.integer <= UINT32_MAX) {
        *out = (uint32_t)value.integer;
        return 0;
    }
    error_set(err, ER_NO_SUCH_THREAD,
              "Unknown thread id: the expression is no connection's number");
    return -1;
}

static struct cursor *
kill_open(struct opening *o, struct error *err)
{
    const struct sql_host *host = &o->session->node->host;
    struct cursor *ok;
    uint32_t id;

    if (kill_id(o, &id, err) != 0)
        return NULL;
    ok = sql_cursor_ok(err);
    if (ok && host->kill(host->arg, id, o->statement->kill.query_only,
                         &o->session->who, err) != 0) {
        cursor_free(ok);
        return NULL;
    }
    return ok;
}

static struct cursor *
nothing_open(struct opening *o, struct error *err)
{
    (void)o;
    return sql_cursor_ok(err);
}

static struct cursor *
begin_open(struct opening *o, struct error *err)
{
    o->session->in_transaction = true;
    return sql_cursor_ok(err);
}

static struct cursor *
end_open(struct opening *o, struct error *err)
{
    o->session->in_transaction = false;
    return sql_cursor_ok(err);
}

/* Every kind of statement and the privilege without which it is not opened;
 * tables and methods have theirs in their own definitions. */
static const struct {
    uint32_t privilege;
    struct cursor *(*open)(struct opening *opening, struct error *err);
} statements[STATEMENT_KIND_COUNT] = {
    [STATEMENT_ADMIN_EXECUTE] = {0, admin_open},
    [STATEMENT_SELECT] = {0, select_open},
    [STATEMENT_SHOW] = {0, show_open},
    [STATEMENT_SET] = {0, set_open},
    [STATEMENT_USE] = {0, use_open},
    [STATEMENT_KILL] = {0, kill_open}, /* the host knows whose it is */
    [STATEMENT_DO] = {0, do_open},
    [STATEMENT_BEGIN] = {0, begin_open},
    [STATEMENT_END] = {0, end_open},
    [STATEMENT_EXPLAIN] = {0, explain_open},
    [STATEMENT_NOTHING] = {0, nothing_open},
};

struct cursor *
sql_open(struct sql_session *session, struct span text,
         const struct sql_parameters *parameters, struct waker waker,
         struct error *err)
{
    struct statement statement;
    struct opening opening = {session, &statement, parameters, waker,
                              arena_new(STATEMENT_BYTES_MAX)};
    struct cursor *cursor = NULL;

    if (!opening.arena) {
        error_memory(err, "the statement");
        return NULL;
    }
    if (statement_parse(text, opening.arena, &statement, err) == 0 &&
        privilege_check(session->who.privileges,
                        statements[statement.kind].privilege, err) == 0)
        cursor = statements[statement.kind].open(&opening, err);
    arena_free(opening.arena);
    return cursor;
}

int
sql_describe(struct sql_session *session, struct span text,
             struct sql_description *out, struct error *err)
{
    struct lexer lexer = lexer_of(text);
    struct token token;

    (void)session;
    (void)err;
    memset(out, 0, sizeof(*out));
    do {
        token = lexer_next(&lexer);
        out->parameter_count += token.kind == TOKEN_PARAMETER;
    } while (token.kind != TOKEN_END && token.kind != TOKEN_INVALID);
    return 0;
}

void
sql_description_fini(struct sql_description *description)
{
    arena_free(description->arena);
    description->arena = NULL;
}

struct cursor *
sql_open_fields(struct sql_session *session, struct span table,
                struct error *err)
{
    const struct catalog_table *found =
        catalog_resolve(session, NULL, table, err);

    if (!found ||
        privilege_check(session->who.privileges, found->privilege, err) != 0)
        return NULL;
    return sql_cursor_rows(found, NULL, NULL, err);
}
