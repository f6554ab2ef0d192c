/*
 * script_lexer.c - the tokens of a script (ADMIN EXECUTE), in Wren's spelling.
 *
 * It differs from SQL's lexer in all but the idea: newlines are tokens, as
 * they end a statement, comments nest, strings have Wren's escapes, and an
 * error names line and column of the script, which may be a file of many
 * lines.  Strings are decoded into the script's arena at once, because the
 * parser keeps them; everything else is borrowed.
 */
#include "script_lexer.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "ascii.h"
#include "errors.h"

enum { NUMBER_MAX = 64, CODE_POINT_MAX = 0x10ffff };

unsigned
script_line(struct span text, size_t offset)
{
    unsigned line = 1;

    for (size_t i = 0; i < offset; i++)
        line += text.data[i] == '\n';
    return line;
}

void
script_add_position(struct span text, size_t offset, struct error *err)
{
    struct error cause;
    unsigned column = 1;

    if (!err)
        return;
    cause = *err;
    /* Columns count characters, not bytes. */
    for (size_t i = offset; i > 0 && text.data[i - 1] != '\n'; i--)
        column += ((unsigned char)text.data[i - 1] & 0xc0) != 0x80;
    error_set(err, cause.code, "script line %u, column %u: %s",
              script_line(text, offset), column, cause.text);
}

int
script_error(struct span text, size_t offset, struct error *err,
             const char *format, ...)
{
    char message[ERROR_TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    error_set(err, ER_PARSE, "%s", message);
    script_add_position(text, offset, err);
    return -1;
}

static char
peek_script_byte(const struct script_lexer *lexer, size_t n)
{
    if (n >= lexer->text.size - lexer->pos)
        return '\0';
    return lexer->text.data[lexer->pos + n];
}

/* Block comments nest, as Wren's do. */
static int
skip_script_comment(struct script_lexer *lexer, struct error *err)
{
    size_t start = lexer->pos, depth = 0;

    while (lexer->pos < lexer->text.size) {
        if (peek_script_byte(lexer, 0) == '/' &&
            peek_script_byte(lexer, 1) == '*') {
            depth++;
            lexer->pos += 2;
        } else if (peek_script_byte(lexer, 0) == '*' &&
                   peek_script_byte(lexer, 1) == '/') {
            lexer->pos += 2;
            if (--depth == 0)
                return 0;
        } else {
            lexer->pos++;
        }
    }
    return script_error(lexer->text, start, err, "this comment does not end");
}

static int
skip_script_blanks(struct script_lexer *lexer, struct error *err)
{
    for (;;) {
        char c = peek_script_byte(lexer, 0), next = peek_script_byte(lexer, 1);

        if (c == ' ' || c == '\t' || c == '\r') {
            lexer->pos++;
        } else if (c == '/' && next == '/') {
            while (lexer->pos < lexer->text.size &&
                   peek_script_byte(lexer, 0) != '\n')
                lexer->pos++;
        } else if (c == '/' && next == '*') {
            if (skip_script_comment(lexer, err) != 0)
                return -1;
        } else {
            return 0;
        }
    }
}

static size_t
encode_utf8(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* \xhh is a byte, \uhhhh and \Uhhhhhhhh are characters; pos is behind the
 * letter.  An escape is never shorter than the bytes it stands for. */
static int
read_hex(struct script_lexer *lexer, size_t digits, char *out, size_t *size,
         struct error *err)
{
    char text[9] = "";
    unsigned long value;

    for (size_t i = 0; i < digits; i++)
        text[i] = peek_script_byte(lexer, i);
    value = strtoul(text, NULL, 16);
    if (strspn(text, "0123456789abcdefABCDEF") != digits)
        return script_error(lexer->text, lexer->pos, err,
                            "%zu hexadecimal digits are expected here", digits);
    if (value > CODE_POINT_MAX || (value >= 0xd800 && value <= 0xdfff))
        return script_error(lexer->text, lexer->pos, err,
                            "there is no such character");
    lexer->pos += digits;
    if (digits == 2) {
        /* A byte may be no UTF-8; what reads the string checks it. */
        out[(*size)++] = (char)value;
        return 0;
    }
    *size += encode_utf8((uint32_t)value, out + *size);
    return 0;
}

/* Decodes an escape; pos is on the backslash. */
static int
read_escape(struct script_lexer *lexer, char *out, size_t *size,
            struct error *err)
{
    static const char letters[] = "0\"\\%abefnrtv";
    static const char meanings[] = "\0\"\\%\a\b\x1b\f\n\r\t\v";
    char letter = peek_script_byte(lexer, 1);
    const char *at = letter ? strchr(letters, letter) : NULL;

    if (at) {
        out[(*size)++] = meanings[at - letters];
        lexer->pos += 2;
        return 0;
    }
    if (letter != 'x' && letter != 'u' && letter != 'U')
        return script_error(lexer->text, lexer->pos, err,
                            "invalid escape in a string");
    lexer->pos += 2;
    return read_hex(lexer,
                    letter == 'x'   ? 2
                    : letter == 'u' ? 4
                                    : 8,
                    out, size, err);
}

/* Counts the bytes up to the closing quote: no escape decodes to more bytes
 * than it has, so they bound the decoded string. */
static size_t
measure_string(const struct script_lexer *lexer)
{
    size_t n = 1;

    while (n < lexer->text.size - lexer->pos &&
           peek_script_byte(lexer, n) != '"')
        n += peek_script_byte(lexer, n) == '\\' ? 2 : 1;
    return n;
}

static int
lex_string(struct script_lexer *lexer, struct script_token *out,
           struct error *err)
{
    char *copy = arena_alloc(lexer->arena, measure_string(lexer));
    size_t size = 0;

    if (!copy) {
        error_memory(err, "the script");
        return -1;
    }
    for (lexer->pos++; lexer->pos < lexer->text.size;) {
        char c = peek_script_byte(lexer, 0);

        if (c == '"') {
            lexer->pos++;
            out->kind = SCRIPT_TOKEN_TEXT;
            out->text.data = copy;
            out->text.size = size;
            return 0;
        }
        /* Wren's %(...) computes.  It is refused, not taken as text, since a
         * script that relies on it would print something else. */
        if (c == '%')
            return script_error(lexer->text, lexer->pos, err,
                                "interpolation is not part of this language; "
                                "write \\%% for a percent sign");
        if (c == '\\') {
            if (read_escape(lexer, copy, &size, err) != 0)
                return -1;
            continue;
        }
        copy[size++] = c;
        lexer->pos++;
    }
    return script_error(lexer->text, out->offset, err,
                        "this string does not end");
}

/* Wren's numbers: 1, 1.5, 1e5, 0x1f. */
static int
lex_number(struct script_lexer *lexer, struct script_token *out,
           struct error *err)
{
    char text[NUMBER_MAX], *end;
    size_t size = 0;
    bool hex =
        peek_script_byte(lexer, 0) == '0' && peek_script_byte(lexer, 1) == 'x';

    for (;; size++) {
        char c = peek_script_byte(lexer, size);
        bool exponent = size > 0 && !hex &&
                        (text[size - 1] == 'e' || text[size - 1] == 'E');
        bool sign = (c == '-' || c == '+') && exponent;
        bool point =
            c == '.' && !hex && is_digit(peek_script_byte(lexer, size + 1));

        if (!is_word_character(c) && !sign && !point)
            break;
        /* A longer number is cut here, and its rest is then a syntax error. */
        if (size == sizeof(text) - 1)
            break;
        text[size] = c;
    }
    text[size] = '\0';
    out->number = hex ? (double)strtoull(text, &end, 16) : strtod(text, &end);
    if (*end)
        return script_error(lexer->text, out->offset, err,
                            "'%s' is not a number", text);
    out->kind = SCRIPT_TOKEN_NUMBER;
    lexer->pos += size;
    return 0;
}

int
script_lex(struct script_lexer *lexer, struct script_token *out,
           struct error *err)
{
    char c;

    memset(out, 0, sizeof(*out));
    if (skip_script_blanks(lexer, err) != 0)
        return -1;
    out->offset = lexer->pos;
    if (lexer->pos == lexer->text.size)
        return 0;
    c = peek_script_byte(lexer, 0);
    if (c == '"')
        return lex_string(lexer, out, err);
    if (is_digit(c))
        return lex_number(lexer, out, err);
    out->text.data = lexer->text.data + lexer->pos;
    if (is_word_character(c)) {
        while (is_word_character(peek_script_byte(lexer, 0)))
            lexer->pos++;
        out->kind = SCRIPT_TOKEN_NAME;
    } else if (c == '\n' || c == ';') {
        out->kind = SCRIPT_TOKEN_BREAK;
        out->semicolon = c == ';';
        lexer->pos++;
    } else if (c && strchr("(),.=+-", c)) {
        out->kind = SCRIPT_TOKEN_PUNCTUATION;
        lexer->pos++;
    } else {
        return script_error(lexer->text, lexer->pos, err,
                            "a character that is no part of this language");
    }
    out->text.size = (size_t)(lexer->text.data + lexer->pos - out->text.data);
    return 0;
}
