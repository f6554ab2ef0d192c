/*
 * function_texts.c - functions that make texts from texts, by characters:
 * CONCAT, REPEAT, LPAD, SUBSTRING, TRIM, INSERT, REPLACE, UPPER.
 *
 * MySQL counts characters and not bytes, so positions are found by walking
 * UTF-8, linear in the text.  Results have at most SELECT_VALUE_MAX bytes;
 * those whose size a number gives (REPEAT, LPAD) are checked before anything
 * is allocated.
 */
#include <stdint.h>
#include <string.h>

#include "buffer.h"
#include "collate.h"
#include "function.h"
#include "function_table.h"
#include "handle.h"

enum { UTF8_MAX = 4 /* bytes of a character */ };

/* ---- joining ---- */

static void
concatenate_arguments(sqlite3_context *c, int argc, sqlite3_value **argv,
                      struct span between)
{
    struct buffer text;
    bool first = true;

    buffer_init(&text, SELECT_VALUE_MAX);
    for (int i = 0; i < argc; i++) {
        struct span part = function_argument(argv[i]);

        if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
            continue;
        if (!first)
            buffer_add(&text, between.data, between.size);
        buffer_add(&text, part.data, part.size);
        first = false;
    }
    function_buffer(c, &text);
}

static void
call_concat(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    static const struct span nothing = {"", 0};

    if (!function_any_null(argc, argv))
        concatenate_arguments(c, argc, argv, nothing);
}

static void
call_concat_ws(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (argc > 0 && !function_any_null(1, argv))
        concatenate_arguments(c, argc - 1, argv + 1,
                              function_argument(argv[0]));
}

/* Repeats a text by doubling it, so that a short one needs few copies. */
static void
return_repeated_text(sqlite3_context *c, struct span part, int64_t times)
{
    struct buffer text;
    size_t size, done;
    char *room;

    if (part.size == 0 || times < 0)
        times = 0;
    else if (times > FUNCTION_PACKET_MAX) /* too large for any part; and the
                                           * product below cannot overflow */
        times = FUNCTION_PACKET_MAX + 1;
    size = part.size * (size_t)times;
    if (!function_fits(c, size))
        return;
    buffer_init(&text, SELECT_VALUE_MAX);
    room = buffer_reserve(&text, size);
    for (done = 0; room && done < size;) {
        const char *from = done ? room : part.data;
        size_t more = done ? done : part.size;

        more = more < size - done ? more : size - done;
        memcpy(room + done, from, more);
        done += more;
    }
    if (room)
        buffer_claim(&text, size);
    function_buffer(c, &text);
}

static void
call_repeat(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        return_repeated_text(c, function_argument(argv[0]),
                             function_count(argv[1]));
}

static void
call_space(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        return_repeated_text(c, (struct span){" ", 1}, function_count(argv[0]));
}

/* LPAD and RPAD: pads or cuts to n characters. */
static void
return_padded_text(sqlite3_context *c, int argc, sqlite3_value **argv,
                   bool left)
{
    struct span text = function_argument(argv[0]), with = {" ", 1};
    int64_t wanted = function_count(argv[1]), missing;
    struct buffer out;
    size_t at = 0;

    if (function_any_null(argc, argv) || wanted < 0)
        return;
    if (argc > 2)
        with = function_argument(argv[2]);
    missing = wanted - utf8_length(text);
    if (missing <= 0) {
        function_text(c, text.data, utf8_prefix(text, wanted));
        return;
    }
    if (with.size == 0) {
        function_text(c, "", 0);
        return;
    }
    /* Before the loop, which appends a character at a time. */
    if (wanted > FUNCTION_PACKET_MAX / UTF8_MAX) {
        function_fits(c, FUNCTION_PACKET_MAX + 1);
        return;
    }
    buffer_init(&out, SELECT_VALUE_MAX);
    if (!left)
        buffer_add(&out, text.data, text.size);
    while (missing-- > 0 && !out.failed) {
        struct span rest = {with.data + at, with.size - at};
        size_t size = utf8_prefix(rest, 1);

        buffer_add(&out, rest.data, size);
        at = at + size < with.size ? at + size : 0;
    }
    if (left)
        buffer_add(&out, text.data, text.size);
    function_buffer(c, &out);
}

static void
call_lpad(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    return_padded_text(c, argc, argv, true);
}

static void
call_rpad(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    return_padded_text(c, argc, argv, false);
}

/* ---- parts ---- */

static void
call_left(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);

    if (!function_any_null(argc, argv))
        function_text(c, text.data, utf8_prefix(text, function_count(argv[1])));
}

static void
call_right(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    int64_t wanted = function_count(argv[1]);
    size_t at =
        utf8_prefix(text, utf8_length(text) - (wanted > 0 ? wanted : 0));

    if (!function_any_null(argc, argv))
        function_text(c, text.data + at, text.size - at);
}

/* SUBSTRING: the position counts from 1, or from the end if it is negative; 0
 * is outside of the text. */
static void
call_substring(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    int64_t from = function_count(argv[1]), length = utf8_length(text);
    int64_t wanted = argc > 2 ? function_count(argv[2]) : INT64_MAX;
    size_t at;

    if (function_any_null(argc, argv))
        return;
    if (from < 0)
        from += length + 1;
    if (from <= 0 || from > length || wanted <= 0) {
        function_text(c, "", 0);
        return;
    }
    at = utf8_prefix(text, from - 1);
    text.data += at;
    text.size -= at;
    function_text(c, text.data, utf8_prefix(text, wanted));
}

static bool
text_has_prefix(struct span text, struct span with)
{
    return text.size >= with.size &&
           memcmp(text.data, with.data, with.size) == 0;
}

static void
return_stripped_text(sqlite3_context *c, struct span text, struct span what,
                     bool left, bool right)
{
    /* A text to remove that has no bytes would match for ever. */
    while (left && what.size > 0 && text_has_prefix(text, what)) {
        text.data += what.size;
        text.size -= what.size;
    }
    while (right && what.size > 0 && text.size >= what.size &&
           memcmp(text.data + text.size - what.size, what.data, what.size) == 0)
        text.size -= what.size;
    function_text(c, text.data, text.size);
}

/* TRIM(x), TRIM(what, x) or TRIM('LEADING', what, x): write_call.c puts
 * MySQL's syntax into this order. */
static void
call_trim(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span what = {" ", 1}, side = {"BOTH", 4};

    if (function_any_null(argc, argv))
        return;
    if (argc > 1)
        what = function_argument(argv[argc - 2]);
    if (argc > 2)
        side = function_argument(argv[0]);
    return_stripped_text(c, function_argument(argv[argc - 1]), what,
                         !span_is_nocase(side, "TRAILING"),
                         !span_is_nocase(side, "LEADING"));
}

/* LTRIM and RTRIM */
static void
call_trim_side(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    bool left = strcmp(function_name(c), "ltrim") == 0;

    if (!function_any_null(argc, argv))
        return_stripped_text(c, function_argument(argv[0]),
                             (struct span){" ", 1}, left, !left);
}

/* ---- changing ---- */

/* INSERT(text, place, length, new): a place outside of the text changes
 * nothing. */
static void
call_insert(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]), rest;
    struct span with = function_argument(argv[3]);
    int64_t place = function_count(argv[1]), length = function_count(argv[2]);
    struct buffer out;
    size_t at;

    if (function_any_null(argc, argv))
        return;
    if (place < 1 || place > utf8_length(text)) {
        function_text(c, text.data, text.size);
        return;
    }
    at = utf8_prefix(text, place - 1);
    rest = (struct span){text.data + at, text.size - at};
    /* MySQL takes a negative length for all that is left. */
    at += length < 0 ? rest.size : utf8_prefix(rest, length);
    buffer_init(&out, SELECT_VALUE_MAX);
    buffer_add(&out, text.data, text.size - rest.size);
    buffer_add(&out, with.data, with.size);
    buffer_add(&out, text.data + at, text.size - at);
    function_buffer(c, &out);
}

static void
call_replace(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    struct span from = function_argument(argv[1]);
    struct span to = function_argument(argv[2]);
    struct buffer out;

    if (function_any_null(argc, argv))
        return;
    buffer_init(&out, SELECT_VALUE_MAX);
    while (from.size > 0 && text.size > 0 && !out.failed) {
        const char *found = memmem(text.data, text.size, from.data, from.size);
        size_t before = found ? (size_t)(found - text.data) : text.size;

        buffer_add(&out, text.data, before);
        if (found)
            buffer_add(&out, to.data, to.size);
        before += found ? from.size : 0;
        text.data += before;
        text.size -= before;
    }
    buffer_add(&out, text.data, text.size);
    function_buffer(c, &out);
}

static void
change_case(sqlite3_context *c, struct span text, bool up)
{
    struct buffer out;

    buffer_init(&out, SELECT_VALUE_MAX);
    while (text.size > 0) {
        size_t size = utf8_prefix(text, 1);

        utf8_add_case(&out, text.data, size, up);
        text.data += size;
        text.size -= size;
    }
    function_buffer(c, &out);
}

static void
call_upper(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        change_case(c, function_argument(argv[0]), true);
}

static void
call_lower(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        change_case(c, function_argument(argv[0]), false);
}

const struct function text_functions[] = {
    {"concat", 1, FUNCTION_ANY, call_concat, RETURNS_TEXT},
    {"concat_ws", 2, FUNCTION_ANY, call_concat_ws, RETURNS_TEXT},
    {"repeat", 2, 2, call_repeat, RETURNS_TEXT},
    {"space", 1, 1, call_space, RETURNS_TEXT},
    {"insert", 4, 4, call_insert, RETURNS_TEXT},
    {"lpad", 2, 3, call_lpad, RETURNS_TEXT},
    {"rpad", 2, 3, call_rpad, RETURNS_TEXT},
    {"left", 2, 2, call_left, RETURNS_TEXT},
    {"right", 2, 2, call_right, RETURNS_TEXT},
    {"substring", 2, 3, call_substring, RETURNS_TEXT},
    {"trim", 1, 3, call_trim, RETURNS_TEXT},
    {"ltrim", 1, 1, call_trim_side, RETURNS_TEXT},
    {"rtrim", 1, 1, call_trim_side, RETURNS_TEXT},
    {"replace", 3, 3, call_replace, RETURNS_TEXT},
    {"upper", 1, 1, call_upper, RETURNS_TEXT},
    {"ucase", 1, 1, call_upper, RETURNS_TEXT},
    {"lower", 1, 1, call_lower, RETURNS_TEXT},
    {"lcase", 1, 1, call_lower, RETURNS_TEXT},
    {NULL},
};
