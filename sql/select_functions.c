/* select_functions.c - MySQL's functions, as far as clients call them. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "buffer.h"
#include "clock.h"
#include "like.h"
#include "select_handle.h"
#include "sql_session.h"
#include "variables.h"

static const struct sql_session *
session_of(sqlite3_context *c)
{
    return ((const struct handle *)sqlite3_user_data(c))->scope.session;
}

/* A text argument; empty for NULL. */
static struct span
text_of(sqlite3_value *value)
{
    const unsigned char *text = sqlite3_value_text(value);
    struct span span = {text ? (const char *)text : "",
                        (size_t)sqlite3_value_bytes(value)};

    return span;
}

static bool
any_null(int argc, sqlite3_value **argv)
{
    for (int i = 0; i < argc; i++)
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
            return true;
    return false;
}

static void
return_text(sqlite3_context *c, const char *text, size_t size)
{
    sqlite3_result_text64(c, text, size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void
return_value(sqlite3_context *c, const struct value *value)
{
    switch (value->type) {
    case VALUE_NULL:
        sqlite3_result_null(c);
        break;
    case VALUE_INT:
        sqlite3_result_int64(c, value->integer);
        break;
    case VALUE_DOUBLE:
        sqlite3_result_double(c, value->real);
        break;
    case VALUE_TEXT:
        return_text(c, value->data, value->size);
        break;
    case VALUE_BLOB:
        sqlite3_result_blob64(c, value->data, value->size, SQLITE_TRANSIENT);
        break;
    }
}

/* ---- the session ---- */

static void
f_version(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    return_text(c, SQL_SERVER_VERSION, strlen(SQL_SERVER_VERSION));
}

static void
f_user(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    const struct sql_identity *who = &session_of(c)->who;
    char text[sizeof(who->user) + sizeof(who->host) + 1];
    int size = snprintf(text, sizeof(text), "%s@%s", who->user, who->host);

    (void)argc;
    (void)argv;
    return_text(c, text, (size_t)size);
}

static void
f_database(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    const char *database = session_of(c)->database;

    (void)argc;
    (void)argv;
    if (*database)
        return_text(c, database, strlen(database));
}

static void
f_connection_id(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_int64(c, session_of(c)->connection_id);
}

static void
f_zero(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_int(c, 0);
}

/* hw_variable(place in the table, scope): @@x */
static void
f_variable(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    size_t index = (size_t)sqlite3_value_int64(argv[0]);
    char room[VARIABLE_ROOM];
    struct value value;

    (void)argc;
    if (index >= variable_count)
        return;
    variable_get(session_of(c), &variables[index],
                 (enum variable_scope)sqlite3_value_int(argv[1]), room, &value);
    return_value(c, &value);
}

/* hw_user_variable('x'): @x, NULL unless set */
static void
f_user_variable(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    const struct session_value *setting =
        session_value_find(session_of(c), NULL, text_of(argv[0]));

    (void)argc;
    if (setting)
        return_value(c, &setting->value);
}

/* ---- time: UTC, one moment per statement ---- */

/* size bytes from at, of "2026-11-21 02:31:07". */
static void
return_time(sqlite3_context *c, size_t at, size_t size)
{
    const struct handle *handle = sqlite3_user_data(c);
    char text[CLOCK_TEXT];

    clock_text(handle->now_ms, text, sizeof(text));
    return_text(c, text + at, size);
}

static void
f_now(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    return_time(c, 0, 19);
}

static void
f_today(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    return_time(c, 0, 10);
}

static void
f_clock(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    return_time(c, 11, 8);
}

static void
f_unix_timestamp(sqlite3_context *c, int argc, sqlite3_value **argv)
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
    const char *text = text_of(value).data;
    struct tm tm = {.tm_mday = 1, .tm_year = 70};
    const char *end = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);

    if (!end) {
        tm = (struct tm){.tm_mday = 1, .tm_year = 70};
        end = strptime(text, "%H:%M:%S", &tm);
    }
    *out = timegm(&tm);
    return end && !*end;
}

static void
f_timediff(sqlite3_context *c, int argc, sqlite3_value **argv)
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
    return_text(c, text, (size_t)size);
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
        struct span part = text_of(argv[i]);

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
        return_text(c, text.data ? text.data : "", text.size);
    buffer_fini(&text);
}

static void
f_concat(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    static const struct span nothing = {"", 0};

    if (!any_null(argc, argv))
        concatenate(c, argc, argv, nothing);
}

static void
f_concat_ws(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (argc > 0 && !any_null(1, argv))
        concatenate(c, argc - 1, argv + 1, text_of(argv[0]));
}

static void
f_if(sqlite3_context *c, int argc, sqlite3_value **argv)
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
        if (((unsigned char)text.data[i] & 0xc0) != 0x80 && n-- <= 0)
            break;
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

static void
f_left(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = text_of(argv[0]);

    if (!any_null(argc, argv))
        return_text(c, text.data, prefix(text, sqlite3_value_int64(argv[1])));
}

static void
f_right(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = text_of(argv[0]);
    int64_t wanted = sqlite3_value_int64(argv[1]);
    int64_t skipped = characters(text) - (wanted > 0 ? wanted : 0);
    size_t at = prefix(text, skipped);

    if (!any_null(argc, argv))
        return_text(c, text.data + at, text.size - at);
}

static void
f_char_length(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!any_null(argc, argv))
        sqlite3_result_int64(c, characters(text_of(argv[0])));
}

static void
f_length(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!any_null(argc, argv))
        sqlite3_result_int64(c, (int64_t)text_of(argv[0]).size);
}

/* x LIKE y is like(y, x); the escape is a backslash unless told. */
static void
f_like(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span escape = {"\\", 1};

    if (any_null(argc, argv))
        return;
    if (argc == 3)
        escape = text_of(argv[2]);
    if (escape.size > 1)
        sqlite3_result_error(c, "Incorrect arguments to ESCAPE", -1);
    else
        sqlite3_result_int(c, like_match(text_of(argv[1]), text_of(argv[0]),
                                         escape.size ? *escape.data : '\0'));
}

static const struct {
    const char *name;
    int arguments; /* -1: any number */
    void (*call)(sqlite3_context *c, int argc, sqlite3_value **argv);
} functions[] = {
    {"char_length", 1, f_char_length},
    {"character_length", 1, f_char_length},
    {"concat", -1, f_concat},
    {"concat_ws", -1, f_concat_ws},
    {"connection_id", 0, f_connection_id},
    {"curdate", 0, f_today},
    {"current_date", 0, f_today},
    {"current_time", 0, f_clock},
    {"current_timestamp", 0, f_now},
    {"current_timestamp", 1, f_now},
    {"current_user", 0, f_user},
    {"curtime", 0, f_clock},
    {"database", 0, f_database},
    {"found_rows", 0, f_zero},
    {"hw_user_variable", 1, f_user_variable},
    {"hw_variable", 2, f_variable},
    {"if", 3, f_if},
    {"last_insert_id", 0, f_zero},
    {"left", 2, f_left},
    {"length", 1, f_length},
    {"like", 2, f_like},
    {"like", 3, f_like},
    {"localtime", 0, f_now},
    {"localtimestamp", 0, f_now},
    {"now", 0, f_now},
    {"now", 1, f_now},
    {"right", 2, f_right},
    {"row_count", 0, f_zero},
    {"schema", 0, f_database},
    {"session_user", 0, f_user},
    {"sysdate", 0, f_now},
    {"system_user", 0, f_user},
    {"timediff", 2, f_timediff},
    {"unix_timestamp", 0, f_unix_timestamp},
    {"user", 0, f_user},
    {"utc_date", 0, f_today},
    {"utc_time", 0, f_clock},
    {"utc_timestamp", 0, f_now},
    {"utc_timestamp", 1, f_now},
    {"version", 0, f_version},
};

/* SQLite's own that mean in MySQL what they mean there. */
static const char *const builtins[] = {
    "abs",  "avg",          "ceil",   "ceiling",   "coalesce", "count", "floor",
    "hex",  "group_concat", "ifnull", "instr",     "lower",    "ltrim", "max",
    "min",  "nullif",       "pow",    "power",     "replace",  "round", "rtrim",
    "sign", "sqrt",         "substr", "substring", "sum",      "trim",  "upper",
};

int
handle_add_functions(struct handle *handle)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (sqlite3_create_function_v2(handle->db, functions[i].name,
                                       functions[i].arguments, SQLITE_UTF8,
                                       handle, functions[i].call, NULL, NULL,
                                       NULL) != SQLITE_OK)
            return -1;
    return 0;
}

bool
handle_allows_function(const char *name)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcasecmp(name, functions[i].name) == 0)
            return true;
    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
        if (strcasecmp(name, builtins[i]) == 0)
            return true;
    return false;
}
