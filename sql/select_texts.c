/* select_texts.c - MySQL's functions of time and of texts. */
#include "select_functions.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "buffer.h"
#include "clock.h"
#include "like.h"
#include "select_handle.h"

struct span
function_argument(sqlite3_value *value)
{
    const unsigned char *text = sqlite3_value_text(value);
    struct span span = {text ? (const char *)text : "",
                        (size_t)sqlite3_value_bytes(value)};

    return span;
}

void
function_text(sqlite3_context *c, const char *text, size_t size)
{
    sqlite3_result_text64(c, text, size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static bool
any_null(int argc, sqlite3_value **argv)
{
    for (int i = 0; i < argc; i++)
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
            return true;
    return false;
}

/* ---- time: UTC, one moment per statement ---- */

/* size bytes from at, of "2026-11-21 02:31:07". */
static void
return_time(sqlite3_context *c, size_t at, size_t size)
{
    const struct handle *handle = sqlite3_user_data(c);
    char text[CLOCK_TEXT];

    clock_text(handle->now_ms, text, sizeof(text));
    function_text(c, text + at, size);
}

void
function_now(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    return_time(c, 0, 19);
}

void
function_today(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    return_time(c, 0, 10);
}

void
function_clock(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    return_time(c, 11, 8);
}

void
function_unix_timestamp(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    const struct handle *handle = sqlite3_user_data(c);

    (void)argc;
    (void)argv;
    sqlite3_result_int64(c, handle->now_ms / 1000);
}

/* "2026-11-21 02:31:07" or "02:31:07" in seconds. */
static bool
read_time(sqlite3_value *value, int64_t *out)
{
    const char *text = function_argument(value).data;
    struct tm tm = {.tm_mday = 1, .tm_year = 70};
    const char *end = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);

    if (!end) {
        tm = (struct tm){.tm_mday = 1, .tm_year = 70};
        end = strptime(text, "%H:%M:%S", &tm);
    }
    *out = timegm(&tm);
    return end && !*end;
}

void
function_timediff(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int64_t from, to, seconds;
    char text[32];
    int size;

    if (any_null(argc, argv) || !read_time(argv[0], &to) ||
        !read_time(argv[1], &from))
        return;
    seconds = to < from ? from - to : to - from;
    size = snprintf(text, sizeof(text), "%s%02lld:%02d:%02d",
                    to < from ? "-" : "", (long long)(seconds / 3600),
                    (int)(seconds / 60 % 60), (int)(seconds % 60));
    function_text(c, text, (size_t)size);
}

/* ---- texts ---- */

static void
concatenate(sqlite3_context *c, int argc, sqlite3_value **argv,
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
    if (text.failed)
        sqlite3_result_error_toobig(c);
    else
        function_text(c, text.data ? text.data : "", text.size);
    buffer_fini(&text);
}

void
function_concat(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    static const struct span nothing = {"", 0};

    if (!any_null(argc, argv))
        concatenate(c, argc, argv, nothing);
}

void
function_concat_ws(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (argc > 0 && !any_null(1, argv))
        concatenate(c, argc - 1, argv + 1, function_argument(argv[0]));
}

void
function_if(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    bool truth = sqlite3_value_type(argv[0]) != SQLITE_NULL &&
                 sqlite3_value_double(argv[0]) != 0;

    (void)argc;
    sqlite3_result_value(c, argv[truth ? 1 : 2]);
}

/* Bytes of the first n characters. */
static size_t
prefix(struct span text, int64_t n)
{
    size_t i = 0;

    for (; i < text.size; i++)
        if (((unsigned char)text.data[i] & 0xc0) != 0x80) {
            if (n <= 0)
                break;
            n--;
        }
    return i;
}

static int64_t
characters(struct span text)
{
    int64_t n = 0;

    for (size_t i = 0; i < text.size; i++)
        n += ((unsigned char)text.data[i] & 0xc0) != 0x80;
    return n;
}

void
function_left(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);

    if (!any_null(argc, argv))
        function_text(c, text.data, prefix(text, sqlite3_value_int64(argv[1])));
}

void
function_right(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    int64_t wanted = sqlite3_value_int64(argv[1]);
    int64_t skipped = characters(text) - (wanted > 0 ? wanted : 0);
    size_t at = prefix(text, skipped);

    if (!any_null(argc, argv))
        function_text(c, text.data + at, text.size - at);
}

void
function_char_length(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!any_null(argc, argv))
        sqlite3_result_int64(c, characters(function_argument(argv[0])));
}

void
function_length(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!any_null(argc, argv))
        sqlite3_result_int64(c, (int64_t)function_argument(argv[0]).size);
}

/* x LIKE y is like(y, x); the escape is a backslash unless told. */
void
function_like(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span escape = {"\\", 1};

    if (any_null(argc, argv))
        return;
    if (argc == 3)
        escape = function_argument(argv[2]);
    if (escape.size > 1)
        sqlite3_result_error(c, "Incorrect arguments to ESCAPE", -1);
    else if (function_argument(argv[0]).size > LIKE_PATTERN_MAX)
        sqlite3_result_error(c, "LIKE pattern is too long", -1);
    else /* an empty one ends in a NUL: none */
        sqlite3_result_int(c, like_match(function_argument(argv[1]),
                                         function_argument(argv[0]),
                                         *escape.data));
}
