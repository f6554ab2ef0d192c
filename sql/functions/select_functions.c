/* select_functions.c - MySQL's functions: all tables, and what they share. */
#include "select_functions.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "clean_text.h"
#include "memory.h"
#include "select_handle.h"
#include "select_kind.h"
#include "select_views.h"
#include "warnings.h"

enum { TABLE_COUNT = 17, SQLITE_ARGUMENTS_MAX = 128 };

const struct function *
function_table(size_t i)
{
    static const struct function *const tables[] = {
        session_functions,    lock_functions,      compare_functions,
        number_functions,     text_functions,      search_functions,
        hash_functions,       time_functions,      date_functions,
        interval_functions,   format_functions,    cast_functions,
        measure_functions,    aggregate_functions, slot_functions,
        arithmetic_functions,
    };

    static_assert(sizeof(tables) / sizeof(tables[0]) == TABLE_COUNT - 1,
                  "and the views");
    if (i < TABLE_COUNT - 1)
        return tables[i];
    return i < TABLE_COUNT ? view_functions() : NULL;
}

/* SQLite's own that mean in MySQL what they mean there. */
static const struct {
    const char *name;
    enum function_type type;
} builtins[] = {
    {"avg", RETURNS_AVERAGE},
    {"char", RETURNS_TEXT}, /* rewritten, as those below */
    {"group_concat", RETURNS_TEXT},
    {"json_arrayagg", RETURNS_TEXT},
    {"json_objectagg", RETURNS_TEXT},
    {"mid", RETURNS_TEXT},
    {"position", RETURNS_BIGINT},
    {"substr", RETURNS_TEXT},
    {"abs", RETURNS_NUMBER},
    {"coalesce", RETURNS_ARGUMENTS},
    {"count", RETURNS_BIGINT},
    {"cume_dist", RETURNS_DOUBLE},
    {"dense_rank", RETURNS_BIGINT},
    {"exp", RETURNS_DOUBLE},
    {"first_value", RETURNS_FIRST},
    {"ifnull", RETURNS_ARGUMENTS},
    {"json_array", RETURNS_TEXT},
    {"json_group_array", RETURNS_TEXT},
    {"json_group_object", RETURNS_TEXT},
    {"json_object", RETURNS_TEXT},
    {"json_quote", RETURNS_TEXT},
    {"json_valid", RETURNS_BIGINT},
    {"->", RETURNS_TEXT},
    {"->>", RETURNS_TEXT},
    {"lag", RETURNS_FIRST},
    {"last_value", RETURNS_FIRST},
    {"lead", RETURNS_FIRST},
    {"ln", RETURNS_DOUBLE},
    {"ltrim", RETURNS_TEXT},
    {"max", RETURNS_ARGUMENTS},
    {"min", RETURNS_ARGUMENTS},
    {"nth_value", RETURNS_FIRST},
    {"ntile", RETURNS_BIGINT},
    {"percent_rank", RETURNS_DOUBLE},
    {"pow", RETURNS_DOUBLE},
    {"power", RETURNS_DOUBLE},
    {"rank", RETURNS_BIGINT},
    {"row_number", RETURNS_BIGINT},
    {"rtrim", RETURNS_TEXT},
    {"sign", RETURNS_BIGINT},
    {"sqrt", RETURNS_DOUBLE},
    {"sum", RETURNS_NUMBER},
};

/* A function's user data. */
struct function_use {
    struct handle *handle;
    const struct function *function;
};

struct handle *
function_handle(sqlite3_context *c)
{
    return ((const struct function_use *)sqlite3_user_data(c))->handle;
}

const char *
function_name(sqlite3_context *c)
{
    return ((const struct function_use *)sqlite3_user_data(c))->function->name;
}

bool
function_charge(sqlite3_context *c, size_t bytes)
{
    if (!handle_charge(function_handle(c), bytes))
        return false;
    sqlite3_result_error_code(c, SQLITE_INTERRUPT);
    return true;
}

bool
function_leave_loop(sqlite3_context *c)
{
    if (!handle_leave_loop(function_handle(c)))
        return false;
    sqlite3_result_error_code(c, SQLITE_INTERRUPT);
    return true;
}

/* Of time that grows with their arguments' size, and no faster: a view may be
 * larger than any other value is. */
static bool
takes_views(const char *name)
{
    static const char *const names[] = {
        "any_value", "ascii",      "char_length", "character_length",
        "crc32",     "hw_between", "hw_binary",   "hw_cast",
        "hw_case",   "hw_when",    "hw_eq",       "hw_ge",
        "hw_gt",     "hw_in",      "hw_is",       "hw_le",
        "hw_lt",     "hw_ne",      "if",          "isnull",
        "left",      "length",     "md5",         "octet_length",
        "right",     "sha",        "sha1",        "sha2",
        "substring", "to_base64"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void
fail_large(sqlite3_context *c, size_t size)
{
    char text[200];

    snprintf(text, sizeof(text),
             "Incorrect arguments to %s: it takes values of at most %d bytes, "
             "and this one has %zu",
             function_name(c), SELECT_VALUE_MAX, size);
    sqlite3_result_error(c, text, -1);
}

/* The arguments of the call that is under way, and their texts: SQLite would
 * write 1.50 as 1.5, and 1e20 as 1.0e+20. */
static _Thread_local struct {
    int count;
    sqlite3_value **values;
    char texts[SQLITE_ARGUMENTS_MAX][KIND_TEXT];
} called;

/* Numbers have a length only once they are texts, and are short. */
static void
call(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    const struct function_use *use = sqlite3_user_data(c);
    size_t bytes = 0, largest = 0;

    for (int i = 0; i < argc; i++)
        if (!function_is_number(argv[i])) {
            size_t size = (size_t)sqlite3_value_bytes(argv[i]);

            bytes += size;
            largest = size > largest ? size : largest;
        }
    if (largest > SELECT_VALUE_MAX && !takes_views(use->function->name)) {
        fail_large(c, largest);
        return;
    }
    if (function_charge(c, bytes))
        return;
    called.count = argc;
    called.values = argv;
    use->function->call(c, argc, argv);
    called.count = 0;
}

static int
add(sqlite3 *db, struct function_use *use, int arguments)
{
    const struct function *f = use->function;

    return sqlite3_create_function_v2(
        db, f->name, arguments, SQLITE_UTF8 | SQLITE_SUBTYPE, use,
        f->final ? NULL : call, f->final ? call : NULL, f->final, NULL);
}

/* SQLite takes any number for a function that takes many. */
static void
too_few(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    const struct function *f = sqlite3_user_data(c);
    char text[100];

    (void)argc;
    (void)argv;
    snprintf(text, sizeof(text), "wrong number of arguments to function %s()",
             f->name);
    sqlite3_result_error(c, text, -1);
}

static int
refuse_few(sqlite3 *db, const struct function *f)
{
    for (int n = 0; n < f->least; n++)
        if (sqlite3_create_function_v2(db, f->name, n, SQLITE_UTF8, (void *)f,
                                       too_few, NULL, NULL, NULL) != SQLITE_OK)
            return -1;
    return 0;
}

static size_t
count_functions(void)
{
    size_t count = 0;

    for (size_t t = 0; t < TABLE_COUNT; t++)
        for (const struct function *f = function_table(t); f->name; f++)
            count++;
    return count;
}

int
handle_add_functions(struct handle *handle)
{
    struct function_use *use = mem_zalloc(count_functions(), sizeof(*use));

    handle->functions = use;
    if (!use)
        return -1;
    for (size_t t = 0; t < TABLE_COUNT; t++)
        for (const struct function *f = function_table(t); f->name;
             f++, use++) {
            int from = f->most == FUNCTION_ANY ? FUNCTION_ANY : f->least;

            *use = (struct function_use){handle, f};
            if (from == FUNCTION_ANY && !f->final &&
                refuse_few(handle->db, f) != 0)
                return -1;
            for (int n = from; n <= f->most; n++)
                if (add(handle->db, use, n) != SQLITE_OK)
                    return -1;
        }
    return 0;
}

bool
handle_function(const struct handle *handle, const char *name,
                void (**out)(sqlite3_context *, int, sqlite3_value **),
                void **arg)
{
    size_t count = count_functions();

    for (size_t i = 0; i < count; i++)
        if (strcmp(handle->functions[i].function->name, name) == 0) {
            *out = call;
            *arg = &handle->functions[i];
            return true;
        }
    return false;
}

bool
function_find(struct span name, enum function_type *type)
{
    for (size_t t = 0; t < TABLE_COUNT; t++)
        for (const struct function *f = function_table(t); f->name; f++)
            if (span_is_nocase(name, f->name)) {
                *type = f->type;
                return true;
            }
    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
        if (span_is_nocase(name, builtins[i].name)) {
            *type = builtins[i].type;
            return true;
        }
    return false;
}

bool
handle_allows_function(const char *name)
{
    struct span span = {name, strlen(name)};
    enum function_type type;

    return function_find(span, &type);
}

/* ---- arguments ---- */

struct span
function_argument(sqlite3_value *value)
{
    const unsigned char *text;
    struct span span = {"", 0};

    for (int i = 0; function_is_number(value) && i < called.count; i++)
        if (called.values[i] == value) {
            span.data = called.texts[i];
            span.size = kind_text(value, called.texts[i]);
            return span;
        }
    text = sqlite3_value_text(value);
    if (text) {
        span.data = (const char *)text;
        span.size = (size_t)sqlite3_value_bytes(value);
    }
    return span;
}

bool
function_any_null(int argc, sqlite3_value **argv)
{
    for (int i = 0; i < argc; i++)
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
            return true;
    return false;
}

bool
function_is_number(sqlite3_value *value)
{
    int type = sqlite3_value_type(value);

    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

double
function_real(sqlite3_value *value)
{
    double real;

    if (!kind_real(value, &real))
        real = sqlite3_value_double(value);
    return isnan(real) ? 0 : real;
}

/* A text of digits past SQLite's integers. */
static bool
is_unsigned(sqlite3_value *value, uint64_t *out)
{
    struct span text = function_argument(value);

    if (sqlite3_value_type(value) != SQLITE_TEXT || text.size < 19 ||
        strspn(text.data, "0123456789") != text.size)
        return false;
    *out = strtoull(text.data, NULL, 10);
    return true;
}

static bool
bits_of(sqlite3_value *value, uint64_t *out)
{
    struct span bytes;

    if (sqlite3_value_type(value) == SQLITE_INTEGER)
        *out = (uint64_t)sqlite3_value_int64(value);
    else if (kind_of(value) == KIND_HEX) {
        bytes = function_argument(value);
        *out = 0;
        for (size_t i = 0; i < bytes.size; i++)
            *out = *out << 8 | (unsigned char)bytes.data[i];
    } else
        return is_unsigned(value, out);
    return true;
}

int64_t
function_integer(sqlite3_value *value)
{
    uint64_t bits;
    int64_t whole;
    double real;

    if (bits_of(value, &bits))
        return (int64_t)bits;
    real = round(function_real(value));
    if (function_whole(real, &whole))
        return whole;
    return real < 0 ? INT64_MIN : INT64_MAX;
}

bool
function_whole(double x, int64_t *out)
{
    if (!(x >= -0x1p63 && x < 0x1p63)) /* NaN, too */
        return false;
    *out = (int64_t)x;
    return true;
}

uint64_t
function_natural(sqlite3_value *value)
{
    uint64_t bits;
    double real;

    if (bits_of(value, &bits))
        return bits;
    real = round(function_real(value));
    if (real < 9223372036854775808.0)
        return (uint64_t)function_integer(value);
    return real >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)real;
}

unsigned char
function_fold(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static size_t
trimmed(struct span text)
{
    while (text.size > 0 && text.data[text.size - 1] == ' ')
        text.size--;
    return text.size;
}

int
function_collate(struct span a, struct span b)
{
    a.size = trimmed(a);
    b.size = trimmed(b);
    for (size_t i = 0; i < a.size && i < b.size; i++)
        if (function_fold(a.data[i]) != function_fold(b.data[i]))
            return function_fold(a.data[i]) < function_fold(b.data[i]) ? -1 : 1;
    return a.size < b.size ? -1 : a.size > b.size;
}

static int
compare_bytes(struct span a, struct span b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size > 0 ? memcmp(a.data, b.data, size) : 0;

    return order ? order : a.size < b.size ? -1 : a.size > b.size;
}

/* Beside a moment, texts and numbers are moments, too: NULL's place is before
 * all others. */
static int64_t
moment_of(sqlite3_value *value, bool time)
{
    struct span text = function_argument(value);
    struct moment t;

    return (time ? moment_parse_time(text, &t) : moment_parse(text, &t))
               ? moment_micros(&t)
               : INT64_MIN;
}

static bool
compare_moments(sqlite3_value *a, sqlite3_value *b, int *order)
{
    enum kind kind_a = kind_of(a), kind_b = kind_of(b);
    bool time = kind_a == KIND_TIME || kind_b == KIND_TIME;
    int64_t x, y;

    if ((!kind_is_moment(kind_a) && !kind_is_moment(kind_b)) ||
        (time && kind_a != kind_b && kind_is_moment(kind_a) &&
         kind_is_moment(kind_b)))
        return false;
    x = moment_of(a, time);
    y = moment_of(b, time);
    *order = x < y ? -1 : x > y;
    return true;
}

static bool
is_past(sqlite3_value *value)
{
    return kind_of(value) == KIND_UNSIGNED;
}

/* Digits without zeros in front: the longer one is the larger. */
static int
compare_digits(struct span a, struct span b)
{
    return a.size != b.size ? (a.size < b.size ? -1 : 1) : compare_bytes(a, b);
}

static int
compare_integers(sqlite3_value *a, sqlite3_value *b)
{
    int64_t i, j;

    if (is_past(a) != is_past(b))
        return is_past(a) ? 1 : -1;
    if (is_past(a))
        return compare_digits(function_argument(a), function_argument(b));
    i = sqlite3_value_int64(a);
    j = sqlite3_value_int64(b);
    return i < j ? -1 : i > j;
}

int
function_compare(sqlite3_value *a, sqlite3_value *b, enum compare_how how)
{
    int kind_a = sqlite3_value_type(a), kind_b = sqlite3_value_type(b), order;
    double x, y;

    if (kind_is_integer(a) && kind_is_integer(b))
        return compare_integers(a, b);
    if (compare_moments(a, b, &order))
        return order;
    if (function_is_number(a) || function_is_number(b) || is_past(a) ||
        is_past(b)) {
        x = function_real(a);
        y = function_real(b);
        return x < y ? -1 : x > y;
    }
    if (how != COMPARE_TEXT || kind_a == SQLITE_BLOB || kind_b == SQLITE_BLOB)
        return compare_bytes(function_argument(a), function_argument(b));
    return function_collate(function_argument(a), function_argument(b));
}

/* ---- results ---- */

void
function_text(sqlite3_context *c, const char *text, size_t size)
{
    if (!function_charge(c, size))
        sqlite3_result_text64(c, text, size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

void
function_bytes(sqlite3_context *c, const void *bytes, size_t size)
{
    sqlite3_result_blob64(c, bytes, size, SQLITE_TRANSIENT);
}

void
function_decoded(sqlite3_context *c, struct span text)
{
    struct sql_session *session = function_handle(c)->session;

    if (text_is_utf8(text))
        function_text(c, text.data, text.size);
    else if (session)
        warnings_add(session, ER_INVALID_CHARACTERS,
                     "Invalid utf8mb4 character string: it is NULL; HEX() "
                     "shows the bytes");
}

void
function_buffer(sqlite3_context *c, struct buffer *text)
{
    if (text->failed)
        sqlite3_result_error_toobig(c);
    else
        function_text(c, text->data ? text->data : "", text->size);
    buffer_fini(text);
}

void
function_unsigned(sqlite3_context *c, uint64_t value)
{
    char text[24];

    if (value <= INT64_MAX) {
        sqlite3_result_int64(c, (int64_t)value);
        return;
    }
    snprintf(text, sizeof(text), "%" PRIu64, value);
    function_text(c, text, strlen(text));
    sqlite3_result_subtype(c, KIND_UNSIGNED);
}
