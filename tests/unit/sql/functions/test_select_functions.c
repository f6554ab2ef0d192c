/*
 * test_select_functions.c - every function of ours with extreme arguments.
 *
 * From the tables themselves: a new function is tested as soon as it is there.
 * What fails is a crash, a trap, or a sanitizer's word.
 */
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "handle.h"
#include "handle_pool.h"
#include "function.h"
#include "function_table.h"
#include "sql_harness.h"
#include "suite.h"
#include "view_cache.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    VARIED = 3, /* arguments that take every value; those behind are fixed */
    LARGE = 16 * 1024 * 1024
};

/* Values of all types, sizes, signs and units; the first FEW are used for
 * calls with three arguments. */
static const struct extreme {
    int type;
    sqlite3_int64 integer;
    double real;
    const char *text;
    int size; /* of text; -1: to its NUL */
} extremes[] = {
#define INTEGER(i)                                                             \
    {                                                                          \
        SQLITE_INTEGER, i, 0, NULL, 0                                          \
    }
#define REAL(r)                                                                \
    {                                                                          \
        SQLITE_FLOAT, 0, r, NULL, 0                                            \
    }
#define TEXT(t)                                                                \
    {                                                                          \
        SQLITE_TEXT, 0, 0, t, -1                                               \
    }
#define BYTES(b)                                                               \
    {                                                                          \
        SQLITE_BLOB, 0, 0, b, sizeof(b) - 1                                    \
    }
    {SQLITE_NULL, 0, 0, NULL, 0},
    INTEGER(0),
    INTEGER(-1),
    INTEGER(1),
    INTEGER(INT64_MIN),
    INTEGER(INT64_MAX),
    REAL(-1.7e308),
    TEXT(""),
    TEXT("9223372036854775808"),
    TEXT("9999-12-31 23:59:59.999999"),
    TEXT("-99999999999 99999999999:99999999999:9.9"),
    TEXT("DAY_MICROSECOND"),
    TEXT("%Y %M %D %j %U %X %v %f %r (a|b)*"),
    BYTES("\xff\xe4\0\xf0"),
    REAL(1.7e308),
    REAL(0.5),
    TEXT("-0"),
    TEXT("-838:59:59"),
    TEXT("YEAR"),
    INTEGER(7),
    INTEGER(64),
    INTEGER(INT64_MIN + 1),
    INTEGER(INT32_MIN),
    INTEGER(UINT32_MAX),
    INTEGER(99991231235959),
    REAL(-0.0),
    REAL(9.3e18),
    REAL(1e-320),
    REAL(1.8e19),
    TEXT("nan"),
    TEXT("1e999"),
    TEXT("-1e999"),
    TEXT("18446744073709551615"),
    TEXT("-9223372036854775808"),
    TEXT("0000-01-01"),
    TEXT("0000-00-00 00:00:00"),
    TEXT("2026-13-45 99:99:99"),
    TEXT("838:59:59.9999999"),
    TEXT("34 22:59:59"),
    TEXT("MICROSECOND"),
    TEXT("QUARTER"),
    TEXT("SQL_TSI_WEEK"),
    TEXT("+14:00"),
    TEXT("DECIMAL"),
    TEXT("BINARY"),
    TEXT("DATETIME"),
    TEXT("TRAILING"),
    TEXT("%"),
    TEXT("\xe4\xb8\xad\xe6\x96\x87"),
    TEXT("\x80\x80\xc3"),
    BYTES(""),
    BYTES("\xf0\x9f\x98"),
    {SQLITE_TEXT, 0, 0, "a\0b", 3},
#undef INTEGER
#undef REAL
#undef TEXT
#undef BYTES
};

enum { FEW = 14 };

static const struct extreme large = {SQLITE_TEXT, 0, 0, NULL, LARGE};

static struct harness h;
static struct handle *handle;
static char *large_text;
static uint64_t calls;
static volatile unsigned sum; /* of all answers */

static void
set_up(void)
{
    struct catalog_scope scope = {0};

    harness_init(&h, PRIVILEGE_ALL);
    scope.session = h.session;
    handle = handle_acquire(&scope, NULL, &h.error);
    ck_assert_msg(handle != NULL, "%s", h.error.text);
    handle->session = h.session;
    sqlite3_limit(handle->db, SQLITE_LIMIT_LENGTH, VIEW_BYTES_MAX);
    large_text = malloc(LARGE);
    ck_assert_ptr_nonnull(large_text);
    memset(large_text, 'x', LARGE);
    memcpy(large_text + LARGE - 2, "\xe4", 1);
}

static void
tear_down(void)
{
    free(large_text);
    handle_release(handle, NULL);
    harness_fini(&h);
}

static void
bind(sqlite3_stmt *statement, int place, const struct extreme *value)
{
    int rc = SQLITE_OK;

    switch (value->type) {
    case SQLITE_INTEGER:
        rc = sqlite3_bind_int64(statement, place, value->integer);
        break;
    case SQLITE_FLOAT:
        rc = sqlite3_bind_double(statement, place, value->real);
        break;
    case SQLITE_TEXT:
        rc = sqlite3_bind_text(statement, place,
                               value->text ? value->text : large_text,
                               value->size, SQLITE_STATIC);
        break;
    case SQLITE_BLOB:
        rc = sqlite3_bind_blob(statement, place, value->text, value->size,
                               SQLITE_STATIC);
        break;
    default:
        rc = sqlite3_bind_null(statement, place);
    }
    ck_assert_int_eq(rc, SQLITE_OK);
}

/* The answer's bytes are its own. */
static void
read_answer(sqlite3_stmt *statement)
{
    const unsigned char *bytes = sqlite3_column_blob(statement, 0);
    int size = sqlite3_column_bytes(statement, 0);

    ck_assert_int_le(size, VIEW_BYTES_MAX);
    for (int i = 0; bytes && i < size; i++)
        sum += bytes[i];
}

static void
call(sqlite3_stmt *statement, const struct function *f)
{
    int rc;

    rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW)
        read_answer(statement);
    else
        ck_assert_msg(rc == SQLITE_ERROR || rc == SQLITE_TOOBIG ||
                          rc == SQLITE_INTERRUPT || rc == SQLITE_NOMEM,
                      "%s: %d %s", f->name, rc, sqlite3_errmsg(handle->db));
    sqlite3_reset(statement);
    calls++;
}

static sqlite3_stmt *
prepare(const struct function *f, int arguments)
{
    sqlite3_stmt *statement;
    char sql[200];
    int at = snprintf(sql, sizeof(sql), "SELECT \"%s\"(", f->name);

    for (int i = 1; i <= arguments; i++)
        at += snprintf(sql + at, sizeof(sql) - (size_t)at, "%s?%d",
                       i > 1 ? "," : "", i);
    snprintf(sql + at, sizeof(sql) - (size_t)at, ")%s",
             f->final ? " FROM (SELECT 1 UNION ALL SELECT 2)" : "");
    ck_assert_msg(sqlite3_prepare_v2(handle->db, sql, -1, &statement, NULL) ==
                      SQLITE_OK,
                  "%s: %s", sql, sqlite3_errmsg(handle->db));
    return statement;
}

/* Every combination of values in the places from first on. */
static void
vary(sqlite3_stmt *statement, const struct function *f, int first, int last,
     size_t count)
{
    if (first > last) {
        call(statement, f);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        bind(statement, first, &extremes[i]);
        vary(statement, f, first + 1, last, count);
    }
}

/* Large values in each place, with a few small ones beside them. */
static void
enlarge(sqlite3_stmt *statement, const struct function *f, int arguments)
{
    for (int place = 1; place <= arguments; place++)
        for (size_t i = 0; i < 6; i++) {
            for (int other = 1; other <= arguments; other++)
                bind(statement, other, other == place ? &large : &extremes[i]);
            call(statement, f);
        }
}

static void
call_with(const struct function *f, int arguments)
{
    sqlite3_stmt *statement = prepare(f, arguments);
    int varied = arguments < VARIED ? arguments : VARIED;

    for (int i = varied + 1; i <= arguments; i++)
        bind(statement, i, &extremes[3]);
    vary(statement, f, 1, varied, varied < VARIED ? COUNT(extremes) : FEW);
    /* from the other end: the directions of a group, a CAST's length */
    for (int i = 1; i <= arguments - varied; i++)
        bind(statement, i, &extremes[3]);
    if (arguments > varied)
        vary(statement, f, arguments - varied + 1, arguments, FEW);
    enlarge(statement, f, arguments);
    sqlite3_finalize(statement);
}

START_TEST(no_argument_is_too_extreme)
{
    const struct function *list = function_table((size_t)_i);
    size_t functions = 0;

    for (const struct function *f = list; f->name; f++, functions++) {
        int most = f->most;

        if (most == FUNCTION_ANY)
            most = f->least < VARIED ? VARIED : f->least + 1;
        for (int n = f->least; n <= most; n++)
            call_with(f, n);
    }
    ck_assert_uint_gt(functions, 0);
    ck_assert_uint_ge(calls, functions);
}
END_TEST

static int
count_tables(void)
{
    int count = 0;

    while (function_table((size_t)count))
        count++;
    return count;
}

int
main(void)
{
    Suite *suite = suite_create("select_functions");
    TCase *tc = tcase_create("extremes");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, no_argument_is_too_extreme, 0, count_tables());
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
