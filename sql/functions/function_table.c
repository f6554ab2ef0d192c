/*
 * function_table.c - the list of all functions, and their registration with
 * SQLite.
 *
 * What is in no list does not exist for a SELECT: the authorizer
 * (select_vtab.c) refuses SQLite's other functions.  Each call passes
 * call_checked_function(), which bounds the size of arguments and charges for
 * them, so that no function need do so.  A handle registers all of them, each
 * once per number of arguments; that takes long enough that handles are kept.
 */
#include "function_table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "function.h"
#include "function_views.h"
#include "handle.h"
#include "memory.h"

enum { TABLE_COUNT = 20 };

const struct function *
function_table(size_t i)
{
    static const struct function *const tables[] = {
        session_functions,   compare_functions, number_functions,
        text_functions,      search_functions,  date_functions,
        interval_functions,  format_functions,  cast_functions,
        aggregate_functions, slot_functions,    arithmetic_functions,
        bit_functions,       hash_functions,    character_functions,
        list_functions,      address_functions, duration_functions,
        json_functions,
    };

    static_assert(sizeof(tables) / sizeof(tables[0]) == TABLE_COUNT - 1,
                  "and the views");
    if (i < TABLE_COUNT - 1)
        return tables[i];
    return i < TABLE_COUNT ? function_views_list() : NULL;
}

/* SQLite's functions that mean the same in MySQL. */
static const struct {
    const char *name;
    enum function_type type;
} builtins[] = {
    {"char", RETURNS_TEXT}, /* write_call.c makes calls of these */
    {"group_concat", RETURNS_TEXT},
    {"json_arrayagg", RETURNS_TEXT},
    {"json_objectagg", RETURNS_TEXT},
    {"mid", RETURNS_TEXT},
    {"position", RETURNS_BIGINT},
    {"substr", RETURNS_TEXT},
    {"count", RETURNS_BIGINT},
    {"cume_dist", RETURNS_DOUBLE},
    {"dense_rank", RETURNS_BIGINT},
    {"first_value", RETURNS_FIRST},
    {"ifnull", RETURNS_ARGUMENTS},
    {"json_array", RETURNS_TEXT},
    {"json_group_array", RETURNS_TEXT},
    {"json_group_object", RETURNS_TEXT},
    {"json_object", RETURNS_TEXT},
    {"lag", RETURNS_FIRST},
    {"last_value", RETURNS_FIRST},
    {"lead", RETURNS_FIRST},
    {"max", RETURNS_ARGUMENTS},
    {"min", RETURNS_ARGUMENTS},
    {"nth_value", RETURNS_FIRST},
    {"ntile", RETURNS_BIGINT},
    {"percent_rank", RETURNS_DOUBLE},
    {"rank", RETURNS_BIGINT},
    {"row_number", RETURNS_BIGINT},
};

/* Does the function's time grow at most in proportion to its arguments?  Then
 * it may take a view, which may be larger than any other value. */
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

/* Calls the function unless its values are too large.  Numbers do not count:
 * they are short, and have a length only as texts. */
static void
call_checked_function(sqlite3_context *c, int argc, sqlite3_value **argv)
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
    function_value_begin(argc, argv);
    use->function->call(c, argc, argv);
    function_value_end();
}

/* May SQLite call it once for constant arguments?  That matters where a
 * constant is compared with each row, as by hw_temporal(); of most others the
 * answer depends on the session or the kind, which SQLite does not see. */
static bool
is_deterministic_function(const char *name)
{
    return strcmp(name, "hw_temporal") == 0;
}

static int
create_sqlite_function(sqlite3 *db, struct function_use *use, int arguments)
{
    const struct function *f = use->function;

    /* SUBTYPE tells SQLite that the function reads its arguments' subtypes,
     * which some of its optimizations would drop. */
    if (f->inverse)
        return sqlite3_create_window_function(
            db, f->name, arguments, SQLITE_UTF8 | SQLITE_SUBTYPE, use,
            call_checked_function, f->final, f->final, f->inverse, NULL);
    return sqlite3_create_function_v2(
        db, f->name, arguments,
        SQLITE_UTF8 | SQLITE_SUBTYPE |
            (is_deterministic_function(f->name) ? SQLITE_DETERMINISTIC : 0),
        use, f->final ? NULL : call_checked_function,
        f->final ? call_checked_function : NULL, f->final, NULL);
}

/* Fails a call with too few arguments; SQLite accepts any number for such
 * functions. */
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

/* Hides SQLite's own function of the same name that takes so many arguments
 * (-1: any), which would be called otherwise. */
static int
refuse_builtin(sqlite3 *db, const struct function *f)
{
    static const struct {
        const char *name;
        int arguments;
    } others[] = {{"date", -1}, {"format", -1}, {"json_type", 2},
                  {"ltrim", 2}, {"rtrim", 2},   {"time", -1}};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(f->name, others[i].name) == 0 &&
            sqlite3_create_function_v2(db, f->name, others[i].arguments,
                                       SQLITE_UTF8, (void *)f, too_few, NULL,
                                       NULL, NULL) != SQLITE_OK)
            return -1;
    return 0;
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
function_table_add(struct handle *handle)
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
            if (refuse_builtin(handle->db, f) != 0)
                return -1;
            /* SQLite finds a function by name and number of arguments, so each
             * number is registered; -1 stands for any. */
            for (int n = from; n <= f->most; n++)
                if (create_sqlite_function(handle->db, use, n) != SQLITE_OK)
                    return -1;
        }
    return 0;
}

bool
function_table_get(const struct handle *handle, const char *name,
                   void (**out)(sqlite3_context *, int, sqlite3_value **),
                   void **arg)
{
    size_t count = count_functions();

    for (size_t i = 0; i < count; i++)
        if (strcmp(handle->functions[i].function->name, name) == 0) {
            *out = call_checked_function;
            *arg = &handle->functions[i];
            return true;
        }
    return false;
}

bool
function_table_find(struct span name, enum function_type *type, uint32_t *width)
{
    *width = 0;
    for (size_t t = 0; t < TABLE_COUNT; t++)
        for (const struct function *f = function_table(t); f->name; f++)
            if (span_is_nocase(name, f->name)) {
                *type = f->type;
                *width = (uint32_t)f->width;
                return true;
            }
    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
        if (span_is_nocase(name, builtins[i].name)) {
            *type = builtins[i].type;
            return true;
        }
    return false;
}
