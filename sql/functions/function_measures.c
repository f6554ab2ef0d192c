/* function_measures.c - functions that measure texts, and CHAR(). */
#include <string.h>

#include "buffer.h"
#include "function.h"
#include "function_lists.h"
#include "handle.h"
#include "utf8.h"

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
        uint32_t code = (uint32_t)function_integer(argv[i]);

        if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
            continue;
        for (int shift = 24; shift >= 0; shift -= 8)
            if (shift == 0 || code >> shift > 0)
                buffer_char(&out, (char)(code >> shift));
    }
    if (out.failed)
        sqlite3_result_error_toobig(c);
    else if (sqlite3_value_int(argv[0]) != 0)
        function_decoded(c, (struct span){out.data ? out.data : "", out.size});
    else
        function_bytes(c, out.data ? out.data : "", out.size);
    buffer_fini(&out);
}

const struct function measure_functions[] = {
    {"char_length", 1, 1, call_char_length, RETURNS_BIGINT},
    {"character_length", 1, 1, call_char_length, RETURNS_BIGINT},
    {"length", 1, 1, call_length, RETURNS_BIGINT},
    {"octet_length", 1, 1, call_length, RETURNS_BIGINT},
    {"ascii", 1, 1, call_ascii, RETURNS_BIGINT},
    {"hw_char", 2, FUNCTION_ANY, call_char, RETURNS_TEXT},
    {NULL},
};
