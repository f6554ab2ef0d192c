/* rewriter_emit.c - writes tokens as SQLite spells them. */
#include "rewriter.h"

#include <string.h>

#include "errors.h"
#include "kind.h"
#include "moment.h"
#include "sql_session.h"
#include "variables.h"

int
rewriter_fail(struct rewriter *r)
{
    return syntax_error(r->job->source, r->token.text.data, r->err);
}

int
rewriter_fail_deep(struct rewriter *r)
{
    error_set(r->err, ER_STACK_OVERRUN, STATEMENT_TOO_DEEP);
    return -1;
}

int
rewriter_decode(struct rewriter *r, const struct token *token, struct span *out)
{
    if (token_decode(token, r->job->arena, out) == 0)
        return 0;
    error_memory(r->err, "the statement");
    return -1;
}

void
rewriter_emit_span(struct rewriter *r, struct span text)
{
    buffer_char(r->sql, ' ');
    buffer_add(r->sql, text.data, text.size);
}

void
rewriter_emit(struct rewriter *r, const char *text)
{
    struct span span = {text, strlen(text)};

    rewriter_emit_span(r, span);
}

/* Writes text between quotes and doubles the quotes in it.  A NUL, which would
 * end the statement for SQLite, becomes a question mark. */
static void
emit_quoted(struct rewriter *r, struct span text, char quote)
{
    buffer_char(r->sql, quote);
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];

        if (c == quote)
            buffer_char(r->sql, quote);
        if (c == '\0')
            c = '?';
        buffer_char(r->sql, c);
    }
    buffer_char(r->sql, quote);
}

void
rewriter_emit_identifier(struct rewriter *r, struct span name)
{
    buffer_char(r->sql, ' ');
    emit_quoted(r, name, '"');
}

void
rewriter_emit_text(struct rewriter *r, struct span text)
{
    emit_quoted(r, text, '\'');
}

int
rewriter_emit_decoded(struct rewriter *r, const struct token *token)
{
    struct span name;

    if (rewriter_decode(r, token, &name) != 0)
        return -1;
    rewriter_emit_identifier(r, name);
    return 0;
}

static void
emit_bytes_as_hex(struct rewriter *r, struct span bytes)
{
    static const char digits[] = "0123456789abcdef";

    buffer_text(r->sql, " CAST(X'");
    for (size_t i = 0; i < bytes.size; i++) {
        buffer_char(r->sql, digits[(unsigned char)bytes.data[i] >> 4]);
        buffer_char(r->sql, digits[(unsigned char)bytes.data[i] & 15]);
    }
    buffer_text(r->sql, "' AS TEXT)");
}

/* 'a' 'b' is one string in MySQL: the second one continues the first. */
int
rewriter_emit_string(struct rewriter *r, const struct token *token)
{
    struct span text;

    if (rewriter_decode(r, token, &text) != 0)
        return -1;
    rewriter_snapshot_value(r, &(struct value){.type = VALUE_TEXT,
                                               .data = text.data,
                                               .size = text.size});
    if (memchr(text.data, '\0', text.size)) {
        emit_bytes_as_hex(r, text);
        return 0;
    }
    if (r->previous.kind == TOKEN_STRING && r->sql->size > 0 &&
        r->sql->data[r->sql->size - 1] == '\'')
        buffer_text(r->sql, "||");
    buffer_char(r->sql, ' ');
    emit_quoted(r, text, '\'');
    return 0;
}

int
rewriter_emit_moment(struct rewriter *r)
{
    bool time = token_is(&r->token, "TIME"), date = token_is(&r->token, "DATE");
    char room[MOMENT_TEXT];
    struct moment t;
    struct span text;
    bool right;

    rewriter_advance(r);
    if (rewriter_decode(r, &r->token, &text) != 0)
        return -1;
    if (time)
        right = moment_parse_time(text, &t) && t.kind == MOMENT_TIME;
    else
        right = moment_parse(text, &t) && (!date || t.kind == MOMENT_DATE);
    if (!right) {
        error_set(r->err, ER_WRONG_MOMENT, "Incorrect %s value: '%.*s'",
                  time   ? "TIME"
                  : date ? "DATE"
                         : "DATETIME",
                  (int)(text.size < MOMENT_TEXT ? text.size : MOMENT_TEXT),
                  text.data);
        return -1;
    }
    if (!time && !date)
        t.kind = MOMENT_DATETIME;
    text.data = room;
    text.size = moment_text(&t, room);
    buffer_text(r->sql, " hw_cast(");
    emit_quoted(r, text, '\'');
    buffer_format(r->sql, ",'%s',%u,-1)",
                  time   ? "TIME"
                  : date ? "DATE"
                         : "DATETIME",
                  t.digits);
    return 0;
}

/* Doubles hold so many digits exactly; 2^63 and more become a text. */
void
rewriter_emit_number(struct rewriter *r, const struct token *token)
{
    static const char largest[] = "9223372036854775807";
    struct span text = token->text;
    const char *point = memchr(text.data, '.', text.size);
    size_t size = sizeof(largest) - 1, zeros = 0;

    while (zeros + 1 < text.size && text.data[zeros] == '0')
        zeros++;
    if (token->kind == TOKEN_INTEGER && text.size - zeros >= size &&
        (text.size - zeros > size ||
         memcmp(text.data + zeros, largest, size) > 0))
        buffer_format(r->sql, " hw_digits('%.*s')", (int)(text.size - zeros),
                      text.data + zeros);
    else if (point && text.size - 1 <= KIND_DIGITS_MAX &&
             !memchr(text.data, 'e', text.size) &&
             !memchr(text.data, 'E', text.size))
        buffer_format(r->sql, " hw_decimal(%.*s,%zu)", (int)text.size,
                      text.data, (size_t)(text.data + text.size - point) - 1);
    else
        rewriter_emit_span(r, text);
}

/* 0x1f, x'1f', 0b01 and b'01' */
int
rewriter_emit_hex(struct rewriter *r, const struct token *token)
{
    struct span digits = {token->text.data + 2, token->text.size - 2};
    bool bits = token->text.data[0] == 'b' || token->text.data[0] == 'B' ||
                token->text.data[1] == 'b';

    if (token->text.data[1] == '\'')
        digits.size--;
    buffer_text(r->sql, " hw_hex(");
    if (bits) {
        size_t at = 0, size = digits.size % 8;

        buffer_text(r->sql, " X'");
        for (; at < digits.size; at += size, size = 8) {
            unsigned number = 0;

            if (size == 0)
                size = 8;
            for (size_t i = at; i < at + size; i++)
                number = number << 1 | (unsigned)(digits.data[i] - '0');
            buffer_format(r->sql, "%02x", number);
        }
        buffer_text(r->sql, "')");
        return 0;
    }
    buffer_text(r->sql, digits.size % 2 ? " X'0" : " X'");
    buffer_add(r->sql, digits.data, digits.size);
    buffer_text(r->sql, "')");
    return 0;
}

int
rewriter_emit_system_variable(struct rewriter *r, const struct token *token)
{
    const struct variable *variable;
    enum variable_scope scope;
    struct span name;

    token_variable(token, &scope, &name);
    variable = variable_find(name, r->err);
    if (!variable)
        return -1;
    buffer_format(r->sql, " hw_variable(%zu,%d)",
                  (size_t)(variable - variables), (int)scope);
    return 0;
}

int
rewriter_emit_user_variable(struct rewriter *r, const struct token *token)
{
    const struct session_value *known;
    struct span name;

    if (rewriter_decode(r, token, &name) != 0)
        return -1;
    known = session_value_find(r->job->session, NULL, name);
    if (known)
        rewriter_snapshot_value(r, &known->value);
    buffer_text(r->sql, " hw_user_variable(");
    emit_quoted(r, name, '\'');
    buffer_char(r->sql, ')');
    return 0;
}
