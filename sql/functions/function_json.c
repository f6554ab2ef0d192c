/*
 * function_json.c - MySQL's functions of JSON, over json_text.h.
 *
 * JSON is a text of the kind KIND_JSON in MySQL's form; a number is one of
 * SQLite's, so that it compares and sorts as such.  SQLite's own functions
 * make arrays and objects; hw_json_form brings these into the form.  A
 * document is normalized at each call; what looks at its parts repeatedly
 * charges for it.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "function.h"
#include "function_table.h"
#include "handle.h"
#include "json_text.h"
#include "kind.h"

enum { FORMED_MAX = 2 * SELECT_VALUE_MAX /* its blanks may double it */ };

/* ---- documents and paths ---- */

static void
fail_json(sqlite3_context *c, enum json_fault fault, int place, size_t at)
{
    struct error err;

    if (fault == JSON_TOO_DEEP)
        error_set(&err, ER_JSON_DEPTH,
                  "The JSON document exceeds the maximum depth: %d levels",
                  JSON_DEPTH_MAX);
    else
        error_set(&err, ER_JSON_TEXT,
                  "Invalid JSON text in argument %d to function %s: \"Invalid "
                  "value.\" at position %zu.",
                  place + 1, function_name(c), at);
    function_fail(c, &err);
}

/* Reads an argument into out, to be freed.  False: NULL, or a failure. */
static bool
read_json(sqlite3_context *c, sqlite3_value **argv, int place,
          struct buffer *out)
{
    enum json_fault fault;
    struct error err;
    size_t at;

    buffer_init(out, FORMED_MAX);
    if (sqlite3_value_type(argv[place]) == SQLITE_NULL)
        return false;
    if (sqlite3_value_type(argv[place]) == SQLITE_BLOB) {
        error_set(&err, ER_JSON_TYPE,
                  "Invalid data type for JSON data in argument %d to function "
                  "%s; a JSON string or JSON type is required.",
                  place + 1, function_name(c));
        function_fail(c, &err);
        return false;
    }
    fault = json_normalize(function_argument(argv[place]), out, &at);
    if (fault != JSON_FINE)
        fail_json(c, fault, place, at);
    else if (out->failed)
        function_fits(c, SELECT_VALUE_MAX + 1);
    return fault == JSON_FINE && !out->failed;
}

/* Checks a path.  False: it is NULL, or the statement fails. */
static bool
read_json_path(sqlite3_context *c, sqlite3_value *value, struct span *out,
               bool *many)
{
    enum json_fault fault;
    struct error err;
    size_t at;

    *out = function_argument(value);
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return false;
    fault = json_path(*out, many, &at);
    if (fault == JSON_ALL_LEVELS)
        error_set(&err, ER_NOT_SUPPORTED,
                  "This version of heapwire doesn't yet support '** in a JSON "
                  "path': name the levels, with .* or [*] where any will do");
    else if (fault != JSON_FINE)
        error_set(&err, ER_JSON_PATH,
                  "Invalid JSON path expression. The error is around character "
                  "position %zu.",
                  at + 1);
    if (fault != JSON_FINE)
        function_fail(c, &err);
    return fault == JSON_FINE;
}

/* ---- finding ---- */

struct matches {
    sqlite3_context *c;
    size_t count;
    struct span first;
    struct buffer *all; /* their texts; NULL: the first one is enough */
    bool stopped;
};

static bool
add_match(void *arg, struct span value)
{
    struct matches *m = arg;

    if (m->count++ == 0)
        m->first = value;
    if (!m->all)
        return false;
    buffer_text(m->all, m->all->size > 1 ? ", " : "");
    buffer_add(m->all, value.data, value.size);
    return !m->all->failed;
}

static bool
charge_match(void *arg, size_t bytes)
{
    struct matches *m = arg;

    m->stopped = function_charge(m->c, bytes);
    return !m->stopped;
}

static void
find_matches(struct matches *m, struct span document, struct span path)
{
    if (json_find(document, path, add_match, charge_match, m))
        return;
    sqlite3_result_error_nomem(m->c);
    m->stopped = true;
}

/* Finds the value of a path that has no more than one.  False: there is none,
 * or the statement fails. */
static bool
find_value(sqlite3_context *c, sqlite3_value *path, struct span document,
           struct span *out)
{
    struct matches m = {.c = c};
    struct span text;
    struct error err;
    bool many;

    if (!read_json_path(c, path, &text, &many))
        return false;
    if (many) {
        error_set(&err, ER_JSON_WILDCARD,
                  "In this situation, path expressions may not contain the * "
                  "and ** tokens or an array range.");
        function_fail(c, &err);
        return false;
    }
    find_matches(&m, document, text);
    *out = m.first;
    return m.count > 0 && !m.stopped;
}

/* Reads the document, and finds the value of the path in argument `place`. */
static bool
find_part(sqlite3_context *c, int argc, sqlite3_value **argv, int place,
          struct buffer *document, struct span *out)
{
    if (!read_json(c, argv, 0, document))
        return false;
    *out = buffer_span(document);
    return argc <= place || find_value(c, argv[place], *out, out);
}

/* ---- results ---- */

static bool
is_integer_number(struct span number)
{
    for (size_t i = 0; i < number.size; i++)
        if (strchr(".eE", number.data[i]))
            return false;
    return true;
}

/* Returns a DECIMAL as it is written; a DOUBLE if it has an exponent. */
static void
return_json_number(sqlite3_context *c, struct span number)
{
    struct decimal d;
    int decimals;

    if (memchr(number.data, 'e', number.size) ||
        memchr(number.data, 'E', number.size) ||
        !decimal_read_exact(number, &d, &decimals)) {
        sqlite3_result_double(c, strtod(number.data, NULL));
        sqlite3_result_subtype(c, KIND_JSON);
    } else if (decimals > 0 || d.digits < INT64_MIN || d.digits > UINT64_MAX) {
        kind_result_exact(c, d, decimals);
    } else if (d.digits > INT64_MAX) {
        function_unsigned(c, (uint64_t)d.digits);
    } else {
        sqlite3_result_int64(c, (int64_t)d.digits);
        sqlite3_result_subtype(c, KIND_JSON);
    }
}

static void
return_json(sqlite3_context *c, struct span value)
{
    if (json_kind(value) == JSON_NUMBER) {
        return_json_number(c, value);
    } else if (function_fits(c, value.size)) {
        function_text(c, value.data, value.size);
        sqlite3_result_subtype(c, KIND_JSON);
    }
}

/* Returns a string's text, or other JSON as a text. */
static void
return_text(sqlite3_context *c, struct span value)
{
    struct buffer text;

    if (json_kind(value) != JSON_STRING) {
        if (function_fits(c, value.size))
            function_text(c, value.data, value.size);
        return;
    }
    buffer_init(&text, SELECT_VALUE_MAX);
    json_decode(&text, value);
    function_buffer(c, &text);
}

/* ---- making ---- */

void
function_json_form(sqlite3_context *c, sqlite3_value *value)
{
    struct buffer document;

    if (read_json(c, &value, 0, &document))
        return_json(c, buffer_span(&document));
    buffer_fini(&document);
}

/* hw_json_form(x): what SQLite's functions made, in MySQL's form. */
static void
call_form(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    function_json_form(c, argv[0]);
}

/* hw_json_name(x): a member's name as a text, which json_object() needs. */
static void
call_name(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    struct error err;

    if (!function_any_null(argc, argv)) {
        function_text(c, text.data, text.size);
        return;
    }
    error_set(&err, ER_JSON_NULL_KEY,
              "JSON documents may not contain NULL member names.");
    function_fail(c, &err);
}

static void
call_json_quote(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct buffer text;
    struct error err;

    if (function_any_null(argc, argv))
        return;
    if (function_is_number(argv[0])) {
        error_set(&err, ER_WRONG_ARGUMENT_TYPE,
                  "Incorrect type for argument 1 in function json_quote.");
        function_fail(c, &err);
        return;
    }
    buffer_init(&text, SELECT_VALUE_MAX);
    json_quote(&text, function_argument(argv[0]));
    function_buffer(c, &text);
}

static void
call_json_unquote(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    struct buffer document;

    if (function_any_null(argc, argv))
        return;
    if (text.size < 2 || *text.data != '"' || text.data[text.size - 1] != '"') {
        function_text(c, text.data, text.size);
        return;
    }
    if (read_json(c, argv, 0, &document))
        return_text(c, buffer_span(&document));
    buffer_fini(&document);
}

/* ---- reading ---- */

static void
return_json_matches(sqlite3_context *c, struct span document, int argc,
                    sqlite3_value **argv, bool many)
{
    struct matches m = {.c = c};
    struct buffer all;

    buffer_init(&all, FORMED_MAX);
    m.all = many ? &all : NULL;
    buffer_text(&all, "[");
    for (int i = 1; i < argc && !m.stopped; i++)
        find_matches(&m, document, function_argument(argv[i]));
    buffer_text(&all, "]");
    if (all.failed)
        function_fits(c, SELECT_VALUE_MAX + 1);
    else if (m.count > 0 && !m.stopped)
        return_json(c, many ? buffer_span(&all) : m.first);
    buffer_fini(&all);
}

/* JSON_EXTRACT(document, path, ...): one value, or an array of all. */
static void
call_json_extract(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    bool many = argc > 2, valid = true, more;
    struct buffer document;
    struct span path;

    if (function_any_null(argc, argv))
        return;
    for (int i = 1; i < argc && valid; i++) {
        valid = read_json_path(c, argv[i], &path, &more);
        many |= valid && more;
    }
    if (!valid)
        return;
    if (read_json(c, argv, 0, &document))
        return_json_matches(c, buffer_span(&document), argc, argv, many);
    buffer_fini(&document);
}

/* document ->> path */
static void
call_text_at(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct buffer document;
    struct span value;

    if (function_any_null(argc, argv))
        return;
    if (find_part(c, argc, argv, 1, &document, &value))
        return_text(c, value);
    buffer_fini(&document);
}

static void
call_json_valid(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct buffer document;
    size_t at;
    bool json = kind_of(argv[0]) == KIND_JSON || kind_is_decimal(argv[0]);

    if (function_any_null(argc, argv))
        return;
    buffer_init(&document, FORMED_MAX);
    if (!json && sqlite3_value_type(argv[0]) == SQLITE_TEXT)
        json = json_normalize(function_argument(argv[0]), &document, &at) ==
               JSON_FINE;
    buffer_fini(&document);
    sqlite3_result_int(c, json);
}

static void
call_json_length(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct buffer document;
    struct span value;

    if (function_any_null(argc, argv))
        return;
    if (find_part(c, argc, argv, 1, &document, &value))
        sqlite3_result_int64(c, (int64_t)json_count(value));
    buffer_fini(&document);
}

static void
call_json_depth(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct buffer document;

    (void)argc;
    if (read_json(c, argv, 0, &document))
        sqlite3_result_int64(c, (int64_t)json_depth(buffer_span(&document)));
    buffer_fini(&document);
}

static const char *
number_type(struct span number)
{
    if (!is_integer_number(number))
        return "DOUBLE";
    errno = 0;
    strtoll(number.data, NULL, 10);
    if (!errno)
        return "INTEGER";
    errno = 0;
    strtoull(number.data, NULL, 10);
    return errno || *number.data == '-' ? "DOUBLE" : "UNSIGNED INTEGER";
}

static void
call_json_type(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    static const char *const names[] = {
        [JSON_NULL] = "NULL",   [JSON_BOOLEAN] = "BOOLEAN",
        [JSON_NUMBER] = "",     [JSON_STRING] = "STRING",
        [JSON_ARRAY] = "ARRAY", [JSON_OBJECT] = "OBJECT"};
    struct buffer document;
    enum json_kind kind;
    const char *name;

    (void)argc;
    if (read_json(c, argv, 0, &document)) {
        kind = json_kind(buffer_span(&document));
        name = kind == JSON_NUMBER ? number_type(buffer_span(&document))
                                   : names[kind];
        function_text(c, name, strlen(name));
    }
    buffer_fini(&document);
}

static void
call_json_keys(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct buffer document, keys;
    struct span value, name;
    struct json_walk walk;

    if (function_any_null(argc, argv))
        return;
    buffer_init(&keys, FORMED_MAX);
    if (find_part(c, argc, argv, 1, &document, &value) &&
        json_kind(value) == JSON_OBJECT) {
        buffer_text(&keys, "[");
        for (walk = json_walk(value); json_next(&walk, &name, &value);) {
            buffer_text(&keys, keys.size > 1 ? ", " : "");
            buffer_add(&keys, name.data, name.size);
        }
        buffer_text(&keys, "]");
        return_json(c, buffer_span(&keys));
    }
    buffer_fini(&keys);
    buffer_fini(&document);
}

/* JSON_CONTAINS_PATH(document, 'one' or 'all', path, ...) */
static void
call_contains_path(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span how = function_argument(argv[1]), path;
    bool all = span_is_nocase(how, "all"), valid = true, many;
    int found = 0, paths = argc - 2;
    struct buffer document;
    struct error err;

    if (function_any_null(argc, argv))
        return;
    if (!all && !span_is_nocase(how, "one")) {
        error_set(&err, ER_JSON_ONE_OR_ALL,
                  "The oneOrAll argument to json_contains_path may take these "
                  "values: 'one' or 'all'.");
        function_fail(c, &err);
        return;
    }
    valid = read_json(c, argv, 0, &document);
    for (int i = 2; i < argc && valid; i++) {
        struct matches m = {.c = c};

        valid = read_json_path(c, argv[i], &path, &many);
        if (valid)
            find_matches(&m, buffer_span(&document), path);
        found += m.count > 0;
        valid = valid && !m.stopped;
    }
    if (valid)
        sqlite3_result_int(c, all ? found == paths : found > 0);
    buffer_fini(&document);
}

/* ---- JSON_CONTAINS ---- */

struct containing {
    sqlite3_context *c;
    bool stopped;
};

static bool
json_scalar_equals(struct span a, struct span b)
{
    if (json_kind(a) != json_kind(b))
        return false;
    if (json_kind(a) == JSON_NUMBER &&
        !(is_integer_number(a) && is_integer_number(b)))
        /* 1 and 1.0 are equal; a double would not tell large integers apart. */
        return strtod(a.data, NULL) == strtod(b.data, NULL);
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static bool json_value_contains(struct containing *in, struct span a,
                                struct span b);

static bool
contains_element(struct containing *in, struct span array, struct span what)
{
    struct json_walk walk = json_walk(array);
    struct span name, element;

    while (json_next(&walk, &name, &element) && !in->stopped)
        if (json_value_contains(in, element, what))
            return true;
    return false;
}

/* Does a contain b: each element of an array, each member by its name? */
static bool
json_value_contains(struct containing *in, struct span a, struct span b)
{
    bool array = json_kind(b) == JSON_ARRAY,
         object = json_kind(b) == JSON_OBJECT;
    struct json_walk walk = json_walk(b);
    struct span name, part, member;

    in->stopped = in->stopped || function_charge(in->c, a.size + b.size);
    if (in->stopped)
        return false;
    if (json_kind(a) == JSON_ARRAY && !array)
        return contains_element(in, a, b);
    if (json_kind(a) != json_kind(b))
        return false;
    if (!array && !object)
        return json_scalar_equals(a, b);
    while (json_next(&walk, &name, &part)) {
        in->stopped |= function_charge(in->c, a.size);
        if (in->stopped || (array ? !contains_element(in, a, part)
                                  : !json_member(a, name, &member) ||
                                        !json_value_contains(in, member, part)))
            return false;
    }
    return true;
}

/* JSON_CONTAINS(document, candidate[, path]) */
static void
call_json_contains(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct containing in = {.c = c};
    struct buffer document, candidate;
    struct span value;
    bool is;

    if (function_any_null(argc, argv))
        return;
    buffer_init(&document, 0);
    if (read_json(c, argv, 1, &candidate) &&
        find_part(c, argc, argv, 2, &document, &value)) {
        is = json_value_contains(&in, value, buffer_span(&candidate));
        if (!in.stopped)
            sqlite3_result_int(c, is);
    }
    buffer_fini(&candidate);
    buffer_fini(&document);
}

const struct function json_functions[] = {
    {"hw_json_form", 1, 1, call_form, RETURNS_TEXT},
    {"hw_json_name", 1, 1, call_name, RETURNS_TEXT},
    {"hw_json_text_at", 2, 2, call_text_at, RETURNS_TEXT},
    {"json_contains", 2, 3, call_json_contains, RETURNS_BIGINT, .width = 1},
    {"json_contains_path", 3, FUNCTION_ANY, call_contains_path, RETURNS_BIGINT,
     .width = 1},
    {"json_depth", 1, 1, call_json_depth, RETURNS_BIGINT, .width = 21},
    {"json_extract", 2, FUNCTION_ANY, call_json_extract, RETURNS_TEXT},
    {"json_keys", 1, 2, call_json_keys, RETURNS_TEXT},
    {"json_length", 1, 2, call_json_length, RETURNS_BIGINT, .width = 21},
    {"json_quote", 1, 1, call_json_quote, RETURNS_TEXT},
    {"json_type", 1, 1, call_json_type, RETURNS_TEXT, .width = 51},
    {"json_unquote", 1, 1, call_json_unquote, RETURNS_TEXT},
    {"json_valid", 1, 1, call_json_valid, RETURNS_BIGINT, .width = 1},
    {NULL},
};
