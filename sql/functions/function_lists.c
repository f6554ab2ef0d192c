/*
 * function_lists.c - texts chosen by a number, and lists of texts with commas:
 * ELT, FIND_IN_SET, MAKE_SET, EXPORT_SET.
 */
#include <stdint.h>
#include <string.h>

#include "buffer.h"
#include "collate.h"
#include "function.h"
#include "function_table.h"
#include "handle.h"

enum { BITS = 64 };

static void
call_elt(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int64_t number = function_integer(argv[0]);
    struct span text;

    if (function_any_null(1, argv) || number < 1 || number >= argc ||
        sqlite3_value_type(argv[number]) == SQLITE_NULL)
        return;
    text = function_argument(argv[number]);
    function_text(c, text.data, text.size);
}

/* Are both equal by the collation?  Unlike in collate_compare, blanks at the
 * end count. */
static bool
has_same_weights(struct span a, struct span b, bool bytes)
{
    if (bytes)
        return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
    while (a.size > 0 && b.size > 0)
        if (collate_take(&a) != collate_take(&b))
            return false;
    return a.size == 0 && b.size == 0;
}

/* FIND_IN_SET(text, list): its position from 1 between commas; 0: not found. */
static void
call_find_in_set(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    bool bytes = sqlite3_value_type(argv[0]) == SQLITE_BLOB ||
                 sqlite3_value_type(argv[1]) == SQLITE_BLOB;
    struct span what = function_argument(argv[0]);
    struct span list = function_argument(argv[1]);
    const char *comma = list.data;
    int64_t place = 1;

    if (function_any_null(argc, argv))
        return;
    if (what.size > list.size) /* as MySQL compares their bytes first: a two-
                                * byte letter is not in 'a' */
        list.size = 0;
    for (; list.size > 0 && comma; place++) {
        struct span part = list;

        comma = memchr(list.data, ',', list.size);
        if (comma)
            part.size = (size_t)(comma - list.data);
        if (has_same_weights(what, part, bytes)) {
            sqlite3_result_int64(c, place);
            return;
        }
        part.size += comma != NULL;
        list.data += part.size;
        list.size -= part.size;
        if (comma && list.size == 0 && what.size == 0) {
            sqlite3_result_int64(c, place + 1); /* an empty element behind
                                                 * the last comma */
            return;
        }
    }
    sqlite3_result_int(c, 0);
}

/* MAKE_SET(bits, a, b, ...): those whose bit is set, but NULLs. */
static void
call_make_set(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    uint64_t bits = function_natural(argv[0]);
    bool first = true;
    struct buffer out;

    if (function_any_null(1, argv))
        return;
    buffer_init(&out, SELECT_VALUE_MAX);
    for (int i = 1; i < argc && i <= BITS; i++) {
        struct span text = function_argument(argv[i]);

        if (!(bits >> (i - 1) & 1) ||
            sqlite3_value_type(argv[i]) == SQLITE_NULL)
            continue;
        if (!first)
            buffer_char(&out, ',');
        buffer_add(&out, text.data, text.size);
        first = false;
    }
    function_buffer(c, &out);
}

/* EXPORT_SET(bits, on, off[, separator[, count]]) */
static void
call_export_set(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    uint64_t bits = function_natural(argv[0]);
    struct span on = function_argument(argv[1]);
    struct span off = function_argument(argv[2]), between = {",", 1};
    int64_t count = argc > 4 ? function_integer(argv[4]) : BITS;
    struct buffer out;

    if (function_any_null(argc, argv))
        return;
    if (argc > 3)
        between = function_argument(argv[3]);
    if (count < 0 || count > BITS)
        count = BITS;
    buffer_init(&out, SELECT_VALUE_MAX);
    for (int64_t i = 0; i < count; i++) {
        struct span text = bits >> i & 1 ? on : off;

        if (i > 0)
            buffer_add(&out, between.data, between.size);
        buffer_add(&out, text.data, text.size);
    }
    function_buffer(c, &out);
}

const struct function list_functions[] = {
    {"elt", 2, FUNCTION_ANY, call_elt, RETURNS_TEXT},
    {"find_in_set", 2, 2, call_find_in_set, RETURNS_BIGINT, .width = 3},
    {"make_set", 2, FUNCTION_ANY, call_make_set, RETURNS_TEXT},
    {"export_set", 3, 5, call_export_set, RETURNS_TEXT},
    {NULL},
};
