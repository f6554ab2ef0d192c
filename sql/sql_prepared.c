/*
 * sql_prepared.c - EXECUTE: finds the prepared text and the values for it.
 *
 * PREPARE and DEALLOCATE PREPARE are in execute.c.
 */
#include "sql_prepared.h"

#include <string.h>

#include "arena.h"
#include "errors.h"
#include "lexer.h"
#include "prepared_text.h"
#include "sql_session.h"

enum {
    EXECUTE_BYTES_MAX = 64 * 1024, /* of EXECUTE itself, which the loop reads */
    INDIRECT_BYTES_MAX =
        2 * 1024 *
        1024,  /* SESSION_VALUES_MAX values of the largest size, and the text */
    SHOWN = 64 /* bytes of a name in an error */
};

int
sql_unknown_prepared(struct span name, const char *given_to, struct error *err)
{
    error_set(err, ER_UNKNOWN_STATEMENT,
              "Unknown prepared statement handler (%.*s) given to %s",
              name.size < SHOWN ? (int)name.size : SHOWN, name.data, given_to);
    return -1;
}

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
    const struct prepared_text *found;
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
    found = prepared_text_find(session, name);
    if (!found)
        return sql_unknown_prepared(name, "EXECUTE", err);
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
