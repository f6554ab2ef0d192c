/* lexer_text.c - decodes tokens, and words syntax errors. */
#include "lexer.h"

#include <string.h>

#include "arena.h"
#include "errors.h"

/* The byte that an escape means in MySQL; \% and \_ keep the backslash. */
static char
escape(char c)
{
    switch (c) {
    case '0':
        return '\0';
    case 'b':
        return '\b';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'Z':
        return '\x1a';
    default:
        return c;
    }
}

/* Decodes the quoted run [p, end), which includes the quotes. */
static size_t
unquote(const char *p, const char *end, char *out)
{
    char quote = *p++, *start = out;

    for (end--; p < end; p++) {
        if (*p == '\\' && quote != '`' && p + 1 < end) {
            p++;
            if (*p == '%' || *p == '_')
                *out++ = '\\';
            *out++ = escape(*p);
            continue;
        }
        if (*p == quote) /* doubled */
            p++;
        *out++ = *p;
    }
    return (size_t)(out - start);
}

int
token_decode(const struct token *token, struct arena *arena, struct span *out)
{
    const char *p = token->text.data, *end = p + token->text.size;
    char *copy;

    if (token->kind == TOKEN_USER)
        p++;
    if (token->kind == TOKEN_STRING && *p != '\'' && *p != '"')
        p++; /* N'...' */
    if (token->kind == TOKEN_WORD || !strchr("'\"`", *p)) {
        out->data = p;
        out->size = (size_t)(end - p);
        return 0;
    }
    copy = arena_alloc(arena, (size_t)(end - p));
    if (!copy)
        return -1;
    out->size = unquote(p, end, copy);
    out->data = copy;
    return 0;
}

void
token_variable(const struct token *token, enum variable_scope *scope,
               struct span *name)
{
    static const struct {
        const char *word;
        enum variable_scope scope;
    } scopes[] = {{"global", SCOPE_GLOBAL},
                  {"session", SCOPE_SESSION},
                  {"local", SCOPE_SESSION}};
    struct span rest = {token->text.data + 2, token->text.size - 2};
    const char *dot = memchr(rest.data, '.', rest.size);
    struct span first = {rest.data, dot ? (size_t)(dot - rest.data) : 0};

    *scope = SCOPE_DEFAULT;
    for (size_t i = 0; dot && i < sizeof(scopes) / sizeof(scopes[0]); i++)
        if (span_is_nocase(first, scopes[i].word)) {
            *scope = scopes[i].scope;
            rest.data = dot + 1;
            rest.size -= first.size + 1;
            break;
        }
    if (rest.size >= 2 && rest.data[0] == '`') {
        rest.data++;
        rest.size -= 2;
    }
    *name = rest;
}

int
syntax_error(struct span source, const char *at, struct error *err)
{
    const char *end = source.data + source.size;
    size_t size = (size_t)(end - at);
    unsigned line = 1;

    for (const char *p = source.data; p < at; p++)
        line += *p == '\n';
    if (size > LEXER_NEAR_MAX) {
        size = LEXER_NEAR_MAX;
        while (size > 0 && ((unsigned char)at[size] & 0xc0) == 0x80)
            size--; /* do not cut a character */
    }
    error_set(err, ER_PARSE,
              "You have an error in your SQL syntax; check the manual that "
              "corresponds to your heapwire version for the right syntax to "
              "use near '%.*s' at line %u",
              (int)size, at, line);
    return -1;
}
