/*
 * function_compare.c - comparisons, choices and XOR, where SQLite's operators
 * give other answers than MySQL's.
 *
 * In SQLite '10' = 10 is false and 2 < '1' true; MySQL compares as numbers
 * when one side is one.  SQLite's own operators are kept where both types are
 * known to be the same, since only they can use an index or a constraint; the
 * deparser writes hw_eq() and the like elsewhere.  The last argument of a
 * comparison tells the collation.
 */
#include <math.h>
#include <string.h>

#include "buffer.h"
#include "collate.h"
#include "function.h"
#include "function_table.h"
#include "handle.h"

/* ---- comparisons ---- */

/* How to compare: the argument behind the operands, or as texts. */
static enum compare_how
read_comparison_mode(int operand_count, int argc, sqlite3_value **argv)
{
    return argc > operand_count
               ? (enum compare_how)sqlite3_value_int(argv[operand_count])
               : COMPARE_TEXT;
}

static bool
compare_operands(int argc, sqlite3_value **argv, int *order)
{
    if (function_any_null(2, argv))
        return false;
    *order =
        function_compare(argv[0], argv[1], read_comparison_mode(2, argc, argv));
    return true;
}

static void
call_eq(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int order;

    if (compare_operands(argc, argv, &order))
        sqlite3_result_int(c, order == 0);
}

static void
call_ne(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int order;

    if (compare_operands(argc, argv, &order))
        sqlite3_result_int(c, order != 0);
}

static void
call_lt(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int order;

    if (compare_operands(argc, argv, &order))
        sqlite3_result_int(c, order < 0);
}

static void
call_le(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int order;

    if (compare_operands(argc, argv, &order))
        sqlite3_result_int(c, order <= 0);
}

static void
call_gt(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int order;

    if (compare_operands(argc, argv, &order))
        sqlite3_result_int(c, order > 0);
}

static void
call_ge(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int order;

    if (compare_operands(argc, argv, &order))
        sqlite3_result_int(c, order >= 0);
}

/* <=> */
static void
call_is(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    bool first = sqlite3_value_type(argv[0]) == SQLITE_NULL;
    bool second = sqlite3_value_type(argv[1]) == SQLITE_NULL;

    sqlite3_result_int(
        c, first || second
               ? first && second
               : function_compare(argv[0], argv[1],
                                  read_comparison_mode(2, argc, argv)) == 0);
}

/* STRCMP(a, b); hw_strcmp_bin, if either asks for utf8mb4_bin. */
static void
call_strcmp(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    bool bin = strcmp(function_name(c), "strcmp") != 0;
    int order;

    if (function_any_null(argc, argv))
        return;
    order = function_compare_texts(argv[0], argv[1],
                                   bin ? COMPARE_BIN : COMPARE_TEXT);
    sqlite3_result_int(c, (order > 0) - (order < 0));
}

static enum compare_how
how_between(int argc, sqlite3_value **argv)
{
    for (int i = 0; i < 3; i++)
        if (function_is_number(argv[i]))
            return COMPARE_NUMBER;
    return read_comparison_mode(3, argc, argv);
}

/* BETWEEN in three-valued logic: one comparison alone can make it false.  One
 * number among the texts makes all of them numbers. */
static void
call_between(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    enum compare_how compare = how_between(argc, argv);
    bool low = sqlite3_value_type(argv[1]) == SQLITE_NULL;
    bool high = sqlite3_value_type(argv[2]) == SQLITE_NULL;

    if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return;
    if ((!low && function_compare(argv[0], argv[1], compare) < 0) ||
        (!high && function_compare(argv[0], argv[2], compare) > 0))
        sqlite3_result_int(c, 0);
    else if (!low && !high)
        sqlite3_result_int(c, 1);
}

/* hw_in(how, x, a, b, ...): NULL if nothing equals x but an element is NULL. */
static void
call_in(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    enum compare_how compare = (enum compare_how)sqlite3_value_int(argv[0]);
    bool null = false;

    if (sqlite3_value_type(argv[1]) == SQLITE_NULL)
        return;
    for (int i = 2; i < argc; i++) {
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL) {
            null = true;
        } else if (function_compare(argv[1], argv[i], compare) == 0) {
            sqlite3_result_int(c, 1);
            return;
        }
    }
    /* No equal value, but a NULL in the list: the answer is unknown. */
    if (!null)
        sqlite3_result_int(c, 0);
}

static void
call_binary(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span bytes = function_argument(argv[0]);

    (void)argc;
    if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
        function_bytes(c, bytes.data, bytes.size);
}

/* ---- choosing ---- */

static void
call_if(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    bool truth = sqlite3_value_type(argv[0]) != SQLITE_NULL &&
                 function_real(argv[0]) != 0;

    (void)argc;
    /* SQLite evaluates both branches; the value keeps its subtype. */
    sqlite3_result_value(c, argv[truth ? 1 : 2]);
}

static void
call_nullif(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    if (function_any_null(2, argv) ||
        function_compare(argv[0], argv[1], COMPARE_TEXT) != 0)
        sqlite3_result_value(c, argv[0]);
}

/* COALESCE(x): SQLite's own takes two arguments or more. */
static void
call_coalesce(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    sqlite3_result_value(c, argv[0]);
}

static void
call_isnull(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    sqlite3_result_int(c, sqlite3_value_type(argv[0]) == SQLITE_NULL);
}

/* Compares as numbers if one value is a number, else as texts. */
static void
choose_extreme_argument(sqlite3_context *c, int argc, sqlite3_value **argv,
                        int sign)
{
    int best = 0;

    if (function_any_null(argc, argv))
        return;
    for (int i = 1; i < argc; i++)
        if (function_compare(argv[i], argv[best], COMPARE_TEXT) * sign > 0)
            best = i;
    sqlite3_result_value(c, argv[best]);
}

static void
call_greatest(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    choose_extreme_argument(c, argc, argv, 1);
}

static void
call_least(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    choose_extreme_argument(c, argc, argv, -1);
}

/* ---- logic ---- */

static void
call_xor(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        sqlite3_result_int(c, (function_real(argv[0]) != 0) !=
                                  (function_real(argv[1]) != 0));
}

/* ---- rows ---- */

/* hw_limit(x): the count of LIMIT ?, which some drivers send as a text.
 * SQLite would take -1 for all rows. */
static void
call_limit(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    int64_t rows = function_integer(argv[0]);

    (void)argc;
    if (text.size == 0 || strspn(text.data, "0123456789") != text.size)
        sqlite3_result_error(
            c, "Incorrect arguments to LIMIT: a count of rows is 0 or more",
            -1);
    else
        /* Negative: past 63 bits, as in MySQL's way to say "no limit". */
        sqlite3_result_int64(c, rows < 0 ? INT64_MAX : rows);
}

/* hw_row(a, b): the same bytes for equal rows, as COUNT(DISTINCT a, b) needs
 * them; NULL if a part is NULL. */
static void
call_row(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct buffer row;

    if (function_any_null(argc, argv))
        return;
    buffer_init(&row, SELECT_VALUE_MAX);
    for (int i = 0; i < argc; i++) {
        collate_add_weights(&row, collate_trimmed(function_argument(argv[i])));
        buffer_add(&row, "\xdf\xff", 2); /* separates the parts: no character
                                          * has this weight */
    }
    function_buffer_bytes(c, &row);
}

const struct function compare_functions[] = {
    {"hw_eq", 2, 3, call_eq, RETURNS_BIGINT},
    {"hw_ne", 2, 3, call_ne, RETURNS_BIGINT},
    {"hw_lt", 2, 3, call_lt, RETURNS_BIGINT},
    {"hw_le", 2, 3, call_le, RETURNS_BIGINT},
    {"hw_gt", 2, 3, call_gt, RETURNS_BIGINT},
    {"hw_ge", 2, 3, call_ge, RETURNS_BIGINT},
    {"hw_is", 2, 3, call_is, RETURNS_BIGINT},
    {"hw_between", 3, 4, call_between, RETURNS_BIGINT},
    {"hw_in", 3, FUNCTION_ANY, call_in, RETURNS_BIGINT},
    {"hw_binary", 1, 1, call_binary, RETURNS_TEXT},
    {"hw_xor", 2, 2, call_xor, RETURNS_BIGINT},
    {"hw_limit", 1, 1, call_limit, RETURNS_BIGINT},
    {"strcmp", 2, 2, call_strcmp, RETURNS_BIGINT, .width = 2},
    {"hw_strcmp_bin", 2, 2, call_strcmp, RETURNS_BIGINT},
    {"hw_row", 2, FUNCTION_ANY, call_row, RETURNS_TEXT},
    {"if", 3, 3, call_if, RETURNS_BRANCHES},
    {"coalesce", 1, 1, call_coalesce, RETURNS_ARGUMENTS},
    {"nullif", 2, 2, call_nullif, RETURNS_FIRST},
    {"isnull", 1, 1, call_isnull, RETURNS_BIGINT},
    {"greatest", 2, FUNCTION_ANY, call_greatest, RETURNS_ARGUMENTS},
    {"least", 2, FUNCTION_ANY, call_least, RETURNS_ARGUMENTS},
    {NULL},
};
