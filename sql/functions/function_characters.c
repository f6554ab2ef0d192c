/*
 * function_characters.c - characters and their numbers: LENGTH, ORD, CHAR,
 * REVERSE, QUOTE, SOUNDEX.  Texts are UTF-8; bytes that are none count one by
 * one.
 */
#include <stdint.h>
#include <string.h>

#include "buffer.h"
#include "collate.h"
#include "function.h"
#include "function_table.h"
#include "handle.h"

static void
call_char_length(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        sqlite3_result_int64(c, utf8_length(function_argument(argv[0])));
}

static void
call_length(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        sqlite3_result_int64(c, (int64_t)function_argument(argv[0]).size);
}

static void
call_ascii(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);

    if (!function_any_null(argc, argv))
        sqlite3_result_int(c, text.size ? (unsigned char)*text.data : 0);
}

/* hw_char(0, 77, 121) is CHAR(77, 121): each number's bytes, the highest first.
 * The first argument is 1 if a character set was named. */
static void
call_char(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct buffer out;

    buffer_init(&out, SELECT_VALUE_MAX);
    for (int i = 1; i < argc; i++) {
        /* MySQL takes the lowest 32 bits, and leaves out NULLs. */
        uint32_t code = (uint32_t)function_integer(argv[i]);

        if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
            continue;
        for (int shift = 24; shift >= 0; shift -= 8)
            if (shift == 0 || code >> shift > 0)
                buffer_char(&out, (char)(code >> shift));
    }
    if (sqlite3_value_int(argv[0]) == 0 || out.failed) {
        function_buffer_bytes(c, &out);
        return;
    }
    function_decoded(c, (struct span){out.data ? out.data : "", out.size});
    buffer_fini(&out);
}

static void
call_bit_length(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        sqlite3_result_int64(c, (int64_t)function_argument(argv[0]).size * 8);
}

/* ORD: the bytes of the first character as a number, the first the highest. */
static void
call_ord(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    bool bytes = sqlite3_value_type(argv[0]) == SQLITE_BLOB;
    struct span text = function_argument(argv[0]);
    size_t size = bytes ? text.size > 0 : utf8_prefix(text, 1);
    int64_t number = 0;

    size = size > 4 ? 1 : size; /* not UTF-8 */
    if (function_any_null(argc, argv))
        return;
    for (size_t i = 0; i < size; i++)
        number = number << 8 | (unsigned char)text.data[i];
    sqlite3_result_int64(c, number);
}

static void
call_reverse(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    struct buffer out;
    char *end;

    if (function_any_null(argc, argv))
        return;
    buffer_init(&out, SELECT_VALUE_MAX);
    end = buffer_reserve(&out, text.size);
    if (end)
        buffer_claim(&out, text.size);
    for (end = end ? end + text.size : NULL; end && text.size > 0;) {
        size_t size = utf8_prefix(text, 1);

        end -= size;
        memcpy(end, text.data, size);
        text.data += size;
        text.size -= size;
    }
    function_buffer(c, &out);
}

/* QUOTE: as a literal of SQL; the text NULL for NULL. */
static void
call_quote(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    struct buffer out;

    if (function_any_null(argc, argv)) {
        function_text(c, "NULL", 4);
        return;
    }
    buffer_init(&out, SELECT_VALUE_MAX);
    buffer_char(&out, '\'');
    for (size_t i = 0; i < text.size; i++) {
        char letter = text.data[i];

        if (letter == '\'' || letter == '\\' || letter == '\0' ||
            letter == '\032')
            buffer_char(&out, '\\');
        if (letter == '\0')
            letter = '0';
        else if (letter == '\032')
            letter = 'Z';
        buffer_char(&out, letter);
    }
    buffer_char(&out, '\'');
    function_buffer(c, &out);
}

/* ---- SOUNDEX: the first letter, then the code of each letter that has one,
 * unless it is the code before; at least three codes ---- */

/* The code of a letter: '0' for one without; 0: no letter. */
static char
sound_of(const char *letter, size_t size)
{
    static const char codes[] = "01230120022455012623010202";
    char small = (char)(*letter | 0x20);

    if (size > 1) /* MySQL takes all from U+00C0 on for letters */
        return (unsigned char)*letter >= 0xc3 ? '0' : '\0';
    if (small < 'a' || small > 'z')
        return '\0';
    return codes[small - 'a'];
}

static void
call_soundex(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    size_t letters = 0;
    struct buffer out;
    char last = '\0';

    if (function_any_null(argc, argv))
        return;
    buffer_init(&out, SELECT_VALUE_MAX);
    while (text.size > 0) {
        size_t size = utf8_prefix(text, 1);
        char code = sound_of(text.data, size);

        if (letters == 0 && code) {
            if (size == 1)
                buffer_char(&out, (char)(*text.data & ~0x20));
            else
                buffer_add(&out, text.data, size);
            last = code;
            letters++;
        } else if (code && code != '0' && code != last) {
            buffer_char(&out, code);
            last = code;
            letters++;
        }
        text.data += size;
        text.size -= size;
    }
    for (; letters > 0 && letters < 4; letters++)
        buffer_char(&out, '0');
    function_buffer(c, &out);
}

/* CHARSET(x, answer): write_call.c computes the answer from x's type and
 * passes it, since a value does not know its character set here. */
static void
call_property(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    sqlite3_result_value(c, argv[1]);
}

const struct function character_functions[] = {
    {"charset", 2, 2, call_property, RETURNS_TEXT, .width = 64},
    {"collation", 2, 2, call_property, RETURNS_TEXT, .width = 64},
    {"coercibility", 2, 2, call_property, RETURNS_BIGINT, .width = 10},
    {"char_length", 1, 1, call_char_length, RETURNS_BIGINT},
    {"character_length", 1, 1, call_char_length, RETURNS_BIGINT},
    {"length", 1, 1, call_length, RETURNS_BIGINT},
    {"octet_length", 1, 1, call_length, RETURNS_BIGINT},
    {"bit_length", 1, 1, call_bit_length, RETURNS_BIGINT},
    {"ascii", 1, 1, call_ascii, RETURNS_BIGINT, .width = 3},
    {"ord", 1, 1, call_ord, RETURNS_BIGINT, .width = 21},
    {"hw_char", 2, FUNCTION_ANY, call_char, RETURNS_TEXT},
    {"reverse", 1, 1, call_reverse, RETURNS_TEXT},
    {"quote", 1, 1, call_quote, RETURNS_TEXT},
    {"soundex", 1, 1, call_soundex, RETURNS_TEXT},
    {NULL},
};
