/*
 * lexer.c - splits MySQL's SQL into tokens, as MySQL's own lexer does.
 *
 * It is written by hand, since what clients send is full of exceptions:
 * versioned comments, "--" that needs a blank behind it, x'1f', identifiers
 * that begin with a digit, @@ and @ variables.  It reads borrowed text, copies
 * nothing, allocates only where a token is decoded, and looks at each byte a
 * fixed number of times, so that a statement of 16 MB costs no more than
 * reading it.  It runs before any privilege is checked: all input is hostile
 * here, and each byte is read behind a test of the end (peek_sql_byte).
 */
#include "lexer.h"

#include <string.h>

#include "arena.h"
#include "ascii.h"
#include "errors.h"

/* Returns the byte that stands for an escape in MySQL. \% and \_ keep their
 * backslash: LIKE decodes these. */
static char
decode_escaped_byte(char c)
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

/* Decodes [p, end), which includes both quotes; out is never longer.  In
 * backquotes a backslash is an ordinary character. */
static size_t
decode_quoted_text(const char *p, const char *end, char *out)
{
    char quote = *p++, *start = out;

    for (end--; p < end; p++) {
        if (*p == '\\' && quote != '`' && p + 1 < end) {
            p++;
            if (*p == '%' || *p == '_')
                *out++ = '\\';
            *out++ = decode_escaped_byte(*p);
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
        p++; /* the N of N'...' */
    /* Without quotes there is nothing to decode: borrowed, not copied. */
    if (token->kind == TOKEN_WORD || !strchr("'\"`", *p)) {
        out->data = p;
        out->size = (size_t)(end - p);
        return 0;
    }
    copy = arena_alloc(arena, (size_t)(end - p));
    if (!copy)
        return -1;
    out->size = decode_quoted_text(p, end, copy);
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
    /* Only before a dot: @@session is a variable of that name. */
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

enum { VERSION_DIGITS_MIN = 5, VERSION_DIGITS_MAX = 6 };

static bool
is_identifier_byte(char c)
{
    return is_word_character(c) || c == '$' || (unsigned char)c >= 0x80;
}

/* The byte n places further on, or NUL past the end. */
static char
peek_sql_byte(const struct lexer *lexer, size_t n)
{
    if (n >= (size_t)(lexer->end - lexer->pos))
        return '\0';
    return lexer->pos[n];
}

static bool
lexer_starts_with(const struct lexer *lexer, const char *text)
{
    return span_starts_with(
        (struct span){lexer->pos, (size_t)(lexer->end - lexer->pos)}, text);
}

struct lexer
lexer_of(struct span text)
{
    struct lexer lexer = {text.data, text.data + text.size, false};

    return lexer;
}

static void
skip_line(struct lexer *lexer)
{
    const char *newline =
        memchr(lexer->pos, '\n', (size_t)(lexer->end - lexer->pos));

    lexer->pos = newline ? newline + 1 : lexer->end;
}

/* Skips a comment.  Inside a versioned comment that is skipped, one more
 * comment may lie, as in MySQL.  False if it is not closed, and pos stays
 * there, so that the error quotes its beginning. */
static bool
skip_sql_comment(struct lexer *lexer, bool nests)
{
    struct lexer at = *lexer;
    bool nested = false;

    for (at.pos += 2; at.pos < at.end;) {
        if (lexer_starts_with(&at, "*/")) {
            at.pos += 2;
            if (!nested) {
                lexer->pos = at.pos;
                return true;
            }
            nested = false;
        } else if (nests && lexer_starts_with(&at, "/*")) {
            nested = true;
            at.pos += 2;
        } else {
            at.pos++;
        }
    }
    return false;
}

/* At the start of a versioned comment: enters its body or skips it. */
static bool
enter_versioned(struct lexer *lexer)
{
    size_t digits = 0;
    long version = 0;

    while (digits < VERSION_DIGITS_MAX &&
           is_digit(peek_sql_byte(lexer, 3 + digits)))
        version = version * 10 + (peek_sql_byte(lexer, 3 + digits++) - '0');
    /* MySQL requires five or six digits; fewer are part of the code. */
    if (digits >= VERSION_DIGITS_MIN && version > LEXER_VERSION)
        return skip_sql_comment(lexer, true);
    /* The body is read like other text; its end is skipped in
     * skip_sql_blanks(). */
    lexer->pos += 3 + (digits >= VERSION_DIGITS_MIN ? digits : 0);
    lexer->versioned = true;
    return true;
}

/* Skips blanks and comments.  False at a comment that is not closed. */
static bool
skip_sql_blanks(struct lexer *lexer)
{
    for (;;) {
        char next = peek_sql_byte(lexer, 2);

        if (lexer->pos < lexer->end && is_blank(*lexer->pos)) {
            lexer->pos++;
            /* "--" begins a comment only before a blank or at the end: 5--3 is
             * 8. */
        } else if (lexer_starts_with(lexer, "#") ||
                   (lexer_starts_with(lexer, "--") &&
                    (is_blank(next) || lexer->end - lexer->pos == 2))) {
            skip_line(lexer);
        } else if (lexer->versioned && lexer_starts_with(lexer, "*/")) {
            lexer->versioned = false;
            lexer->pos += 2;
        } else if (!lexer->versioned && lexer_starts_with(lexer, "/*!")) {
            if (!enter_versioned(lexer))
                return false;
        } else if (lexer_starts_with(lexer, "/*")) {
            if (!skip_sql_comment(lexer, false))
                return false;
        } else {
            /* A versioned comment that is never closed is an error, as in
             * MySQL. */
            return !(lexer->versioned && lexer->pos == lexer->end);
        }
    }
}

/* Skips a quoted run; pos is on the quote.  False if it is not closed. */
static bool
scan_quoted(struct lexer *lexer, bool escapes)
{
    char quote = *lexer->pos;
    const char *p = lexer->pos + 1;

    for (; p < lexer->end; p++) {
        if (escapes && *p == '\\') {
            p++;
        } else if (*p == quote) {
            if (p + 1 < lexer->end && p[1] == quote) {
                p++;
                continue;
            }
            lexer->pos = p + 1;
            return true;
        }
    }
    return false;
}

static void
scan_words(struct lexer *lexer)
{
    while (lexer->pos < lexer->end && is_identifier_byte(*lexer->pos))
        lexer->pos++;
}

static enum token_kind
scan_string(struct lexer *lexer)
{
    return scan_quoted(lexer, true) ? TOKEN_STRING : TOKEN_INVALID;
}

/* x'1f': an even number of hexadecimal digits; pos is on the quote. */
static enum token_kind
scan_hex_string(struct lexer *lexer)
{
    const char *p = lexer->pos + 1;

    while (p < lexer->end && hex_digit(*p) >= 0)
        p++;
    /* The difference counts the quote, too, so it is odd for whole bytes. */
    if (p == lexer->end || *p != '\'' || (p - lexer->pos) % 2 == 0)
        return TOKEN_INVALID;
    lexer->pos = p + 1;
    return TOKEN_HEX;
}

/* b'01'; pos is on the quote. */
static enum token_kind
scan_bit_string(struct lexer *lexer)
{
    const char *p = lexer->pos + 1;

    while (p < lexer->end && (*p == '0' || *p == '1'))
        p++;
    if (p == lexer->end || *p != '\'')
        return TOKEN_INVALID;
    lexer->pos = p + 1;
    return TOKEN_HEX;
}

static bool
is_bit(char c)
{
    return c == '0' || c == '1';
}

/* Reads a number, or an identifier like 1st, which may begin with a digit in
 * MySQL. */
static enum token_kind
scan_number(struct lexer *lexer)
{
    const char *start = lexer->pos;
    enum token_kind kind = TOKEN_INTEGER;
    size_t exponent;

    if (*start == '0' && peek_sql_byte(lexer, 1) == 'x' &&
        hex_digit(peek_sql_byte(lexer, 2)) >= 0) {
        lexer->pos += 2;
        while (hex_digit(peek_sql_byte(lexer, 0)) >= 0)
            lexer->pos++;
        kind = TOKEN_HEX;
        goto tail;
    }
    if (*start == '0' && peek_sql_byte(lexer, 1) == 'b' &&
        is_bit(peek_sql_byte(lexer, 2))) {
        lexer->pos += 2;
        while (is_bit(peek_sql_byte(lexer, 0)))
            lexer->pos++;
        kind = TOKEN_HEX;
        goto tail;
    }
    while (is_digit(peek_sql_byte(lexer, 0)))
        lexer->pos++;
    if (peek_sql_byte(lexer, 0) == '.') {
        kind = TOKEN_DECIMAL;
        do
            lexer->pos++;
        while (is_digit(peek_sql_byte(lexer, 0)));
    }
    if (peek_sql_byte(lexer, 0) == 'e' || peek_sql_byte(lexer, 0) == 'E') {
        exponent =
            peek_sql_byte(lexer, 1) == '+' || peek_sql_byte(lexer, 1) == '-'
                ? 2
                : 1;
        if (is_digit(peek_sql_byte(lexer, exponent))) {
            kind = TOKEN_DECIMAL;
            lexer->pos += exponent;
            while (is_digit(peek_sql_byte(lexer, 0)))
                lexer->pos++;
        }
    }
tail:
    if (!is_identifier_byte(peek_sql_byte(lexer, 0)))
        return kind;
    /* 1.5abc is neither a number nor a name. */
    if (memchr(start, '.', (size_t)(lexer->pos - start)))
        return TOKEN_INVALID;
    scan_words(lexer);
    return TOKEN_WORD;
}

/* Reads one part of a variable's dotted name. */
static bool
scan_variable_part(struct lexer *lexer)
{
    if (peek_sql_byte(lexer, 0) == '`')
        return scan_quoted(lexer, false);
    if (!is_identifier_byte(peek_sql_byte(lexer, 0)))
        return false;
    scan_words(lexer);
    return true;
}

static enum token_kind
scan_variable(struct lexer *lexer)
{
    if (peek_sql_byte(lexer, 1) == '@') {
        lexer->pos++;
        do {
            lexer->pos++;
            if (!scan_variable_part(lexer))
                return TOKEN_INVALID;
        } while (peek_sql_byte(lexer, 0) == '.');
        return TOKEN_SYSTEM;
    }
    lexer->pos++;
    switch (peek_sql_byte(lexer, 0)) {
    case '\'':
    case '"':
        return scan_quoted(lexer, true) ? TOKEN_USER : TOKEN_INVALID;
    case '`':
        return scan_quoted(lexer, false) ? TOKEN_USER : TOKEN_INVALID;
    default:
        break;
    }
    if (!is_identifier_byte(peek_sql_byte(lexer, 0)))
        return TOKEN_INVALID;
    /* @a.b is one user variable, as dots belong to its name. */
    while (is_identifier_byte(peek_sql_byte(lexer, 0)) ||
           peek_sql_byte(lexer, 0) == '.')
        lexer->pos++;
    return TOKEN_USER;
}

static enum token_kind
scan_operator(struct lexer *lexer)
{
    /* The longest first: "->>" would otherwise be read as "->" and ">". */
    static const char *const longer[] = {"<=>", "->>", "->", "<=", ">=", "<>",
                                         "!=",  "<<",  ">>", "||", "&&", ":="};

    for (size_t i = 0; i < sizeof(longer) / sizeof(longer[0]); i++)
        if (lexer_starts_with(lexer, longer[i])) {
            lexer->pos += strlen(longer[i]);
            return TOKEN_OPERATOR;
        }
    /* strchr() would find a NUL of the text at the end of its list. */
    if (*lexer->pos == '\0' || !strchr("+-*/%=<>!~^&|(),.;{}", *lexer->pos))
        return TOKEN_INVALID;
    lexer->pos++;
    return TOKEN_OPERATOR;
}

static enum token_kind
scan_sql_token(struct lexer *lexer)
{
    char c = *lexer->pos;

    if ((c == 'x' || c == 'X') && peek_sql_byte(lexer, 1) == '\'') {
        lexer->pos++;
        return scan_hex_string(lexer);
    }
    if ((c == 'b' || c == 'B') && peek_sql_byte(lexer, 1) == '\'') {
        lexer->pos++;
        return scan_bit_string(lexer);
    }
    if ((c == 'n' || c == 'N') && peek_sql_byte(lexer, 1) == '\'') {
        lexer->pos++;
        return scan_string(lexer);
    }
    if (is_digit(c) || (c == '.' && is_digit(peek_sql_byte(lexer, 1))))
        return scan_number(lexer);
    if (c == '$') /* mysql 8.1 and later sends `select $$` and expects a syntax
                   * error */
        return TOKEN_INVALID;
    if (is_identifier_byte(c)) {
        scan_words(lexer);
        return TOKEN_WORD;
    }
    switch (c) {
    case '`':
        return scan_quoted(lexer, false) ? TOKEN_QUOTED : TOKEN_INVALID;
    case '\'':
    case '"':
        return scan_string(lexer);
    case '@':
        return scan_variable(lexer);
    case '?':
        lexer->pos++;
        return TOKEN_PARAMETER;
    default:
        return scan_operator(lexer);
    }
}

struct token
lexer_next(struct lexer *lexer)
{
    struct token token = {TOKEN_INVALID, {lexer->pos, 0}};
    bool closed = skip_sql_blanks(lexer);
    const char *start = lexer->pos;

    token.text.data = start;
    if (!closed)
        return token;
    token.kind = start == lexer->end ? TOKEN_END : scan_sql_token(lexer);
    /* Goes back, so that the next call gives the same token: a parser that
     * looks again sees the same fault. */
    if (token.kind == TOKEN_INVALID)
        lexer->pos = start;
    token.text.size = (size_t)(lexer->pos - start);
    return token;
}

bool
token_is(const struct token *token, const char *word)
{
    return token->kind == TOKEN_WORD && span_is_nocase(token->text, word);
}

bool
token_is_any(const struct token *token, const char *words)
{
    return token->kind == TOKEN_WORD && span_is_any(token->text, words);
}

bool
token_is_operator(const struct token *token, const char *text)
{
    return token->kind == TOKEN_OPERATOR && span_is(token->text, text);
}
