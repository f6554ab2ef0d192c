/*
 * sql_prepared.c - EXECUTE: finds the prepared text and the values for it.
 *
 * PREPARE and DEALLOCATE PREPARE are in execute.c.
 */
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "parser.h"
#include "prepared_text.h"
#include "sql_session.h"

enum {
    EXECUTE_BYTES_MAX = 64 * 1024, /* of EXECUTE itself, which the loop reads */
    INDIRECT_BYTES_MAX =
        2 * 1024 *
        1024 /* SESSION_VALUES_MAX values of the largest size, and the text */
};

/* A copy of the variable's value; NULL where it was never set. */
static int
copy_value(const struct sql_session *session, struct span name,
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
read_values(const struct sql_session *session, struct parser *p,
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
            copy_value(session, name, p->arena, &values[count++], p->err) != 0)
            return -1;
    } while (parser_accept_operator(p, ","));
    out->parameters = (struct sql_parameters){values, count};
    return 0;
}

static int
resolve(struct sql_session *session, struct span text, struct lexer lexer,
        struct sql_indirect *out, struct error *err)
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
        (parser_accept(&p, "USING") && read_values(session, &p, out) != 0))
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
