/*
 * audit_text.c - see audit_text.h.
 *
 * A record has room for little, and a script may be long, so each part (what
 * stands before the script, the script, what follows) keeps its beginning and
 * its end in a buffer of fixed size, as its tokens go by: no part is built in
 * full, and none can push another out.  Tokens are those of the lexers that run
 * the statement, so a comment here is a comment there.  Linear in the text; an
 * arena holds decoded strings and is freed at the end.
 */
#include "audit_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "clean_text.h"
#include "cursor.h"
#include "lexer.h"
#include "script.h"
#include "script_lexer.h"

enum {
    CUT_BYTES = 256, /* kept of a cut text */
    CUT_SEEN = 2 * CUT_BYTES,
    CUT_NOTE = 48,
    STATEMENT_HEAD = 64, /* of what is not the script: target and ids */
    STATEMENT_TAIL = 32,
    SCRIPT_HEAD = 176,
    SCRIPT_TAIL = 80,
    /* a statement with text behind its script fails, so little of that is kept
     */
    REST_HEAD = 24,
    REST_TAIL = 8,
    ARENA_BYTES = 4 * SCRIPT_SIZE_MAX
};

_Static_assert(STATEMENT_HEAD + STATEMENT_TAIL + SCRIPT_HEAD + SCRIPT_TAIL +
                       REST_HEAD + REST_TAIL + 2 * CUT_NOTE <=
                   AUDIT_TEXT_MAX - CUT_NOTE / 2,
               "a record has room for all of it");

/* A text of which the middle may be missing; the tail is a ring. */
struct cut {
    size_t head, tail; /* bytes that are kept of both ends */
    size_t size;       /* bytes that came */
    bool quoted;       /* apostrophes are doubled */
    char bytes[CUT_BYTES];
};

static void
cut_byte(struct cut *c, char byte)
{
    if (c->size < c->head)
        c->bytes[c->size] = byte;
    else
        c->bytes[c->head + (c->size - c->head) % c->tail] = byte;
    c->size++;
}

static void
cut_add(struct cut *c, const char *data, size_t size)
{
    for (size_t i = 0; data && i < size; i++) {
        /* bytes that head and tail cannot keep */
        if (i == CUT_BYTES && size > CUT_SEEN) {
            c->size += size - CUT_SEEN;
            i = size - CUT_BYTES;
        }
        cut_byte(c, data[i]);
        if (c->quoted && data[i] == '\'')
            cut_byte(c, data[i]);
    }
}

/* Prints at most what is kept, and a note of CUT_NOTE bytes on what is missing.
 */
static void
cut_print(const struct cut *c, char *out)
{
    size_t kept = c->head + c->tail, used, from;
    char text[CUT_BYTES + CUT_NOTE];

    if (c->size <= kept) {
        memcpy(text, c->bytes, c->size);
        used = c->size;
    } else {
        memcpy(text, c->bytes, c->head);
        used = c->head;
        used += (size_t)snprintf(text + used, CUT_NOTE, " [%zu bytes] ",
                                 c->size - kept);
        from = (c->size - c->head) % c->tail;
        memcpy(text + used, c->bytes + c->head + from, c->tail - from);
        used += c->tail - from;
        memcpy(text + used, c->bytes + c->head, from);
        used += from;
    }
    clean_text((struct span){text, used}, out);
}

/* Puts the script's statements on one line, with a blank between two tokens
 * only if there was something. */
static void
add_script(struct cut *out, struct span script, struct arena *arena)
{
    struct script_lexer lexer = {.text = script, .arena = arena};
    bool broken = true; /* no break at the beginning */
    struct script_token token;
    size_t before = 0;

    while (script_lex(&lexer, &token, NULL) == 0) {
        if (token.kind == SCRIPT_TOKEN_END)
            return;
        if (token.kind == SCRIPT_TOKEN_BREAK) {
            if (!broken)
                cut_add(out, ";", 1);
            broken = true;
        } else {
            if (out->size > 0 && (broken || token.offset > before))
                cut_add(out, " ", 1);
            cut_add(out, script.data + token.offset, lexer.pos - token.offset);
            broken = false;
        }
        before = lexer.pos;
    }
    /* The lexer gave up: the rest is shown as it is. */
    cut_add(out, script.data + before, script.size - before);
}

/* Returns a token's value; values other than texts are printed into number. */
static struct span
audit_token_value(const struct token *token, const struct value *value,
                  char number[32], struct arena *arena)
{
    struct span s = token->text;

    if (token->kind == TOKEN_STRING) {
        /* on failure it stays as typed */
        (void)(arena && token_decode(token, arena, &s));
        return s;
    }
    if (!value)
        return s;
    if (value->type == VALUE_TEXT || value->type == VALUE_BLOB)
        return (struct span){value->data, value->size};
    if (value->type == VALUE_INT)
        snprintf(number, 32, "%" PRId64, value->integer);
    else if (value->type == VALUE_DOUBLE)
        snprintf(number, 32, "%.15g", value->real);
    else
        snprintf(number, 32, "NULL");
    return (struct span){number, strlen(number)};
}

static bool
is_audit_text_token(const struct token *token, const struct value *value)
{
    return token->kind == TOKEN_STRING ||
           (value && (value->type == VALUE_TEXT || value->type == VALUE_BLOB));
}

/* Finds the beginning of the last text, which is the script; NULL: there is
 * none. */
static const char *
find_script(struct span text)
{
    struct lexer lexer = lexer_of(text);
    const char *found = NULL;
    struct token token;

    for (;;) {
        token = lexer_next(&lexer);
        if (token.kind == TOKEN_END || token.kind == TOKEN_INVALID)
            return found;
        if (token.kind == TOKEN_STRING || token.kind == TOKEN_PARAMETER ||
            token.kind == TOKEN_USER)
            found = token.text.data;
    }
}

/* A record while it is written. */
struct record {
    struct cut statement, script,
        rest; /* before the script, the script, behind it */
    struct cut *to;
    const char *script_at, *end; /* of the last token */
    struct arena *arena;
};

static void
add_token(struct record *r, const struct token *token,
          const struct value *value)
{
    char number[32];
    struct span s = audit_token_value(token, value, number, r->arena);
    bool quoted = is_audit_text_token(token, value);

    if (r->end && token->text.data > r->end)
        cut_add(r->to, " ", 1);
    r->end = token->text.data + token->text.size;
    if (!quoted) {
        cut_add(r->to, s.data, s.size);
        return;
    }
    cut_byte(r->to, '\'');
    if (token->text.data == r->script_at && r->arena) {
        /* The quotes around it are written to the parts beside it. */
        add_script(&r->script, s, r->arena);
        r->to = &r->rest;
    } else {
        r->to->quoted = true;
        cut_add(r->to, s.data, s.size);
        r->to->quoted = false;
    }
    cut_byte(r->to, '\'');
}

static void
print_audit_record(const struct record *r, char out[AUDIT_TEXT_MAX + 1])
{
    const struct cut *const parts[] = {&r->statement, &r->script, &r->rest};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        cut_print(parts[i], out);
        out += strlen(out);
    }
}

static const struct value *
variable_value(const struct token *token, const struct sql_session *session,
               struct arena *arena)
{
    struct span name;

    return session && arena && token_decode(token, arena, &name) == 0
               ? sql_session_variable(session, name)
               : NULL;
}

void
audit_text_make(struct span text, const struct sql_parameters *parameters,
                const struct sql_session *session, char out[AUDIT_TEXT_MAX + 1])
{
    struct record r = {
        .statement = {.head = STATEMENT_HEAD, .tail = STATEMENT_TAIL},
        .script = {.head = SCRIPT_HEAD, .tail = SCRIPT_TAIL, .quoted = true},
        .rest = {.head = REST_HEAD, .tail = REST_TAIL},
        .to = &r.statement,
        .script_at = find_script(text),
        .arena = arena_new(ARENA_BYTES),
    };
    struct lexer lexer = lexer_of(text);
    struct token token = lexer_next(&lexer);
    const struct value *value;
    size_t next = 0;

    while (token_is_operator(&token, ";"))
        token = lexer_next(&lexer);
    for (; token.kind != TOKEN_END && token.kind != TOKEN_INVALID;
         token = lexer_next(&lexer)) {
        value = NULL;
        if (token.kind == TOKEN_PARAMETER && parameters &&
            next < parameters->count)
            value = &parameters->values[next++];
        if (token.kind == TOKEN_USER)
            value = variable_value(&token, session, r.arena);
        add_token(&r, &token, value);
    }
    /* An unfinished string or comment: all the rest is one token. */
    if (token.kind == TOKEN_INVALID) {
        token.text.size = (size_t)(text.data + text.size - token.text.data);
        add_token(&r, &token, NULL);
    }
    arena_free(r.arena);
    print_audit_record(&r, out);
}
