/* sql_prepared.c - see sql_prepared.h. */
#include "sql_prepared.h"

#include <stdatomic.h>
#include <string.h>

#include "arena.h"
#include "cursor.h"
#include "errors.h"
#include "lexer.h"
#include "memory.h"
#include "opening.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "sql_statement.h"

enum {
    EXECUTE_BYTES_MAX = 64 * 1024, /* of EXECUTE: it is read on the loop */
    INDIRECT_BYTES_MAX = 2 * 1024 * 1024, /* SESSION_VALUES_MAX of the largest,
                                             and the text */
    SHOWN = 64                            /* bytes of a name in an error */
};

static atomic_size_t kept; /* bytes of all sessions' */

static size_t
size_of(const struct sql_prepared *prepared)
{
    return sizeof(*prepared) + prepared->size + 1;
}

/* Zeroed but for its size, or NULL with *err. */
static struct sql_prepared *
prepared_new(size_t text, struct error *err)
{
    struct sql_prepared *new = mem_zalloc(1, sizeof(*new) + text + 1);

    if (!new) {
        error_memory(err, "a prepared statement");
        return NULL;
    }
    new->size = text;
    if (atomic_fetch_add(&kept, size_of(new)) + size_of(new) <=
        SQL_PREPARED_TOTAL_MAX)
        return new;
    atomic_fetch_sub(&kept, size_of(new));
    mem_free(new);
    error_set(err, ER_TOO_MANY_PREPARED,
              "Can't prepare more than %d bytes of statements as SQL text in "
              "all sessions together; DEALLOCATE PREPARE some",
              SQL_PREPARED_TOTAL_MAX);
    return NULL;
}

static void
prepared_free(struct sql_prepared *prepared)
{
    atomic_fetch_sub(&kept, size_of(prepared));
    mem_free(prepared);
}

void
sql_prepared_free(struct sql_prepared *list)
{
    while (list) {
        struct sql_prepared *next = list->next;

        prepared_free(list);
        list = next;
    }
}

/* Where the statement called name is linked in; *it NULL: there is none. */
static struct sql_prepared **
find(struct sql_session *session, struct span name)
{
    struct sql_prepared **at = &session->prepared;

    while (*at && !span_is_nocase(name, (*at)->name))
        at = &(*at)->next;
    return at;
}

static void
drop(struct sql_prepared **at)
{
    struct sql_prepared *old = *at;

    if (!old)
        return;
    *at = old->next;
    prepared_free(old);
}

static int
unknown(struct span name, const char *given_to, struct error *err)
{
    error_set(err, ER_UNKNOWN_STATEMENT,
              "Unknown prepared statement handler (%.*s) given to %s",
              name.size < SHOWN ? (int)name.size : SHOWN, name.data, given_to);
    return -1;
}

/* ---- PREPARE ---- */

/* It must be a statement that can be described, and stand for itself. */
static int
check_text(struct sql_session *session, struct span text, struct error *err)
{
    struct sql_description description;

    if (sql_describe(session, text, &description, err) != 0)
        return -1;
    sql_description_fini(&description);
    return 0;
}

static int
keep(struct sql_session *session, struct span name, struct span text,
     struct error *err)
{
    struct sql_prepared *new, **old = find(session, name);
    size_t count = 0;

    for (const struct sql_prepared *p = session->prepared; p; p = p->next)
        count++;
    if (count - (*old != NULL) >= SQL_PREPARED_MAX ||
        text.size > SQL_PREPARED_TEXT_MAX || name.size > SQL_NAME_MAX) {
        error_set(err, ER_TOO_MANY_PREPARED,
                  "Can't prepare more than %d statements of %d bytes each as "
                  "SQL text; DEALLOCATE PREPARE one",
                  SQL_PREPARED_MAX, SQL_PREPARED_TEXT_MAX);
        return -1;
    }
    new = prepared_new(text.size, err);
    if (!new)
        return -1;
    memcpy(new->name, name.data, name.size);
    memcpy(new->text, text.data, text.size);
    drop(old);
    new->next = session->prepared;
    session->prepared = new;
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

struct cursor *
prepare_open(struct opening *o, struct error *err)
{
    struct cursor *ok;

    if (o->describing)
        return refuse_prepared(err);
    if (check_text(o->session, o->statement->prepare.text, err) != 0)
        return NULL;
    ok = sql_cursor_ok(err);
    if (ok && keep(o->session, o->statement->prepare.name,
                   o->statement->prepare.text, err) == 0)
        return ok;
    cursor_free(ok);
    return NULL;
}

struct cursor *
deallocate_open(struct opening *o, struct error *err)
{
    struct span name = o->statement->prepare.name;
    struct sql_prepared **at = find(o->session, name);
    struct cursor *ok;

    if (o->describing)
        return refuse_prepared(err);
    if (!*at) {
        unknown(name, "DEALLOCATE PREPARE", err);
        return NULL;
    }
    ok = sql_cursor_ok(err);
    if (ok)
        drop(at);
    return ok;
}

/* ---- EXECUTE ---- */

/* A copy of the variable's value; NULL where it was never set. */
static int
copy_value(const struct sql_session *session, const struct token *token,
           struct arena *arena, struct value *out, struct error *err)
{
    const struct session_value *found;
    struct span name;

    memset(out, 0, sizeof(*out));
    if (token_decode(token, arena, &name) != 0) {
        error_memory(err, "the values of EXECUTE");
        return -1;
    }
    found = session_value_find(session, NULL, name);
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
read_values(const struct sql_session *session, struct span text,
            struct lexer *lexer, struct token *token, struct sql_indirect *out,
            struct error *err)
{
    struct value *values =
        arena_alloc(out->arena, SESSION_VALUES_MAX * sizeof(*values));
    size_t count = 0;

    if (!values) {
        error_memory(err, "the values of EXECUTE");
        return -1;
    }
    out->parameters.values = values;
    do {
        *token = lexer_next(lexer);
        if (token->kind != TOKEN_USER || count == SESSION_VALUES_MAX)
            return syntax_error(text, token->text.data, err);
        if (copy_value(session, token, out->arena, &values[count++], err) != 0)
            return -1;
        *token = lexer_next(lexer);
    } while (token_is_operator(token, ","));
    out->parameters.count = count;
    return 0;
}

static int
resolve(struct sql_session *session, struct span text, struct lexer lexer,
        struct sql_indirect *out, struct error *err)
{
    struct token token = lexer_next(&lexer);
    struct sql_prepared *found;
    struct span name;
    char *copy;

    if (token.kind != TOKEN_WORD && token.kind != TOKEN_QUOTED)
        return syntax_error(text, token.text.data, err);
    if (token_decode(&token, out->arena, &name) != 0) {
        error_memory(err, "a prepared statement");
        return -1;
    }
    token = lexer_next(&lexer);
    if (token_is(&token, "USING") &&
        read_values(session, text, &lexer, &token, out, err) != 0)
        return -1;
    if (token_is_operator(&token, ";"))
        token = lexer_next(&lexer);
    if (token.kind != TOKEN_END)
        return syntax_error(text, token.text.data, err);
    found = *find(session, name);
    if (!found)
        return unknown(name, "EXECUTE", err);
    copy = arena_strndup(out->arena, found->text, found->size);
    if (!copy) {
        error_memory(err, "a prepared statement");
        return -1;
    }
    out->text = (struct span){copy, found->size};
    return 0;
}

int
sql_indirect(struct sql_session *session, struct span text,
             struct sql_indirect *out, struct error *err)
{
    struct lexer lexer = lexer_of(text);
    struct token first;

    memset(out, 0, sizeof(*out));
    out->text = text;
    if (text.size > EXECUTE_BYTES_MAX)
        return 0;
    first = lexer_next(&lexer);
    while (token_is_operator(&first, ";"))
        first = lexer_next(&lexer);
    if (!token_is(&first, "EXECUTE"))
        return 0;
    out->arena = arena_new(INDIRECT_BYTES_MAX);
    if (out->arena && resolve(session, text, lexer, out, err) == 0)
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
