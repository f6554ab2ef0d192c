/*
 * execute.c - from a statement's text to an open cursor.
 *
 * sql_open() parses the text, checks the privilege of its kind in one table,
 * and calls the kind's open function.  Everything that can be refused is
 * refused there, before the first row; that lets server/ answer with an error
 * packet instead of breaking off a result.  A SELECT whose text and session
 * match a plan that is kept (select_plan_find) skips parsing altogether, which
 * is most of what a short SELECT costs.
 *
 * PREPARE and EXECUTE are resolved here, too: EXECUTE is replaced by the text
 * that it stands for before anything else looks at it.  The statements that
 * need no file of their own (USE, KILL, BEGIN, PREPARE) follow.  All of it
 * runs on the statement's thread, which is the event loop's until a statement
 * waits or computes for long.
 */
#include <string.h>

#include "admin.h"
#include "arena.h"
#include "catalog.h"
#include "commands.h"
#include "errors.h"
#include "parse_statement.h"
#include "parser.h"
#include "select_query.h"
#include "sql.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "sql_statement.h"

enum {
    EXECUTE_BYTES_MAX = 64 * 1024, /* of EXECUTE itself, which the loop reads */
    INDIRECT_BYTES_MAX =
        2 * 1024 *
        1024 /* SESSION_VALUES_MAX values of the largest size, and the text */
};

/* Copies the variable's value, since the statement may SET the variable while
 * it still reads the value.  Gives NULL where it was never set. */
static int
copy_user_variable(const struct sql_session *session, struct span name,
                   struct arena *arena, struct value *out, struct error *err)
{
    const struct session_value *found = session_value_find(session, NULL, name);

    memset(out, 0, sizeof(*out));
    if (!found)
        return 0;
    *out = found->value;
    if (out->type != VALUE_TEXT && out->type != VALUE_BLOB)
        return 0;
    out->data = arena_strndup(arena, found->value.data, found->value.size);
    if (out->data)
        return 0;
    error_memory(err, "the values of EXECUTE");
    return -1;
}

/* USING @a, @b, ... */
static int
read_execute_values(const struct sql_session *session, struct parser *p,
                    struct sql_indirect *out)
{
    struct value *values =
        parser_alloc(p, SESSION_VALUES_MAX * sizeof(*values));
    size_t count = 0;
    struct span name;

    if (!values)
        return -1;
    do {
        if (p->token.kind != TOKEN_USER || count == SESSION_VALUES_MAX)
            return parser_fail(p);
        if (parser_decode(p, &name) != 0 ||
            copy_user_variable(session, name, p->arena, &values[count++],
                               p->err) != 0)
            return -1;
    } while (parser_accept_operator(p, ","));
    out->parameters = (struct sql_parameters){values, count};
    return 0;
}

static int
resolve_execute(struct sql_session *session, struct span text,
                struct lexer lexer, struct sql_indirect *out, struct error *err)
{
    const struct parsing how = {.arena = out->arena};
    struct parser p = {.lexer = lexer,
                       .source = text,
                       .how = &how,
                       .arena = out->arena,
                       .err = err};
    const struct prepared_text *found;
    struct span name;
    char *copy;

    parser_advance(&p);
    if (parser_name(&p, &name) != 0 ||
        (parser_accept(&p, "USING") &&
         read_execute_values(session, &p, out) != 0))
        return -1;
    parser_accept_operator(&p, ";");
    if (p.token.kind != TOKEN_END)
        return parser_fail(&p);
    found = prepared_text_find(session, name);
    if (!found)
        return prepared_text_unknown(name, "EXECUTE", err);
    copy = arena_strndup(out->arena, found->text, found->size);
    if (!copy) {
        error_memory(err, "a prepared statement");
        return -1;
    }
    out->text = (struct span){copy, found->size};
    return 0;
}

/* Could it begin with EXECUTE?  The first byte tells for most statements, and
 * spares them a lexer; a comment or a semicolon may precede it. */
static bool
may_be_execute(struct span text)
{
    static const char blanks[] = " \t\n\v\f\r;", begins[] = "eE/-#";
    size_t i = 0;

    while (i < text.size && memchr(blanks, text.data[i], sizeof(blanks) - 1))
        i++;
    return i < text.size && memchr(begins, text.data[i], sizeof(begins) - 1);
}

int
sql_indirect(struct sql_session *session, struct span text,
             struct sql_indirect *out, struct error *err)
{
    struct lexer lexer = lexer_of(text);
    struct token first;

    memset(out, 0, sizeof(*out));
    out->text = text;
    /* This runs on the event loop for every statement, so a long text is not
     * looked into: an EXECUTE of that length fails in the parser. */
    if (text.size > EXECUTE_BYTES_MAX || !may_be_execute(text))
        return 0;
    first = lexer_next(&lexer);
    /* The parser skips empty statements, too. */
    while (token_is_operator(&first, ";"))
        first = lexer_next(&lexer);
    if (!token_is(&first, "EXECUTE"))
        return 0;
    out->arena = arena_new(INDIRECT_BYTES_MAX);
    if (out->arena && resolve_execute(session, text, lexer, out, err) == 0)
        return 0;
    if (!out->arena)
        error_memory(err, "a prepared statement");
    sql_indirect_fini(out);
    return -1;
}

void
sql_indirect_fini(struct sql_indirect *indirect)
{
    arena_free(indirect->arena);
    memset(indirect, 0, sizeof(*indirect));
}

enum {
    /* Columns of names and labels, each DEPARSE_LABEL_MAX bytes or less. */
    DESCRIPTION_BYTES_MAX = 1024 * 1024
};

static struct cursor *
use_open(struct opening *o, struct error *err)
{
    struct span name = o->statement->use;
    int rc = !o->describing           ? sql_session_use(o->session, name, err)
             : catalog_database(name) ? 0
                                      : catalog_unknown_database(name, err);

    return rc == 0 ? sql_cursor_ok(err) : NULL;
}

/* Finds the id of KILL connection_id() or KILL @id, which is an expression.
 * Describing only checks it: evaluating could change a user variable. */
static int
kill_id(struct opening *o, uint32_t *out, struct error *err)
{
    const struct tree *expression = o->statement->kill.expression;
    struct value value;

    *out = o->statement->kill.id;
    if (!expression)
        return 0;
    if (o->describing)
        return select_check(o, expression, err);
    if (select_evaluate(o, expression, &value, err) != 0)
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
    if (ok && !o->describing &&
        host->kill(host->arg, id, o->statement->kill.query_only,
                   &o->session->who, err) != 0) {
        cursor_free(ok);
        return NULL;
    }
    return ok;
}

/* BEGIN, COMMIT, ROLLBACK, and what is answered with an OK alone. */
static struct cursor *
transaction_open(struct opening *o, struct error *err)
{
    enum statement_kind kind = o->statement->kind;

    if (!o->describing && kind != STATEMENT_NOTHING)
        o->session->in_transaction = kind == STATEMENT_BEGIN;
    return sql_cursor_ok(err);
}

/* Refuses at PREPARE what EXECUTE would refuse: a statement is acceptable if
 * its columns can be described. */
static int
check_prepared_text(const struct opening *o, struct span text,
                    struct error *err)
{
    struct sql_description description;

    if (sql_describe(o->session, text, o->await, &description, err) != 0)
        return -1;
    sql_description_fini(&description);
    return 0;
}

static struct cursor *
refuse_prepared(struct error *err)
{
    error_set(err, ER_UNSUPPORTED_PS,
              "This command is not supported in the prepared statement "
              "protocol yet");
    return NULL;
}

static struct cursor *
prepare_open(struct opening *o, struct error *err)
{
    struct cursor *ok;

    if (o->describing)
        return refuse_prepared(err);
    if (check_prepared_text(o, o->statement->prepare.text, err) != 0)
        return NULL;
    ok = sql_cursor_ok(err);
    if (ok && prepared_text_keep(o->session, o->statement->prepare.name,
                                 o->statement->prepare.text, err) == 0)
        return ok;
    cursor_free(ok);
    return NULL;
}

static struct cursor *
deallocate_open(struct opening *o, struct error *err)
{
    struct span name = o->statement->prepare.name;
    struct cursor *ok;

    if (o->describing)
        return refuse_prepared(err);
    ok = sql_cursor_ok(err);
    if (!ok || prepared_text_drop(o->session, name))
        return ok;
    cursor_free(ok);
    prepared_text_unknown(name, "DEALLOCATE PREPARE", err);
    return NULL;
}

/* The kinds of statements, with the privilege that opening one needs.  Most
 * need none: the tables and methods that they name declare their own
 * privileges. */
static const struct {
    uint32_t privilege;
    struct cursor *(*open)(struct opening *opening, struct error *err);
} statements[STATEMENT_KIND_COUNT] = {
    [STATEMENT_ADMIN_EXECUTE] = {0, admin_open},
    [STATEMENT_SELECT] = {0, select_open},
    [STATEMENT_SHOW] = {0, show_open},
    [STATEMENT_SET] = {0, set_open},
    [STATEMENT_USE] = {0, use_open},
    [STATEMENT_KILL] = {0, kill_open}, /* the host checks the owner */
    [STATEMENT_DO] = {0, do_open},
    [STATEMENT_BEGIN] = {0, transaction_open},
    [STATEMENT_END] = {0, transaction_open},
    [STATEMENT_EXPLAIN] = {0, explain_open},
    [STATEMENT_MAINTAIN] = {0, maintain_open},
    [STATEMENT_FORWARD] = {0, forward_open}, /* the channel checks the sender */
    [STATEMENT_IMPORT] = {PRIVILEGE_CONTROL, import_open},
    [STATEMENT_BUDGET] = {PRIVILEGE_CONTROL, budget_open},
    [STATEMENT_PREPARE] = {0, prepare_open},
    [STATEMENT_DEALLOCATE] = {0, deallocate_open},
    [STATEMENT_NOTHING] = {0, transaction_open},
};

/* Another node's session runs ADMIN FORWARD alone: an intruder on one node gets
 * no more rights on the others than that node's callers have. */
static int
check_channel(const struct sql_session *session,
              const struct sql_statement *statement, struct error *err)
{
    if (!session->channel || statement->kind == STATEMENT_FORWARD)
        return 0;
    error_set(err, ER_PRIVILEGE,
              "Access denied; another node's session runs only ADMIN FORWARD");
    return -1;
}

/* Sets heapwire_timeout where the session or the statement has one.  A SELECT's
 * MAX_EXECUTION_TIME replaces the session's, but never gives more time. */
static void
set_statement_timeout(struct cursor *cursor, const struct sql_session *session,
                      const struct sql_statement *statement)
{
    uint32_t timeout_s = statement ? statement->timeout_s : 0;
    uint32_t max_ms = statement && cursor->timed ? statement->max_ms : 0;

    if (timeout_s == 0)
        timeout_s = session->statement_s;
    if (cursor->timeout_ms == 0)
        cursor->timeout_ms = timeout_s * 1000;
    if (max_ms == 0)
        return;
    cursor->timed = false;
    if (max_ms < session_timeout_s(session, statement) * 1000)
        cursor->timeout_ms = max_ms;
}

/* Does the statement leave the earlier warnings in force, so that they can
 * still be read?  A SELECT without tables does, and SHOW WARNINGS. */
static bool
keeps_warnings(const struct opening *o)
{
    static const char *const subjects[] = {"errors", "error_count", "warnings",
                                           "warning_count"};
    const struct sql_statement *statement = o->statement;
    const char *what = statement->show.what;

    if (o->constant)
        return true;
    for (size_t i = 0; statement->kind == STATEMENT_SHOW && i < 4; i++)
        if (strcmp(what, subjects[i]) == 0)
            return true;
    return false;
}

/* Opens a statement in an arena of its own, which the cursor may keep. */
static struct cursor *
open_parsed_statement(struct opening *o, struct span text,
                      enum parameter_use use, size_t *parameters,
                      struct error *err)
{
    struct parsing how = {arena_new(STATEMENT_BYTES_MAX), use, o->parameters,
                          o->session};
    struct sql_statement statement;
    struct cursor *cursor = NULL;

    o->arena = how.arena;
    if (!o->arena) {
        error_memory(err, "the statement");
        return NULL;
    }
    o->statement = &statement;
    if (statement_parse(text, &how, &statement, err) == 0 &&
        check_channel(o->session, &statement, err) == 0 &&
        privilege_check(o->session->who.privileges,
                        statements[statement.kind].privilege, err) == 0)
        cursor = statements[statement.kind].open(o, err);
    if (cursor)
        set_statement_timeout(cursor, o->session, &statement);
    if (!o->describing && !(cursor && keeps_warnings(o)))
        warnings_drop_old(o->session);
    *parameters = statement.parameters;
    /* NULL if the cursor took the arena.  What remains of the statement is
     * read before: its texts lie in the arena. */
    arena_free(o->arena);
    o->statement = NULL;
    return cursor;
}

struct cursor *
sql_open(struct sql_session *session, struct span text,
         const struct sql_parameters *parameters, struct await *await,
         struct error *err)
{
    struct opening opening = {
        .session = session, .parameters = parameters, .await = await};
    struct select_plan *plan = NULL;
    struct cursor *cursor;
    size_t count;

    if (!session->channel)
        /* A plan is found by its text, whoever made it, and would pass
         * check_channel() by. */
        plan = select_plan_find(session, text, parameters);
    /* From here on they belong to the statement before; the first new warning
     * drops them. */
    session->warnings.old = true;
    if (plan) {
        cursor = select_open_plan(&opening, plan, err);
        if (cursor)
            set_statement_timeout(cursor, session, NULL);
        return cursor;
    }
    return open_parsed_statement(
        &opening, text, parameters ? PARAMETERS_GIVEN : PARAMETERS_NONE, &count,
        err);
}

/* ---- describing ---- */

int
sql_describe(struct sql_session *session, struct span text, struct await *await,
             struct sql_description *out, struct error *err)
{
    struct opening opening = {
        .session = session, .await = await, .describing = true};
    struct cursor *cursor;

    memset(out, 0, sizeof(*out));
    cursor = open_parsed_statement(&opening, text, PARAMETERS_ABSENT,
                                   &out->parameter_count, err);
    if (!cursor)
        return -1;
    out->arena = arena_new(DESCRIPTION_BYTES_MAX);
    if (out->arena)
        out->columns = sql_cursor_copy_columns(cursor, out->arena);
    out->column_count = cursor->column_count;
    cursor_free(cursor);
    if (out->columns)
        return 0;
    error_memory(err, "the columns");
    sql_description_fini(out);
    return -1;
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
